package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// gpuCluster is hosts of eight GPUs on rails, with NVLink of 450 GB/s.
func gpuCluster(hosts int) *fabric.Fabric {
	return fabric.RailOptimised{LeavesPerRail: 1, HostsPerLeaf: hosts, GPUsPerHost: 8, Rails: 8, Spines: 8, Bundle: 1, Access: wire, Trunk: wire,
		NVLink: fabric.NVLink{Rate: 3600 * units.Gbps, Latency: units.Microsecond}}.Build()
}

func allReduce(t *testing.T, f *fabric.Fabric, alg workload.Algorithm, size units.Bytes) (units.Duration, Summary) {
	t.Helper()
	var ranks []fabric.GPUID
	for g := range f.GPUs {
		ranks = append(ranks, fabric.GPUID(g))
	}
	var b workload.Builder
	b.Call(f, workload.Call{Collective: workload.AllReduce, Algorithm: alg, Ranks: ranks, Size: size, Priority: 3, Step: -1}, nil)
	cfg := plain()
	cfg.Switch.Reduction.Chunk = 4096
	n, s := run(t, f, b.Plan(), cfg)
	if s.Stalled || s.Drops != [DropReasons]uint64{} {
		t.Fatalf("%s: stalled %v, drops %v", alg, s.Stalled, s.Drops)
	}
	return longestOp(n), s
}

// Four hosts of eight GPUs: what each algorithm takes against what its busiest link must carry.
func TestCollectiveAlgorithms(t *testing.T) {
	f := gpuCluster(4)
	const size = 256_000_000
	nic, nvlink := 50e9*4096/4160, 450e9
	for _, c := range []struct {
		alg   workload.Algorithm
		floor float64 // seconds at the busiest NIC or NVLink port, one after the other where nothing overlaps
		slack float64
	}{
		// A ring on each of 8 channels: 2 x 31/32 of an eighth leaves each NIC.
		{workload.Ring, 2 * 31.0 / 32 * size / 8 / nic, 1.05},
		// 2 x 3/4 of an eighth leaves each NIC, and 2 x 7/8 of the size every GPU over NVLink, which is a little more.
		{workload.Hierarchical, 2 * 7.0 / 8 * size / nvlink, 1.2},
		// An eighth leaves each NIC once, which takes 650 us; NVLink is the bottleneck.
		{workload.InNetwork, 2 * 7.0 / 8 * size / nvlink, 1.05},
		// An inner host of a double tree sends and receives twice half of an eighth, up and down.
		{workload.NVLS, 2 * size / 8 / nic, 1.1},
	} {
		got, s := allReduce(t, f, c.alg, size)
		bus := size / got.Seconds() * 2 * 31 / 32 / 1e9
		t.Logf("%-12s %7.1f us, floor %7.1f, busbw %.0f GB/s, %d sums", c.alg, got.Seconds()*1e6, c.floor*1e6, bus, s.Reductions.Chunks)
		if got.Seconds() < c.floor || got.Seconds() > c.floor*c.slack {
			t.Errorf("%s took %.1f us, its busiest link %.1f", c.alg, got.Seconds()*1e6, c.floor*1e6)
		}
	}
	// Inside one host: 9/8 of the size at 85 % of the rate, or 14/8 of it at the whole.
	one := gpuCluster(1)
	for alg, floor := range map[workload.Algorithm]float64{workload.NVLS: 9.0 / 8 * size / nvlink / 0.85, workload.Hierarchical: 14.0 / 8 * size / nvlink} {
		got, s := allReduce(t, one, alg, size)
		if got.Seconds() < floor || got.Seconds() > floor*1.1 || s.PacketHops != 0 {
			t.Errorf("%s in a host took %.1f us, want %.1f; %d packet-hops", alg, got.Seconds()*1e6, floor*1e6, s.PacketHops)
		}
	}
}
