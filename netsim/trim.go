package netsim

import "github.com/shunt-network/shunt/units"

// Trimming (Cheng et al., Catch the Whole Lot in an Action: Rapid Precise Packet Loss Notification in Data Centers, NSDI 2014; NDP,
// SIGCOMM 2017): where the queue of a lossy class is full, the packet loses its payload and travels on in a class of its own, and its
// receiver asks for it at once.

// trimOne cuts packet k, which does not fit at port out, to its headers. With the coin it may be the last packet of the queue instead,
// whose place k then takes: the two change contents, so that k is the cut one in any case.
func (n *Network) trimOne(sw *swtch, out uint32, k uint32) {
	pk := &n.pool.packets[k]
	e := &n.egress[class(out, pk.prio)]
	if n.trimCoin && e.head != none && n.rngs[out].uint32()>>31 != 0 {
		last := &n.pool.packets[e.tail]
		if last.kind() == data && last.size >= pk.size {
			less := int64(last.size - pk.size)
			e.bytes -= less
			sw.used -= less
			n.swap(k, e.tail)
		}
	}
	c := &n.cold[out]
	c.drops[DropTrimmed]++
	c.dropBytes[DropTrimmed] += uint64(int64(pk.size) - n.trimSize)
	if n.probe.Drop != nil {
		n.probe.Drop(portID(out), DropTrimmed, units.At(n.now))
	}
	pk.size, pk.prio = uint16(n.trimSize), n.trimPriority
	pk.flags |= trimmed
}
