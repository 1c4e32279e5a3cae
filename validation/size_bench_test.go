package validation

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// What a run costs as it grows: every host sends 2 MB to one other, in two tiers without oversubscription. docs/validation.md has the table.
//
//	go test ./validation -run XXX -bench 'Size' -benchtime 1x -timeout 30m

// sizes are networks of leaves x hosts below spines.
var sizes = []struct{ leaves, hosts, spines int }{{4, 4, 4}, {8, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 64, 64}}

func BenchmarkSize(b *testing.B) {
	for _, c := range []struct {
		name   string
		config netsim.Config
	}{{"roce", roce()}, {"nscc", nscc(netsim.Oblivious)}} {
		for _, s := range sizes {
			b.Run(fmt.Sprintf("%s/%d", c.name, s.leaves*s.hosts), func(b *testing.B) {
				cost(b, leafSpine(s.leaves, s.hosts, s.spines, wire), permuted(s.leaves, s.hosts, 1), c.config)
			})
		}
	}
}

// BenchmarkSimAI is one all_reduce of 128 MiB on 128 GPUs in packets of 9000 bytes. SimAI took 37.1 s of processor time for it.
func BenchmarkSimAI(b *testing.B) {
	f, p, c := railRings(128 * units.MiB)
	cost(b, f, p, c)
}

// BenchmarkSetUp is what passes before the first packet: the network, the plan and New.
func BenchmarkSetUp(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprint(s.leaves*s.hosts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f := leafSpine(s.leaves, s.hosts, s.spines, wire)
				if _, err := netsim.New(f, permuted(s.leaves, s.hosts, 1), roce()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// cost carries a plan out and reports what it took. Processor time is that of the whole process, the collector's included; wall time says little on a
// shared machine. Memory is what is alive at the end: a run gives nothing back before.
func cost(b *testing.B, f *fabric.Fabric, p *workload.Plan, c netsim.Config) {
	var hops, events, alive uint64
	before := processor(b)
	for b.Loop() {
		n, err := netsim.New(f, p, c)
		if err != nil {
			b.Fatal(err)
		}
		if done, err := n.RunUntil(netsim.Forever); !done || err != nil {
			b.Fatal(done, err)
		}
		s, err := n.Finish()
		if err != nil {
			b.Fatal(err)
		}
		hops += s.PacketHops
		events += s.Events
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		alive = m.HeapAlloc
		runtime.KeepAlive(n)
	}
	took := processor(b) - before
	b.ReportMetric(took/float64(b.N), "cpu-s/run")
	b.ReportMetric(float64(hops)/float64(b.N)/1e6, "Mhops/run")
	b.ReportMetric(float64(hops)/took/1e6, "Mhops/cpu-s")
	b.ReportMetric(float64(events)/float64(hops), "events/hop")
	b.ReportMetric(float64(alive)/1e6, "MB")
}

func processor(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
