package flowsim

import (
	"testing"

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
