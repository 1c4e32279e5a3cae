package flowsim

import (
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
)

// spreads is how flows that are split over all equal-cost ports load the fabric. Every flow from one leaf to another loads the
// same ports between them in the same shares. Ports that all pairs of leaves load alike, up to a factor, are one class, and the
// class is the constraint: in a sound two-tier network all uplinks of a leaf are one class, and all downlinks to a leaf another.
type spreads struct {
	class  []uint32  // by port, none where nothing goes
	factor []float64 // by port: its load for one byte through the class
	count  int
	member [][]fabric.PortID // by class

	pair []int32 // source leaf * leaves + destination leaf -> its list, -1 where no flow goes
	from []uint32
	hops []hop // of list i: hops[from[i]:from[i+1]]
	ways []way
}

// leafPairs collects which leaves exchange flows.
type leafPairs struct {
	seen []bool
	list [][2]uint32 // an endpoint below each leaf, for the routes
}

func (l *links) newPairs() *leafPairs { return &leafPairs{seen: make([]bool, l.count*l.count)} }

// add notes a flow between two endpoints; its acknowledgements go the other way.
func (p *leafPairs) add(l *links, a, b uint32) {
	la, lb := int(l.leafs[l.leaf[a]]), int(l.leafs[l.leaf[b]])
	if i := la*l.count + lb; !p.seen[i] {
		p.seen[i] = true
		p.list = append(p.list, [2]uint32{a, b})
	}
	if i := lb*l.count + la; !p.seen[i] {
		p.seen[i] = true
		p.list = append(p.list, [2]uint32{b, a})
	}
}

// spreadOver works out the classes for flows between the given pairs of leaves, and beside them the ports of every endpoint.
func (l *links) spreadOver(used *leafPairs) {
	s := &spreads{class: make([]uint32, len(l.f.Ports)), factor: make([]float64, len(l.f.Ports)), pair: make([]int32, l.count*l.count)}
	w := newWalker(l)
	sign := make([]uint64, len(l.f.Ports))
	for i := range s.pair {
		s.pair[i] = -1
	}
	for i, pr := range used.list {
		w.walk(pr[0], pr[1])
		for _, h := range w.out {
			if s.factor[h.con] == 0 {
				s.factor[h.con] = h.weight
			}
			share := math.Float64bits(h.weight / s.factor[h.con])
			sign[h.con] = route.Mix64(sign[h.con]*fnvPrime ^ uint64(i+1)<<32 ^ share)
		}
	}
	// The ports of endpoints are classes of their own: every flow that takes one takes it whole.
	for i := range s.class {
		s.class[i] = none
	}
	own := func(p fabric.PortID) {
		s.class[p], s.factor[p] = uint32(s.count), 1
		s.member = append(s.member, []fabric.PortID{p})
		s.count++
	}
	for _, p := range l.f.Endpoints {
		own(p)
		own(l.f.Ports[p].Peer)
	}
	known := map[uint64]uint32{} // only looked up, never iterated
	for p, sg := range sign {
		if sg == 0 {
			continue
		}
		c, ok := known[sg]
		if !ok {
			c = uint32(s.count)
			known[sg] = c
			s.member = append(s.member, nil)
			s.count++
		}
		s.class[p] = c
		s.member[c] = append(s.member[c], fabric.PortID(p))
	}
	sum := make([]float64, s.count) // by class: the load of the pair, once
	for i, pr := range used.list {
		w.walk(pr[0], pr[1])
		s.from = append(s.from, uint32(len(s.hops)))
		s.ways = append(s.ways, w.way)
		first := len(s.hops)
		for _, h := range w.out {
			c := s.class[h.con]
			if sum[c] == 0 {
				sum[c] = h.weight / s.factor[h.con]
				s.hops = append(s.hops, hop{c, sum[c]})
			}
		}
		for _, h := range s.hops[first:] {
			sum[h.con] = 0
		}
		s.pair[int(l.leafs[l.leaf[pr[0]]])*l.count+int(l.leafs[l.leaf[pr[1]]])] = int32(i)
	}
	s.from = append(s.from, uint32(len(s.hops)))
	l.split = s
}

// capacity is what a class can carry: its ports share alike, so the first that is full stops it.
func (s *spreads) capacity(l *links, con uint32) float64 {
	least := math.Inf(1)
	for _, p := range s.member[con] {
		least = min(least, float64(l.rate[p])/8e12/s.factor[p])
	}
	return least
}

// walkSplit is walk for flows that are split.
func (l *links) walkSplit(out []hop, a, b uint32, weight float64) ([]hop, way) {
	s := l.split
	pa, pb := l.f.Endpoints[a], l.f.Ports[l.f.Endpoints[b]].Peer
	out = append(out, hop{s.class[pa], weight})
	i := s.pair[int(l.leafs[l.leaf[a]])*l.count+int(l.leafs[l.leaf[b]])]
	if i < 0 {
		return out, way{}
	}
	for _, h := range s.hops[s.from[i]:s.from[i+1]] {
		out = append(out, hop{h.con, h.weight * weight})
	}
	out = append(out, hop{s.class[pb], weight})
	w := s.ways[i]
	w.latency += int64(l.f.Ports[pa].Delay)
	w.pass(l, pb)
	return out, w
}

// walker finds the shares of the ports between two leaves.
type walker struct {
	l        *links
	at       []fabric.NodeID // switches of this level
	share    []float64       // by node
	next     []fabric.NodeID
	out      []hop // con is a port here
	way      way
	incoming []float64 // by node, of the next level
}

func newWalker(l *links) *walker {
	return &walker{l: l, share: make([]float64, len(l.f.Nodes)), incoming: make([]float64, len(l.f.Nodes))}
}

// walk fills out with the ports from the leaf of a to the leaf of b, level by level.
func (w *walker) walk(a, b uint32) {
	l := w.l
	w.out, w.way = w.out[:0], way{ok: true}
	w.at = append(w.at[:0], l.leaf[a])
	w.share[l.leaf[a]] = 1
	for range maxHops {
		if len(w.at) == 1 && w.at[0] == l.leaf[b] {
			w.share[w.at[0]] = 0
			return
		}
		w.next = w.next[:0]
		for i, sw := range w.at {
			ports := l.next(sw, b)
			if len(ports) == 0 {
				w.way.ok = false
			}
			for k, p := range ports {
				each := w.share[sw] / float64(len(ports))
				w.out = append(w.out, hop{uint32(p), each})
				if i == 0 && k == 0 {
					w.way.pass(l, p) // the time of the first path stands for all
				}
				far := l.f.Ports[l.f.Ports[p].Peer].Node
				if w.incoming[far] == 0 {
					w.next = append(w.next, far)
				}
				w.incoming[far] += each
			}
			w.share[sw] = 0
		}
		for _, n := range w.next {
			w.share[n], w.incoming[n] = w.incoming[n], 0
		}
		w.at, w.next = w.next, w.at
		if len(w.at) == 0 {
			return
		}
	}
	for _, sw := range w.at {
		w.share[sw] = 0
	}
	w.way.ok = false
}
