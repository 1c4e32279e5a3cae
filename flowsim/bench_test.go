package flowsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// BenchmarkAllToAll carries out one alltoall of 256 GPUs under per-flow hashing: 65,280 flows that all share.
func BenchmarkAllToAll(b *testing.B) {
	f := leafSpine(16, 16, 16)
	p := planFor(b, f, collective(workload.AllToAll, "", 256*units.MiB), 1)
	b.ReportAllocs()
	for b.Loop() {
		n := carry(b, f, p, Config{Seed: 1})
		b.ReportMetric(float64(n.Fills()), "fills")
	}
}

// BenchmarkRing carries out one ring all_reduce of 256 GPUs.
func BenchmarkRing(b *testing.B) {
	f := leafSpine(16, 16, 16)
	p := planFor(b, f, collective(workload.AllReduce, workload.Ring, 256*units.MiB), 1)
	b.ReportAllocs()
	for b.Loop() {
		n := carry(b, f, p, Config{Seed: 1})
		b.ReportMetric(float64(n.Fills()), "fills")
		b.ReportMetric(float64(len(p.Ops)), "ops")
	}
}

// BenchmarkLarge works out collectives over 131,072 GPUs: 16,384 hosts of 8 on rails, 256 groups of 64 hosts, 64 spines.
func BenchmarkLarge(b *testing.B) {
	f := large()
	all := ranksOf(f)
	experts := func(n int) (groups [][]fabric.GPUID) { // n GPUs, one of each host, hosts next to each other
		for first := 0; first < len(all); first += 8 * n {
			for g := range 8 {
				var members []fabric.GPUID
				for i := range n {
					members = append(members, all[first+8*i+g])
				}
				groups = append(groups, members)
			}
		}
		return groups
	}
	for _, c := range []struct {
		name   string
		path   PathChoice
		call   workload.Call
		groups [][]fabric.GPUID
	}{
		{"ring", Hash, workload.Call{Collective: workload.AllReduce, Size: units.GiB}, [][]fabric.GPUID{all}},
		{"tree", Hash, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Tree, Size: units.GiB}, [][]fabric.GPUID{all}},
		{"experts", Hash, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, experts(64)},
		{"experts-split", Split, workload.Call{Collective: workload.AllToAll, Size: 64 * units.MiB}, experts(128)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				e, err := NewEstimator(f, Config{Seed: 1, Path: c.path})
				if err != nil {
					b.Fatal(err)
				}
				p, err := e.Collective(c.call, c.groups)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(p.Time.Seconds()*1e3, "simulated-ms")
				b.ReportMetric(float64(p.Flows), "flows")
			}
		})
	}
}

func large() *fabric.Fabric {
	return fabric.RailOptimised{Rails: 8, LeavesPerRail: 256, HostsPerLeaf: 64, Spines: 64, Bundle: 1, GPUsPerHost: 8, Access: wire, Trunk: wire,
		NVLink: fabric.NVLink{Rate: 3600 * units.Gbps, Latency: units.Microsecond}}.Build()
}

// BenchmarkLargeFabric builds the fabric of BenchmarkLarge.
func BenchmarkLargeFabric(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(len(large().Ports)), "ports")
	}
}

// BenchmarkLargeStep works out one step of a mixture-of-experts model on the 131,072 GPUs of BenchmarkLarge: tensor parallelism within the
// hosts, 8 pipeline stages, 16 microbatches, experts spread over 64 hosts, gradients over 2,048 ranks.
func BenchmarkLargeStep(b *testing.B) {
	f := large()
	job := workload.StepJob{TP: 8, PP: 8, DP: 2048, EP: 64, Layers: 64, Microbatches: 16,
		Compute: workload.StepCompute{Forward: 500 * us, Experts: 200 * us, Optimizer: 5000 * us, Jitter: 0.02},
		Sizes:   workload.StepSizes{TP: 32 * mb, EP: 32 * mb, PP: 8 * mb, DP: 64 * mb}}
	for b.Loop() {
		e, err := NewEstimator(f, Config{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		out, err := e.Step(stepOf(b, f, job), 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(out.End.Sub(units.At(0)).Seconds()*1e3, "simulated-ms")
		b.ReportMetric(float64(out.Flows), "flows")
		b.ReportMetric(float64(len(out.Calls)), "calls")
	}
}
