package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

// walk carries p out over a network that is nothing but one link of rate out of every GPU: a GPU sends its messages one
// after the other, in the order they were written. It fails when a GPU would have to compute two things at once.
func walk(t *testing.T, p *Plan, rate units.Rate) (start, end []units.Instant) {
	t.Helper()
	start, end = make([]units.Instant, len(p.Ops)), make([]units.Instant, len(p.Ops))
	busy, free := map[uint32][][2]int64{}, map[uint32]units.Instant{}
	for i, o := range p.Ops { // operations follow what they wait for
		start[i] = later(start[i], units.At(int64(o.At)))
		d := o.Time
		if o.Kind == Send {
			d = units.Serialize(o.Bytes, rate)
			start[i] = later(start[i], free[uint32(o.Src)])
			free[uint32(o.Src)] = start[i].Add(d)
		} else if d > 0 {
			busy[uint32(o.Src)] = append(busy[uint32(o.Src)], [2]int64{start[i].PS(), start[i].Add(d).PS()})
		}
		end[i] = start[i].Add(d)
		for _, n := range p.Dependants(OpID(i)) {
			start[n] = later(start[n], end[i])
		}
	}
	for gpu, list := range busy {
		slices.SortFunc(list, func(a, b [2]int64) int { return int(a[0]/1000 - b[0]/1000) })
		for i := range list[1:] {
			if list[i+1][0] < list[i][1] {
				t.Fatalf("GPU %d computes two things at %d ps", gpu, list[i+1][0])
			}
		}
	}
	return start, end
}

func TestOneFOneB(t *testing.T) {
	text := func(items []Pass) (out string) {
		for _, i := range items {
			way := "F"
			if i.Backward {
				way = "B"
			}
			out += fmt.Sprintf("%s%d ", way, i.Micro)
		}
		return out
	}
	for _, c := range []struct {
		p, n, micros int
		want         string
	}{
		{0, 1, 2, "F0 B0 F1 B1 "},
		{0, 3, 4, "F0 F1 F2 B0 F3 B1 B2 B3 "},
		{1, 3, 4, "F0 F1 B0 F2 B1 F3 B2 B3 "},
		{2, 3, 4, "F0 B0 F1 B1 F2 B2 F3 B3 "},
		{0, 4, 2, "F0 F1 B0 B1 "},
	} {
		if got := text(OneFOneB(c.p, c.n, c.micros)); got != c.want {
			t.Errorf("stage %d of %d, %d microbatches: %s, want %s", c.p, c.n, c.micros, got, c.want)
		}
	}
}

// With communication that takes no time, a pipeline step takes (m + p - 1) passes forward and backward of a stage
// (Narayanan et al., SC 2021: the bubble is p-1 of them), then the optimizer.
func TestPipelineBubble(t *testing.T) {
	p := plan(t, cluster(4, 1), `
job: {step: {pp: 4, layers: 8, microbatches: 6, steps: 2, sizes: {pp: 1B}, compute: {forward: 1ms, backward: 2ms, optimizer: 5ms}}}
`)
	start, end := walk(t, p, units.Tbps)
	m := p.Measure(start, end)
	want := (6+4-1)*2*(1+2)*units.Millisecond + 5*units.Millisecond
	for i, s := range m.Steps {
		if d := s.Time() - want; !s.Done || d < 0 || d > units.Microsecond {
			t.Errorf("step %d takes %v, want %v", i, s.Time(), want)
		}
		if busy := (6*2*3 + 5) * units.Millisecond; s.Compute != busy {
			t.Errorf("step %d computes %v, want %v", i, s.Compute, busy)
		}
	}
}

const full = `
job:
  step:
    {tp: 2, dp: 4, pp: 2, ep: 2, layers: 4, microbatches: 2, steps: 3, warmup: 1, EXTRA
     sizes: {tp: 2MB, ep: 4MB, pp: 1MB, dp: 8MB, bucket: 8MB, tail: 1MB},
     compute: {forward: 1ms, experts: 400us, optimizer: 2ms}}
`

// expected counts the calls of one step: 2 stages of 2 layers, 2 microbatches, forward and backward.
func TestStepSpans(t *testing.T) {
	passes := 2 * 2 * 2 * 2 // stages, layers, microbatches, directions
	for _, c := range []struct {
		extra string
		want  map[string]int
	}{
		{"", map[string]int{
			"tp all_reduce": passes * 4, "ep alltoall dispatch": passes * 4, "ep alltoall combine": passes * 4, "pp send": 2 * 2,
			"dp all_reduce": 2 * 2 * 2, "dp all_reduce tail": 2 * 2, "forward": 1, "backward": 1, "optimizer": 1,
		}},
		{"sequence_parallel: true, no_overlap: true,", map[string]int{
			"tp all_gather": passes * 4, "tp reduce_scatter": passes * 4, "ep alltoall dispatch": passes * 4, "ep alltoall combine": passes * 4,
			"pp send": 2 * 2, "dp all_reduce": 2 * 2 * 2, "dp all_reduce tail": 2 * 2, "forward": 1, "backward": 1, "optimizer": 1,
		}},
	} {
		f := cluster(8, 2)
		p := plan(t, f, replace(full, "EXTRA", c.extra))
		for step := range 3 {
			got := map[string]int{}
			for _, s := range p.Spans {
				if s.Step == step {
					got[s.Name]++
					if s.Warmup != (step == 0) {
						t.Errorf("step %d: %q has warmup %v", step, s.Name, s.Warmup)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("step %d %s: %s", step, c.extra, diff)
			}
		}
		for i, s := range p.Spans {
			if s.Name == "tp all_reduce" || s.Name == "ep alltoall dispatch" || s.Name == "dp all_reduce" {
				checkGroup(t, p, SpanID(i))
			}
		}
		start, end := walk(t, p, 400*units.Gbps)
		m := p.Measure(start, end)
		var sum units.Duration
		for i, s := range m.Steps {
			// 2 layers, 2 microbatches, 1 ms forward and twice that backward, 2 ms optimizer.
			if want := 14 * units.Millisecond; !s.Done || s.Compute != want || s.Exposed() <= 0 {
				t.Errorf("step %d: %+v, compute %v want %v", i, s, s.Compute, want)
			}
			sum += s.Time()
		}
		if last := m.Steps[2].End.Sub(m.Steps[0].Start); sum != last {
			t.Errorf("steps add up to %v of %v", sum, last)
		}
	}
}

func replace(s, old, new string) string {
	for i := range len(s) - len(old) {
		if s[i:i+len(old)] == old {
			return s[:i] + new + s[i+len(old):]
		}
	}
	return s
}

// checkGroup sees that the ranks of a communicator are those of the layout: TP 2 neighbours, EP 2 and DP 4 two apart.
func checkGroup(t *testing.T, p *Plan, span SpanID) {
	t.Helper()
	s := p.Spans[span]
	stride := map[string]int{"tp all_reduce": 1, "ep alltoall dispatch": 2, "dp all_reduce": 2}[s.Name]
	seen := map[int]bool{}
	for _, o := range p.Ops {
		if o.Span == span {
			seen[int(o.Src)] = true
		}
	}
	var ranks []int
	for r := range seen {
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	if len(ranks) != s.Ranks {
		t.Errorf("%s runs on %v, want %d ranks", s.Name, ranks, s.Ranks)
	}
	for i := range ranks[1:] {
		if ranks[i+1]-ranks[i] != stride {
			t.Errorf("%s runs on ranks %v, want them %d apart", s.Name, ranks, stride)
		}
	}
}

// Overlapping hides the gradient all_reduce behind the backward pass, all but the last bucket.
func TestOverlapHides(t *testing.T) {
	f := cluster(4, 1)
	step := func(extra string) units.Duration {
		p := plan(t, f, "job: {step: {layers: 8, steps: 1, "+extra+" sizes: {dp: 10MB}, compute: {forward: 1ms, backward: 2ms}}}\n")
		start, end := walk(t, p, 200*units.Gbps)
		return p.Measure(start, end).Steps[0].Time()
	}
	one := AllReduce.LowerBound(4, 10*units.MB, 200*units.Gbps, 0) // 600 us
	compute := 8 * 3 * units.Millisecond
	if got, want := step(""), compute+one; got-want < -units.Microsecond || got-want > 10*units.Microsecond {
		t.Errorf("overlapped: %v, want %v", got, want)
	}
	if got, want := step("no_overlap: true,"), compute+8*one; got-want < -units.Microsecond || got-want > 80*units.Microsecond {
		t.Errorf("not overlapped: %v, want %v", got, want)
	}
}

// A communicator carries out one call after the other: what a rank reduces next waits for what it reduced before.
func TestGradientsInOrder(t *testing.T) {
	p := plan(t, cluster(3, 1), "job: {step: {layers: 3, sizes: {dp: 10MB}, compute: {forward: 1ms}}}\n")
	var before []bool
	for span, s := range p.Spans {
		if s.Name != "dp all_reduce" {
			continue
		}
		first := noOp
		for i, o := range p.Ops {
			if o.Span != SpanID(span) {
				continue
			}
			if before != nil && !before[i] {
				t.Fatalf("%+v does not wait for the reduction before", o)
			}
			if first == noOp {
				first = OpID(i)
			}
		}
		before = reach(p, first)
	}
	if before == nil {
		t.Fatal("no gradients are reduced")
	}
}

// A straggler holds everybody up by what it takes longer, and jitter is drawn by the seed alone.
func TestStragglerAndJitter(t *testing.T) {
	f := cluster(4, 1)
	src := "job: {step: {layers: 4, steps: 2, sizes: {dp: 4B}, compute: {forward: 1ms, optimizer: 2ms, EXTRA}}}\n"
	p := plan(t, f, replace(src, "EXTRA", "slow: [{ranks: [2], factor: 1.5}]"))
	start, end := walk(t, p, units.Tbps)
	m := p.Measure(start, end)
	for i, s := range m.Steps { // 4 layers of 1 + 2 ms and 2 ms, half as much again
		if s.Busiest != 2 || s.Compute != 21*units.Millisecond || s.Exposed() < 0 || s.Exposed() > units.Microsecond {
			t.Errorf("step %d: %+v exposes %v", i, s, s.Exposed())
		}
	}
	// The others begin the second step while the straggler is still in the first; the steps do not overlap for that.
	if m.Steps[1].Start != m.Steps[0].End {
		t.Errorf("the first step ends at %v, the second begins at %v", m.Steps[0].End, m.Steps[1].Start)
	}
	jitter := replace(src, "EXTRA", "jitter: 10%")
	a, b := plan(t, f, jitter), plan(t, f, jitter)
	if diff := cmp.Diff(a.Ops, b.Ops); diff != "" {
		t.Error("one seed, two plans:", diff)
	}
	different := false
	for _, o := range a.Ops {
		if o.Kind == Compute && o.Time > 0 {
			base := units.Millisecond
			if a.Spans[o.Span].Name != "forward" { // backward and optimizer
				base *= 2
			}
			if o.Time < base*9/10-1 || o.Time > base*11/10 {
				t.Errorf("%v lies beyond 10 %% of %v", o.Time, base)
			}
			different = different || o.Time != base
		}
	}
	if !different {
		t.Error("jitter changes nothing")
	}
}
