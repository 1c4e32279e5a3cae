package workload

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Measurement is how long a plan took, by what people name: spans and steps. Its slices are by SpanID and by step.
type Measurement struct {
	Spans []SpanTime
	Steps []StepTime
}

// SpanTime is when a span ran. Where Done is false some of it did not end and nothing else is known but Start.
type SpanTime struct {
	Start, End   units.Instant
	Done         bool
	AlgBW, BusBW units.Rate // of a collective, as nccl-tests define them; 0 for other spans
}

// Time is how long the span ran.
func (s SpanTime) Time() units.Duration { return s.End.Sub(s.Start) }

// StepTime is one training step: from the end of the step before (or its own start) to its end, so that the steps add
// up to the run. Where Done is false the step did not end and only Start is known.
type StepTime struct {
	Start, End units.Instant
	Done       bool
	Warmup     bool
	Busiest    fabric.GPUID   // the GPU that computed longest
	Compute    units.Duration // how long it did
}

// Time is how long the step took.
func (s StepTime) Time() units.Duration { return s.End.Sub(s.Start) }

// Exposed is the communication that computing does not hide: what is left of the step when the busiest GPU's
// computing is taken off. With pipeline stages it includes the bubble, in which stages wait for each other.
func (s StepTime) Exposed() units.Duration { return s.Time() - s.Compute }

// Measure works out spans and steps from the start and end of every operation. An operation that did not end has
// its end before its start.
func (p *Plan) Measure(start, end []units.Instant) Measurement {
	m := Measurement{Spans: make([]SpanTime, len(p.Spans)), Steps: make([]StepTime, p.Steps)}
	seen := make([]bool, len(p.Spans))
	for i := range m.Spans {
		m.Spans[i].Done = true
	}
	for i := range p.Ops {
		s := &m.Spans[p.Ops[i].Span]
		switch {
		case end[i].Before(start[i]):
			s.Done = false
			continue
		case !seen[p.Ops[i].Span]:
			s.Start, s.End = start[i], end[i]
		default:
			s.Start, s.End = earlier(s.Start, start[i]), later(s.End, end[i])
		}
		seen[p.Ops[i].Span] = true
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		if s.Done = s.Done && seen[i]; !s.Done {
			continue
		}
		s.AlgBW, s.BusBW = bandwidths(p.Spans[i], s.Time())
	}
	p.measureSteps(&m, start, end, seen)
	return m
}

// bandwidths are algbw and busbw of a collective that took time.
func bandwidths(s Span, time units.Duration) (algbw, busbw units.Rate) {
	if s.Collective == NoCollective {
		return 0, 0
	}
	algbw = units.Over(s.Bytes, time)
	return algbw, units.Rate(float64(algbw) * s.Collective.BusFactor(s.Ranks))
}

func (p *Plan) measureSteps(m *Measurement, start, end []units.Instant, seen []bool) {
	if p.Steps == 0 {
		return
	}
	begun := make([]bool, p.Steps)
	for i := range m.Steps {
		m.Steps[i].Done = true
	}
	for i, s := range p.Spans {
		if s.Step < 0 {
			continue
		}
		t := &m.Steps[s.Step]
		t.Warmup = s.Warmup
		t.Done = t.Done && m.Spans[i].Done
		if !seen[i] {
			continue
		}
		if !begun[s.Step] {
			t.Start, t.End = m.Spans[i].Start, m.Spans[i].End
		}
		t.Start, t.End = earlier(t.Start, m.Spans[i].Start), later(t.End, m.Spans[i].End)
		begun[s.Step] = true
	}
	gpus := 0
	for i := range p.Ops {
		gpus = max(gpus, int(p.Ops[i].Src)+1)
	}
	busy := make([]units.Duration, p.Steps*gpus) // step, then GPU
	for i := range p.Ops {
		o := &p.Ops[i]
		if step := p.Spans[o.Span].Step; o.Kind == Compute && step >= 0 && !end[i].Before(start[i]) {
			busy[step*gpus+int(o.Src)] += end[i].Sub(start[i])
		}
	}
	for s := range m.Steps {
		t := &m.Steps[s]
		if s > 0 && m.Steps[s-1].Done {
			t.Start = m.Steps[s-1].End
		}
		for g, d := range busy[s*gpus : (s+1)*gpus] {
			if d > t.Compute {
				t.Busiest, t.Compute = fabric.GPUID(g), d
			}
		}
	}
}

func earlier(a, b units.Instant) units.Instant {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b units.Instant) units.Instant {
	if b.After(a) {
		return b
	}
	return a
}

// Benchmark is the measured calls of a collective job, taken together as nccl-tests do: the time from the end of
// the warm-up to the end of the last call, over the number of calls.
type Benchmark struct {
	Collective   Collective
	Size         units.Bytes
	Ranks        int
	Calls        int
	Time         units.Duration // of one call, on average
	AlgBW, BusBW units.Rate
}

// Benchmark evaluates the collective job of the plan. It is false when there is none or a call did not end.
func (p *Plan) Benchmark(m Measurement) (Benchmark, bool) {
	var out Benchmark
	var from, to units.Instant
	warm := false
	for i, s := range p.Spans {
		if s.Collective == NoCollective || s.Step >= 0 {
			continue
		}
		t := m.Spans[i]
		if !t.Done {
			return Benchmark{}, false
		}
		if s.Warmup {
			from, warm = t.End, true
			continue
		}
		if out.Calls == 0 && !warm {
			from = t.Start
		}
		out.Collective, out.Size, out.Ranks = s.Collective, s.Bytes, s.Ranks
		out.Calls++
		to = t.End
	}
	if out.Calls == 0 {
		return Benchmark{}, false
	}
	out.Time = to.Sub(from) / units.Duration(out.Calls)
	out.AlgBW, out.BusBW = bandwidths(Span{Collective: out.Collective, Bytes: out.Size, Ranks: out.Ranks}, out.Time)
	return out, true
}
