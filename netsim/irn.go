package netsim

import "github.com/shunt-network/shunt/units"

// IRN (Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018) takes packets in any order and acknowledges selectively: a
// packet beyond a gap is answered by a NAK that carries the cumulative acknowledgement and the packet that came. What a later packet has
// overtaken counts as lost, so it repairs loss within a round trip, and takes spraying for loss. A sender has at most one bandwidth-delay
// product of packets out, which stands in for flow control. Where the paper leaves it open, a timeout takes everything unacknowledged
// for lost, and a QP gives up when InfiniBand would.

// receiveIRN is a data packet at the receiver.
func (n *Network) receiveIRN(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	c, r := &n.nicCounters[ep], &n.rcv[q]
	d := signed(pk.psn - (n.snd[q].psn0 + uint32(r.epsn)))
	seq := r.epsn + uint64(d)
	n.overtakes(ep, q, seq, pk.flags)
	switch n.arrived(ep, q, seq, d) {
	case duplicate:
		c.DuplicateRequest++
		n.drop(n.nics[ep].port, k, DropStale)
		n.sendSack(q, ack, r.epsn-1, sack{})
	case tooFar:
		c.OutOfSequence++
		n.drop(n.nics[ep].port, k, DropOutOfOrder)
	case ahead:
		c.OutOfSequence++
		n.give(k)
		r.unacked = 0
		n.sendSack(q, nak, r.epsn-1, sack{base: seq})
	default:
		n.give(k)
		done := r.msg != none && r.epsn >= n.msgs[r.msg].end
		if r.unacked++; done || r.unacked >= n.ackEvery || n.held[q].held.n > 0 {
			r.unacked = 0
			n.sendSack(q, ack, r.epsn-1, sack{})
		}
		for r.msg != none && r.epsn >= n.msgs[r.msg].end {
			n.messageDone(r)
		}
	}
}

// irnLost is the next packet that counts as lost.
func (n *Network) irnLost(f *flight, s *sender) (seq uint64, ok bool) {
	if !f.recovering {
		return 0, false
	}
	f.scan = max(f.scan, s.una)
	limit := min(max(f.top, f.lost), s.nxt)
	for f.scan < limit && f.acked.has(f.scan) {
		f.scan++
	}
	return f.scan, f.scan < limit
}

// irnCanSend tells whether a QP has a lost packet, or a new one that its window allows.
func (n *Network) irnCanSend(q uint32, s *sender) bool {
	f := &n.flights[q]
	if _, ok := n.irnLost(f, s); ok {
		return true
	}
	return s.cur != none && int64(s.nxt-s.una+1)*int64(n.mtu) <= f.window
}

// irnAcknowledged is an ACK or NAK at the sender; reached is after the last packet it acknowledges.
func (n *Network) irnAcknowledged(q uint32, s *sender, reached uint64, isNAK bool, sk sack) {
	f := &n.flights[q]
	if reached > s.una {
		n.advance(q, s, reached)
	}
	if isNAK {
		n.sequenceError(q, s)
		if sk.base >= s.una && sk.base < s.top && !f.acked.has(sk.base) {
			n.put(&f.acked, sk.base)
			s.since, f.progress = n.now, n.now
		}
		f.top = max(f.top, sk.base+1)
		if !f.recovering && s.una < s.nxt {
			f.recovering, f.end, f.scan = true, s.nxt, s.una
		}
	}
	if f.recovering && s.una >= f.end {
		f.recovering = false
	}
}

// irnTimeout is a timeout: the sender looks for loss among everything it has out.
func (n *Network) irnTimeout(f *flight, s *sender) {
	f.recovering, f.end, f.scan, f.lost = true, s.nxt, s.una, s.nxt
}

// irnRTO is the timeout of now.
func (n *Network) irnRTO(s *sender) int64 {
	if s.nxt-s.una <= n.irnFew {
		return n.shortRTO
	}
	return n.irnHigh
}

// irnWindow is the window of a new QP: one bandwidth-delay product in whole packets, or what is configured.
func (n *Network) irnWindow(a, b uint32) int64 {
	w := n.window
	if w == 0 {
		wire := units.Bytes(n.mtu + headerBytes)
		w = int64((n.productOf(a, b)+wire-1)/wire) * int64(n.mtu)
	}
	return min(w, n.reach*int64(n.mtu))
}
