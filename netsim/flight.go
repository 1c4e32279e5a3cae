package netsim

import "github.com/shunt-network/shunt/units"

// flight is what the sender of one QP knows of its packets from una on, in the transports that acknowledge selectively (irn and uec).
type flight struct {
	acked ring   // arrived
	again ring   // uec: to be sent again
	top   uint64 // after the newest packet that is known to have arrived
	scan  uint64 // next one to look at for loss
	lost  uint64 // irn: after a timeout, what lies before it and has not arrived is lost
	end   uint64 // the recovery under way is over when una gets here

	recovering bool
	inFlight   int64 // uec: packets sent and neither arrived nor lost
	window     int64 // bytes
	most       int64 // the window at the start, which is the largest
	progress   int64 // when a packet was last acknowledged
}

// sack is what an acknowledgement tells besides its PSN. It lies beside the packets, by their index, because data has none.
type sack struct {
	base uint64 // irn: the packet that arrived; uec: sequence number of the lowest bit
	bits uint64 // uec: which of the 64 from base on have arrived
	held uint32 // uec: packets that have arrived beyond a gap
}

// sendSack is sendControl with a sack.
func (n *Network) sendSack(q uint32, kind uint8, psn uint64, sk sack) {
	n.pendingSack = sk
	n.sendControl(q, kind, psn)
}

// landed takes the packets before to out of the books of a sender.
func (n *Network) landed(f *flight, s *sender, to uint64) {
	f.progress = n.now
	f.inFlight -= int64(min(to, s.nxt) - s.una)
	if f.acked.n == 0 && f.again.n == 0 {
		return
	}
	for seq := s.una; seq < to; seq++ {
		switch {
		case f.acked.has(seq):
			n.cut(&f.acked, seq)
			f.inFlight++ // it had left the flight when it was acknowledged
		case f.again.has(seq):
			n.cut(&f.again, seq)
			f.inFlight++
		}
	}
}

// messageOf is the message that packet seq belongs to; it has not been acknowledged.
func (n *Network) messageOf(s *sender, seq uint64) uint32 {
	m := s.oldest
	for n.msgs[m].end <= seq {
		m = n.msgs[m].next
	}
	return m
}

// spent tells that a QP has had no progress for as long as an InfiniBand requester takes to give up: its first timeout and its retries.
// The transports with timers of their own give up then.
func (n *Network) spent(f *flight) bool {
	return n.rto > 0 && n.now-f.progress >= int64(n.retryCount+1)*n.rto
}

// roundTrip is the time of a full packet from endpoint a to b on an idle network and of its acknowledgement back, on the longest of the
// shortest paths.
func (n *Network) roundTrip(a, b uint32) units.Duration {
	budget := maxPathSteps
	return units.Duration(n.longest(uint32(n.f.Endpoints[a]), b, int64(n.mtu+headerBytes), &budget)) +
		units.Duration(n.longest(uint32(n.f.Endpoints[b]), a, controlBytes, &budget))
}

// maxPathSteps bounds the search for the longest path between two NICs; Clos networks have all their paths alike.
const maxPathSteps = 512

// longest is how long a packet takes at most that leaves through port p for endpoint ep.
func (n *Network) longest(p, ep uint32, size int64, budget *int) int64 {
	*budget--
	q := &n.ports[p]
	at := int64(units.Serialize(units.Bytes(size), n.f.Ports[p].Rate)) + q.delay
	if n.ports[q.peer].host {
		return at
	}
	rest := int64(0)
	for i, next := range n.f.NextHops(n.switches[n.ports[q.peer].node].node, int32(ep)) {
		if i > 0 && *budget <= 0 {
			break
		}
		rest = max(rest, n.longest(uint32(next), ep, size, budget))
	}
	return at + rest
}

// productOf is the bandwidth-delay product between two endpoints: what is in flight on an idle network when the sender never waits.
func (n *Network) productOf(a, b uint32) units.Bytes {
	rate := min(n.f.Ports[n.f.Endpoints[a]].Rate, n.f.Ports[n.f.Endpoints[b]].Rate)
	return units.Bytes(mulDiv(int64(n.roundTrip(a, b)), int64(rate), 8*int64(units.Second)))
}
