package claims

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the texts of docs/claims.json and docs/claims.md anew, with the figures that are there")

const (
	pageFile = "../docs/claims.md"
	dataFile = "../docs/claims.json"
)

// kept is the report of docs/claims.json, with the texts of the claims as they are now.
func keptReport(t *testing.T) (asItIs, asItShould *Report) {
	t.Helper()
	b, err := os.ReadFile(dataFile)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	figures := map[[2]string]Estimate{}
	for _, o := range r.Claims {
		for _, f := range append([]Figure{*measured(o)}, o.Beside...) {
			figures[[2]string{f.Experiment, f.Value}] = f.Estimate
		}
	}
	// The same claims judged again, by the figures that are kept (Q2).
	now := &Report{Schema: Schema, Interval: IntervalMethod, Complete: r.Complete, Trials: r.Trials}
	figureOf := func(m Measure) Figure {
		f := Figure{Name: m.Name, Unit: m.Unit, Experiment: m.Experiment, Value: m.Value, Estimate: figures[[2]string{m.Experiment, m.Value}]}
		if m.Rule.given {
			f.Claimed = m.Rule.String()
		}
		return f
	}
	for _, c := range All() {
		o := Outcome{ID: c.ID, Article: c.Article, Says: c.Says, Figure: c.Figure, Kind: c.Kind, Verdict: Untestable, Reading: c.Reading}
		if c.Kind != NoTest {
			f := figureOf(c.Measure)
			o.Measure, o.Verdict = &f, Judge(c.Measure.Rule, f.Estimate)
			for _, m := range c.Beside {
				o.Beside = append(o.Beside, figureOf(m))
			}
		}
		now.Claims = append(now.Claims, o)
	}
	for _, e := range used(All()) {
		x := Repeated{Name: e.Name, Version: e.Version, Method: e.Method, Files: e.Files, Exact: e.Exact}
		for _, k := range r.Experiments {
			if k.Name == e.Name {
				x.Version, x.Seeds, x.Failed = k.Version, k.Seeds, k.Failed
			}
		}
		now.Experiments = append(now.Experiments, x)
	}
	return &r, now
}

func measured(o Outcome) *Figure {
	if o.Measure == nil {
		return &Figure{}
	}
	return o.Measure
}

// The page is what the command makes of the data beside it, and the data is of the claims as they are: every claim, text, rule and verdict, every
// experiment in its version and with its seeds. The figures themselves are not made again here; that takes minutes.
func TestPageIsCurrent(t *testing.T) {
	kept, now := keptReport(t)
	if *update {
		if err := os.WriteFile(dataFile, []byte(jsonOf(t, now)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(pageFile, []byte(now.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
		kept, now = keptReport(t)
	}
	if d := cmp.Diff(now, kept); d != "" {
		t.Errorf("docs/claims.json is of other claims (-as they are +kept). Texts: go test ./claims -run Page -update; figures: shunt claims --json -o docs/claims.json:\n%s", d)
	}
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(kept.Markdown(), string(page)); d != "" {
		t.Errorf("docs/claims.md is not what the data makes (-should +is); %s:\n%s", Command, d)
	}
	if !kept.Complete {
		t.Error("docs/claims.json is of a run that did not end")
	}
	for _, e := range Experiments() {
		for _, k := range kept.Experiments {
			if k.Name == e.Name && (k.Version != e.Version || !e.Exact && len(k.Seeds) < e.Seeds) {
				t.Errorf("%s: version %d with %d seeds is kept; it is version %d with %d", e.Name, k.Version, len(k.Seeds), e.Version, e.Seeds)
			}
		}
	}
	for _, o := range kept.Claims {
		for _, f := range append([]Figure{*measured(o)}, o.Beside...) {
			if o.Measure != nil && !f.Known {
				t.Errorf("%s: %s is not known in docs/claims.json", o.ID, f.Name)
			}
		}
	}
}

// What nothing is drawn for is quickly made again, and has to come to what is kept.
func TestExactFiguresAreKept(t *testing.T) {
	kept, _ := keptReport(t)
	for _, e := range Experiments() {
		if !e.Exact {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			v, err := e.Once(t.Context(), 1, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range kept.Claims {
				for _, f := range append([]Figure{*measured(o)}, o.Beside...) {
					if f.Experiment == e.Name && math.Abs(f.Mean-v[f.Value]) > 1e-6*math.Abs(v[f.Value]) {
						t.Errorf("%s: %s is %g, kept is %g; raise the experiment's version and run shunt claims", o.ID, f.Value, v[f.Value], f.Mean)
					}
				}
			}
		})
	}
}

// Reading a claim's paragraph must not need the source: method, rule and reason are in it.
func TestMarkdown(t *testing.T) {
	list, _ := Find([]string{"S0.1a", "S0.9d"})
	r, err := Run(t.Context(), list, Options{Seeds: 2, Jobs: 1, Reduced: true})
	if err != nil {
		t.Fatal(err)
	}
	page := r.Markdown()
	for _, want := range []string{
		"| [S0.1a](#s01a) |", "#### S0.9d", "**Cannot be tested here**. Needs the NIC", "| 2.95 +- 0.487 | spraying |", "| shown beside |",
		"Seeds 1, 2. Scenarios: [spraying.yaml](../claims/scenarios/spraying.yaml).", "## Figures that claim nothing",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	r.Complete = false
	if !strings.Contains(r.Markdown(), "**Not complete:**") {
		t.Error("an interrupted run makes a page that does not say so")
	}
}
