package claims

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Values are the quantities that one seed of an experiment came to, by name. A quantity that a seed did not give is left out.
type Values map[string]float64

// Experiment is something that can be repeated with other seeds.
type Experiment struct {
	Name    string
	Version int // raised whenever what it does changes: what was kept of an earlier one is not used again (Q3)
	// Method says what is done, for the reader of the page.
	Method string
	Files  []string // the scenarios it runs, in scenarios/
	Seeds  int      // by default; 1 with Exact
	Exact  bool     // no seed changes anything
	Cost   float64  // seconds that one seed takes, about: by it the long ones begin first and the progress is weighed
	Values []string // the names of all its quantities

	run func(t *Trial) (Values, error)
}

// Experiments lists all experiments.
func Experiments() []Experiment {
	return slices.Concat(sprayingExperiments(), engineExperiments(), weightExperiments(), identityExperiments(), modelExperiments(), moeExperiments(), ecnExperiments(), timeoutExperiments(), networkExperiments(), arithmetic())
}

// experimentNamed finds an experiment.
func experimentNamed(name string) (Experiment, bool) {
	for _, e := range Experiments() {
		if e.Name == name {
			return e, true
		}
	}
	return Experiment{}, false
}

// Trial is one seed of an experiment under way.
type Trial struct {
	Seed    uint64
	Reduced bool // smaller, for tests: it runs all the code but its figures mean little

	ctx context.Context
}

// Once carries an experiment out with one seed. Reduced makes it small.
func (e Experiment) Once(ctx context.Context, seed uint64, reduced bool) (v Values, err error) {
	defer func() {
		// A fault of the simulator in one experiment must not take the others along.
		if p := recover(); p != nil {
			err = fmt.Errorf("claims: %s, seed %d: %v", e.Name, seed, p)
		}
	}()
	v, err = e.run(&Trial{Seed: seed, Reduced: reduced, ctx: ctx})
	if err != nil {
		return nil, fmt.Errorf("claims: %s, seed %d: %w", e.Name, seed, err)
	}
	for name, x := range v {
		if !slices.Contains(e.Values, name) {
			return nil, fmt.Errorf("claims: %s has no quantity %q", e.Name, name)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			delete(v, name) // a quotient whose divisor was zero: not known
		}
	}
	return v, nil
}
