package scenario

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/units"
)

// Options says how a scenario is explained.
type Options struct {
	Seeds    int // with how many seeds a fix is tried; 0 tries none
	Progress func(done float64)
}

// Outcome is a run, its diagnosis, and the fixes tried.
type Outcome struct {
	*Run
	Result diagnose.Result
}

// Explain runs the scenario, diagnoses the run and tries the fix of every finding in further runs of the same
// scenario: with and without the fix, over the same seeds. When the context ends after the first run, the outcome is
// returned with the context's error, so that what was found so far can be shown.
func (s *Scenario) Explain(ctx context.Context, o Options) (*Outcome, error) {
	progress := func(share float64) {
		if o.Progress != nil {
			o.Progress(share)
		}
	}
	run, err := s.Run(ctx, func(done float64) { progress(done * firstShare(o)) })
	if err != nil {
		return nil, err
	}
	out := &Outcome{Run: run, Result: run.Diagnose()}
	if o.Seeds > 0 {
		err = s.try(ctx, out, o.Seeds, func(done float64) { progress(firstShare(o) + done*(1-firstShare(o))) })
	}
	progress(1)
	return out, err
}

// firstShare is the part of the whole work that the first run is taken to be, for progress only.
func firstShare(o Options) float64 { return 1 / float64(1+2*o.Seeds) }

// metric is what a fix is measured by: the mean step, or the mean call of the collective that takes the most time.
func (r *Run) metric() (name string, mean units.Duration, ok bool) {
	if n := units.Duration(len(r.Inventory.Steps)); n > 0 {
		var sum units.Duration
		for _, s := range r.Inventory.Steps {
			sum += s.Time
		}
		return "step", sum / n, true
	}
	type total struct {
		name string
		time units.Duration
		n    units.Duration
	}
	var totals []total
	for _, c := range r.Inventory.Calls {
		i := slices.IndexFunc(totals, func(t total) bool { return t.name == c.Name })
		if i < 0 {
			totals = append(totals, total{name: c.Name})
			i = len(totals) - 1
		}
		totals[i].time += c.Time
		totals[i].n++
	}
	if len(totals) == 0 {
		return "", 0, false
	}
	t := slices.MaxFunc(totals, func(a, b total) int { return cmp.Compare(a.time, b.time) })
	return t.name, t.time / t.n, true
}

// try measures the fixes of the findings. Every run has a scenario of its own, so they go side by side, one a core;
// which of them ends first changes nothing in the figures.
func (s *Scenario) try(ctx context.Context, out *Outcome, seeds int, progress func(float64)) error {
	name, before, ok := out.metric()
	stalled := out.Summary.Stalled // what few calls ended says nothing of the job
	if !ok && !stalled {
		return nil
	}
	type job struct {
		scenario *Scenario
		into     **diagnose.Trial // nil: without a fix
		seed     int
	}
	var jobs []job
	var tried []**diagnose.Trial
	add := func(changes []diagnose.Change, into **diagnose.Trial) {
		fixed, err := s.With(changes)
		if len(changes) == 0 || err != nil {
			return // a fix that this scenario cannot take is shown without a trial
		}
		tried = append(tried, into)
		for seed := range seeds {
			jobs = append(jobs, job{fixed.seeded(s.Seed + uint64(seed)), into, seed})
		}
	}
	for i := range out.Result.Findings {
		fix := &out.Result.Findings[i].Fix
		add(fix.Try, &fix.Trial)
		for j := range fix.Others {
			add(fix.Others[j].Try, &fix.Others[j].Trial)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	for seed := 1; seed < seeds && !stalled; seed++ { // seed 0 is the run there is already
		jobs = append(jobs, job{s.seeded(s.Seed + uint64(seed)), nil, seed})
	}
	results := make([]units.Duration, len(jobs))
	names := make([]string, len(jobs))
	errs := make([]error, len(jobs))
	var done int
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, j := range jobs {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() {
				// A fault of the simulator in a trial comes out as an error: the findings it was to measure stand without it.
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("scenario: the simulator failed in a trial of %v: %v", j.scenario.Title, p)
				}
				<-slots
				wg.Done()
			}()
			run, err := j.scenario.Run(ctx, nil)
			if err == nil {
				// A job that the fix does not let finish has no figure.
				if n, mean, ok := run.metric(); ok && (n == name || stalled) && !run.Cut && !run.Summary.Stalled {
					names[i], results[i] = n, mean
				}
			}
			errs[i] = err
			mu.Lock()
			done++
			progress(float64(done) / float64(len(jobs)))
			mu.Unlock()
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	base := make([]units.Duration, seeds)
	base[0] = before
	fixed := map[**diagnose.Trial][]units.Duration{}
	for i, j := range jobs {
		if stalled && names[i] != "" {
			name = names[i]
		}
		if j.into == nil {
			base[j.seed] = results[i]
			continue
		}
		if fixed[j.into] == nil {
			fixed[j.into] = make([]units.Duration, seeds)
		}
		fixed[j.into][j.seed] = results[i]
	}
	for _, into := range tried {
		if stalled {
			*into = ended(name, fixed[into])
		} else {
			*into = trial(name, base, fixed[into])
		}
	}
	return nil
}

// trial sums up runs with and without a fix over the same seeds; nil when any of them has no figure.
func trial(metric string, before, after []units.Duration) *diagnose.Trial {
	t := &diagnose.Trial{Metric: metric, Seeds: len(before)}
	n := units.Duration(len(before))
	var least, most units.Duration
	for i := range before {
		if before[i] == 0 || after[i] == 0 {
			return nil
		}
		t.Before += before[i] / n
		t.After += after[i] / n
		gain := before[i] - after[i]
		if i == 0 || gain < least {
			least = gain
		}
		if i == 0 || gain > most {
			most = gain
		}
	}
	t.Spread = (most - least) / 2
	return t
}

// ended sums up runs with a fix of a job that never ends without it; nil when any of them does not end either.
func ended(metric string, after []units.Duration) *diagnose.Trial {
	t := &diagnose.Trial{Metric: metric, Seeds: len(after), Stalled: true}
	for _, a := range after {
		if a == 0 {
			return nil
		}
		t.After += a / units.Duration(len(after))
	}
	t.Spread = (slices.Max(after) - slices.Min(after)) / 2
	return t
}

// seeded is the scenario with another seed.
func (s *Scenario) seeded(seed uint64) *Scenario {
	c := *s
	c.Seed = seed
	return &c
}
