package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/flowsim"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A large job is not written out: flowsim works it out phase by phase. Such a run has calls and steps, but no operations, no series
// and no events of the network.

// carriedOps is how many operations the flow engine carries out one by one: an alltoall of 512 GPUs, which takes some twenty seconds. What
// cannot be worked out in phases (faults, background, patterns) is carried out up to workload.MaxOps.
const carriedOps = 1 << 18

// inPhases tells whether the job is worked out in phases.
func (s *Scenario) inPhases(f *fabric.Fabric) bool {
	if len(s.Faults) > 0 || len(s.Background) > 0 || s.Job.Pattern != nil {
		return !s.Spec.Fits(f, workload.MaxOps) // phases tells what is in the way
	}
	return !s.Spec.Fits(f, carriedOps)
}

// phases works the scenario out.
func (s *Scenario) phases(f *fabric.Fabric) (*Run, error) {
	var problems spec.Problems
	report := s.file().Reporter(&problems, "")
	faults := s.faults(f, report)
	s.Spec.Check(f, report)
	tooLarge := func(path, what string) {
		report(path, fmt.Sprintf("the job has more than %d operations, and %s cannot be worked out in phases; make the job smaller or remove it", workload.MaxOps, what))
	}
	if len(faults) > 0 {
		tooLarge("faults", "a fault")
	}
	if len(s.Background) > 0 {
		tooLarge("background", "background traffic")
	}
	if s.Job.Pattern != nil {
		tooLarge("job.pattern", "a pattern")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c := s.config(nil)
	e, err := flowsim.NewEstimator(f, flowConfig(c))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	r := &Run{
		Seed: s.Seed, Fabric: f, Config: c, Engine: Flows, Inventory: &evidence.Inventory{Simulated: true},
		Window: telemetry.NewWindow(units.At(0), units.At(0)),
	}
	if s.Job.Step != nil {
		j := s.Job.Step.Resolve(f, func(string, string, ...any) {})
		r.Estimate, err = e.Step(j, s.Seed)
	} else {
		r.Estimate, err = repeated(e, f, s.Job.Collective)
	}
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	r.Summary.End, r.Summary.Fingerprint = r.Estimate.End, r.Estimate.Fingerprint()
	return r, nil
}

// repeated works out the calls of a benchmark: one, as many times as it is made.
func repeated(e *flowsim.Estimator, f *fabric.Fabric, j *workload.CollectiveJob) (*flowsim.StepEstimate, error) {
	call := j.Call(f)
	p, err := e.Collective(call, [][]fabric.GPUID{call.Ranks})
	if err != nil {
		return nil, err
	}
	resolved := call.Resolved(f)
	calls := j.Warmup + max(1, j.Repeat)
	out := &flowsim.StepEstimate{Busy: make([]float64, len(f.Ports)), Flows: p.Flows}
	for i := range calls {
		from := units.At(int64(i) * int64(p.Time))
		out.End = from.Add(p.Time)
		out.Calls = append(out.Calls, flowsim.CallTime{
			Name: resolved.Name, Collective: call.Collective, Algorithm: resolved.Algorithm, Bytes: resolved.Size, Ranks: len(call.Ranks), Groups: 1,
			Step: -1, Warmup: i < j.Warmup, Start: from, End: out.End, Median: p.Time, Slowest: p.Time,
		})
	}
	for i, b := range p.Busy {
		out.Busy[i] = float64(b) * float64(p.Time) * float64(calls)
	}
	return out, nil
}

// estimated fills in the figures of a run that was worked out in phases. A call is one by each of its groups; of those, the median and
// the slowest are known.
func (r *Run) estimated(f *Figures) {
	var steps []units.Duration
	for i := range r.Estimate.Steps {
		if t := &r.Estimate.Steps[i]; !t.Warmup {
			steps = append(steps, t.End.Sub(t.Start))
		}
	}
	f.Step = spreadOf(steps)
	var median, slowest [][]units.Duration
	for i := range r.Estimate.Calls {
		c := &r.Estimate.Calls[i]
		if c.Warmup {
			continue
		}
		at := slices.IndexFunc(f.Collectives, func(g Collective) bool {
			return g.Name == c.Name && g.Bytes == int64(c.Bytes) && g.Ranks == c.Ranks
		})
		if at < 0 {
			at = len(f.Collectives)
			f.Collectives = append(f.Collectives, Collective{Name: c.Name, Kind: c.Collective.String(), Bytes: int64(c.Bytes), Ranks: c.Ranks})
			median, slowest = append(median, nil), append(slowest, nil)
		}
		f.Collectives[at].Time.Count += c.Groups
		median[at], slowest[at] = append(median[at], c.Median), append(slowest[at], c.Slowest)
	}
	for i := range f.Collectives {
		g := &f.Collectives[i]
		m, s := spreadOf(median[i]), spreadOf(slowest[i])
		g.Time = Spread{Count: g.Time.Count, MeanUS: m.MeanUS, MinUS: m.MinUS, P50US: m.P50US, P99US: s.P99US, MaxUS: s.MaxUS}
		g.BusBW = busBW(g.Kind, g.Bytes, g.Ranks, g.Time.P50US)
	}
	hottest, at := 0.0, -1
	for p, b := range r.Estimate.Busy {
		if b > hottest {
			hottest, at = b, p
		}
	}
	if at >= 0 {
		f.Hottest = &Link{r.Fabric.PortName(fabric.PortID(at)), min(1, hottest/float64(r.Estimate.End.PS()))}
	}
}

// busBW is the bus bandwidth of a call in GB/s, by nccl-tests' definition.
func busBW(kind string, bytes int64, ranks int, us float64) float64 {
	var c workload.Collective
	if c.UnmarshalText([]byte(kind)) != nil || us <= 0 {
		return 0
	}
	return float64(bytes) / us / 1e3 * c.BusFactor(ranks)
}

// estimatedCalls lists the steps and calls of a run that was worked out in phases, by their beginning.
func (r *Run) estimatedCalls() []eventLine {
	var out []eventLine
	for i := range r.Estimate.Steps {
		t := &r.Estimate.Steps[i]
		out = append(out, eventLine{TimePS: t.Start.PS(), Kind: "step", EndPS: pointer(t.End.PS()), Step: pointer(i)})
	}
	for i := range r.Estimate.Calls {
		c := &r.Estimate.Calls[i]
		l := eventLine{TimePS: c.Start.PS(), Kind: "span", EndPS: pointer(c.End.PS()), Name: c.Name, Count: uint64(c.Groups)}
		if c.Step >= 0 {
			l.Step = pointer(c.Step)
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b eventLine) int { return cmp.Compare(a.TimePS, b.TimePS) })
	return out
}
