package flowsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/workload"
)

// A ring makes L steps; in each, every position sends s slices to the next, one behind the other. A slice can leave when the one
// before it has left (the connection is a queue) and when the same slice of the step before has come in. The time of the last
// arrival is the longest chain of such waits: at each step the chain either stays at a position, which costs the s slices of that
// position, or moves on to the next with the slice, which costs one slice and the way. So a chain that stays long is at the slowest
// position, and
//
//	T = max over stretches W of the ring, |W| <= L:   sum over W of (slice + way)  +  (L - |W|) * stay  +  (s - 1) * slice
//
// where stay is that of the slowest position. The two ends of the range, W as long as it may be and W around the slowest position
// extended while that pays, are worked out and the larger is taken. Chunks follow each other: NCCL's kernel begins the
// next when it has the last of the one before.

// rings works out all channels of all groups.
func (e *Estimator) rings(c workload.Call, groups [][]fabric.GPUID, times []float64, busy []float32) error {
	e.begin()
	for _, g := range groups {
		e.ring(c, g, func(ch, p int, src, dst fabric.GPUID, r *workload.Call) {
			_, _, slice := r.RingCut()
			e.add(src, dst, slice)
		})
	}
	e.settle()
	e.sent(busy, e.rounds(c, groups))
	e.again()
	var err error
	for i, g := range groups {
		if len(g) < 2 {
			continue
		}
		hops := make([]edge, len(g))
		c.Ranks = g
		r := c.Resolved(e.f)
		chunks, slices, slice := r.RingCut()
		e.ring(c, g, func(ch, p int, src, dst fabric.GPUID, _ *workload.Call) {
			hops[p] = e.look(src, dst, slice)
			if hops[p].broken {
				err = errBroken
			}
			if p == len(g)-1 {
				times[i] = max(times[i], float64(chunks)*around(hops, r.RingSteps(), slices))
			}
		})
	}
	return err
}

// ring visits the edges of every channel of a group in the order in which their connections open.
func (e *Estimator) ring(c workload.Call, g []fabric.GPUID, visit func(ch, p int, src, dst fabric.GPUID, r *workload.Call)) {
	if len(g) < 2 {
		return
	}
	c.Ranks = g
	r := c.Resolved(e.f)
	for ch := range r.Channels {
		order := r.RingOrder(e.f, ch)
		for p, rank := range order {
			visit(ch, p, g[rank], g[order[(p+1)%len(order)]], &r)
		}
	}
}

// around is the time of one pass of steps steps.
func around(hops []edge, steps, slices int) float64 {
	n := len(hops)
	move := func(p int) float64 { return float64(hops[p].ps*hops[p].planes) + hops[p].latency }
	slowest, slice := 0, 0.0
	for p := range hops {
		if hops[p].ps > hops[slowest].ps {
			slowest = p
		}
		slice = max(slice, float64(hops[p].ps*hops[p].planes))
	}
	stay := float64(hops[slowest].ps * float64(slices))
	extra := float64(float64(slices-1) * slice)

	// As many moves as there are steps: whole rounds and the best rest.
	whole, rest := steps/n, steps%n
	sum := 0.0
	for p := range hops {
		sum += move(p)
	}
	moving := float64(float64(whole) * sum)
	if rest > 0 {
		window := 0.0
		for p := range rest {
			window += move(p)
		}
		best := window
		for p := range hops {
			window += move((p+rest)%n) - move(p)
			best = max(best, window)
		}
		moving += best
	}

	// Staying at the slowest, and moves before and after it as far as they cost more than staying.
	staying := float64(steps-1)*stay + move(slowest)
	for _, step := range [2]int{1, n - 1} {
		gain, best := 0.0, 0.0
		for k, p := 1, slowest; k < min(n, steps); k++ {
			p = (p + step) % n
			gain += move(p) - stay
			best = max(best, gain)
		}
		staying += best
	}
	return max(moving, staying) + extra
}

// rounds is how many times over a phase carries what was loaded for one of its steps or chunks.
func (e *Estimator) rounds(c workload.Call, groups [][]fabric.GPUID) float64 {
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		c.Ranks = g
		r := c.Resolved(e.f)
		if c.Algorithm == workload.Tree {
			chunks, _ := r.TreeCut(0, 0)
			return float64(chunks)
		}
		chunks, slices, _ := r.RingCut()
		return float64(chunks * slices * r.RingSteps())
	}
	return 0
}
