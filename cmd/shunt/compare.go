package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/internal/chart"
	"github.com/shunt-network/shunt/scenario"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	engine engineFlag
	set    []string
	seeds  int
	json   bool
	plots  string
	format plotFlag
}

func (a *app) compareCommand() *cobra.Command {
	o := compareOptions{engine: engineFlag{scenario.Packets}, format: plotFlag{chart.SVG}}
	c := &cobra.Command{
		Use:   "compare A B...",
		Short: "lay runs or variants side by side",
		Long: `Compare runs scenarios and lays what they came to side by side: steps, collectives, completion of messages, pauses, marks,
what was sent again, what came out of order. A and B are scenarios or folders of kept runs (shunt sim -o).

With --set, one scenario is compared with variants of itself, each --set another: path=value, or several fields of one variant
parted by semicolons.`,
		Example: `  shunt compare before.yaml after.yaml
  shunt compare examples/moe-collision --set path_choice=ecmp-qpn;nic.qps=8 --set path_choice=random --seeds 5
  shunt compare run1 run2 --json | jq '.metrics[] | select(.name=="step p50")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.compare(c.Context(), args, o) },
	}
	f := c.Flags()
	f.Var(&o.engine, "engine", "what carries them out: packet or flow")
	f.StringArrayVar(&o.set, "set", nil, "another variant of the scenario, path=value[;path=value...]")
	f.IntVar(&o.seeds, "seeds", 1, "runs of each, with seeds from its own on")
	f.BoolVar(&o.json, "json", false, "print JSON ("+scenario.CompareSchema+")")
	f.StringVar(&o.plots, "plots", "", "folder to draw the completion of messages into")
	f.Var(&o.format, "plot-format", "svg or png")
	return c
}

// variants reads the paths and the variants of the command line.
func (o *compareOptions) variants(paths []string) ([]scenario.Variant, error) {
	if len(o.set) > 0 && len(paths) > 1 {
		return nil, fail(exitUsage, "--set makes variants of one scenario; %d paths are given", len(paths))
	}
	if len(o.set) == 0 && len(paths) < 2 {
		return nil, fail(exitUsage, "there is one path and nothing to compare it with; add another, or --set path=value")
	}
	if o.seeds < 1 || o.seeds > maxSeeds {
		return nil, fail(exitUsage, "--seeds %d is not between 1 and %d", o.seeds, maxSeeds)
	}
	var out []scenario.Variant
	for _, path := range paths {
		v, err := scenario.VariantOf(path)
		if err != nil {
			return nil, failed(err)
		}
		out = append(out, v)
	}
	if len(o.set) > 0 && out[0].Kept != nil {
		return nil, fail(exitUsage, "%s is a kept run; --set needs the scenario, which is %s/%s", paths[0], paths[0], scenario.ScenarioFile)
	}
	for _, text := range o.set {
		set, err := settings(strings.Split(text, ";"))
		if err != nil {
			return nil, err
		}
		out = append(out, scenario.Variant{Name: text, Source: out[0].Source, Set: set})
	}
	return out, nil
}

func (a *app) compare(ctx context.Context, paths []string, o compareOptions) error {
	variants, err := o.variants(paths)
	if err != nil {
		return err
	}
	line := a.progress("simulating")
	c, err := scenario.Compare(ctx, variants, scenario.CompareOptions{Engine: o.engine.Engine, Seeds: o.seeds, Progress: func(done float64) { line.update(done, 1) }})
	line.clear()
	if err != nil {
		return failed(err)
	}
	if o.plots != "" {
		if err := comparePlots(c, o.plots, o.format.Format); err != nil {
			return err
		}
	}
	if o.json {
		return a.encode(c)
	}
	_, err = fmt.Fprint(a.stdout, compareText(c))
	return written(err)
}

// compareText is a comparison for reading. Sides have letters; a ratio is to the first.
func compareText(c *scenario.Comparison) string {
	var b strings.Builder
	t := table{head: []string{""}, left: 1}
	for i, s := range c.Sides {
		letter := letterOf(i)
		fmt.Fprintf(&b, "%s  %s (%s)\n", letter, s.Name, sideText(s))
		t.head = append(t.head, letter)
		if i > 0 {
			t.head = append(t.head, letter+"/A")
		}
	}
	b.WriteString("\n")
	for _, m := range c.Metrics {
		row := []string{m.Name}
		for i, v := range m.Values {
			row = append(row, valueText(m.Unit, v))
			if i > 0 {
				row = append(row, ratioText(v))
			}
		}
		t.add(row...)
	}
	b.WriteString(t.String())
	return b.String()
}

// letterOf names a side: A to Z, then A1.
func letterOf(i int) string {
	letter := string(rune('A' + i%26))
	if i >= 26 {
		return letter + fmt.Sprint(i/26)
	}
	return letter
}

// sideText says what was run.
func sideText(s scenario.Side) string {
	text := fmt.Sprintf("%s engine, seed %d", s.Runs[0].Engine, s.Runs[0].Seed)
	if n := len(s.Runs); n > 1 {
		text = fmt.Sprintf("%s engine, seeds %d to %d", s.Runs[0].Engine, s.Runs[0].Seed, s.Runs[n-1].Seed)
	}
	stalled, cut := 0, 0
	for _, r := range s.Runs {
		if r.Stalled {
			stalled++
		}
		if r.Cut {
			cut++
		}
	}
	if stalled > 0 {
		text += fmt.Sprintf(", %d of %d stalled", stalled, len(s.Runs))
	}
	if cut > 0 {
		text += fmt.Sprintf(", %d of %d cut by the limit", cut, len(s.Runs))
	}
	for _, what := range s.LeftOut {
		text += ", without " + what
	}
	return text
}

// valueText is a figure with its unit, and how far its seeds lie apart.
func valueText(unit string, v scenario.Value) string {
	if !v.Known {
		return "unknown"
	}
	text := quantity(unit, v.Mean)
	if half := (v.Max - v.Min) / 2; half > 0 {
		text += " +-" + quantity(unit, half)
	}
	return text
}

func quantity(unit string, v float64) string {
	switch unit {
	case "us":
		return us(v)
	case "GB/s":
		return figure(v) + " GB/s"
	case "share":
		return figure(100*v) + " %"
	}
	return count(uint64(math.Round(v)))
}

func ratioText(v scenario.Value) string {
	if !v.Known || v.Ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v.Ratio)
}
