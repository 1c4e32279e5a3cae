package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/internal/spec"
)

const planned = `over:
  - name: scheme
    values:
      - {name: one path, set: [path_choice=ecmp]}
      - {name: all paths, set: [path_choice=random, nic.transport=place]}
  - field: seed=1..3
  - field: job.collective.size=64KiB,256KiB
tables:
  - {rows: scheme, columns: job.collective.size, figures: [end], over_seeds: p99}
  - {title: details, rows: scheme, figures: [all_reduce p50, sent again share]}
`

const ring = `title: a small ring
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, link: {rate: 400Gbps, delay: 500ns}}
nic: {control: none}
job: {collective: {kind: all_reduce, size: 64KiB, ranks: [0, 2, 1, 3]}}
`

// A named value sets all its fields, the results are laid out as the plan says, and seeds are taken together.
func TestSweepPlan(t *testing.T) {
	p, err := ParseSweepPlan("sweep.yaml", []byte(planned))
	if err != nil {
		t.Fatal(err)
	}
	axes, err := p.Axes(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Sweep{Source: Source{File: "ring.yaml", Bytes: []byte(ring)}, Axes: axes, Engine: Packets}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	results, err := s.Run(context.Background(), nil, SweepOptions{Jobs: 2})
	if err != nil || len(results) != 12 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if diff := cmp.Diff([]string{"one path", "1", "64KiB"}, results[0].Set); diff != "" {
		t.Error(diff)
	}
	table := s.Table(results)
	sheets, err := table.Sheets(p.Tables[0])
	if err != nil || len(sheets) != 1 {
		t.Fatalf("%d sheets, %v", len(sheets), err)
	}
	ends := sheets[0]
	if diff := cmp.Diff([]SheetColumn{{"64KiB", "us"}, {"256KiB", "us"}}, ends.Columns); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"one path", "all paths"} {
		if line := ends.Lines[i]; line.Name != want || line.Cells[0].Runs != 3 || line.Cells[0].P99 != line.Cells[0].Max || line.Cells[1].Mean <= line.Cells[0].Mean {
			t.Errorf("%s: %+v", want, line)
		}
	}
	// The two schemes are told apart by more than their names.
	if a, b := ends.Lines[0].Cells[1].Value, ends.Lines[1].Cells[1].Value; a == b {
		t.Errorf("both schemes came to %+v", a)
	}
	sheets, err = table.Sheets(p.Tables[1])
	if err != nil || len(sheets) != 2 || sheets[0].Section[0] != "job.collective.size 64KiB" || len(sheets[0].Columns) != 2 || sheets[0].Seeds != 3 {
		t.Errorf("sheets %+v, %v", sheets, err)
	}
	if _, err := table.Sheets(PlanTable{Rows: "scheme", Figures: []string{"speed"}}); err == nil || !strings.Contains(err.Error(), "there are: all_reduce p50, ") {
		t.Errorf("a figure that nobody has: %v", err)
	}
	results[0].Figures.Stalled = true
	if sheets, err = s.Table(results).Sheets(p.Tables[0]); err != nil || sheets[0].Lines[0].Cells[0].Unfinished != 1 {
		t.Errorf("a run that did not end counts: %+v, %v", sheets, err)
	}
}

// A command line takes some of the names of an axis, other values of a field, or adds an axis.
func TestSweepPlanAxes(t *testing.T) {
	p, err := ParseSweepPlan("sweep.yaml", []byte(planned))
	if err != nil {
		t.Fatal(err)
	}
	over := func(list ...string) (out []Axis) {
		for _, text := range list {
			a, err := ParseAxis(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a)
		}
		return out
	}
	axes, err := p.Axes(over("scheme=all paths", "seed=7", "nic.qps=1,2"))
	if err != nil || len(axes) != 4 {
		t.Fatalf("%v, %v", axes, err)
	}
	if diff := cmp.Diff([]Setting{{"path_choice", "random"}, {"nic.transport", "place"}}, axes[0].Settings(0)); diff != "" || axes[0].Count() != 1 {
		t.Errorf("%v %s", axes[0], diff)
	}
	if axes[1].Count() != 1 || axes[1].At(0) != "7" {
		t.Errorf("seeds %v", axes[1])
	}
	if _, err := p.Axes(over("scheme=other")); err == nil || !strings.Contains(err.Error(), "it has one path, all paths") {
		t.Errorf("a name that is not there: %v", err)
	}
	// What a name stands for is part of what results are results of.
	other, _ := ParseSweepPlan("sweep.yaml", []byte(strings.Replace(planned, "path_choice=random", "path_choice=round-robin", 1)))
	changed, _ := other.Axes(nil)
	if whole, _ := p.Axes(nil); whole[0].String() == changed[0].String() {
		t.Error("a changed plan reads as the same sweep")
	}
}

// Every mistake comes at once, with its place.
func TestSweepPlanMistakes(t *testing.T) {
	_, err := ParseSweepPlan("sweep.yaml", []byte(`over:
  - {name: scheme, values: [{name: a, set: [path_choice]}]}
  - {field: seed=1..3, name: seeds}
  - {name: twice, values: [{name: a}, {name: a}]}
  - {field: seed=1..3}
  - {field: "seed=4,5"}
tables:
  - {rows: seed, columns: seed, figures: [end]}
  - {rows: schemes, figures: [end]}
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`sweep.yaml:2:`, `"path_choice" is no setting`, `sweep.yaml:3:`, "either field, or name and values", "two values", "there is an axis seed already",
		"the same axis cannot be rows and columns", `sweep.yaml:9:`, `no axis is called "schemes"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func FuzzParseSweepPlan(f *testing.F) {
	f.Add([]byte(planned))
	f.Add([]byte("over: [{name: a, values: [{name: b, set: [c=d]}]}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := ParseSweepPlan("sweep.yaml", src)
		if err != nil {
			return
		}
		if axes, err := p.Axes(nil); err != nil || len(axes) == 0 {
			t.Errorf("a plan that was accepted has axes %v, %v", axes, err)
		}
	})
}

// The plans among the examples read, every combination of their values is a scenario, and the figures of their tables are there.
func TestExamplePlans(t *testing.T) {
	plans, err := filepath.Glob("../examples/*/" + SweepPlanName)
	if err != nil || len(plans) < 2 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	for _, plan := range plans {
		dir := filepath.Dir(plan)
		p, err := ReadSweepPlan(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		axes, err := p.Axes([]Axis{{Path: "seed", Values: []string{"1"}}})
		if err != nil {
			t.Fatal(err)
		}
		src, err := ReadSource(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := &Sweep{Source: src, Axes: axes, Engine: Packets}
		if err := s.Prepare(); err != nil {
			t.Errorf("%s: %v", plan, err)
			continue
		}
		for point := range s.Points() {
			var set []Setting
			for i := range s.Axes {
				set = append(set, s.Axes[i].Settings(int(s.points[point][i]))...)
			}
			if _, err := src.With(set...); err != nil {
				t.Errorf("%s: %v: %v", plan, s.Values(point), err)
			}
		}
		r, err := s.run(context.Background(), 0, func(float64) {})
		if err != nil || r.Error != "" {
			t.Errorf("%s: %v %s", plan, err, r.Error)
			continue
		}
		for _, table := range p.Tables {
			if _, err := s.Table([]Result{*r}).Sheets(table); err != nil {
				t.Errorf("%s: %v", plan, err)
			}
		}
	}
}

// The published schema of a plan is what the types say.
func TestSweepPlanSchemaIsFresh(t *testing.T) {
	const page = "../docs/schema/sweep.schema.json"
	want, err := spec.Schema(SweepPlan{})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != string(want) {
		t.Errorf("%s is not what the types say (%v); run go test ./scenario -update", page, err)
	}
}
