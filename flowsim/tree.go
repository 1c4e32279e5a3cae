package flowsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A tree passes chunks up, added up on the way, and the sums back down, one chunk behind the other. Once the pipeline is full every edge
// carries a chunk at a time, so an edge takes for a chunk what the links take for what all edges put on them. The first chunk finds the
// pipeline empty: it shares the links of a rank with those that come from the rank's other children alone. The last sum arrives after
// the longest way up and down for the first chunk, and one chunk of the slowest edge for each chunk behind it.

// trees works out both trees of all channels of all groups.
func (e *Estimator) trees(c workload.Call, groups [][]fabric.GPUID, times []float64, busy []float32) error {
	e.begin()
	for _, g := range groups {
		e.tree(c, g, func(t treeOf) {
			for _, r := range t.order {
				if up := t.up[r]; up >= 0 {
					e.add(g[r], g[up], t.chunk)
					e.add(g[up], g[r], t.chunk)
				}
			}
		})
	}
	e.settle()
	e.sent(busy, e.rounds(c, groups))
	e.again()
	var err error
	for i, g := range groups {
		up, down := make([]float64, len(g)), make([]float64, len(g)) // when the first chunk is at a rank, on its way up and down
		sent := make([]float64, len(g))                              // what the edge to the parent takes
		back := make([]float64, len(g))
		children := make([]int, len(g))
		e.tree(c, g, func(t treeOf) {
			slowest := 0.0
			clear(children)
			for _, r := range t.order[1:] {
				children[t.up[r]]++
			}
			for _, r := range t.order {
				if p := t.up[r]; p >= 0 {
					there, here := e.look(g[r], g[p], t.chunk), e.look(g[p], g[r], t.chunk)
					if there.broken || here.broken {
						err = errBroken
					}
					slowest = max(slowest, there.ps, here.ps)
					sent[r] = min(there.ps*there.planes, e.alone(g[r], g[p], t.chunk, children[p])) + there.latency
					back[r] = min(here.ps*here.planes, e.alone(g[p], g[r], t.chunk, children[p])) + here.latency
				}
			}
			clear(up)
			for k := len(t.order) - 1; k > 0; k-- { // leaves first
				r := t.order[k]
				up[t.up[r]] = max(up[t.up[r]], up[r]+sent[r])
			}
			last := 0.0
			down[t.order[0]] = up[t.order[0]]
			for _, r := range t.order[1:] {
				down[r] = down[t.up[r]] + back[r]
				last = max(last, down[r])
			}
			times[i] = max(times[i], last+float64(float64(t.chunks-1)*slowest))
		})
	}
	return err
}

// alone is how long a chunk takes that shares the NIC, or NVLink, with those of some children, and nothing else.
func (e *Estimator) alone(src, dst fabric.GPUID, chunk units.Bytes, children int) float64 {
	if e.links.local(src, dst) {
		return float64(float64(chunk)*float64(children)) * 8e12 / float64(e.f.NVLink.Rate)
	}
	a, b := e.links.ends(src, dst, 0)
	narrow := min(e.links.capacityOf(e.f.Endpoints[a]), e.links.capacityOf(e.f.Ports[e.f.Endpoints[b]].Peer))
	return float64(e.links.c.wire(chunk)*float64(children)) / narrow
}

// treeOf is one tree of one channel of a group.
type treeOf struct {
	up, order []int
	chunks    int
	chunk     units.Bytes
}

// tree visits the trees of a group.
func (e *Estimator) tree(c workload.Call, g []fabric.GPUID, visit func(t treeOf)) {
	if len(g) < 2 {
		return
	}
	c.Ranks = g
	r := c.Resolved(e.f)
	for ch := range r.Channels {
		for which := range 2 {
			chunks, chunk := r.TreeCut(ch, which)
			if chunks == 0 {
				continue
			}
			up, order := r.Tree(e.f, ch, which)
			visit(treeOf{up, order, chunks, chunk})
		}
	}
}
