package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/scenario"
)

// sweepOptions are the flags of sweep.
type sweepOptions struct {
	over       []string
	random     int
	randomSeed uint64
	out        string
	engine     engineFlag
	jobs       int
	by         string
	top        int
	json       bool
}

func (a *app) sweepCommand() *cobra.Command {
	o := sweepOptions{engine: engineFlag{scenario.Packets}}
	c := &cobra.Command{
		Use:   "sweep PATH [--over FIELD=VALUES...]",
		Short: "run a scenario over a grid of values",
		Long: `Sweep runs a scenario with every combination of values of its --over fields, or with --random some of them, one run a core. Any
field can be swept: VALUES is a list, a range 1..10, or a range with a step 100KB..800KB/100KB. Points that differ in the seed
alone are taken together.

A folder may hold sweep.yaml beside its scenario.yaml: axes whose values have names and set several fields each, and the tables that the
results are shown in. --over then takes other values for a field of it, or some of the names of an axis, or adds an axis.

With -o the results are kept as they come, in results.jsonl; the same command goes on where it was when it was stopped or
killed. At the end results.csv and results.parquet are written beside it.`,
		Example: `  shunt sweep examples/ecn-too-low --over switch.ecn.kmin=8KB,100KB,800KB --over seed=1..5 -o ecn
  shunt sweep examples/moe-collision --over path_choice=ecmp,ecmp-qpn --over nic.qps=1..8 --random 10
  shunt sweep examples/spray-shootout
  shunt sweep examples/spray-shootout --over scheme=ecmp,reps --over seed=1..20
  shunt sweep scenario.yaml --over 'faults[0].at=0us..2ms/100us' --engine flow --by 'step p99'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.sweep(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.over, "over", nil, "a field and its values, path=a,b,c or path=1..10 (any number of times)")
	f.IntVar(&o.random, "random", 0, "so many combinations drawn at random instead of all")
	f.Uint64Var(&o.randomSeed, "random-seed", 0, "seed of the draw")
	f.StringVarP(&o.out, "output", "o", "", "folder to keep the results in, and to go on from")
	f.Var(&o.engine, "engine", "what carries it out: packet or flow")
	f.IntVar(&o.jobs, "jobs", 0, "runs at a time (default: one a core)")
	f.StringVar(&o.by, "by", "", "the figure to rank by (default: the step, or the first collective's busbw)")
	f.IntVar(&o.top, "top", 10, "how many combinations to list")
	f.BoolVar(&o.json, "json", false, "print all results as JSON, one a line")
	return c
}

// axes are those of the command line, and of the plan that the folder has; plan is nil where it has none.
func (o *sweepOptions) axes(path string) (axes []scenario.Axis, plan *scenario.SweepPlan, err error) {
	for _, text := range o.over {
		axis, err := scenario.ParseAxis(text)
		if err != nil {
			return nil, nil, fail(exitUsage, "--over: %w", err)
		}
		axes = append(axes, axis)
	}
	if !scenario.HasSweepPlan(path) {
		if len(axes) == 0 {
			return nil, nil, fail(exitUsage, "nothing is swept; write --over FIELD=VALUES, or %s in the folder of the scenario", scenario.SweepPlanName)
		}
		return axes, nil, nil
	}
	if plan, err = scenario.ReadSweepPlan(path); err != nil {
		return nil, nil, failed(err)
	}
	if axes, err = plan.Axes(axes); err != nil {
		return nil, nil, &failure{exitUsage, err}
	}
	return axes, plan, nil
}

func (a *app) sweep(ctx context.Context, path string, o sweepOptions) error {
	src, err := scenario.ReadSource(path)
	if err != nil {
		return failed(err)
	}
	if o.jobs < 0 || o.random < 0 || o.top < 1 {
		return fail(exitUsage, "--jobs %d --random %d --top %d: write positive numbers", o.jobs, o.random, o.top)
	}
	if o.jobs == 0 {
		o.jobs = runtime.GOMAXPROCS(0)
	}
	axes, plan, err := o.axes(path)
	if err != nil {
		return err
	}
	s := &scenario.Sweep{Source: src, Axes: axes, Random: o.random, Seed: o.randomSeed, Engine: o.engine.Engine}
	if err := s.Prepare(); err != nil {
		return &failure{exitUsage, err}
	}
	var file *scenario.SweepFile
	had := 0
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return &failure{exitUnreachable, err}
		}
		if file, err = s.OpenFile(filepath.Join(o.out, scenario.SweepResults), version()); err != nil {
			if errors.Is(err, scenario.ErrOtherSweep) || errors.Is(err, scenario.ErrInUse) {
				return &failure{exitUsage, err}
			}
			return failed(err)
		}
		defer file.Close()
		had = len(file.Results)
	}
	line := a.progress(fmt.Sprintf("sweeping %d points, %d at a time", s.Points(), o.jobs))
	results, err := s.Run(ctx, file, scenario.SweepOptions{Jobs: o.jobs, Version: version(), Progress: func(done float64) { line.update(done, 1) }})
	line.clear()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return failed(err)
	}
	table := s.Table(results)
	if o.out != "" && !interrupted {
		if err := table.Keep(o.out); err != nil {
			return failed(err)
		}
	}
	if err := a.sweepOutput(s, table, plan, results, had, o); err != nil {
		return err
	}
	if interrupted {
		return outcome(exitInterrupted)
	}
	return nil
}

// sweepOutput prints the results, or the best of them.
func (a *app) sweepOutput(s *scenario.Sweep, table *scenario.Table, plan *scenario.SweepPlan, results []scenario.Result, had int, o sweepOptions) error {
	if o.json {
		e := json.NewEncoder(a.stdout) // one a line, as in results.jsonl
		e.SetEscapeHTML(false)
		for _, r := range results {
			if err := e.Encode(r); err != nil {
				return written(err)
			}
		}
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s points have results", count(uint64(len(results))), count(uint64(s.Points())))
	if had > 0 {
		fmt.Fprintf(&b, ", %s from before", count(uint64(had)))
	}
	b.WriteString("\n")
	failures := 0
	for _, r := range results {
		if r.Error != "" {
			if failures++; failures == 1 {
				fmt.Fprintf(&b, "point %d (%s): %s\n", r.Index, strings.Join(r.Set, ", "), strings.ReplaceAll(r.Error, "\n", "; "))
			}
		}
	}
	if failures > 1 {
		fmt.Fprintf(&b, "%s points in all could not be run\n", count(uint64(failures)))
	}
	kept := ""
	if o.out != "" && len(results) == s.Points() {
		kept = fmt.Sprintf("\nkept in %s: %s, %s, %s\n", o.out, scenario.SweepResults, scenario.SweepCSV, scenario.SweepParquet)
	}
	if plan != nil && len(plan.Tables) > 0 && o.by == "" && failures < len(results) {
		for _, t := range plan.Tables {
			sheets, err := table.Sheets(t)
			if err != nil {
				fmt.Fprintf(&b, "\n%v\n", err)
				continue
			}
			for i := range sheets {
				b.WriteString("\n" + sheetText(&sheets[i]))
			}
		}
		_, err := fmt.Fprint(a.stdout, b.String()+kept)
		return written(err)
	}
	by := o.by
	if by == "" {
		by = table.Figure()
	}
	list, axes, unit, ok := table.Rank(by)
	if !ok {
		if o.by != "" && failures < len(results) {
			return fail(exitUsage, "no point has a figure %q; there are: %s", o.by, strings.Join(figureNames(table), ", "))
		}
		_, err := fmt.Fprint(a.stdout, b.String())
		return written(err)
	}
	t := bestTable(axes, by)
	for i, r := range list {
		if i == o.top {
			break
		}
		row := append([]string{fmt.Sprint(i + 1)}, r.Text...)
		if len(axes) == 0 {
			row = row[:1]
		}
		row = append(row, valueText(unit, r.Value))
		if r.Known && list[0].Mean > 0 {
			row = append(row, fmt.Sprintf("%.2f", r.Mean/list[0].Mean))
		} else {
			row = append(row, "-")
		}
		runs := fmt.Sprint(r.Runs)
		if r.Failed > 0 {
			runs += fmt.Sprintf(", %d without", r.Failed)
		}
		t.add(append(row, runs)...)
	}
	fmt.Fprintf(&b, "\nbest by %s%s\n%s", by, ifText(len(list) > o.top, fmt.Sprintf(", %d of %s combinations", o.top, count(uint64(len(list))))), t.String())
	_, err := fmt.Fprint(a.stdout, b.String()+kept)
	return written(err)
}

// bestTable is the head of the list of the best.
func bestTable(axes []scenario.Column, by string) table {
	t := table{head: []string{""}, left: 1 + len(axes)}
	for _, c := range axes {
		t.head = append(t.head, c.Name)
	}
	t.head = append(t.head, by, "to best", "runs")
	return t
}

func figureNames(t *scenario.Table) []string {
	var out []string
	for _, c := range t.Columns {
		if !c.Axis {
			out = append(out, c.Name)
		}
	}
	return out
}
