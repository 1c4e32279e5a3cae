package netsim

import (
	"math"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// The marking curve at a held queue length: none at KMin, PMax (q-KMin)/(KMax-KMin) between, all from KMax.
func TestMarkingCurve(t *testing.T) {
	cfg := plain()
	cfg.Switch.ECN = ECNConfig{KMin: 100_000, KMax: 300_000, PMax: 0.2}
	n := start(t, leafSpine(1, 2, 1), planOf(send(0, 1, 1)), cfg)
	out := uint32(n.f.Ports[n.f.Endpoints[0]].Peer)
	const draws = 100_000
	for _, c := range []struct {
		queue int64
		share float64
	}{{100_000, 0}, {150_000, 0.05}, {200_000, 0.1}, {299_999, 0.2}, {300_000, 1}, {900_000, 1}} {
		e := egress{bytes: c.queue}
		for range draws {
			n.mark(out, &e, &packet{})
		}
		got := float64(e.marked) / draws
		if tolerance := 5 * math.Sqrt(c.share*(1-c.share)/draws); math.Abs(got-c.share) > tolerance+1e-5 {
			t.Errorf("queue %d: %.4f marked, want %.4f", c.queue, got, c.share)
		}
	}
}

// paperDCQCN are the parameters of the DCQCN paper, which were chosen for 40 Gbit/s, scaled to the rate.
func paperDCQCN(rate units.Rate) DCQCNConfig {
	return DCQCNConfig{
		G: 1.0 / 256, AlphaPeriod: 55 * units.Microsecond, CNPPeriod: 50 * units.Microsecond, ReducePeriod: 50 * units.Microsecond,
		TimeReset: 55 * units.Microsecond, ByteReset: 10 * units.MB, Threshold: 5,
		AIRate: rate / 1000, HAIRate: rate / 200, ClampTarget: true, InitialAlpha: 1,
	}
}

// Under incast DCQCN shortens the queue and the pauses that go-it-alone senders cause, and the senders end up with like shares.
func TestDCQCNTamesIncast(t *testing.T) {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	f := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 9, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	const senders, bytes = 8, 1_000_000_000
	type outcome struct {
		queue  float64
		pauses uint64
		share  []float64
		util   float64
	}
	measure := func(control Control) outcome {
		cfg := Config{Seed: 1}
		cfg.NIC.Control = control
		cfg.NIC.DCQCN = paperDCQCN(w.Rate)
		n := start(t, f, incastPlan(senders, bytes), cfg)
		out := f.Ports[f.Endpoints[0]].Peer
		var o outcome
		var before, after [senders]uint64
		var sent0 uint64
		samples := 0
		for ms := int64(1); ms <= 400; ms++ { // of 640 ms that the transfer takes
			if done, err := n.RunUntil(units.At(ms * 100_000_000)); done || err != nil {
				t.Fatal(done, err)
			}
			if ms == 200 {
				sent0 = n.Port(out).TxBytes[3]
				for i := range senders {
					before[i] = n.NIC(int32(i + 1)).TxDataBytes
				}
			}
			if ms > 200 {
				o.queue += float64(n.Port(out).QueueBytes[3])
				samples++
			}
		}
		o.queue /= float64(samples)
		for i := range senders {
			after[i] = n.NIC(int32(i + 1)).TxDataBytes
			o.share = append(o.share, float64(after[i]-before[i]))
			o.pauses += n.Port(f.Endpoints[i+1]).PauseRx[3]
		}
		o.util = float64(n.Port(out).TxBytes[3]-sent0) * 8 / 0.02 / float64(w.Rate)
		if _, err := n.Finish(); err != nil {
			t.Error(err)
		}
		return o
	}
	alone, dcqcn := measure("none"), measure("dcqcn")
	t.Logf("none:  %+v", alone)
	t.Logf("dcqcn: %+v", dcqcn)
	if dcqcn.queue > alone.queue/4 {
		t.Errorf("mean queue %.0f bytes with DCQCN, %.0f without", dcqcn.queue, alone.queue)
	}
	if dcqcn.pauses > alone.pauses/4 {
		t.Errorf("%d pauses with DCQCN, %d without", dcqcn.pauses, alone.pauses)
	}
	if r := slices.Max(dcqcn.share) / slices.Min(dcqcn.share); r > 2 {
		t.Errorf("the best sender got %.2f times what the worst got", r)
	}
	if dcqcn.util < 0.9 {
		t.Errorf("the port ran at %.2f of its rate", dcqcn.util)
	}
}

// CNPs are no more frequent than their period, ride their own class, and arrive.
func TestCNPs(t *testing.T) {
	f := leafSpine(1, 9, 1)
	cfg := Config{Seed: 1}
	cfg.NIC.DCQCN.CNPPeriod = 50 * units.Microsecond
	cfg.NIC.DCQCN.MinRate = 10 * units.Gbps
	n, _ := run(t, f, incastPlan(8, 4_000_000), cfg)
	var handled uint64
	for i := range 8 {
		c := n.NIC(int32(i + 1))
		handled += c.CNPHandled
		if most := uint64(n.Now().PS()/50_000_000) + 1; c.CNPHandled == 0 || c.CNPHandled > most {
			t.Errorf("sender %d got %d CNPs in %v", i, c.CNPHandled, n.Now())
		}
	}
	r := n.NIC(0)
	if r.CNPSent < handled || r.CNPSent > handled+8 || r.ECNMarkedPackets < r.CNPSent {
		t.Errorf("receiver %+v, senders handled %d", r, handled)
	}
	if p := n.Port(f.Endpoints[0]); p.TxPackets[cnpPriority] != r.CNPSent || p.ECNMarked != [Priorities]uint64{} {
		t.Errorf("class %d sent %d packets, %d CNPs", cnpPriority, p.TxPackets[cnpPriority], r.CNPSent)
	}
	if marked := n.Port(f.Ports[f.Endpoints[0]].Peer).ECNMarked[3]; marked < r.ECNMarkedPackets {
		t.Errorf("%d packets marked, %d arrived so", marked, r.ECNMarkedPackets)
	}
}

// Classes share a port by their weights while both have traffic, and a strict class goes first.
func TestSchedulingShares(t *testing.T) {
	f := leafSpine(1, 5, 1)
	cfg := plain()
	cfg.Switch.Lossless = []int{1, 3, 5}
	cfg.Switch.Weights = []int{1, 1, 1, 3, 1, 1, 0, 0}
	var ops []workload.Op
	for i, prio := range []uint8{1, 3, 1, 3} {
		op := send(i+1, 0, 40_000_000)
		op.Priority = prio
		ops = append(ops, op)
	}
	n := start(t, f, planOf(ops...), cfg)
	if _, err := n.RunUntil(units.At(int64(1500 * units.Microsecond))); err != nil {
		t.Fatal(err)
	}
	c := n.Port(f.Ports[f.Endpoints[0]].Peer)
	if r := float64(c.TxBytes[3]) / float64(c.TxBytes[1]); r < 2.95 || r > 3.05 {
		t.Errorf("weights 3 and 1 gave shares %.3f to 1", r)
	}
	cfg.Switch.Weights = []int{1, 1, 1, 0, 1, 1, 0, 0}
	n = start(t, f, planOf(ops...), cfg)
	if _, err := n.RunUntil(units.At(int64(1500 * units.Microsecond))); err != nil {
		t.Fatal(err)
	}
	c = n.Port(f.Ports[f.Endpoints[0]].Peer)
	if share := float64(c.TxBytes[1]) / float64(c.TxBytes[3]); share > 0.01 {
		t.Errorf("beside a strict class the other got %.3f of its bytes", share)
	}
}
