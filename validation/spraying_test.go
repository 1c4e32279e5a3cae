package validation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// crossing is a permutation in which every flow leaves its leaf.
func crossing(leaves, hosts int, size units.Bytes, seed uint64) *workload.Plan {
	n := leaves * hosts
	rng := rand.New(rand.NewPCG(seed, 0x63726f73))
	to := rng.Perm(n)
	stays := func(i int) bool { return to[i]/hosts == i/hosts }
	for slices.ContainsFunc(ranks(n), func(i fabric.GPUID) bool { return stays(int(i)) }) {
		for i := range n {
			if stays(i) {
				j := rng.IntN(n)
				to[i], to[j] = to[j], to[i]
			}
		}
	}
	var ops []workload.Op
	for i, dst := range to {
		ops = append(ops, send(i, dst, size))
	}
	return planOf(ops...)
}

// slowSpine runs all links of the first spine at half rate.
func slowSpine(f *fabric.Fabric) *fabric.Fabric {
	id, _ := f.NodeByName("spine0")
	spine := f.Nodes[id]
	for p := spine.FirstPort; p < spine.FirstPort+fabric.PortID(spine.NumPorts); p++ {
		f.Ports[p].Rate /= 2
		f.Ports[f.Ports[p].Peer].Rate /= 2
	}
	return f
}

// Spraying, 64 hosts, 8 leaves, 8 spines, a permutation between leaves, 400 packets a flow, a window of one bandwidth-delay product, no loss, three
// seeds; times in those of a flow alone.
//
// Alike paths. Flows that hash to one of 8 uplinks of their leaf meet like balls in bins, those that are sprayed do not meet. Flowlets need gaps, and a
// NIC that sends at a paced rate leaves none (Song et al., ConWeave, SIGCOMM 2023, section 2): they do as hashing does.
//
// One spine at half rate. What sprays evenly puts 1/8 of each flow on it, and the eight flows of a leaf, at rate r each, fill its link
// of B/2 when r = B/2: its packets take twice the time, whatever else is free. Whoever sees the slow paths can have 7.5/8 of B, and is between the two.
func TestLadderSpraying(t *testing.T) {
	t.Parallel()
	const packets = 400
	slowdown := func(f *fabric.Fabric, path netsim.PathChoice, transport netsim.Transport) (longest, average float64) {
		c := plain()
		c.Path, c.NIC.Transport, c.NIC.Window = path, transport, 100*mtu
		c.Switch.Buffer = units.GiB
		c.Switch.ECN = netsim.ECNConfig{KMin: 20 * full, KMax: 80 * full, PMax: 1} // for the schemes that listen to marks
		alone := us(run(t, f, planOf(send(1, 63, packets*mtu)), quiet()).took(0))
		const seeds = 3
		for seed := range uint64(seeds) {
			c.Seed = seed + 1
			l := run(t, f, crossing(8, 8, packets*mtu, seed), c).completions()
			longest += l[len(l)-1] / alone / seeds
			average += mean(l) / alone / seeds
		}
		return longest, average
	}
	alike := leafSpine(8, 8, 8, wire)
	hashed, _ := slowdown(alike, netsim.ECMP, netsim.Place)
	check(t, within(published, "permutation of 64, hashing: longest flow", "times alone", 2.5, 5, "the fullest uplink of 8 leaves carries 3 to 5 of 8 flows"), hashed)
	for _, path := range []netsim.PathChoice{netsim.Random, netsim.RoundRobin, netsim.Oblivious, netsim.REPS, netsim.NVIDIAAR, netsim.DRILL} {
		longest, _ := slowdown(alike, path, netsim.Place)
		check(t, within(published, fmt.Sprintf("permutation of 64, %s: longest flow", path), "times alone", 1, 1.6, "Dixit et al., INFOCOM 2013: sprayed packets do not meet for long"), longest)
	}
	flowlets, _ := slowdown(alike, netsim.LetFlow, netsim.Place)
	check(t, near(published, "permutation of 64, flowlets to hashing: longest flow", "ratio", 1, 0.3, "ConWeave, section 2: RDMA leaves few gaps"), flowlets/hashed)
	uneven := slowSpine(leafSpine(8, 8, 8, wire))
	bytes, alone := us(units.Serialize(packets*full, wire.Rate)), us(pipeline(packets*mtu, mtu, hops(4, wire)))
	twice := (alone + bytes) / alone
	for _, path := range []netsim.PathChoice{netsim.Random, netsim.RoundRobin, netsim.Oblivious} {
		_, average := slowdown(uneven, path, netsim.Place)
		check(t, near(closedForm, fmt.Sprintf("one of 8 spines at half rate, %s: mean flow", path), "times alone", twice, 0.03, "1/8 of each flow on a link of half the rate: the bytes take twice as long"), average)
	}
	for _, path := range []netsim.PathChoice{netsim.DRILL, netsim.NVIDIAAR, netsim.REPS, netsim.Mixed} {
		_, average := slowdown(uneven, path, netsim.Place)
		check(t, within(published, fmt.Sprintf("one of 8 spines at half rate, %s: mean flow", path), "times alone", 8/7.5, 1.9, "sees the slow paths: between 8/7.5 and the 2 of the blind"), average)
	}
}

// What the receiver makes of packets out of order, under random spraying without any loss. Go-back-N throws away what is ahead and has all of it sent
// again; selective repeat (IRN, Mittal et al., SIGCOMM 2018) takes what is overtaken for lost and repeats only that; placement repeats nothing.
func TestLadderReceivers(t *testing.T) {
	t.Parallel()
	f := leafSpine(4, 8, 8, wire)
	p := crossing(4, 8, 500*mtu, 1)
	var longest []float64
	for _, c := range []struct {
		transport netsim.Transport
		lo, hi    float64
		why       string
	}{
		{netsim.GoBackN, 0.6, 0.98, "a late packet costs all behind it"},
		{netsim.IRN, 0.1, 0.6, "a late packet costs itself"},
		{netsim.Place, 0, 0, "a late packet costs nothing"},
	} {
		cfg := plain()
		cfg.Path, cfg.NIC.Transport, cfg.NIC.Window, cfg.NIC.Timeout = netsim.Random, c.transport, 100*mtu, -1
		cfg.Switch.Buffer = units.GiB
		o := run(t, f, p, cfg)
		var again, sent float64
		for ep := range f.Endpoints {
			n := o.NIC(int32(ep))
			again += float64(n.RetransmitPackets)
			sent += float64(n.TxDataBytes) / mtu
		}
		check(t, within(published, fmt.Sprintf("random spraying, %s: packets sent again", c.transport), "share of all sent", c.lo, c.hi, c.why), again/sent)
		l := o.completions()
		longest = append(longest, l[len(l)-1])
	}
	check(t, within(published, "random spraying, go-back-n to placement: longest flow", "ratio", 3, 40, "retransmissions fill the network"), longest[0]/longest[2])
	check(t, within(published, "random spraying, irn to placement: longest flow", "ratio", 1.1, 3, "less so"), longest[1]/longest[2])
}

// Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018, section 4.2 and figures 1 to 3: with selective repeat and a window of a
// bandwidth-delay product RDMA needs no PFC and does better without it than go-back-N does with it, 1.3 to 2.8 times. 40 Gbit/s and 2 us as there, a
// buffer of a few bandwidth-delay products a port, 1 MB flows and single packets that load the hosts to half, no congestion control.
func TestLadderIRN(t *testing.T) {
	t.Parallel()
	w := fabric.Wire{Rate: 40 * units.Gbps, Delay: 2 * units.Microsecond}
	f := leafSpine(4, 8, 8, w)
	p, large := mixed(32, 800, 0.5, w, 5)
	alone := map[bool]float64{true: us(pipeline(1_000_000, 1024, hops(4, w))), false: us(pipeline(mtu, 1024, hops(4, w)))}
	slowdowns := func(transport netsim.Transport, pfc bool) (average, tail float64) {
		c := plain()
		c.NIC.Transport, c.NIC.MTU = transport, 1024
		c.Switch.Buffer, c.Switch.Alpha = 2_600_000, 0.5
		c.NIC.Timeout = -1
		if !pfc {
			c.Switch.Lossless, c.NIC.Timeout = []int{}, 9 // 2 ms
		}
		o := run(t, f, p, c)
		var all []float64
		for i := range p.Ops {
			all = append(all, us(o.took(i))/alone[large[i]])
		}
		slices.Sort(all)
		return mean(all), quantile(all, 0.99)
	}
	roce, roceTail := slowdowns(netsim.GoBackN, true)
	irn, irnTail := slowdowns(netsim.IRN, false)
	irnPFC, _ := slowdowns(netsim.IRN, true)
	check(t, within(published, "IRN without PFC to RoCE with it: mean slowdown", "ratio", 0.2, 0.77, "IRN, figure 1: 1.3 times better and more"), irn/roce)
	check(t, within(published, "IRN without PFC to RoCE with it: p99 of slowdowns", "ratio", 0.1, 0.9, "IRN, figure 1"), irnTail/roceTail)
	check(t, near(published, "IRN with PFC to without: mean slowdown", "ratio", 1, 0.1, "IRN, figure 2: PFC gives it nothing"), irnPFC/irn)
}
