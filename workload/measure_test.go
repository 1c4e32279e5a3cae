package workload

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/units"
)

// A ring in which every rank sends all the time takes its lower bound, and then its busbw is the rate of a link:
// that is what the bus factor is made for.
func TestBusBandwidthIsLinkRate(t *testing.T) {
	rate := 200 * units.Gbps
	for _, c := range []struct {
		kind string
		n    int
		size units.Bytes
	}{{"all_reduce", 8, 8 * units.MB}, {"all_gather", 5, 10 * units.MB}, {"reduce_scatter", 5, 10 * units.MB}, {"sendrecv", 3, units.MB}} {
		p := plan(t, cluster(c.n, 1), "job: {collective: {kind: "+c.kind+", size: "+c.size.String()+", channels: 1, repeat: 3, warmup: 2}}\n")
		start, end := walk(t, p, rate)
		m := p.Measure(start, end)
		b, ok := p.Benchmark(m)
		if !ok || b.Calls != 3 || b.Ranks != c.n {
			t.Fatalf("%s: %+v, %v", c.kind, b, ok)
		}
		if bound := b.Collective.LowerBound(c.n, c.size, rate, 0); b.Time < bound || float64(b.Time) > 1.001*float64(bound) {
			t.Errorf("%s over %d ranks: %v a call, lower bound %v", c.kind, c.n, b.Time, bound)
		}
		if off := float64(b.BusBW)/float64(rate) - 1; math.Abs(off) > 0.001 {
			t.Errorf("%s: busbw %v on links of %v", c.kind, b.BusBW, rate)
		}
	}
}

// Worked by hand: 4 ranks, 100 MB, 400 Gbit/s = 50 GB/s, 2 us a hop.
func TestLowerBound(t *testing.T) {
	for _, c := range []struct {
		c    Collective
		want units.Duration
	}{
		{AllReduce, 3*units.Millisecond + 12*units.Microsecond}, // 150 MB out of each rank, 6 hops
		{AllGather, 1500*units.Microsecond + 6*units.Microsecond},
		{ReduceScatter, 1500*units.Microsecond + 6*units.Microsecond},
		{AllToAll, 1500*units.Microsecond + 2*units.Microsecond},
		{SendRecv, 2*units.Millisecond + 2*units.Microsecond},
		{NoCollective, 0},
	} {
		if got := c.c.LowerBound(4, 100*units.MB, 400*units.Gbps, 2*units.Microsecond); got != c.want {
			t.Errorf("%s: %v, want %v", c.c, got, c.want)
		}
	}
	if got := AllReduce.LowerBound(1, units.GB, units.Gbps, 1); got != 0 {
		t.Errorf("one rank: %v", got)
	}
	if got, want := AllReduce.LowerBound(4096, 1<<40, 400*units.Gbps, 0), units.Duration(43_969_727_692_800); got != want { // 2*4095*2^28 bytes
		t.Errorf("1 TiB over 4096 ranks: %d, want %d", got, want)
	}
}

// What did not end is not known, and is not reported as a time.
func TestUnfinished(t *testing.T) {
	p := plan(t, cluster(2, 1), "job: {step: {layers: 1, steps: 2, sizes: {dp: 1MB}, compute: {forward: 1ms}}}\n")
	start, end := walk(t, p, units.Tbps)
	last := len(p.Ops) - 1
	start[last], end[last] = units.At(1), units.At(0)
	m := p.Measure(start, end)
	if !m.Steps[0].Done || m.Steps[1].Done {
		t.Errorf("steps %+v, want the first alone to be done", m.Steps)
	}
	if s := p.Ops[last].Span; m.Spans[s].Done {
		t.Errorf("span %q counts as done", p.Spans[s].Name)
	}
	c := plan(t, cluster(2, 1), "job: {collective: {kind: sendrecv, size: 1MB}}\n")
	start, end = walk(t, c, units.Tbps)
	start[0], end[0] = units.At(1), units.At(0)
	if b, ok := c.Benchmark(c.Measure(start, end)); ok {
		t.Errorf("an unfinished call has the benchmark %+v", b)
	}
}
