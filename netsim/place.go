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

// nextMissing chooses the packet that a QP sends next: what is missing first, then what is new.
func (n *Network) nextMissing(q uint32, s *sender) (seq uint64, flags uint8) {
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
		return s.nxt, 0
	}
	return seq, flags
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

// placeAcknowledged is an ACK, a request for a packet or the answer to a probe at the sender.
func (n *Network) placeAcknowledged(q uint32, s *sender, reached uint64, flags uint8) {
	switch {
	case flags&isProbe != 0:
		n.probeAnswered(q, s, reached)
	case flags&kindMask == nak: // the cumulative part is in the ACKs
		n.sequenceError(q, s)
		n.isMissing(q, s, reached-1)
	case reached > s.una:
		n.advance(q, s, reached)
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

// receivePlace is a data packet at the receiver, whole or trimmed.
func (n *Network) receivePlace(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	c, r := &n.nicCounters[ep], &n.rcv[q]
	asked := pk.flags&asksAck != 0
	probe := pk.flags&isProbe != 0
	d := signed(pk.psn - (n.snd[q].psn0 + uint32(r.epsn)))
	seq := r.epsn + uint64(d)
	if pk.flags&trimmed != 0 {
		n.give(k)
		c.TrimmedPackets++
		if d >= 0 && d < n.reach && !n.held[q].held.has(seq) {
			n.sendControl(q, nak, seq)
		}
		return
	}
	n.overtakes(ep, q, seq, pk.flags)
	switch n.arrived(ep, q, seq, d) {
	case duplicate:
		c.DuplicateRequest++
		n.drop(n.nics[ep].port, k, DropStale)
		asked = true
	case tooFar:
		c.OutOfSequence++
		n.drop(n.nics[ep].port, k, DropOutOfOrder)
		return
	case ahead:
		c.OutOfSequence++
		fallthrough
	default:
		n.give(k)
		r.unacked++
	}
	n.askMissing(q, r, probe)
	done := r.msg != none && r.epsn >= n.msgs[r.msg].end
	if done || asked || r.unacked >= n.ackEvery {
		r.unacked = 0
		n.sendControl(q, ack, r.epsn-1)
	}
	if probe {
		n.sendControl(q, ack|isProbe, max(n.held[q].top, r.epsn)-1)
	}
	for r.msg != none && r.epsn >= n.msgs[r.msg].end {
		n.messageDone(r)
	}
}

// askMissing asks for the packets that must be lost: those too far behind the newest, or after a probe all gaps.
func (n *Network) askMissing(q uint32, r *receiver, probe bool) {
	a := &n.held[q]
	if probe {
		a.asked = r.epsn
	}
	a.asked = max(a.asked, r.epsn)
	limit := max(a.top, r.epsn)
	if !probe {
		if limit < n.lossDistance {
			return
		}
		limit -= n.lossDistance
	}
	for ; a.asked < limit; a.asked++ {
		if !a.held.has(a.asked) {
			n.sendControl(q, nak, a.asked)
		}
	}
}
