package flowsim

import (
	"errors"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func ranksOf(f *fabric.Fabric) []fabric.GPUID {
	out := make([]fabric.GPUID, len(f.GPUs))
	for i := range out {
		out[i] = fabric.GPUID(i)
	}
	return out
}

func rails(t testing.TB, hosts int) *fabric.Fabric {
	t.Helper()
	return fabric.RailOptimised{Rails: 4, LeavesPerRail: 2, HostsPerLeaf: hosts / 2, Spines: 4, Bundle: 1, GPUsPerHost: 4, Access: wire, Trunk: wire,
		NVLink: fabric.NVLink{Rate: 3600 * units.Gbps, Latency: units.Microsecond}}.Build()
}

// What phases cannot work out is refused by name, and small enough it is carried out.
func TestPhasesRefuse(t *testing.T) {
	f := rails(t, 4)
	call := workload.Call{Collective: workload.AllReduce, Algorithm: workload.Hierarchical, Size: 64 * units.MiB}
	e, err := NewEstimator(f, Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Collective(call, [][]fabric.GPUID{ranksOf(f)})
	if err != nil || p.Time <= 0 {
		t.Errorf("carried out: %v, %v", p.Time, err)
	}
	e.carried = 0
	if _, err := e.Collective(call, [][]fabric.GPUID{ranksOf(f)}); !errors.Is(err, ErrPackets) {
		t.Errorf("worked out: %v", err)
	}
	call.Algorithm = workload.InNetwork
	e.carried = carriedOps
	if _, err := e.Collective(call, [][]fabric.GPUID{ranksOf(f)}); !errors.Is(err, ErrPackets) {
		t.Errorf("sums in the switches: %v", err)
	}
	all := make([]fabric.GPUID, 1<<15)
	if _, err := e.Collective(workload.Call{Collective: workload.AllToAll, Size: units.GiB}, [][]fabric.GPUID{all}); !errors.Is(err, ErrTooMany) {
		t.Errorf("a billion flows: %v", err)
	}
	if _, err := NewEstimator(f, Config{Faults: []Fault{{}}}); err == nil {
		t.Error("faults were taken")
	}
}

// A phase worked out as a whole takes as long as the same call carried out flow by flow.
func TestPhasesAgreeWithFlows(t *testing.T) {
	flat, nvlink := leafSpine(4, 4, 4), rails(t, 8)
	two := fabric.DualPlane{Rails: 1, LeavesPerRail: 2, HostsPerLeaf: 4, Spines: 2, Bundle: 1, GPUsPerHost: 2, Access: wire, Trunk: wire}.Build()
	narrow := leafSpine(4, 4, 2)
	for _, c := range []struct {
		name        string
		f           *fabric.Fabric
		call        workload.Call
		c           Config
		least, most float64 // phase over flows
	}{
		{"ring, large", flat, workload.Call{Collective: workload.AllReduce, Size: 256 * units.MiB}, Config{}, 0.99, 1.02},
		{"ring, small", flat, workload.Call{Collective: workload.AllReduce, Size: 64 * units.KiB}, Config{}, 0.97, 1.03},
		{"ring, ll", flat, workload.Call{Collective: workload.AllReduce, Protocol: workload.LL, Size: 4 * units.MiB}, Config{}, 0.99, 1.02},
		{"ring, narrow", narrow, workload.Call{Collective: workload.AllReduce, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
		{"ring, degraded", degraded(t), workload.Call{Collective: workload.AllReduce, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
		{"ring, rails and NVLink", nvlink, workload.Call{Collective: workload.AllReduce, Size: 256 * units.MiB}, Config{}, 0.97, 1.1},
		{"ring, two planes", two, workload.Call{Collective: workload.AllReduce, Size: 64 * units.MiB}, Config{}, 0.95, 1.2},
		{"reduce_scatter", flat, workload.Call{Collective: workload.ReduceScatter, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
		{"tree, large", flat, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Tree, Size: 256 * units.MiB}, Config{}, 0.8, 1.05},
		{"tree, small", flat, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Tree, Size: 64 * units.KiB}, Config{}, 0.9, 1.15},
		{"tree, rails", nvlink, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Tree, Size: 256 * units.MiB}, Config{}, 0.8, 1.05},
		{"alltoall", flat, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
		{"alltoall, split", flat, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, Config{Path: Split}, 0.99, 1.02},
		{"alltoall, split, narrow", narrow, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, Config{Path: Split}, 0.99, 1.02},
		{"alltoall, in flight", flat, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB, InFlight: 4}, Config{}, 0.9, 1.25},
		{"alltoall, four QPs", flat, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, Config{Path: HashQPN, QPs: 4, SplitMessages: true}, 0.99, 1.02},
		{"alltoall, rails and NVLink", nvlink, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, Config{}, 0.97, 1.03},
		{"sendrecv", flat, workload.Call{Collective: workload.SendRecv, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
		{"sendrecv, two planes", two, workload.Call{Collective: workload.SendRecv, Size: 64 * units.MiB}, Config{}, 0.99, 1.02},
	} {
		for seed := range uint64(3) {
			c.c.Seed = seed
			c.call.Ranks = ranksOf(c.f)
			var b workload.Builder
			b.Call(c.f, c.call, nil)
			n := carry(t, c.f, b.Plan(), c.c)
			e, err := NewEstimator(c.f, c.c)
			if err != nil {
				t.Fatal(err)
			}
			e.carried = 0
			p, err := e.Collective(c.call, [][]fabric.GPUID{c.call.Ranks})
			if err != nil {
				t.Fatal(err)
			}
			flows := n.Now().Sub(units.At(0))
			ratio := float64(p.Time) / float64(flows)
			t.Logf("%-28s seed %d: phase %v, flows %v, ratio %.4f", c.name, seed, p.Time, flows, ratio)
			if ratio < c.least || ratio > c.most {
				t.Errorf("%s, seed %d: the phase takes %v, flow by flow %v: ratio %.4f, want %v to %v", c.name, seed, p.Time, flows, ratio, c.least, c.most)
			}
		}
	}
}
