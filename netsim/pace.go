package netsim

import "github.com/shunt-network/shunt/units"

// A QP that may send is in the ring of its NIC. One that its rate holds back is not, and has an evPace instead; one that has nothing to send or
// is stopped by its window has neither.

// pace charges a packet just sent to the QP's rate. When that puts the next one after the wire is free, the QP leaves the ring
// and is woken in time.
func (n *Network) pace(q uint32, s *sender, limit int64, size int64, p *port) bool {
	rate := min(int64(p.rate), s.rate)
	if n.control.dcqcn != nil {
		d, params := &n.control.dcqcn[q], &n.control.dcqcnParams[s.src]
		d.Advance(params, units.At(n.now))
		d.Sent(params, units.Bytes(size))
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
	if n.control.dcqcn != nil {
		if change, ok := n.control.dcqcn[q].NextChange(&n.control.dcqcnParams[s.src]); ok && change.PS() > n.now {
			at = min(at, change.PS())
		}
	}
	s.flags |= pacing
	s.wakeAt = at
	n.queue.push(newEvent(at, evPace, q))
}

// paceDue is evPace: the QP sends if its time has come, else waits on under the rate of now. An event that an earlier one has replaced is void.
func (n *Network) paceDue(q uint32) {
	s := &n.snd[q]
	if s.flags&pacing == 0 || s.wakeAt != n.now {
		return
	}
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
	if s.paceAt <= n.now || s.paceRate == 0 {
		return
	}
	rate := s.rate
	if n.control.dcqcn != nil {
		d := &n.control.dcqcn[q]
		d.Advance(&n.control.dcqcnParams[s.src], units.At(n.now))
		rate = int64(d.Rate())
	}
	if s.cur != none && n.msgs[s.cur].rate > 0 {
		rate = min(rate, n.msgs[s.cur].rate)
	}
	if rate == s.paceRate {
		return
	}
	s.paceAt = n.now + mulDiv(s.paceAt-n.now, s.paceRate, rate)
	s.paceRate = rate
	// A law that moves with every acknowledgement would cost an event each; an eighth of the wait is let pass (ours).
	if s.flags&pacing != 0 && s.wakeAt-s.paceAt > (s.wakeAt-n.now)/8 {
		n.wake(q, s)
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
