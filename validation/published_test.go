package validation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Zhu et al. 2015, section 5.2 and figure 11: of two flows that begin at 40 and 5 Gbit/s, with the timer and counter of QCN (1.5 ms, 150 KB, g 1/16) and
// marking cut off at 40 KB, the one stays far ahead, for the counter raises both alike; with the timer at 55 us, the counter at 10 MB and
// marking that rises gently they meet. Eight flows bring the first down to 5 Gbit/s; seven end at 20 ms, when the new one begins at line rate.
func TestLadderDCQCNConvergence(t *testing.T) {
	t.Parallel()
	f := leafSpine(1, 10, 1, wire40)
	ratio := func(c netsim.Config) (joined, later float64) {
		const seeds = 4
		for seed := range uint64(seeds) {
			c.Seed, c.NIC.MTU = seed+1, mtu
			ops := incast(9, 12_500_000).Ops
			ops[0].Bytes, ops[8].Bytes = endless, endless
			ops[8].At = 20 * units.Millisecond
			o := start(t, f, planOf(ops...), c)
			old := observe(t, o, 5*units.Millisecond, 15*units.Millisecond).rates[0]
			s := observe(t, o, 50*units.Millisecond, 70*units.Millisecond)
			joined += old / 40e9 / seeds
			later += s.rates[0] / s.rates[8] / seeds
		}
		return joined, later
	}
	straw := dcqcn40()
	straw.Switch.ECN = netsim.ECNConfig{KMin: 40_000, KMax: 40_001, PMax: 1}
	straw.NIC.DCQCN.TimeReset, straw.NIC.DCQCN.ByteReset, straw.NIC.DCQCN.G = 1500*units.Microsecond, 150_000, 1.0/16
	joined, later := ratio(dcqcn40())
	check(t, near(published, "DCQCN: the old flow when a new one joins at line rate", "share", 1.0/8, 0.25, "one of eight"), joined)
	check(t, near(published, "DCQCN as deployed: old flow to new 30 to 50 ms later", "ratio", 1, 0.15, "Zhu et al. 2015, figure 11: they meet"), later)
	_, later = ratio(straw)
	check(t, within(published, "DCQCN with QCN's timer and counter, the same", "ratio", 0, 0.3, "Zhu et al. 2015, figure 11: they do not"), later)
}

// Zhu et al. 2015, section 2.2 and figure 3: pause knows ports, not flows. Hosts 5 to 7 share a spine's port into the leaf of the receiver,
// host 1 has one of its own. Both ports fill to the same threshold and one queue serves what they hold in turn, so each gets half
// of the receiver's link: host 1 1/2, the others 1/6. DCQCN makes it 1/4 each.
//
// Section 2.2, figure 4: a flow that shares nothing with the congestion but a paused link goes down with it. Host 8 sends from the leaf of 5 to 7
// to a leaf of its own; the uplink is paused and serves its four inputs in turn, so the victim gets what each of the three
// gets, 1/6, where 1/2 is free.
//
// With DCQCN the victim's uplink fills as well, and the three pass two ports that mark: twice the p of the others. The fixed point (dcqcn_test.go)
// has R as p^(-3/4), so they get a = 2^(-3/4) b of what the two with one port get, and 3 a + b = 1: a = 0.214, b = 0.359.
func TestLadderPauseUnfairness(t *testing.T) {
	t.Parallel()
	f := leafSpine(3, 5, 1, wire40) // hosts 0-4 below leaf 0, 5-9 below leaf 1, 10-14 below leaf 2
	incast := []workload.Op{send(5, 0, endless), send(6, 0, endless), send(7, 0, endless), send(1, 0, endless)}
	victim := append(slices.Clip(incast), send(8, 10, endless))
	shares := func(c netsim.Config, ops []workload.Op) (far, own, other float64) {
		c.Switch.XOFF, c.Switch.XON = 200_000, 20_000
		c.NIC.MTU, c.NIC.AckEvery = mtu, 64
		s := observe(t, start(t, f, planOf(ops...), c), 20*units.Millisecond, 80*units.Millisecond)
		return mean(s.rates[:3]) / 40e9, s.rates[3] / 40e9, s.rates[len(s.rates)-1] / 40e9
	}
	const figure3, figure4 = "Zhu et al. 2015, figure 3: ", "Zhu et al. 2015, figure 4: "
	far, own, _ := shares(plain(), incast)
	check(t, near(published, "PFC alone: each of three senders behind one port", "share", 1.0/6, 0.05, figure3+"1/2 for each port into the leaf"), far)
	check(t, near(published, "PFC alone: the sender with a port of its own", "share", 1.0/2, 0.05, figure3+"1/2 for each port into the leaf"), own)
	far, own, _ = shares(dcqcn40(), incast)
	check(t, near(published, "DCQCN: each of three senders behind one port", "share", 1.0/4, 0.1, figure3+"flows share alike"), far)
	check(t, near(published, "DCQCN: the sender with a port of its own", "share", 1.0/4, 0.2, figure3+"flows share alike"), own)
	_, _, other := shares(plain(), victim)
	check(t, near(published, "PFC alone: the victim behind a paused uplink", "share", 1.0/6, 0.05, figure4+"as much as the flows it shares the uplink with"), other)
	far, _, other = shares(dcqcn40(), victim)
	b := 1 / (1 + 3*math.Pow(2, -0.75))
	check(t, near(published, "DCQCN: the victim", "share", b, 0.1, figure4+"set free; p^(-3/4) against flows that two ports mark"), other)
	check(t, near(published, "DCQCN: each of three senders, the victim there", "share", (1-b)/3, 0.1, "p^(-3/4) with twice the p"), far)
}

// Li et al., HPCC, SIGCOMM 2019, section 2.3 and figure 3: with DCQCN, marking late keeps large flows fast and small ones waiting in
// queues, marking early the reverse; their thresholds at 100 Gbit/s are Kmin 12.5 to 400 KB, Kmax 4 Kmin, Pmax 20 %. Here 1 MB flows load 16 hosts
// of one leaf to half, among as many of one packet, with the timers of the adapter.
func TestLadderECNSweep(t *testing.T) {
	t.Parallel()
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	p, large := mixed(16, 1500, 0.5, w, 3)
	thresholds := []units.Bytes{12_500, 50_000, 100_000, 400_000}
	var flows, packets []float64 // by threshold: mean of the large ones, 95th percentile of the small
	for _, k := range thresholds {
		c := netsim.Config{Seed: 1}
		c.Switch.ECN = netsim.ECNConfig{KMin: k, KMax: 4 * k, PMax: 0.2}
		// Rates and g of the published model of the adapter at 100 Gbit/s (HPCC's artefact); the rest are defaults.
		c.NIC.DCQCN.AIRate, c.NIC.DCQCN.HAIRate, c.NIC.DCQCN.MinRate, c.NIC.DCQCN.G = 20*units.Mbps, 200*units.Mbps, 100*units.Mbps, 1.0/256
		o := run(t, leafSpine(1, 16, 1, w), p, c)
		var a, b []float64
		for i := range p.Ops {
			if large[i] {
				a = append(a, us(o.took(i)))
			} else {
				b = append(b, us(o.took(i)))
			}
		}
		slices.Sort(b)
		flows, packets = append(flows, mean(a)), append(packets, quantile(b, 0.95))
	}
	rising := func(v []float64) (n float64) {
		for i := range v[1:] {
			if v[i+1] > v[i] {
				n++
			}
		}
		return n
	}
	steps := float64(len(thresholds) - 1)
	check(t, near(published, "ECN thresholds up: steps that make 1 MB flows faster", "of 3", steps, 0, "HPCC, figure 3a"), steps-rising(flows))
	check(t, near(published, "ECN thresholds up: steps that make single packets wait longer", "of 3", steps, 0, "HPCC, figure 3b"), rising(packets))
	check(t, within(published, "ECN, Kmin 12.5 KB against 400 KB: mean of 1 MB flows", "ratio", 1.5, 4, "HPCC, figure 3a: well above 1"), flows[0]/flows[3])
	check(t, within(published, "ECN, Kmin 12.5 KB against 400 KB: p95 of single packets", "ratio", 0.1, 0.6, "HPCC, figure 3b: well below 1"), packets[0]/packets[3])
}

// mixed is traffic between random pairs, each on a connection of its own: 1 MB flows that load the hosts to the given share of w, and as many of one packet.
func mixed(hosts, messages int, load float64, w fabric.Wire, seed uint64) (p *workload.Plan, large []bool) {
	rng := rand.New(rand.NewPCG(seed, 0x6d6978))
	var b workload.Builder
	at := 0.0
	for range messages {
		size := units.Bytes(1_000_000)
		if rng.IntN(2) == 0 {
			size = mtu
		}
		at += rng.ExpFloat64() * 500_000 / w.Rate.BytesPerSecond() / load / float64(hosts) * float64(units.Second)
		src := rng.IntN(hosts)
		op := send(src, (src+1+rng.IntN(hosts-1))%hosts, size)
		op.At, op.Channel = units.Duration(at), uint16(rng.IntN(1<<16))
		b.Add(op)
		large = append(large, size > mtu)
	}
	return b.Plan(), large
}
