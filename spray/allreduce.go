package spray

import (
	"math/rand/v2"

	"github.com/shunt-network/shunt/units"
)

// Ring is an AllReduce in a ring, as far as the cost of decisions matters to it: 2(N-1) steps, in each of which every rank sends one N-th of the
// data to the next and goes on when it has sent its own and received its neighbour's. There is no other traffic, no loss and no congestion, so
// what is above the time without decisions is what they cost.
type Ring struct {
	Ranks   int            // at least 2
	Size    units.Bytes    // of the data of a rank
	MTU     units.Bytes    // payload of a packet
	Rate    units.Rate     // of a rank's port; headers are left out
	Latency units.Duration // from the last bit sent to the next step, without the decision
}

// Ideal is the time without any decisions: 2(N-1) times the latency and the time of a chunk on the wire.
func (r Ring) Ideal() units.Duration {
	steps := units.Duration(2 * (r.Ranks - 1))
	return steps * (r.Latency + r.wire())
}

// chunk is what is sent in a step.
func (r Ring) chunk() units.Bytes {
	n := units.Bytes(r.Ranks)
	return (r.Size + n - 1) / n
}

// wire is the time of a chunk on the wire.
func (r Ring) wire() units.Duration { return units.Serialize(r.chunk(), r.Rate) }

// Times draws n runs of the AllReduce whose packets are all decided upon by the platform, in the order in which they are sent.
func (r Ring) Times(p Platform, n int, seed uint64) Distribution {
	random := rand.New(rand.NewPCG(seed, 1))
	list := make([]units.Duration, n)
	sender := newSender(r, p)
	now, next := make([]units.Duration, r.Ranks), make([]units.Duration, r.Ranks)
	for i := range list {
		clear(now)
		for range 2 * (r.Ranks - 1) {
			for k, start := range now {
				next[k] = start + sender.send(random) + r.Latency
			}
			for k := range now {
				before := (k + r.Ranks - 1) % r.Ranks
				now[k] = max(next[k], next[before])
			}
		}
		for _, t := range now {
			list[i] = max(list[i], t)
		}
	}
	return distribution(list)
}

// sender sends the chunks of a ring.
type sender struct {
	platform   Platform
	packets    int
	full, last units.Duration   // of a packet on the wire
	free       []units.Duration // by unit of the platform: when it is done with what it has
}

func newSender(r Ring, p Platform) *sender {
	packets := max(1, int((r.chunk()+r.MTU-1)/r.MTU))
	s := &sender{platform: p, packets: packets, full: units.Serialize(r.MTU, r.Rate), free: make([]units.Duration, max(1, p.Units))}
	s.last = units.Serialize(r.chunk()-units.Bytes(packets-1)*r.MTU, r.Rate)
	return s
}

// send is the time from the start of a step, when the whole chunk lies ready, until its last packet has left. A packet goes to the unit whose turn it
// is, and the wire takes packets in order.
func (s *sender) send(random *rand.Rand) units.Duration {
	clear(s.free)
	gathered := s.platform.draw(random, Gathers)
	wire := units.Duration(0)
	for i := range s.packets {
		unit := i % len(s.free)
		s.free[unit] = max(s.free[unit], gathered) + s.platform.draw(random, Occupies)
		decided := s.free[unit] + s.platform.draw(random, Overlaps)
		length := s.full
		if i == s.packets-1 {
			length = s.last
		}
		wire = max(wire, decided) + length
	}
	return wire
}
