package claims

import (
	"math"
	"slices"
	"strconv"
)

// Schema names the JSON form of a report.
const Schema = "shunt/claims/v1"

// Report is what came of claims.
type Report struct {
	Schema      string     `json:"schema"`
	Interval    string     `json:"interval"` // how the intervals were made
	Complete    bool       `json:"complete"` // false: it was interrupted, or something failed
	Trials      int        `json:"trials"`
	Kept        int        `json:"-"` // of these, from before
	Claims      []Outcome  `json:"claims"`
	Experiments []Repeated `json:"experiments"`
}

// Outcome is a claim and what came of it.
type Outcome struct {
	ID      string   `json:"id"`
	Article Article  `json:"article"`
	Says    string   `json:"says"`
	Figure  string   `json:"figure"`
	Kind    Kind     `json:"kind"`
	Verdict Verdict  `json:"verdict"`
	Measure *Figure  `json:"measured,omitempty"`
	Beside  []Figure `json:"beside,omitempty"`
	Reading string   `json:"reading"`
}

// Figure is a quantity as it was measured.
type Figure struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Experiment string `json:"experiment"`
	Value      string `json:"value"`             // the name of the quantity in the experiment
	Claimed    string `json:"claimed,omitempty"` // the rule it is held against, in words
	Estimate
}

// Repeated is an experiment as it was carried out.
type Repeated struct {
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Method  string   `json:"method"`
	Files   []string `json:"scenarios,omitempty"`
	Seeds   []uint64 `json:"seeds,omitempty"` // that ended; none where no seed changes anything
	Exact   bool     `json:"exact,omitempty"`
	Failed  []string `json:"failed,omitempty"`
}

// newReport judges the claims by the trials that ended.
func newReport(claims []Claim, experiments []Experiment, trials []trialOf) *Report {
	r := &Report{Schema: Schema, Interval: IntervalMethod, Complete: true, Trials: len(trials), Claims: []Outcome{}, Experiments: []Repeated{}}
	for i := range experiments {
		e := &experiments[i]
		x := Repeated{Name: e.Name, Version: e.Version, Method: e.Method, Files: e.Files, Exact: e.Exact}
		for k := range trials {
			t := &trials[k]
			switch {
			case t.e.Name != e.Name:
			case !t.done:
				r.Complete = false
			case t.err != nil:
				r.Complete = false
				x.Failed = append(x.Failed, t.err.Error())
			default:
				if t.kept {
					r.Kept++
				}
				if !e.Exact {
					x.Seeds = append(x.Seeds, t.seed)
				}
			}
		}
		r.Experiments = append(r.Experiments, x)
	}
	figureOf := func(m Measure) Figure {
		at := slices.IndexFunc(experiments, func(e Experiment) bool { return e.Name == m.Experiment })
		var values []float64
		for k := range trials {
			t := &trials[k]
			if v, ok := t.v[m.Value]; ok && t.e.Name == m.Experiment && t.done && t.err == nil {
				values = append(values, v)
			}
		}
		f := Figure{Name: m.Name, Unit: m.Unit, Experiment: m.Experiment, Value: m.Value, Estimate: estimate(values, at >= 0 && experiments[at].Exact)}
		if m.Rule.given {
			f.Claimed = m.Rule.String()
		}
		return f
	}
	for _, c := range claims {
		o := Outcome{ID: c.ID, Article: c.Article, Says: c.Says, Figure: c.Figure, Kind: c.Kind, Verdict: Untestable, Reading: c.Reading}
		if c.Kind != NoTest {
			f := figureOf(c.Measure)
			o.Measure, o.Verdict = &f, Judge(c.Measure.Rule, f.Estimate)
			for _, m := range c.Beside {
				o.Beside = append(o.Beside, figureOf(m))
			}
		}
		r.Claims = append(r.Claims, o)
	}
	return r
}

// Count is how many claims have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for i := range r.Claims {
		if r.Claims[i].Verdict == v {
			n++
		}
	}
	return n
}

// Text is an estimate for reading: "2.41 ratio (2.33 to 2.49)".
func (f *Figure) Text() string {
	if !f.Known {
		return "not known"
	}
	text := figure(f.Mean)
	if f.Unit != "" && f.Unit != "ratio" {
		text += " " + f.Unit
	}
	switch {
	case f.Exact:
	case !f.Interval:
		text += " (one seed)"
	case f.Low == f.High:
		text += " (every seed)"
	default:
		text += " (" + figure(f.Low) + " to " + figure(f.High) + ")"
	}
	return text
}

// figure prints a number with three significant digits, and with an exponent where zeros would hide them.
func figure(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	switch a := math.Abs(v); {
	case v == 0 || math.IsInf(v, 0) || math.IsNaN(v):
		return strconv.FormatFloat(v, 'f', -1, 64)
	case a >= 1e12 || a < 1e-4:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
