package netsim

import (
	"github.com/shunt-network/shunt/units"
)

// port is one end of a link: what leaves through it and what flies from it. Most events touch one port and two of
// its classes, so each is kept to a cache line; what is rarely needed lies in coldPort and pauseState.
type port struct {
	busy       int64      // until then the wire is taken
	delay      int64      // propagation, and the latency of the switch at the far end
	psByte     int64      // time of a byte where it is whole picoseconds, else 0 and coldPort.line reckons
	rate       units.Rate // of the wire
	head, tail uint32     // packets in flight, in order of arrival

	peer uint32
	node uint32 // switch number, or endpoint of a NIC

	ready  uint8 // classes with something to send
	paused uint8 // classes that the port does not send, because the peer has paused them
	held   uint8 // classes that the peer has paused; in a storm the watchdog may send them all the same
	refuse uint8 // classes that are lost here: those that the watchdog drops, all while the link is down
	cur    uint8 // class whose turn it is (DWRR)
	gen    uint16

	host  bool // the port of a NIC
	armed bool // an evSend is due
	down  bool
	dirty bool // bits leaving here may be wrong
}

// egress is the sending side of one class of a port.
type egress struct {
	bytes, peak       int64
	txBytes, txPacket uint64
	marked            uint64
	head, tail        uint32 // queued packets; on a NIC the control packets
	deficit           int32  // bytes the class may still send this turn
	ring              uint32 // NIC: last QP of the ring of those that may send, none when empty
	_                 [8]byte
}

// ingress is the receiving side of one class of a port.
type ingress struct {
	rxBytes, rxPacket uint64
	used              int64 // bytes of the shared buffer held by what came in here
	headroom          int32 // bytes of the headroom held
	xoff              bool  // the peer is held paused
	closed            bool  // the watchdog drops what comes in
}

// class is the index of a port's class in Network.egress and Network.ingress.
func class(port uint32, prio uint8) uint32 { return port*Priorities + uint32(prio) }

// wireTime is how long the next b bytes take port pi.
func (n *Network) wireTime(pi uint32, p *port, b int64) int64 {
	if p.psByte != 0 {
		return b * p.psByte
	}
	return int64(n.cold[pi].line.Next(units.Bytes(b)))
}

// setRate gives the wire of port pi a rate.
func (n *Network) setRate(pi uint32, r units.Rate) {
	p, c := &n.ports[pi], &n.cold[pi]
	p.rate, p.psByte, c.line = r, 0, units.NewLine(r)
	one, many := units.NewLine(r), units.NewLine(r)
	if ps := one.Next(1); many.Next(1<<20) == ps<<20 { // no remainder to carry
		p.psByte = int64(ps)
	}
}

// transmit puts a packet on the idle wire of port pi.
func (n *Network) transmit(pi uint32, p *port, k uint32) {
	pk := &n.pool.packets[k]
	p.busy = n.now + n.wireTime(pi, p, int64(pk.size))
	pk.at = p.busy + p.delay
	pk.next = none
	e := &n.egress[class(pi, pk.prio)]
	e.txBytes += uint64(pk.size)
	e.txPacket++
	if p.dirty {
		n.spoil(pi, pk, k)
	}
	if n.telemetry != nil && !p.host && pk.kind() == data {
		n.stamp(pi, p, k)
	}
	if p.head == none {
		p.head = k
		n.queue.push(newEvent(pk.at, evArrive, pi))
	} else {
		n.pool.packets[p.tail].next = k
	}
	p.tail = k
}

// arrive takes the head of what flies from port pi and hands it to the far end. An event for a packet that was lost with
// its link finds another time at the head, or nothing.
func (n *Network) arrive(pi uint32) {
	p := &n.ports[pi]
	k := p.head
	if k == none {
		return
	}
	pk := &n.pool.packets[k]
	if pk.at != n.now {
		return
	}
	p.head = pk.next
	if p.head != none {
		n.queue.push(newEvent(n.pool.packets[p.head].at, evArrive, pi))
	}
	n.hops++
	q := p.peer
	if pk.flags&corrupt != 0 {
		n.arriveLost(pi, q, k)
		return
	}
	in := &n.ingress[class(q, pk.prio)]
	in.rxBytes += uint64(pk.size)
	in.rxPacket++
	if in.closed {
		n.drop(q, k, DropWatchdog)
		return
	}
	if far := &n.ports[q]; far.host {
		n.arriveNIC(q, far.node, k)
	} else {
		n.forward(q, far.node, k, none)
	}
}

// kick makes port pi send if it can: now when the wire is idle, else when it becomes so.
func (n *Network) kick(pi uint32, p *port) {
	if p.armed || p.ready&^p.paused == 0 || p.down {
		return
	}
	if p.busy <= n.now {
		n.send(pi, p)
		return
	}
	p.armed = true
	n.queue.push(newEvent(p.busy, evSend, pi))
}

// wireFree is evSend. A pause frame may have taken the wire in the meantime.
func (n *Network) wireFree(pi uint32) {
	p := &n.ports[pi]
	p.armed = false
	n.kick(pi, p)
}

// send puts the next packet of port pi on its idle wire, and if there is more to send comes back when that is gone.
func (n *Network) send(pi uint32, p *port) {
	prio := n.pick(pi, p)
	if p.host && n.egress[class(pi, prio)].head == none {
		n.sendData(pi, p, prio)
	} else {
		n.transmit(pi, p, n.dequeue(pi, p, prio))
	}
	if p.ready&^p.paused != 0 {
		p.armed = true
		n.queue.push(newEvent(p.busy, evSend, pi))
	}
}

// pick chooses the class that sends next: the highest strict one, else by deficit round robin. A class may overdraw its
// deficit by one packet and pays it back in its next turn, so the size of the packet need not be known (surplus round robin,
// Adiseshu, Parulkar, Varghese, SIGCOMM 1996); in the long run the shares are those of DWRR.
func (n *Network) pick(pi uint32, p *port) uint8 {
	can := p.ready &^ p.paused
	if s := can & n.strict; s != 0 {
		return highest[s]
	}
	if can&(can-1) == 0 { // one class alone shares with nobody
		p.cur = highest[can]
		return p.cur
	}
	for {
		if can>>p.cur&1 != 0 {
			if e := &n.egress[class(pi, p.cur)]; e.deficit > 0 {
				e.deficit -= int32(n.headSize(pi, p, p.cur))
				return p.cur
			}
		}
		p.cur = (p.cur + 1) & (Priorities - 1)
		if e := &n.egress[class(pi, p.cur)]; can>>p.cur&1 != 0 {
			e.deficit += n.quantum[p.cur]
		} else {
			e.deficit = 0
		}
	}
}

// headSize is the size of the packet that class would send next; a NIC has not made its data packets yet and counts full ones.
func (n *Network) headSize(pi uint32, p *port, prio uint8) uint16 {
	if k := n.egress[class(pi, prio)].head; k != none {
		return n.pool.packets[k].size
	}
	return uint16(n.mtu + headerBytes)
}

// highest is the number of the highest bit set.
var highest = func() (t [256]uint8) {
	for i := range t {
		for b := range uint8(8) {
			if i>>b&1 != 0 {
				t[i] = b
			}
		}
	}
	return t
}()

// enqueue appends a packet to its class at port pi.
func (n *Network) enqueue(pi uint32, p *port, k uint32) {
	pk := &n.pool.packets[k]
	e := &n.egress[class(pi, pk.prio)]
	pk.next = none
	if e.head == none {
		e.head = k
	} else {
		n.pool.packets[e.tail].next = k
	}
	e.tail = k
	e.bytes += int64(pk.size)
	e.peak = max(e.peak, e.bytes)
	p.ready |= 1 << pk.prio
}

// dequeue takes the first packet of a class that has one, marks it where the queue is long, and on a switch frees its buffer:
// a packet leaves the buffer when its transmission begins.
func (n *Network) dequeue(pi uint32, p *port, prio uint8) uint32 {
	e := &n.egress[class(pi, prio)]
	k := e.head
	pk := &n.pool.packets[k]
	e.head = pk.next
	if !p.host {
		if pk.kind() == data && n.ecnPriorities>>prio&1 != 0 && !n.markEnqueue {
			n.mark(pi, e, pk)
		}
		n.release(p.node, pk)
	}
	e.bytes -= int64(pk.size)
	if e.head == none && e.ring == none {
		p.ready &^= 1 << prio
	}
	return k
}

// drop loses a packet at port pi and says why.
func (n *Network) drop(pi uint32, k uint32, why DropReason) {
	c := &n.cold[pi]
	c.drops[why]++
	if why == DropWatchdog {
		n.pauses[class(pi, n.pool.packets[k].prio)].stormDrops++
	}
	c.dropBytes[why] += uint64(n.pool.packets[k].size)
	if n.probe.Drop != nil {
		n.probe.Drop(portID(pi), why, units.At(n.now))
	}
	n.give(k)
}
