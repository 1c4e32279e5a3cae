package validation

import (
	"fmt"
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Per-flow hashing throws flows into uplinks like balls into bins. The chance that none of m bins holds more than k of n balls is
//
//	n!/m^n [x^n] (sum_{j<=k} x^j/j!)^m
//
// from the exponential generating function of the multinomial; the mean of the fullest follows by summing 1 - P(max <= k). The mean of
// the empty ones is m (1 - 1/m)^n.
func atMost(n, m, k int) float64 {
	poly := make([]float64, n+1) // coefficients of x^i of the product so far, i! / m^i taken in to stay in range
	poly[0] = 1
	for range m {
		next := make([]float64, n+1)
		for i, c := range poly {
			for j := 0; j <= k && i+j <= n; j++ {
				// binomial(i+j, j) and the share 1/m of each ball
				next[i+j] += c * math.Exp(lgamma(i+j)-lgamma(i)-lgamma(j)-float64(j)*math.Log(float64(m)))
			}
		}
		poly = next
	}
	return poly[n]
}

func lgamma(n int) float64 {
	v, _ := math.Lgamma(float64(n + 1))
	return v
}

func meanFullest(n, m int) float64 {
	e := 0.0
	for k := range n {
		e += 1 - atMost(n, m, k)
	}
	return e
}

// n hosts of one leaf send one flow each to their counterparts of another over m uplinks, for many seeds; the uplinks are counted by the data
// that left them. The tolerance is three standard errors of the mean of the runs, the deviation of one run being measured.
func TestLadderCollisions(t *testing.T) {
	t.Parallel()
	const seeds = 300
	for _, c := range []struct {
		flows, uplinks int
		path           netsim.PathChoice
	}{{16, 16, netsim.ECMP}, {64, 16, netsim.ECMP}, {8, 4, netsim.ECMP}, {16, 16, netsim.ECMPQPN}} {
		f := leafSpine(2, c.flows, c.uplinks, wire)
		var ops []workload.Op
		for i := range c.flows {
			ops = append(ops, send(i, c.flows+i, mtu))
		}
		p := planOf(ops...)
		var fullest, empty, square float64
		for seed := range seeds {
			cfg := quiet()
			cfg.Seed, cfg.Path = uint64(seed+1), c.path
			most, none := load(run(t, f, p, cfg))
			fullest += float64(most) / seeds
			square += float64(most*most) / seeds
			empty += float64(none) / seeds
		}
		name := fmt.Sprintf("%d flows on %d uplinks, %s", c.flows, c.uplinks, c.path)
		three := 3 * math.Sqrt((square-fullest*fullest)/seeds)
		want := meanFullest(c.flows, c.uplinks)
		check(t, near(closedForm, name+": flows on the fullest", "mean", want, three/want, "balls in bins, 300 seeds, 3 standard errors"), fullest)
		idle := float64(c.uplinks) * math.Pow(1-1/float64(c.uplinks), float64(c.flows))
		// Empty bins are negatively correlated, so their number deviates by less than the root of its mean.
		check(t, near(closedForm, name+": empty uplinks", "mean", idle, 3/math.Sqrt(idle*seeds), "m (1 - 1/m)^n, 300 seeds"), empty)
	}
	// The generating function against all 4^4 throws of 4 balls.
	count := 0
	for code := range 256 {
		var bins [4]int
		for i := range 4 {
			bins[code>>(2*i)&3]++
		}
		if max(bins[0], bins[1], bins[2], bins[3]) <= 2 {
			count++
		}
	}
	if got := atMost(4, 4, 2) * 256; math.Abs(got-float64(count)) > 1e-9 {
		t.Errorf("4 balls in 4 bins: at most 2 in %v of 256 throws, want %d", got, count)
	}
}

// load is how many flows of one packet the fullest uplink of the first leaf carried, and how many uplinks carried none.
func load(o outcome) (most, none int) {
	for _, p := range uplinks(o.f, o.f.Ports[o.f.Endpoints[0]].Node) {
		n := int(o.Port(p).TxBytes[workload.RoCEPriority] / full)
		most = max(most, n)
		if n == 0 {
			none++
		}
	}
	return most, none
}

// uplinks are the ports of the leaf of a host that lead away from the hosts.
func uplinks(f *fabric.Fabric, host fabric.NodeID) (list []fabric.PortID) {
	leaf := f.Node(f.Ports[f.Nodes[host].FirstPort].Peer)
	for p := leaf.FirstPort; p < leaf.FirstPort+fabric.PortID(leaf.NumPorts); p++ {
		if f.Ports[p].Uplink {
			list = append(list, p)
		}
	}
	return list
}

// What a collision costs: L flows of 2 MB on the fullest uplink end when all their packets have passed it,
//
//	1 packet + delay + L x 2 MB/B + the rest of the way,
//
// less at most one packet a flow, for the last packets are short.
func TestLadderCollisionCost(t *testing.T) {
	t.Parallel()
	f := leafSpine(2, 16, 16, wire)
	var ops []workload.Op
	for i := range 16 {
		ops = append(ops, send(i, 16+i, 2_000_000))
	}
	worst := 0.0
	for seed := range uint64(8) {
		c := quiet()
		c.Seed = seed + 1
		c.Switch.Buffer = units.GiB // no pauses
		o := run(t, f, planOf(ops...), c)
		most := 0.0
		for _, p := range uplinks(f, 0) {
			most = max(most, float64(o.Port(p).TxBytes[workload.RoCEPriority]))
		}
		want := most*8/400e9*1e6 + 3*full*8/400e9*1e6 + 4
		if off := math.Abs(us(o.makespan())/want - 1); off > worst {
			worst = off
		}
	}
	check(t, within(closedForm, "time of the fullest of 16 uplinks, 8 seeds, largest error", "share", 0, 0.003,
		"bytes of the uplink at 400 Gbit/s + three packets + four delays"), worst)
}
