package netsim

// The place transport puts every packet where it belongs as it comes, because each carries its address (out-of-order data
// placement of NVIDIA adapters; reliable unordered delivery in Ultra Ethernet). Order matters only for completion: a message is done
// when everything up to its end is there. A packet is lost, not late, when the newest is LossDistance ahead of it; the receiver then
// asks for that one. Public descriptions of the real thing do not say how loss is told from lateness, so the rule is ours.

// missing is what the sender of one QP must send again.
type missing struct {
	list     []uint64 // asked for by the receiver, from head on
	head     int
	from, to uint64 // and everything in this range: lost at the end, where no later packet reveals it
	probe    bool   // the next packet is the oldest one, to ask how far the receiver is
	probeTop uint64 // what was sent before the timeout
}

func (m *missing) any() bool { return m.probe || m.head < len(m.list) || m.from < m.to }

// arrivals is what a receiver has of the packets after the expected one.
type arrivals struct {
	top   uint64   // after the newest
	asked uint64   // gaps before it were asked for
	bits  []uint64 // bit seq mod size; nil until something comes out of order
}

func (a *arrivals) slot(seq uint64) (word uint64, bit uint64) {
	return seq / 64 % uint64(len(a.bits)), 1 << (seq % 64)
}

func (a *arrivals) has(seq uint64) bool {
	if a.bits == nil {
		return false
	}
	w, b := a.slot(seq)
	return a.bits[w]&b != 0
}

// nextMissing chooses the packet that a QP sends next: what is missing first, then what is new.
func (n *Network) nextMissing(q uint32, s *sender) (seq uint64, msg uint32, flags uint8) {
	m := &n.missing[q]
	switch {
	case m.probe:
		m.probe = false
		seq, flags = s.una, isProbe|asksAck
	case m.head < len(m.list):
		seq = m.list[m.head]
		m.head++
	case m.from < m.to:
		seq = m.from
		m.from++
	default:
		return s.nxt, s.cur, 0
	}
	for msg = s.oldest; n.msgs[msg].end <= seq; {
		msg = n.msgs[msg].next
	}
	return seq, msg, flags
}

// trim forgets what has been acknowledged.
func (m *missing) trim(una, top uint64) {
	m.from = max(m.from, una)
	m.probe = m.probe && una < top
	for m.head < len(m.list) && m.list[m.head] < una {
		m.head++
	}
	for i := m.head; i < len(m.list); i++ { // requests come in order but for those after a probe
		m.list[i] = max(m.list[i], una)
	}
	if una == top || m.head == len(m.list) {
		m.list, m.head = m.list[:0], 0
	}
}

// isMissing is a request of the receiver to send one packet again.
func (n *Network) isMissing(q uint32, s *sender, seq uint64) {
	if seq >= s.una && seq < s.top {
		n.missing[q].list = append(n.missing[q].list, seq)
	}
}

// probeLost is a timeout: ask how far the receiver is by sending the oldest packet again.
func (n *Network) probeLost(q uint32, s *sender) {
	m := &n.missing[q]
	m.probe, m.probeTop = true, s.nxt
	m.list, m.head = m.list[:0], 0
	m.from, m.to = 0, 0
}

// probeAnswered tells what the receiver had when the probe came: what was sent before and lies after that is lost.
func (n *Network) probeAnswered(q uint32, s *sender, top uint64) {
	m := &n.missing[q]
	m.from, m.to = max(top, s.una), min(m.probeTop, s.top)
}

// receivePlace is a data packet at the receiver.
func (n *Network) receivePlace(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	c, r, a := &n.nicCounters[ep], &n.rcv[q], &n.arrived[q]
	asked := pk.flags&asksAck != 0
	probe := pk.flags&isProbe != 0
	d := signed(pk.psn - (n.snd[q].psn0 + uint32(r.epsn)))
	seq := r.epsn + uint64(d)
	switch {
	case d < 0 || d > 0 && a.has(seq) && seq < a.top:
		c.DuplicateRequest++
		n.drop(n.nics[ep].port, k, DropStale)
		asked = true
	case d >= n.reach:
		c.OutOfSequence++
		n.drop(n.nics[ep].port, k, DropOutOfOrder)
		return
	default:
		n.give(k)
		r.unacked++
		if d > 0 {
			c.OutOfSequence++
			if a.bits == nil {
				a.bits = n.bitmap()
			}
			w, b := a.slot(seq)
			a.bits[w] |= b
		}
		a.top = max(a.top, seq+1)
		if d == 0 {
			r.epsn++
			for r.epsn < a.top && a.has(r.epsn) {
				w, b := a.slot(r.epsn)
				a.bits[w] &^= b
				r.epsn++
			}
			if r.epsn == a.top && a.bits != nil {
				n.bitmaps = append(n.bitmaps, a.bits)
				a.bits = nil
			}
		}
	}
	n.askMissing(q, r, a, probe)
	done := r.msg != none && r.epsn >= n.msgs[r.msg].end
	if done || asked || r.unacked >= n.ackEvery {
		r.unacked = 0
		n.sendControl(q, ack, r.epsn-1)
	}
	if probe {
		n.sendControl(q, ack|isProbe, a.top-1)
	}
	for r.msg != none && r.epsn >= n.msgs[r.msg].end {
		n.messageDone(r)
	}
}

// askMissing asks for the packets that must be lost: those too far behind the newest, or after a probe all gaps.
func (n *Network) askMissing(q uint32, r *receiver, a *arrivals, probe bool) {
	if probe {
		a.asked = r.epsn
	}
	a.asked = max(a.asked, r.epsn)
	limit := a.top
	if !probe {
		if limit < n.lossDistance {
			return
		}
		limit -= n.lossDistance
	}
	for ; a.asked < limit; a.asked++ {
		if !a.has(a.asked) {
			n.sendControl(q, nak, a.asked)
		}
	}
}

// bitmap returns an empty bitmap, one given back if there is one.
func (n *Network) bitmap() []uint64 {
	if l := len(n.bitmaps); l > 0 {
		b := n.bitmaps[l-1]
		n.bitmaps = n.bitmaps[:l-1]
		return b
	}
	return make([]uint64, n.reach/64)
}
