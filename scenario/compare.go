package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/shunt-network/shunt/units"
)

// CompareSchema names the JSON form of a comparison.
const CompareSchema = "shunt/compare/v1"

// Variant is one side of a comparison: a scenario with fields set, or a run that was kept.
type Variant struct {
	Name   string
	Source Source
	Set    []Setting
	Kept   *Kept // nil: the source is run
}

// Side is a variant and what its runs came to, one for each seed.
type Side struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Set     []string  `json:"set,omitempty"`
	Runs    []Figures `json:"runs"`
	LeftOut []string  `json:"left_out,omitempty"`

	// Completions are the times of all messages between hosts, of all seeds, in order; nil for a kept run.
	Completions []units.Duration `json:"-"`
}

// Comparison is variants side by side.
type Comparison struct {
	Schema  string   `json:"schema"`
	Sides   []Side   `json:"sides"`
	Metrics []Metric `json:"metrics"`
}

// Metric is one figure of all sides.
type Metric struct {
	Name   string  `json:"name"` // "step p50", "dp all_reduce p99"
	Unit   string  `json:"unit"` // "us", "GB/s", "packets", "frames", "share"
	Values []Value `json:"values"`
}

// Value is a figure of one side over its seeds. Known is false where no run of the side has it: the engine does not know it, or
// nothing of it ended.
type Value struct {
	Known bool    `json:"known"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Ratio float64 `json:"ratio,omitempty"` // to the first side; 0 where there is none
}

// CompareOptions says how variants are run.
type CompareOptions struct {
	Engine   Engine
	Seeds    int // runs of each variant, from its own seed on
	Progress func(done float64)
}

// Compare runs the variants, one run a core, and lays their figures side by side. Every mistake of a variant is found before the first
// run.
func Compare(ctx context.Context, variants []Variant, o CompareOptions) (*Comparison, error) {
	type job struct{ side, seed int }
	var jobs []job
	scenarios := make([]*Scenario, len(variants))
	out := &Comparison{Schema: CompareSchema, Sides: make([]Side, len(variants))}
	for i, v := range variants {
		out.Sides[i].Name = v.Name
		for _, x := range v.Set {
			out.Sides[i].Set = append(out.Sides[i].Set, x.String())
		}
		if v.Kept != nil {
			out.Sides[i].Title, out.Sides[i].Runs, out.Sides[i].LeftOut = v.Kept.Title, []Figures{v.Kept.Figures}, v.Kept.LeftOut
			continue
		}
		s, err := v.Source.With(v.Set...)
		if err != nil {
			return nil, err
		}
		scenarios[i] = s
		out.Sides[i].Title, out.Sides[i].Runs = s.Title, make([]Figures, o.Seeds)
		for seed := range o.Seeds {
			jobs = append(jobs, job{i, seed})
		}
	}
	completions := make([][]units.Duration, len(jobs))
	share := make([]float64, len(jobs))
	var mu sync.Mutex
	err := inParallel(ctx, len(jobs), runtime.GOMAXPROCS(0), func(ctx context.Context, k int) error {
		j := jobs[k]
		s := scenarios[j.side].seeded(scenarios[j.side].Seed + uint64(j.seed))
		run, err := s.RunOn(ctx, o.Engine, nil, func(done float64) {
			mu.Lock()
			defer mu.Unlock()
			if share[k] = done; o.Progress != nil {
				sum := 0.0
				for _, x := range share {
					sum += x
				}
				o.Progress(sum / float64(len(jobs)))
			}
		})
		if err != nil {
			return err
		}
		out.Sides[j.side].Runs[j.seed] = run.Figures()
		if run.Estimate == nil {
			completions[k] = run.completions()
		}
		if j.seed == 0 {
			out.Sides[j.side].LeftOut = run.LeftOut()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k, j := range jobs {
		out.Sides[j.side].Completions = append(out.Sides[j.side].Completions, completions[k]...)
	}
	out.Metrics = metricsOf(out.Sides)
	return out, nil
}

// inParallel calls do for 0..n-1, so many at a time, and returns the first error by number. After an error no new call begins, and
// the context of those under way ends.
func inParallel(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if errs[i] = do(ctx, i); errs[i] != nil {
					cancel()
				}
			}
		}()
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil && ctx.Err() != nil && err != context.Canceled {
			return err // what ended the others
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// figure is one metric of one run.
type figure struct {
	name, unit string
	value      float64
}

// list turns figures into a list of metrics, in the order in which they are shown.
func (f *Figures) list() []figure {
	var out []figure
	add := func(name, unit string, value float64) { out = append(out, figure{name, unit, value}) }
	spread := func(name string, s *Spread) {
		if s != nil {
			add(name+" p50", "us", s.P50US)
			add(name+" p99", "us", s.P99US)
		}
	}
	if f.Step != nil {
		add("step mean", "us", f.Step.MeanUS)
	}
	spread("step", f.Step)
	for i := range f.Collectives {
		c := &f.Collectives[i]
		name := c.Name
		for k := range f.Collectives {
			if k != i && f.Collectives[k].Name == c.Name { // one name, several sizes
				name = fmt.Sprintf("%s %v", c.Name, units.Bytes(c.Bytes))
				break
			}
		}
		spread(name, &c.Time)
		add(name+" busbw", "GB/s", c.BusBW)
	}
	spread("message", f.Completion)
	if n := f.Network; n != nil {
		add("PFC pauses", "frames", float64(n.PauseFrames))
		add("PFC pause time", "us", n.PauseUS)
		add("ECN marks", "packets", float64(n.ECNMarked))
		add("CNPs", "packets", float64(n.CNPs))
		add("sent again", "packets", float64(n.Retransmitted))
		add("sent again share", "share", n.RetransmittedShare)
		add("out of order", "packets", float64(n.OutOfOrder))
		add("late share", "share", n.Reordering.LateShare)
		add("overtaken by p99", "packets", float64(n.Reordering.P99))
		add("overtaken by max", "packets", float64(n.Reordering.Max))
		add("timeouts", "timeouts", float64(n.Timeouts))
		add("drops", "packets", float64(n.Dropped))
	}
	if f.Hottest != nil {
		add("busiest link", "share", f.Hottest.Busy)
	}
	add("end", "us", f.EndUS)
	return out
}

// metricsOf lines the figures of all sides up by name.
func metricsOf(sides []Side) []Metric {
	var out []Metric
	at := map[string]int{} // only looked up
	for i := range sides {
		for r := range sides[i].Runs {
			for _, f := range sides[i].Runs[r].list() {
				k, ok := at[f.name]
				if !ok {
					k = len(out)
					at[f.name] = k
					out = append(out, Metric{Name: f.name, Unit: f.unit, Values: make([]Value, len(sides))})
				}
				v := &out[k].Values[i]
				if !v.Known {
					*v = Value{Known: true, Min: f.value, Max: f.value}
				}
				v.Min, v.Max = min(v.Min, f.value), max(v.Max, f.value)
				v.Mean += f.value / float64(len(sides[i].Runs))
			}
		}
	}
	for k := range out {
		first := out[k].Values[0]
		for i := range out[k].Values {
			if v := &out[k].Values[i]; v.Known && first.Known && first.Mean > 0 {
				v.Ratio = v.Mean / first.Mean
			}
		}
	}
	return out
}

// VariantOf reads a path: the folder of a kept run, or a scenario.
func VariantOf(path string) (Variant, error) {
	name := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(path)), "/"+FileName)
	if IsKept(path) {
		k, err := LoadKept(path)
		return Variant{Name: name, Kept: k}, err
	}
	src, err := ReadSource(path)
	return Variant{Name: name, Source: src}, err
}
