package scenario

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
)

// SweepSchema names the form of a sweep's results.
const SweepSchema = "shunt/sweep/v1"

// Sweep is one scenario run at many points: every combination of values of its axes, or some of them drawn at random.
type Sweep struct {
	Source Source
	Axes   []Axis
	Random int    // so many points at random; 0: all of them
	Seed   uint64 // of the draw
	Engine Engine

	points [][]int32
}

// Result is one point of a sweep.
type Result struct {
	Index int      `json:"index"`
	Set   []string `json:"set"` // by axis: the value
	// Error says why the point has no figures: the values do not go together, or the run failed.
	Error   string   `json:"error,omitempty"`
	Figures *Figures `json:"figures,omitempty"`
}

// sweepHead is the first line of a file of results: what they are results of.
type sweepHead struct {
	Schema   string   `json:"schema"`
	Scenario string   `json:"scenario_sha256"`
	Over     []string `json:"over"`
	Random   int      `json:"random,omitempty"`
	Seed     uint64   `json:"random_seed,omitempty"`
	Engine   Engine   `json:"engine"`
	Points   int      `json:"points"`
	Version  string   `json:"version"` // of the program that began it
}

// same tells whether results of two heads belong together.
func (h sweepHead) same(o sweepHead) bool {
	return h.Schema == o.Schema && h.Scenario == o.Scenario && slices.Equal(h.Over, o.Over) && h.Random == o.Random && h.Seed == o.Seed && h.Engine == o.Engine && h.Points == o.Points
}

// Prepare checks the axes and lists the points. Every value is tried by itself: whether there is such a field and it takes the value.
func (s *Sweep) Prepare() error {
	var err error
	if s.points, err = points(s.Axes, s.Random, s.Seed); err != nil {
		return err
	}
	for i := range s.Axes {
		a := &s.Axes[i]
		for k := range s.Axes[:i] {
			if s.Axes[k].Path == a.Path {
				return fmt.Errorf("%s is swept twice; write its values in one list", a.Path)
			}
		}
		const most = 100 // values of a long range differ in nothing that reading would tell
		for v := range min(a.Count(), most) {
			for _, x := range a.Settings(v) {
				if err := s.Source.readable(x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Points is how many runs the sweep has.
func (s *Sweep) Points() int { return len(s.points) }

// Values are the values of the axes at a point.
func (s *Sweep) Values(point int) []string {
	out := make([]string, len(s.Axes))
	for i := range s.Axes {
		out[i] = s.Axes[i].At(int(s.points[point][i]))
	}
	return out
}

func (s *Sweep) head(version string) sweepHead {
	sum := sha256.Sum256(s.Source.Bytes)
	h := sweepHead{Schema: SweepSchema, Scenario: hex.EncodeToString(sum[:]), Random: s.Random, Engine: s.Engine, Points: len(s.points), Version: version}
	if s.Random > 0 {
		h.Seed = s.Seed
	}
	for i := range s.Axes {
		h.Over = append(h.Over, s.Axes[i].String())
	}
	return h
}

// SweepOptions says how a sweep is run.
type SweepOptions struct {
	Jobs     int    // runs at a time
	Version  string // of the program, for the record
	Progress func(done float64)
}

// Run runs every point that the file has no result of, one a core, and returns all results by index. What it finds goes to the file as
// it comes; file may be nil. A cancelled context ends the sweep with what there is and the context's error.
func (s *Sweep) Run(ctx context.Context, file *SweepFile, o SweepOptions) ([]Result, error) {
	results := make([]*Result, len(s.points))
	var todo []int
	if file != nil {
		for i := range file.Results {
			results[file.Results[i].Index] = &file.Results[i]
		}
	}
	for i := range results {
		if results[i] == nil {
			todo = append(todo, i)
		}
	}
	var mu sync.Mutex
	under := make(map[int]float64) // only added up
	ended := len(s.points) - len(todo)
	progress := func(point int, done float64) {
		mu.Lock()
		defer mu.Unlock()
		if under[point] = done; o.Progress != nil {
			sum := float64(ended)
			for _, share := range under {
				sum += share
			}
			o.Progress(sum / float64(len(s.points)))
		}
	}
	err := inParallel(ctx, len(todo), o.Jobs, func(ctx context.Context, k int) error {
		i := todo[k]
		r, err := s.run(ctx, i, func(done float64) { progress(i, done) })
		if err != nil {
			return err
		}
		progress(i, 1)
		mu.Lock()
		defer mu.Unlock()
		delete(under, i)
		ended++
		results[i] = r
		if file != nil {
			return file.append(*r)
		}
		return nil
	})
	if file != nil {
		err = errors.Join(err, file.sync())
	}
	var out []Result
	for _, r := range results {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, err
}

// run runs one point. Only the end of the context is an error; what is wrong with a point is its result.
func (s *Sweep) run(ctx context.Context, point int, progress func(done float64)) (*Result, error) {
	r := &Result{Index: point, Set: s.Values(point)}
	var set []Setting
	for i := range s.Axes {
		set = append(set, s.Axes[i].Settings(int(s.points[point][i]))...)
	}
	sc, err := s.Source.With(set...)
	if err == nil {
		var run *Run
		if run, err = sc.RunOn(ctx, s.Engine, nil, progress); err == nil {
			f := run.Figures()
			r.Figures = &f
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.Error = err.Error()
	}
	return r, nil
}

// MarshalLine is the line of a result in a file.
func (r *Result) marshalLine() ([]byte, error) {
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

// hashOf seeds a stream by a name.
func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
