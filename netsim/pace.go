package netsim

import (
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// A QP that may send is in the ring of its NIC. One that its rate holds back is not, and has an evPace instead; one that has nothing to send or
// is stopped by its window has neither.

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
