package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shunt-network/shunt/internal/chart"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/scenario"
)

// simOptions are the flags of sim.
type simOptions struct {
	out     string
	engine  engineFlag
	change  changes
	json    bool
	replace bool
	plots   plotFlag
}

// engineFlag is the --engine of the verbs that run scenarios.
type engineFlag struct{ scenario.Engine }

// Choices lists the engines.
func (*engineFlag) Choices() []string { return scenario.Engines() }

func (e *engineFlag) Type() string   { return "engine" }
func (e *engineFlag) String() string { return string(e.Engine) }

// Set reads the value of the flag.
func (e *engineFlag) Set(text string) error {
	if !slices.Contains(scenario.Engines(), text) {
		return fmt.Errorf("write %s", strings.Join(scenario.Engines(), " or "))
	}
	e.Engine = scenario.Engine(text)
	return nil
}

func (a *app) simCommand() *cobra.Command {
	o := simOptions{engine: engineFlag{scenario.Packets}}
	c := &cobra.Command{
		Use:   "sim PATH",
		Short: "run a scenario and keep the run",
		Long: `Sim runs a scenario (a YAML file, or a folder that holds scenario.yaml) and prints what it came to.

With -o the run is kept in a folder: summary.json, series.parquet (the counters of every port over time, under the
names of docs/series.md), flows.parquet (start and end of every operation), events.jsonl (pauses, drops, links, steps,
collectives) and the scenario itself. The folder appears whole or not at all.`,
		Example: `  shunt sim examples/moe-collision -o run1
  shunt sim examples/moe-collision --set path_choice=ecmp-qpn --set nic.qps=4
  shunt sim examples/moe-collision --engine flow --json | jq .figures.step`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.sim(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "output", "o", "", "folder to keep the run in")
	f.BoolVar(&o.replace, "replace", false, "replace the run that the folder holds")
	f.Var(&o.engine, "engine", "what carries it out: packet (queues, pauses, losses) or flow (rates alone, much faster)")
	o.change.on(f)
	f.BoolVar(&o.json, "json", false, "print JSON ("+scenario.RunSchema+")")
	f.Var(&o.plots, "plots", "draw link-heat, queues and completion into the folder: svg or png")
	f.Lookup("plots").NoOptDefVal = string(chart.SVG)
	return c
}

// changes are the flags --set and --seed, by which the verbs that run a scenario change it.
type changes struct {
	set   []string
	seed  uint64
	flags *pflag.FlagSet // tells whether there is a seed
}

func (c *changes) on(f *pflag.FlagSet) {
	c.flags = f
	f.StringArrayVar(&c.set, "set", nil, "set a field of the scenario, path=value (any number of times)")
	f.Uint64Var(&c.seed, "seed", 0, "the seed, instead of the file's")
}

func (c *changes) settings() ([]scenario.Setting, error) {
	out, err := settings(c.set)
	if err == nil && c.flags.Changed("seed") {
		out = append(out, scenario.Setting{Path: "seed", Value: fmt.Sprint(c.seed)})
	}
	return out, err
}

// settings reads the values of --set.
func settings(set []string) ([]scenario.Setting, error) {
	var out []scenario.Setting
	for _, text := range set {
		s, err := scenario.ParseSetting(text)
		if err != nil {
			return nil, fail(exitUsage, "--set %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// failed gives the error of loading or running a scenario its exit code.
func failed(err error) error {
	var problems spec.Problems
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return outcome(exitInterrupted)
	case errors.As(err, &problems), errors.Is(err, scenario.ErrExists), errors.Is(err, scenario.ErrEngine), errors.Is(err, scenario.ErrTooMany):
		return &failure{exitUsage, err}
	case errors.As(err, &path):
		return &failure{exitUnreachable, err}
	}
	return &failure{exitInternal, err}
}

// sim runs a scenario, keeps the run where asked to, and prints what it came to.
func (a *app) sim(ctx context.Context, path string, o simOptions) error {
	set, err := o.change.settings()
	if err != nil {
		return err
	}
	if o.plots.Format != "" && o.out == "" {
		return fail(exitUsage, "--plots needs a folder to draw into; add -o DIR")
	}
	src, err := scenario.ReadSource(path)
	if err != nil {
		return failed(err)
	}
	s, err := src.With(set...)
	if err != nil {
		return failed(err)
	}
	if o.out != "" { // told before the run, not after
		if err := scenario.Vacant(o.out, o.replace); err != nil {
			return failed(fmt.Errorf("%w; choose another folder%s", err, ifText(scenario.IsKept(o.out), ", or --replace")))
		}
	}
	line := a.progress("simulating")
	log := &scenario.Log{}
	run, err := s.RunOn(ctx, o.engine.Engine, log, func(done float64) { line.update(done, 1) })
	line.clear()
	if err != nil {
		if o.engine.Engine == scenario.Packets && errors.As(err, new(spec.Problems)) && s.TooLarge() {
			fmt.Fprintln(a.stderr, "shunt: --engine flow works out a job of this size phase by phase")
		}
		return failed(err)
	}
	kept := scenario.Kept{Title: s.Title, Version: version()}
	for _, x := range set {
		kept.Set = append(kept.Set, x.String())
	}
	var plots []scenario.Extra
	if o.plots.Format != "" {
		if plots, err = runPlots(run, s.Title, o.plots.Format); err != nil {
			return failed(err)
		}
	}
	if o.out == "" {
		kept = run.Describe(kept)
	} else if kept, err = run.Keep(o.out, kept, src.Bytes, log, o.replace, plots...); err != nil {
		return failed(err)
	}
	if o.json {
		return a.encode(kept)
	}
	_, err = fmt.Fprint(a.stdout, simText(kept, o.out))
	return written(err)
}

func ifText(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// simText is a run for reading.
func simText(k scenario.Kept, dir string) string {
	var b strings.Builder
	f := &k.Figures
	fmt.Fprintf(&b, "run     %s: %d GPUs on %d hosts, %d switches, seed %d, %s engine\n", k.Title, k.Fabric.GPUs, k.Fabric.Hosts, k.Fabric.Switches, f.Seed, f.Engine)
	fmt.Fprintf(&b, "        %s simulated, fingerprint %s%s%s\n", us(f.EndUS), f.Fingerprint, ifText(f.Stalled, ", stalled: operations were left that nothing could finish"), ifText(f.Cut, ", cut by its limit"))
	for _, what := range k.LeftOut {
		fmt.Fprintf(&b, "        the flow engine does not know %s: left out\n", what)
	}
	if s := f.Step; s != nil {
		fmt.Fprintf(&b, "step    p50 %s, p99 %s, mean %s, %d steps\n", us(s.P50US), us(s.P99US), us(s.MeanUS), s.Count)
	}
	if s := f.Completion; s != nil {
		fmt.Fprintf(&b, "message p50 %s, p99 %s, longest %s, %s between hosts\n", us(s.P50US), us(s.P99US), us(s.MaxUS), count(uint64(s.Count)))
	}
	if n := f.Network; n != nil {
		fmt.Fprintf(&b, "fabric  ECN marks %s, PFC pauses %s (%s held), sent again %s, out of order %s, drops %s\n",
			count(n.ECNMarked), count(n.PauseFrames), us(n.PauseUS), count(n.Retransmitted), count(n.OutOfOrder), count(n.Dropped))
	}
	if f.Hottest != nil {
		fmt.Fprintf(&b, "        busiest link %s, %.0f %% of the run\n", f.Hottest.Port, 100*f.Hottest.Busy)
	}
	if len(f.Collectives) > 0 {
		b.WriteString("\n")
		t := table{head: []string{"collective", "busbw GB/s", "p50", "p99", "size", "ranks", "calls"}, left: 1}
		for _, c := range f.Collectives {
			t.add(c.Name, figure(c.BusBW), us(c.Time.P50US), us(c.Time.P99US), size(c.Bytes), fmt.Sprint(c.Ranks), fmt.Sprint(c.Time.Count))
		}
		b.WriteString(t.String())
	}
	if dir != "" {
		fmt.Fprintf(&b, "\nkept in %s:", dir)
		for i, x := range k.Files {
			fmt.Fprintf(&b, "%s %s%s", ifText(i > 0, ","), x.Name, ifText(x.Rows > 0, fmt.Sprintf(" (%s rows)", count(uint64(x.Rows)))))
		}
		fmt.Fprintf(&b, ", %s\n", scenario.SummaryFile)
	}
	return b.String()
}
