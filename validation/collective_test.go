package validation

import (
	"fmt"
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func ranks(n int) (list []fabric.GPUID) {
	for i := range n {
		list = append(list, fabric.GPUID(i))
	}
	return list
}

func callPlan(f *fabric.Fabric, c workload.Call) *workload.Plan {
	var b workload.Builder
	b.Call(f, c, nil)
	return b.Plan()
}

// A ring of N ranks is 2(N-1) steps one after the other, in each of which every rank sends S/N to its neighbour over links nobody else uses; an
// all_gather or reduce_scatter is half of that. What a rank sends in one piece it cannot pass on before it is all there, so a ring of
// small blocks takes 2(N-1) times the pipeline of S/N, and before all but the first goes the ACK of the block just received. From 64 KiB on NCCL sends a block as two slices, the one being received while the
// other is passed on; then the links never idle, as a slice lasts longer than the wire, and what remains is
//
//	2(N-1) x S/N/B + a packet + two delays.
func TestLadderRing(t *testing.T) {
	t.Parallel()
	const n = 16
	f := leafSpine(1, n, 1, wire)
	const size = n * 512 * mtu // 32 MiB: 2 MiB a step
	small := us(pipeline(8*mtu, mtu, hops(2, wire)))
	large := us(units.Serialize(512*full, wire.Rate))
	for _, c := range []struct {
		kind  workload.Collective
		steps float64
	}{{workload.AllReduce, 2 * (n - 1)}, {workload.AllGather, n - 1}, {workload.ReduceScatter, n - 1}} {
		call := workload.Call{Collective: c.kind, Ranks: ranks(n), Size: n * 8 * mtu, Channels: 1, Chunks: 1, Priority: workload.RoCEPriority}
		check(t, near(closedForm, fmt.Sprintf("%v ring of 16, 512 KiB", c.kind), "us", c.steps*small+(c.steps-1)*us(units.Serialize(header, wire.Rate)), 1e-9,
			fmt.Sprintf("%.0f steps of 8 packets over two links", c.steps)), us(run(t, f, callPlan(f, call), quiet()).makespan()))
		call.Size = size
		check(t, near(closedForm, fmt.Sprintf("%v ring of 16, 32 MiB in slices", c.kind), "us", c.steps*large+us(pipeline(mtu, mtu, hops(2, wire))), 1e-4,
			fmt.Sprintf("%.0f x 512 packets at 400 Gbit/s, and one packet over two links", c.steps)), us(run(t, f, callPlan(f, call), quiet()).makespan()))
	}
	// Cut finer, the latency of all steps but the first few hides behind the next pieces: what is left is the bound 2(n-1)/n S/B of
	// Patarasuk and Yuan (JPDC 2009) in bytes on the wire, with the ACKs.
	p := callPlan(f, workload.Call{Collective: workload.AllReduce, Ranks: ranks(n), Size: size, Channels: 1, Chunks: 8, Priority: workload.RoCEPriority})
	bound := us(workload.AllReduce.LowerBound(n, size, wire.Rate, 0)) * (full + header) / mtu
	check(t, row{group: closedForm, name: "all_reduce ring of 16, 32 MiB in 8 pieces, over its bound", unit: "ratio", want: 1, lo: 1, hi: 1.05,
		why: "2(n-1)/n S/B with 64 bytes a packet and 64 an ACK; the rest is filling the ring"}, us(run(t, f, p, plain()).makespan())/bound)
}

// A double binary tree (Sanders, Speck and Traeff 2009) sends half of the data through each of two trees. A rank that is inner in one tree and a leaf
// in the other sends S/2 up in both and S/2 to each of two children: 2S in all, so no run ends before 2 S/B. Pieces of size s go up and
// down 2 log2 N levels, each taking s/B and the wire, before the last is there; it cannot be better than
//
//	2 S/B + (2 log2 N - 1)(s/B + d)
//
// minus what overlaps at the ends, so the range above the bound is that term once more.
func TestLadderTree(t *testing.T) {
	t.Parallel()
	const n, size, pieces = 16, 32 * units.MiB, 32
	f := leafSpine(1, n, 1, wire)
	p := callPlan(f, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Tree, Ranks: ranks(n), Size: size, Channels: 1, Chunks: pieces, Priority: workload.RoCEPriority})
	bound := 2 * us(units.Serialize(size, wire.Rate)) * full / mtu
	fill := (2*math.Log2(n) - 1) * us(pipeline(size/2/pieces, mtu, hops(2, wire)))
	check(t, row{group: closedForm, name: "all_reduce double tree of 16, 32 MiB", unit: "us", want: bound + fill, lo: bound, hi: bound + 2*fill,
		why: "2 S/B at the busiest rank, and 2 log2 N levels to fill"}, us(run(t, f, p, quiet()).makespan()))
}

// Every rank sends all but its own part: (n-1)/n S/B. In one leaf nothing but the receivers' own ports contends; all pairs at once share
// each of them evenly, since the NICs take turns among their peers, so the bound is met but for the first packets.
func TestLadderAllToAll(t *testing.T) {
	t.Parallel()
	const n, size = 16, 32 * units.MiB
	f := leafSpine(1, n, 1, wire)
	bound := us(workload.AllToAll.LowerBound(n, size, wire.Rate, 0)) * full / mtu
	for _, c := range []struct {
		name     string
		inFlight int
		hi       float64
	}{{"all peers at once", 0, 1.02}, {"one peer at a time", 1, 1.08}} {
		p := callPlan(f, workload.Call{Collective: workload.AllToAll, Ranks: ranks(n), Size: size, Channels: 1, InFlight: c.inFlight, Priority: workload.RoCEPriority})
		check(t, row{group: closedForm, name: "alltoall of 16, 32 MiB, " + c.name + ", over its bound", unit: "ratio", want: 1, lo: 1, hi: c.hi,
			why: "(n-1)/n S/B with 64 bytes a packet"}, us(run(t, f, p, quiet()).makespan())/bound)
	}
}

// The bus bandwidth that nccl-tests print tends to the payload's share of the link: 4096 of 4160 + 64 bytes at 400 Gbit/s, 48.5 GB/s.
func TestLadderBusBandwidth(t *testing.T) {
	t.Parallel()
	f := leafSpine(1, 8, 1, wire)
	spec := workload.Spec{Job: workload.Job{Collective: &workload.CollectiveJob{Kind: workload.AllReduce, Size: 64 * units.MiB}}}
	p := spec.Plan(f, 1, func(path, text string) { t.Errorf("%s: %s", path, text) })
	o := run(t, f, p, plain())
	var begin, end []units.Instant
	for _, op := range o.Ops() {
		begin, end = append(begin, op.Start), append(end, op.End)
	}
	b, ok := p.Benchmark(p.Measure(begin, end))
	if !ok {
		t.Fatal("no benchmark")
	}
	check(t, near(closedForm, "busbw of all_reduce, 8 ranks, 64 MiB", "GB/s", 50*mtu/float64(full+header), 0.02, "400 Gbit/s x 4096 / (4160 + 64)"),
		b.BusBW.BytesPerSecond()/1e9)
}
