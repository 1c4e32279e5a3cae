package flowsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// In an alltoall or sendrecv every pair exchanges its part at once, or, with a limit of peers in flight, in rounds. A rank enters a round
// when its round that many before is over, so rounds are taken in blocks of as many as may be in flight, each block when the one before
// is over for the group.

// exchange works out all groups.
func (e *Estimator) exchange(c workload.Call, groups [][]fabric.GPUID, times []float64, busy []float32) error {
	rounds, most := 1, 1
	for _, g := range groups {
		most = max(most, len(g)-1)
	}
	if c.Collective == workload.AllToAll {
		rounds = most
	}
	at := rounds
	if c.InFlight > 0 && c.Collective == workload.AllToAll {
		at = min(rounds, c.InFlight)
	}
	if len(groups) > 0 {
		r := c
		r.Ranks = groups[0]
		e.messages = r.Resolved(e.f).Channels
	}
	var flows int64
	for from := 1; from <= rounds; from += at {
		to := min(rounds, from+at-1)
		e.begin()
		for _, g := range groups {
			pairs(c, g, from, to, e.add)
		}
		flows += e.flows
		e.settle()
		e.again()
		broken := false
		for i, g := range groups {
			worst := 0.0
			pairs(c, g, from, to, func(src, dst fabric.GPUID, part units.Bytes) {
				x := e.look(src, dst, part)
				worst = max(worst, x.ps+x.latency)
				broken = broken || x.broken
			})
			times[i] += worst
		}
		if broken {
			return errBroken
		}
		e.sent(busy, 1)
	}
	e.flows = flows
	return nil
}

// pairs visits who sends to whom in the rounds from..to of a group.
func pairs(c workload.Call, g []fabric.GPUID, from, to int, visit func(src, dst fabric.GPUID, part units.Bytes)) {
	n := len(g)
	if n < 2 {
		return
	}
	c.Ranks = g
	c.Size = max(c.Size, units.Bytes(n))
	part := c.Part()
	if c.Collective == workload.SendRecv {
		part = c.Size
	}
	for d := from; d <= min(to, n-1); d++ {
		for i := range n {
			visit(g[i], g[(i+d)%n], part)
		}
	}
}
