package netsim

import (
	"github.com/shunt-network/shunt/netsim/cc"
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
	seq, mi, flags := s.nxt, s.cur, uint8(0)
	if n.missing != nil {
		seq, mi, flags = n.nextMissing(q, s)
	}
	m := &n.msgs[mi]
	payload := int64(n.mtu)
	if seq+1 == m.end {
		payload = m.bytes - int64(seq-m.first)*int64(n.mtu)
		flags |= asksAck
	}
	pk := &n.pool.packets[k]
	pk.qp, pk.psn, pk.hash, pk.dst = q, (s.psn0+uint32(seq))&psnMask, s.hash, s.dst
	pk.size, pk.prio, pk.flags = uint16(payload+headerBytes), prio, data|flags
	c := &n.nicCounters[s.src]
	c.TxDataBytes += uint64(payload)
	if seq < s.top {
		c.RetransmitPackets++
	}
	if s.una == s.nxt {
		s.since = n.now
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
	if s.flags&timing == 0 && n.rto > 0 {
		s.flags |= timing
		n.queue.push(newEvent(n.now+n.rto, evTimeout, q))
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

// pace charges a packet just sent to the QP's rate. When that puts the next one after the wire is free, the QP leaves the ring
// and is woken in time.
func (n *Network) pace(q uint32, s *sender, limit int64, size int64, p *port) bool {
	rate := int64(p.rate)
	if n.cc != nil {
		d := &n.cc[q]
		d.Advance(&n.ccParams[s.src], units.At(n.now))
		d.Sent(&n.ccParams[s.src], units.Bytes(size))
		rate = min(rate, int64(d.Rate()))
	}
	if limit > 0 {
		rate = min(rate, limit)
	}
	if rate >= int64(p.rate) {
		s.paceAt = n.now
		return false
	}
	gap := int64(units.Serialize(units.Bytes(size), units.Rate(rate)))
	if s.paceAt > n.now || n.now-s.paceAt > gap {
		s.paceAt = n.now // it was idle; lateness of less than a packet, from sharing the wire, is made up for
	}
	s.paceAt += gap
	s.paceRate = rate
	if s.paceAt <= p.busy {
		return false
	}
	n.wake(q, s)
	return true
}

// wake schedules the pacing event of a QP: when its next packet is due, or earlier when its rate changes first.
func (n *Network) wake(q uint32, s *sender) {
	at := s.paceAt
	if n.cc != nil {
		if change, ok := n.cc[q].NextChange(&n.ccParams[s.src]); ok && change.PS() > n.now {
			at = min(at, change.PS())
		}
	}
	s.flags |= pacing
	n.queue.push(newEvent(at, evPace, q))
}

// paceDue is evPace: the QP sends if its time has come, else waits on under the rate of now.
func (n *Network) paceDue(q uint32) {
	s := &n.snd[q]
	s.flags &^= pacing
	if s.flags&dead != 0 {
		return
	}
	n.reprice(q, s)
	if s.paceAt > n.now {
		n.wake(q, s)
		return
	}
	n.activate(q)
}

// reprice moves the time of the next packet when the rate has changed while it waited: what is left of the gap stretches by old
// rate over new.
func (n *Network) reprice(q uint32, s *sender) {
	if n.cc == nil || s.paceAt <= n.now || s.paceRate == 0 {
		return
	}
	d := &n.cc[q]
	d.Advance(&n.ccParams[s.src], units.At(n.now))
	rate := int64(d.Rate())
	if s.cur != none && n.msgs[s.cur].rate > 0 {
		rate = min(rate, n.msgs[s.cur].rate)
	}
	if rate != s.paceRate {
		s.paceAt = n.now + mulDiv(s.paceAt-n.now, s.paceRate, rate)
		s.paceRate = rate
	}
}

// activate puts a QP into the ring of those that may send, if it has something to send and its rate allows.
func (n *Network) activate(q uint32) {
	s := &n.snd[q]
	if s.flags&(inRing|pacing|dead) != 0 || !n.canSend(q, s) {
		return
	}
	if s.paceAt > n.now {
		n.wake(q, s)
		return
	}
	pi := n.nics[s.src].port
	e := &n.egress[class(pi, s.prio)]
	if e.ring == none {
		s.next = q
	} else {
		s.next = n.snd[e.ring].next
		n.snd[e.ring].next = q
	}
	e.ring = q
	s.flags |= inRing
	p := &n.ports[pi]
	p.ready |= 1 << s.prio
	n.kick(pi, p)
}

// deactivate takes a QP out of its ring.
func (n *Network) deactivate(q uint32) {
	s := &n.snd[q]
	if s.flags&inRing == 0 {
		return
	}
	s.flags &^= inRing
	pi := n.nics[s.src].port
	e := &n.egress[class(pi, s.prio)]
	before := e.ring
	for n.snd[before].next != q {
		before = n.snd[before].next
	}
	switch {
	case before == q:
		e.ring = none
		if e.head == none {
			n.ports[pi].ready &^= 1 << s.prio
		}
	default:
		n.snd[before].next = s.next
		if e.ring == q {
			e.ring = before
		}
	}
}

// sendControl sends an ACK, NAK or CNP (and flags) of QP q back to its sender. ACKs and NAKs ride the class of the data, as they do when both
// have the traffic class of the QP; CNPs have one of their own.
func (n *Network) sendControl(q uint32, kind uint8, psn uint64) {
	k := n.take()
	s := &n.snd[q]
	prio := s.prio
	if kind&kindMask == cnp {
		prio = cnpPriority
	}
	pk := &n.pool.packets[k]
	pk.qp, pk.psn, pk.hash, pk.dst = q, (s.psn0+uint32(psn))&psnMask, n.rcv[q].hash, s.src
	pk.size, pk.prio, pk.flags = controlBytes, prio, kind
	pi := n.nics[s.dst].port
	p := &n.ports[pi]
	switch {
	case p.down:
		n.drop(pi, k, DropLinkDown)
	case p.ready == 0 && p.busy <= n.now && !p.armed && p.paused>>prio&1 == 0:
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
		psn, flags := pk.psn, pk.flags
		n.give(k)
		n.acknowledged(q, psn, flags)
	}
}

// congested answers a marked packet: at most one CNP a period and QP (the notification point of DCQCN).
func (n *Network) congested(ep, q uint32) {
	c := &n.nicCounters[ep]
	c.ECNMarkedPackets++
	if n.cc == nil {
		return
	}
	r := &n.rcv[q]
	if r.cnpAt > n.now {
		return
	}
	r.cnpAt = n.now + n.cnpPeriod
	c.CNPSent++
	n.sendControl(q, cnp, 0)
}

// notified is a CNP at the sender.
func (n *Network) notified(q uint32) {
	s := &n.snd[q]
	n.nicCounters[s.src].CNPHandled++
	if n.cc == nil {
		return
	}
	n.cc[q].CNP(&n.ccParams[s.src], units.At(n.now))
	n.reprice(q, s)
}

// newCC makes the parameters of the NIC behind port p.
func newCC(d DCQCNConfig, line units.Rate) cc.Params {
	return cc.Params{
		G: d.G, MinDecFac: d.MinDecFac, InitialAlpha: d.InitialAlpha, RateOnFirstCNP: d.RateOnFirstCNP,
		AlphaPeriod: d.AlphaPeriod, ReducePeriod: d.ReducePeriod, TimeReset: d.TimeReset,
		ByteReset: d.ByteReset, Threshold: d.Threshold,
		AIRate: d.AIRate, HAIRate: d.HAIRate, MinRate: min(d.MinRate, line), LineRate: line,
		ClampTarget: d.ClampTarget,
	}
}
