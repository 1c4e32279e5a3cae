package netsim

import (
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// A reliable connection as the InfiniBand Architecture Specification has it (volume 1, 9.7): packets are numbered, the receiver
// acknowledges in order, the sender keeps what is not acknowledged and starts again from a sequence error or a timeout.
// Inside, sequence numbers have 64 bits and start at 0; on the wire they have 24 and start at psn0.

// message is one message, or one QP's part of it.
type message struct {
	bytes      int64
	first, end uint64 // packets first..end-1
	rate       int64  // cap, 0 for none
	op         uint32
	qp         uint32
	next       uint32 // posted behind it; chain of the free list
	got        uint32 // uec: packets that have arrived
}

// State of a sender.
const (
	inRing uint8 = 1 << iota // in its NIC's ring
	pacing                   // an evPace is due
	timing                   // an evTimeout is due
	dead                     // gave up
)

// sender is the requester half of a QP.
type sender struct {
	una, nxt, top    uint64 // oldest unacknowledged; next to send; after the newest ever sent
	end              uint64 // after the newest posted
	paceAt, paceRate int64  // next packet not before; the rate that was reckoned with
	wakeAt           int64  // when the evPace that counts is due
	window, rate     int64  // most in flight; most that may be sent at: noLimit where there is none
	since            int64  // last progress: what the timeout runs from
	oldest, cur      uint32 // messages: of una, of nxt
	newest           uint32
	src, dst         uint32
	hash             uint32
	next             uint32 // behind it in the ring
	psn0             uint32
	prio             uint8
	retries          uint8
	flags            uint8
}

// receiver is the responder half.
type receiver struct {
	epsn    uint64 // expected
	cnpAt   int64  // next CNP not before
	msg     uint32 // oldest message not complete
	hash    uint32 // of the way back
	unacked uint32 // packets since the last ACK
	naked   bool   // the NAK for epsn is out
	late    bool   // go-back-n: something later than the expected one has come
	gone    bool   // its NIC was reset: what arrives is for nobody
}

// post appends message mi to its QP.
func (n *Network) post(mi uint32) {
	m := &n.msgs[mi]
	s, r := &n.snd[m.qp], &n.rcv[m.qp]
	packets := max(1, (m.bytes+int64(n.mtu)-1)/int64(n.mtu))
	m.first, m.end, m.next = s.end, s.end+uint64(packets), none
	s.end = m.end
	if s.oldest == none {
		s.oldest = mi
	} else {
		n.msgs[s.newest].next = mi
	}
	s.newest = mi
	if s.cur == none {
		s.cur = mi
	}
	if r.msg == none {
		r.msg = mi
	}
	if s.flags&dead != 0 && !n.plan.Ops[m.op].Background {
		n.hopeless = true
	}
	n.activate(m.qp)
}

// canSend tells whether a QP has a packet that its window allows.
func (n *Network) canSend(q uint32, s *sender) bool {
	if n.transport != tGoBackN {
		return n.canSendAny(q, s)
	}
	return n.canSendNew(s)
}

// canSendNew tells whether a QP has a new packet that its window allows.
func (n *Network) canSendNew(s *sender) bool {
	return s.cur != none && int64(s.nxt-s.una+1)*int64(n.mtu) <= s.window
}

// signed is the difference of two 24-bit sequence numbers.
func signed(d uint32) int64 { return int64(int32(d<<(32-psnBits)) >> (32 - psnBits)) }

// receiveData is a data packet at its receiver.
func (n *Network) receiveData(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	if n.rcv[q].gone {
		n.drop(n.nics[ep].port, k, DropStale)
		return
	}
	if n.context.ids != nil && !n.understood(ep, q, k) {
		return
	}
	c := &n.nicCounters[ep]
	c.RxDataBytes += uint64(pk.size - headerBytes)
	if pk.flags&asksAck != 0 {
		n.rcv[q].unacked = n.ackEvery
	}
	if n.notes != nil {
		n.noteArrived(q, k)
	}
	if pk.flags&marked != 0 {
		n.congested(ep, q) // may move the pool: pk is void from here
	}
	if n.transport == tGoBackN {
		n.receiveInOrder(ep, q, k)
		return
	}
	switch n.transport {
	case tPlace:
		n.receivePlace(ep, q, k)
	case tIRN:
		n.receiveIRN(ep, q, k)
	case tUEC:
		n.receiveUEC(ep, q, k)
	}
}

// overtakes keeps the newest packet that a receiver has seen, and counts those that come behind it for the first time.
func (n *Network) overtakes(ep, q uint32, seq uint64, flags uint8) {
	a := &n.held[q]
	top := max(a.top, n.rcv[q].epsn)
	if seq >= top {
		a.top = seq + 1
	} else if flags&resent == 0 && seq+1 < top {
		n.reordering[ep].overtaken(top - 1 - seq)
	}
}

// receiveInOrder is a data packet at a go-back-N receiver.
func (n *Network) receiveInOrder(ep, q, k uint32) {
	pk := &n.pool.packets[k]
	c, r := &n.nicCounters[ep], &n.rcv[q]
	d := signed(pk.psn - (n.snd[q].psn0 + uint32(r.epsn)))
	if d != 0 || r.late {
		n.overtakes(ep, q, r.epsn+uint64(d), pk.flags)
		r.late = n.held[q].top > r.epsn
	}
	switch {
	case d == 0:
		n.give(k)
		r.epsn++
		r.naked = false
		r.unacked++
		done := r.msg != none && r.epsn == n.msgs[r.msg].end
		if done || r.unacked >= n.ackEvery {
			r.unacked = 0
			n.sendControl(q, ack, r.epsn-1)
		}
		if done {
			n.messageDone(r)
		}
	case d > 0:
		c.OutOfSequence++
		n.drop(n.nics[ep].port, k, DropOutOfOrder)
		if !r.naked {
			r.naked = true
			r.unacked = 0
			n.sendControl(q, nak, r.epsn)
		}
	default: // the sender did not see the acknowledgement: repeat it (9.7.5.1.4)
		c.DuplicateRequest++
		n.drop(n.nics[ep].port, k, DropStale)
		n.sendControl(q, ack, r.epsn-1)
	}
}

// messageDone completes the oldest message of a receiver.
func (n *Network) messageDone(r *receiver) {
	m := &n.msgs[r.msg]
	r.msg = m.next
	n.partDone(m.op)
}

// acknowledged is an ACK or NAK at the sender.
func (n *Network) acknowledged(q, k, psn uint32, flags uint8, sk sack) {
	s := &n.snd[q]
	before := n.delivered(q, s)
	d := signed(psn - (s.psn0 + uint32(s.una)))
	reached := s.una + uint64(d) + 1 // after what it acknowledges
	if int64(reached) < 0 || reached > s.top {
		return // acknowledges what was never sent
	}
	isNAK := flags&kindMask == nak
	switch n.transport {
	case tPlace:
		n.placeAcknowledged(q, s, reached, flags)
	case tIRN:
		n.irnAcknowledged(q, s, reached, isNAK, sk)
	case tUEC:
		n.uecAcknowledged(q, s, reached, isNAK, sk)
	default:
		if !n.inOrderAcknowledged(q, s, reached, isNAK) {
			return
		}
	}
	if n.notes != nil {
		n.heard(q, s, k, flags, before)
	}
	if s.flags&inRing != 0 && !n.canSend(q, s) {
		n.deactivate(q)
	}
	n.activate(q)
}

// inOrderAcknowledged is an acknowledgement in go-back-N; it is false when the QP gave up.
func (n *Network) inOrderAcknowledged(q uint32, s *sender, reached uint64, isNAK bool) bool {
	if isNAK {
		n.sequenceError(q, s)
		reached-- // it names the packet that was expected
	}
	if reached < s.una || reached == s.una && !isNAK {
		return true // older than what is known
	}
	progress := reached > s.una
	if progress {
		n.advance(q, s, reached)
	}
	if isNAK && s.una < s.nxt {
		if !progress && !n.retry(q, s) {
			return false
		}
		n.rewind(s)
	}
	return true
}

// advance moves the oldest unacknowledged packet on and gives back the messages that are done with.
func (n *Network) advance(q uint32, s *sender, to uint64) {
	if n.flights != nil {
		n.landed(&n.flights[q], s, to)
	}
	s.una = to
	s.since = n.now
	s.retries = 0
	if s.nxt < to { // acknowledged after the sender had gone back
		s.nxt = to
		for s.cur != none && n.msgs[s.cur].end <= to {
			s.cur = n.msgs[s.cur].next
		}
	}
	for s.oldest != none && n.msgs[s.oldest].end <= to {
		done := s.oldest
		s.oldest = n.msgs[done].next
		n.msgs[done].next = n.freeMsg
		n.freeMsg = done
	}
	if n.missing != nil {
		n.missing[q].trim(s.una, s.top)
	}
}

// rewind starts again from the oldest unacknowledged packet.
func (n *Network) rewind(s *sender) {
	s.nxt = s.una
	s.cur = s.oldest
}

// retry counts one against the QP's retry count and gives up when there is none left.
func (n *Network) retry(q uint32, s *sender) bool {
	if s.retries < n.retryCount {
		s.retries++
		return true
	}
	n.giveUp(q, s)
	return false
}

// giveUp takes a QP out of service: its operations never end.
func (n *Network) giveUp(q uint32, s *sender) {
	n.deactivate(q)
	s.flags |= dead
	n.nicCounters[s.src].RetryExceeded++
	n.abandon(s)
	if n.probe.RetryExceeded != nil {
		n.probe.RetryExceeded(portID(n.nics[s.src].port), portID(n.nics[s.dst].port), units.At(n.now))
	}
}

// abandon remembers whether the run waits for something that a dead QP has not delivered.
func (n *Network) abandon(s *sender) {
	for m := s.oldest; m != none; m = n.msgs[m].next {
		n.hopeless = n.hopeless || !n.plan.Ops[n.msgs[m].op].Background
	}
}

// arm starts the retransmission timer of a QP. It is not moved with every ACK: when it fires it looks how long ago the last progress was.
func (n *Network) arm(q uint32, s *sender) {
	if n.shortRTO > 0 {
		s.flags |= timing
		n.queue.push(newEvent(n.now+n.shortRTO, evTimeout, q))
	}
}

// timeout is evTimeout.
func (n *Network) timeout(q uint32) {
	s := &n.snd[q]
	s.flags &^= timing
	if s.flags&dead != 0 || s.una == s.nxt && s.una == s.top {
		return
	}
	rto := n.shortRTO
	if n.transport == tIRN {
		rto = n.irnRTO(s)
	}
	if due := s.since + rto; due > n.now {
		s.flags |= timing
		n.queue.push(newEvent(min(due, n.now+n.shortRTO), evTimeout, q))
		return
	}
	n.nicCounters[s.src].LocalAckTimeout++
	n.qpCounters[q].timeouts++
	switch n.transport {
	case tIRN, tUEC:
		f := &n.flights[q]
		if n.spent(f) {
			n.giveUp(q, s)
			return
		}
		if n.transport == tIRN {
			n.irnTimeout(f, s)
		} else {
			n.uecTimeout(f, s)
		}
	default:
		if !n.retry(q, s) {
			return
		}
		if n.transport == tPlace {
			n.probeLost(q, s)
		} else {
			n.rewind(s)
		}
	}
	n.timedOut(q, s)
	s.since = n.now
	n.arm(q, s)
	n.activate(q)
}

// mulDiv is a*b/c with the product in 128 bits, and the largest int64 where the result does not fit.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 1 << 62
	}
	v, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(v, 1<<62))
}
