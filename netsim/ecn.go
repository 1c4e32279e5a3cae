package netsim

import "github.com/shunt-network/shunt/netsim/route"

// ecnCurve is the marking curve of a port (the congestion point of DCQCN, SIGCOMM 2015 figure 5), with pmax as 32-bit fixed point.
type ecnCurve struct {
	kmin, kmax int64
	pmax       uint64
}

// mark decides when a packet leaves the queue, by what the queue holds then with the packet itself: marking at the head of the queue tells
// the receiver of the congestion of now, and not of when the packet came.
func (n *Network) mark(pi uint32, e *egress, pk *packet) {
	c := &n.ecn[pi]
	if e.bytes <= c.kmin {
		return
	}
	if e.bytes < c.kmax {
		// p = pmax (q-kmin)/(kmax-kmin), compared without division: both sides stay below 2^63 as kmax is below 2 GiB.
		draw := uint64(n.rngs[pi].uint32())
		if draw*uint64(c.kmax-c.kmin) >= c.pmax*uint64(e.bytes-c.kmin) {
			return
		}
	}
	if pk.flags&marked == 0 {
		pk.flags |= marked
		e.marked++
	}
}

// markJoining marks a packet that has just joined a queue, by the queue with it.
func (n *Network) markJoining(pi, k uint32) {
	pk := &n.pool.packets[k]
	if pk.kind() == data && n.ecnPriorities>>pk.prio&1 != 0 {
		n.mark(pi, &n.egress[class(pi, pk.prio)], pk)
	}
}

// stream is the source of chance of one entity.
type stream struct{ route.Stream }

func (s *stream) uint32() uint32 { return s.Uint32() }

// newStream seeds the stream of an entity by the seed of the run and its name (FNV-1a), so that adding another entity moves nobody
// else's dice.
func newStream(seed uint64, name string) stream {
	var s stream
	s.Seed(seed, fnv(fnvOffset, name))
	return s
}

// FNV-1a, 64 bits (Fowler, Noll, Vo).
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
