package netsim

import (
	"github.com/shunt-network/shunt/units"
)

// A NIC sends the control packets of a class first, then data of its QPs in turn, one packet each. Data packets are made when
// the wire is free for them, so a NIC has no queue of data; what waits is the QPs, in a ring for each class.

// nicXOFF is how much of a class may wait in a NIC for a slow host before it pauses the switch. Adapters have receive buffers
// of some hundred KiB for each class (mlnx_qos prints them); the figure is of that order and uncertain.
const nicXOFF = 128 << 10

// nic is the receiving side of one endpoint; it matters only while the host is slow.
type nic struct {
	port       uint32
	slow       bool
	gen        uint16 // generation of slowness: an evDrain of an earlier one is void
	drain      units.Line
	head, tail uint32 // data packets that wait for the host
	bytes      int64
}

// sendData makes the next data packet of the QP whose turn it is and sends it.
func (n *Network) sendData(pi uint32, p *port, prio uint8) {
	e := &n.egress[class(pi, prio)]
	last := e.ring
	q := n.snd[last].next
	k := n.take()
	s := &n.snd[q]
	seq, flags := n.nextPacket(q, s)
	mi := s.cur
	if seq != s.nxt {
		mi = n.messageOf(s, seq)
	}
	if n.ackEvery > 1 && n.fillsWindow(q, s) {
		flags |= asksAck // else both sides would wait, the receiver for more packets and the sender for room
	}
	m := &n.msgs[mi]
	payload := int64(n.mtu)
	if seq+1 == m.end {
		payload = m.bytes - int64(seq-m.first)*int64(n.mtu)
		flags |= asksAck
	}
	pk := &n.pool.packets[k]
	pk.qp, pk.psn, pk.hash, pk.dst = q, (s.psn0+uint32(seq))&psnMask, s.hash, s.dst
	if n.notes != nil {
		n.noteSent(q, s, k)
	}
	if n.context.ids != nil {
		n.contextID(q, s, k, m.op)
	}
	c := &n.nicCounters[s.src]
	c.TxDataBytes += uint64(payload)
	if seq < s.top {
		c.RetransmitPackets++
		flags |= resent
	}
	pk.size, pk.prio, pk.flags = uint16(payload+headerBytes), prio, data|flags
	if s.una == s.nxt {
		s.since = n.now
		if n.flights != nil {
			n.flights[q].progress = n.now
		}
	}
	if seq == s.nxt {
		s.nxt++
		s.top = max(s.top, s.nxt)
		if s.nxt == m.end {
			s.cur = m.next
		}
	}
	rate := m.rate
	n.transmit(pi, p, k)
	if s.flags&timing == 0 {
		n.arm(q, s)
	}
	paced := n.pace(q, s, rate, payload+headerBytes, p)
	switch {
	case paced || !n.canSend(q, s):
		if q == last {
			e.ring = none
			if e.head == none {
				p.ready &^= 1 << prio
			}
		} else {
			n.snd[last].next = s.next
		}
		s.flags &^= inRing
	default:
		e.ring = q
	}
}

// fillsWindow tells that the packet being sent leaves no room in the window for another.
func (n *Network) fillsWindow(q uint32, s *sender) bool {
	out, window := int64(s.nxt-s.una)+1, s.window
	if n.flights != nil {
		window = n.flights[q].window
		if n.transport == tUEC {
			out = n.flights[q].inFlight // counts it already
		}
	}
	return (out+1)*int64(n.mtu) > window
}

// nextPacket is the packet that a QP sends next.
func (n *Network) nextPacket(q uint32, s *sender) (seq uint64, flags uint8) {
	switch n.transport {
	case tPlace:
		return n.nextMissing(q, s)
	case tIRN:
		if f := &n.flights[q]; f.recovering {
			if seq, ok := n.irnLost(f, s); ok {
				f.scan++
				return seq, 0
			}
		}
	case tUEC:
		return n.uecChoose(q, s), 0
	}
	return s.nxt, 0
}

// sendControl sends an ACK, NAK or CNP (and flags) of QP q back to its sender. ACKs and NAKs ride the class of the data, as they do when both
// have the traffic class of the QP, or the one that is set for them; CNPs have one of their own.
func (n *Network) sendControl(q uint32, kind uint8, psn uint64) {
	k := n.take()
	s := &n.snd[q]
	prio := s.prio
	switch {
	case kind&kindMask == cnp:
		prio = cnpPriority
	case n.ackPriority > 0:
		prio = n.ackPriority
	}
	if n.sacks != nil {
		n.sacks[k] = n.pendingSack
	}
	pk := &n.pool.packets[k]
	pk.qp, pk.psn, pk.hash, pk.dst = q, (s.psn0+uint32(psn))&psnMask, n.rcv[q].hash, s.src
	pk.size, pk.prio, pk.flags = controlBytes, prio, kind
	if n.notes != nil {
		n.noteAnswer(q, k)
	}
	n.launch(n.nics[s.dst].port, k)
}

// launch sends a packet that a NIC has made, when its turn comes.
func (n *Network) launch(pi, k uint32) {
	pk := &n.pool.packets[k]
	p := &n.ports[pi]
	switch {
	case p.down:
		n.drop(pi, k, DropLinkDown)
	case p.ready == 0 && p.busy <= n.now && !p.armed && p.paused>>pk.prio&1 == 0:
		n.transmit(pi, p, k)
	default:
		n.enqueue(pi, p, k)
		n.kick(pi, p)
	}
}

// cnpPriority is the class of CNPs: cnp_802p_prio 6 of NVIDIA's adapters.
const cnpPriority = 6

// arriveNIC takes a packet from the wire. Data waits when the host is slow; the NIC itself consumes the rest.
func (n *Network) arriveNIC(pi, ep, k uint32) {
	c := &n.nics[ep]
	pk := &n.pool.packets[k]
	if !c.slow || pk.kind() != data {
		n.receive(ep, k)
		return
	}
	size := int64(pk.size)
	in := &n.ingress[class(pi, pk.prio)]
	if n.lossless>>pk.prio&1 != 0 {
		if in.used+size > nicXOFF+n.pauses[class(pi, pk.prio)].headroomCap {
			n.drop(pi, k, DropHeadroomFull)
			return
		}
		if !in.xoff && in.used+size > nicXOFF {
			n.pausePeer(pi, pk.prio, in)
		}
	} else if in.used+size > nicXOFF {
		n.drop(pi, k, DropBufferFull)
		return
	}
	in.used += size
	c.bytes += size
	pk.next = none
	if c.head != none {
		n.pool.packets[c.tail].next = k
		c.tail = k
		return
	}
	c.head, c.tail = k, k
	n.queue.push(newEvent(n.now+int64(c.drain.Next(units.Bytes(size))), evDrain, ep).of(c.gen, 0))
}

// drained is evDrain: the host has taken the first waiting packet.
func (n *Network) drained(ep uint32, gen uint16) {
	c := &n.nics[ep]
	if c.gen != gen || c.head == none {
		return
	}
	n.takeWaiting(ep, c)
	if c.head != none {
		size := n.pool.packets[c.head].size
		n.queue.push(newEvent(n.now+int64(c.drain.Next(units.Bytes(size))), evDrain, ep).of(c.gen, 0))
	}
}

func (n *Network) takeWaiting(ep uint32, c *nic) {
	k := c.head
	pk := &n.pool.packets[k]
	c.head = pk.next
	size := int64(pk.size)
	c.bytes -= size
	in := &n.ingress[class(c.port, pk.prio)]
	in.used -= size
	if in.xoff && in.used <= nicXOFF-n.xon {
		n.resumePeer(c.port, pk.prio, in)
	}
	n.receive(ep, k)
}

// receive is a packet that reaches the RDMA engine of endpoint ep.
func (n *Network) receive(ep, k uint32) {
	pk := &n.pool.packets[k]
	if pk.dst == toReduction {
		n.sumArrives(ep, k)
		return
	}
	q := pk.qp
	if n.snd[q].flags&dead != 0 {
		n.drop(n.nics[ep].port, k, DropStale)
		return
	}
	switch pk.kind() {
	case data:
		n.receiveData(ep, q, k)
	case cnp:
		n.give(k)
		n.notified(q)
	default:
		var sk sack
		if n.sacks != nil {
			sk = n.sacks[k]
		}
		psn, flags := pk.psn, pk.flags
		n.give(k)
		n.acknowledged(q, k, psn, flags, sk)
	}
}
