package claims

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// Options says how claims are tested.
type Options struct {
	Seeds    int     // of every experiment that has seeds; 0: each its own
	Jobs     int     // trials at a time
	Folder   *Folder // where results are kept; nil: nowhere
	Fresh    bool    // use nothing that was kept
	Reduced  bool    // small experiments, for tests
	Progress func(done float64)
}

// maxSeeds bounds the trials of an experiment.
const maxSeeds = 1000

// MaxSeeds is the most seeds that Options takes.
func MaxSeeds() int { return maxSeeds }

// trialOf is one seed of an experiment and what it came to.
type trialOf struct {
	e    *Experiment
	seed uint64
	v    Values
	err  error
	done bool
	kept bool
}

// Run carries out the experiments of the claims, so many at a time, and judges the claims. A cancelled context ends it with what there is
// and the context's error; what failed in an experiment is in the report.
func Run(ctx context.Context, claims []Claim, o Options) (*Report, error) {
	experiments := used(claims)
	var trials []trialOf
	for i := range experiments {
		e := &experiments[i]
		for seed := range uint64(e.seeds(o)) {
			trials = append(trials, trialOf{e: e, seed: seed + 1})
		}
	}
	var todo []*trialOf
	var total float64
	for i := range trials {
		t := &trials[i]
		if o.Folder != nil && !o.Fresh {
			t.v, t.done = o.Folder.get(*t.e, t.seed, o.Reduced)
			t.kept = t.done
		}
		if !t.done {
			todo = append(todo, t)
			total += t.e.Cost
		}
	}
	// The long ones first, so that no core is left with one of them at the end.
	slices.SortStableFunc(todo, func(a, b *trialOf) int { return cmp.Compare(b.e.Cost, a.e.Cost) })
	err := carryOut(ctx, todo, total, o)
	return newReport(claims, experiments, trials), err
}

// carryOut runs the trials. Its error is about keeping them, or the context's.
func carryOut(ctx context.Context, todo []*trialOf, total float64, o Options) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var done float64
	var errs []error
	next := make(chan *trialOf)
	for range max(1, min(o.Jobs, len(todo))) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for t := range next {
				v, err := t.e.Once(ctx, t.seed, o.Reduced)
				if err != nil && ctx.Err() != nil {
					continue // ended by the context: there is nothing to say of it
				}
				var keeping error
				if err == nil && o.Folder != nil {
					keeping = o.Folder.put(*t.e, t.seed, o.Reduced, v)
				}
				mu.Lock()
				t.v, t.err, t.done = v, err, true
				if keeping != nil {
					errs = append(errs, keeping)
				}
				done += t.e.Cost
				if o.Progress != nil && total > 0 {
					o.Progress(done / total)
				}
				mu.Unlock()
			}
		}()
	}
	for _, t := range todo {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- t:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if len(errs) > 1 {
		errs = errs[:1] // a full disk says the same of every trial
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// seeds is how many seeds an experiment is run with.
func (e *Experiment) seeds(o Options) int {
	switch {
	case e.Exact:
		return 1
	case o.Seeds > 0:
		return o.Seeds
	}
	return e.Seeds
}

// used lists the experiments that the claims need, in their own order.
func used(claims []Claim) (list []Experiment) {
	need := func(name string) bool {
		return slices.ContainsFunc(claims, func(c Claim) bool {
			return c.Measure.Experiment == name || slices.ContainsFunc(c.Beside, func(m Measure) bool { return m.Experiment == name })
		})
	}
	for _, e := range Experiments() {
		if need(e.Name) {
			list = append(list, e)
		}
	}
	return list
}
