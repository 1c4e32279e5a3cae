package netsim

import "github.com/shunt-network/shunt/units"

// The uec transport is reliable unordered delivery as Ultra Ethernet has it (specification 1.0, RUD; the behaviour follows the open
// simulator of its authors, uet-htsim). Packets are placed as they come and a message is done when all its packets are there, whatever
// is missing of those before. The receiver acknowledges every AckEvery packets, and at once the first packet of a QP, one marked by ECN,
// one that was sent before, one that asks for it and the last one missing of a message; each ACK tells of 64 packets. A packet that was
// trimmed is asked for at once. Without trimming loss is estimated at the sender (SLEEK): when a window and a half, at most the largest one,
// has arrived beyond a gap, the gap is a loss.

// sackSpan is how many packets an acknowledgement tells of.
const sackSpan = 64

// fewPackets is the least number of packets beyond a gap that make it a loss (uet-htsim, uec.cpp: min_retx_config).
const fewPackets = 5

// receiveUEC is a data packet at the receiver, whole or trimmed.
func (n *Network) receiveUEC(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	c, r := &n.nicCounters[ep], &n.rcv[q]
	d := signed(pk.psn - (n.snd[q].psn0 + uint32(r.epsn)))
	seq := r.epsn + uint64(d)
	flags := pk.flags
	first := n.held[q].top == 0
	if flags&trimmed != 0 {
		n.give(k)
		c.TrimmedPackets++
		if d >= 0 && d < n.reach && !n.held[q].held.has(seq) {
			n.sendSack(q, nak, seq, n.sackOf(q, seq))
		} else {
			n.ackUEC(q, seq)
		}
		return
	}
	n.overtakes(ep, q, seq, flags)
	switch n.arrived(ep, q, seq, d) {
	case duplicate:
		c.DuplicateRequest++
		n.drop(n.nics[ep].port, k, DropStale)
		n.ackUEC(q, seq)
		return
	case tooFar:
		c.OutOfSequence++
		n.drop(n.nics[ep].port, k, DropOutOfOrder)
		return
	case ahead:
		c.OutOfSequence++
	}
	n.give(k)
	done := n.partOf(r, seq)
	if r.unacked++; first || done || flags&(marked|asksAck|resent) != 0 || r.unacked >= n.ackEvery {
		n.ackUEC(q, seq)
	}
}

// partOf counts a packet for its message, and completes the message when it was the last one missing.
func (n *Network) partOf(r *receiver, seq uint64) (done bool) {
	mi := r.msg
	for n.msgs[mi].end <= seq {
		mi = n.msgs[mi].next
	}
	m := &n.msgs[mi]
	m.got++
	if done = m.first+uint64(m.got) == m.end; done {
		n.partDone(m.op)
	}
	for r.msg != none && r.epsn >= n.msgs[r.msg].end { // done before
		r.msg = n.msgs[r.msg].next
	}
	return done
}

// sackOf tells of the 64 packets up to seq, or from the expected one.
func (n *Network) sackOf(q uint32, seq uint64) sack {
	r, held := &n.rcv[q], &n.held[q].held
	base := r.epsn
	if seq >= base+sackSpan {
		base = seq - sackSpan + 1
	}
	return sack{base: base, bits: held.word(base), held: uint32(held.n)}
}

func (n *Network) ackUEC(q uint32, seq uint64) {
	r := &n.rcv[q]
	r.unacked = 0
	n.sendSack(q, ack, r.epsn-1, n.sackOf(q, seq))
}

// uecCanSend tells whether a QP has a packet that its window allows.
func (n *Network) uecCanSend(q uint32, s *sender) bool {
	f := &n.flights[q]
	return (f.again.n > 0 || s.cur != none && int64(s.nxt-s.una) < n.reach) && (f.inFlight+1)*int64(n.mtu) <= f.window
}

// uecChoose is the packet that a QP sends next: the oldest one lost, else a new one.
func (n *Network) uecChoose(q uint32, s *sender) uint64 {
	f := &n.flights[q]
	f.inFlight++
	if f.again.n == 0 {
		return s.nxt
	}
	seq := s.una
	for f.again.word(seq) == 0 {
		seq += 64
	}
	for !f.again.has(seq) {
		seq++
	}
	n.cut(&f.again, seq)
	return seq
}

// uecAcknowledged is an ACK, or the NAK of a trimmed packet, at the sender.
func (n *Network) uecAcknowledged(q uint32, s *sender, reached uint64, isNAK bool, sk sack) {
	f := &n.flights[q]
	if isNAK {
		n.sequenceError(q, s)
		if seq := reached - 1; seq >= s.una && seq < s.nxt {
			n.isLost(f, seq)
			s.since = n.now // it was no progress, but it is known what became of the packet
		}
	} else if reached > s.una {
		n.advance(q, s, reached)
	}
	for i, left := uint64(0), sk.bits; left != 0; i, left = i+1, left>>1 {
		seq := sk.base + i
		if left&1 == 0 || seq < s.una || seq >= s.nxt || f.acked.has(seq) {
			continue
		}
		if f.again.has(seq) {
			n.cut(&f.again, seq)
		} else {
			f.inFlight--
		}
		n.put(&f.acked, seq)
		f.top = max(f.top, seq+1)
		s.since, f.progress = n.now, n.now
	}
	if !n.trim {
		n.sleek(f, s, int64(sk.held))
	}
}

// isLost puts a packet among those to be sent again.
func (n *Network) isLost(f *flight, seq uint64) {
	if !f.acked.has(seq) && !f.again.has(seq) {
		n.put(&f.again, seq)
		f.inFlight--
	}
}

// sleek takes gaps for losses when enough has arrived beyond them. A recovery sends each gap once and lasts until everything sent before it
// is acknowledged.
func (n *Network) sleek(f *flight, s *sender, held int64) {
	if f.recovering && s.una >= f.end {
		f.recovering = false
	}
	if !f.recovering {
		enough := max(min(mulDiv(f.window, n.lossFactor, 1<<16), f.most)/int64(n.mtu), fewPackets)
		if held < enough {
			return
		}
		f.recovering, f.end, f.scan = true, s.nxt, s.una
	}
	for f.scan = max(f.scan, s.una); f.scan < min(f.top, f.end); f.scan++ {
		n.isLost(f, f.scan)
	}
}

// uecTimeout is a timeout: everything that is out is sent again.
func (n *Network) uecTimeout(f *flight, s *sender) {
	for seq := s.una; seq < s.nxt; seq++ {
		n.isLost(f, seq)
	}
	f.recovering, f.end, f.scan = true, s.nxt, s.nxt
}

// uecWindow is the window of a new QP: one and a half bandwidth-delay products (uet-htsim: initial and largest window), or what is
// configured.
func (n *Network) uecWindow(a, b uint32) int64 {
	w := n.window
	if w == 0 {
		w = int64(n.productOf(a, b) * 3 / 2)
	}
	return min(max(w, int64(units.Bytes(n.mtu))), n.reach*int64(n.mtu))
}
