package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/internal/chart"
	"github.com/shunt-network/shunt/report"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/units"
)

// sprayMapOptions are the flags of spray map.
type sprayMapOptions struct {
	change        changes
	top, width    int
	json, noColor bool
	plots         string
	format        plotFlag
}

func (a *app) sprayMapCommand() *cobra.Command {
	o := sprayMapOptions{format: plotFlag{chart.SVG}}
	c := &cobra.Command{
		Use:   "map SCENARIO",
		Short: "which QP's packets took which path",
		Long: `Map runs a scenario and draws how many packets of each QP left by each path of the first switch that had a choice, the most uneven
QPs first, those that chance does not explain marked (chi-square). Below are the sums of the switches, and, where the
scenario sprays by buckets, how these belonged to the paths over time.

Only a simulator can tell: no public NIC or switch counts packets by QP and path.`,
		Example: `  shunt spray map examples/spray-shootout --set path_choice=reps
  shunt spray map examples/spray-shootout --top 100 --json | jq '.qps[] | select(.verdict=="uneven")'
  shunt spray map examples/spray-shootout --plots pictures --plot-format png`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.sprayMap(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	o.change.on(f)
	f.IntVar(&o.top, "top", report.DefaultHeatRows, "how many QPs have a line of their own")
	f.BoolVar(&o.json, "json", false, "print JSON ("+report.HeatSchema+")")
	f.StringVar(&o.plots, "plots", "", "folder to draw spray-map, and buckets over time, into")
	f.Var(&o.format, "plot-format", "svg or png")
	f.BoolVar(&o.noColor, "no-color", false, "no colour (as does NO_COLOR)")
	f.IntVar(&o.width, "width", 0, "columns of the text (default: the terminal's, or 80)")
	c.MarkFlagsMutuallyExclusive("json", "width")
	return c
}

func (a *app) sprayMap(ctx context.Context, path string, o sprayMapOptions) error {
	set, err := o.change.settings()
	if err != nil {
		return err
	}
	if o.top < 1 || o.width < 0 {
		return fail(exitUsage, "--top %d --width %d: write positive numbers", o.top, o.width)
	}
	src, err := scenario.ReadSource(path)
	if err != nil {
		return failed(err)
	}
	s, err := src.With(set...)
	if err != nil {
		return failed(err)
	}
	s.Traced = true
	line := a.progress("simulating")
	run, err := s.RunOn(ctx, scenario.Packets, nil, func(done float64) { line.update(done, 1) })
	line.clear()
	if err != nil {
		return failed(err)
	}
	if run.Trace == nil {
		return fail(exitInternal, "the run kept no trace")
	}
	h := report.NewHeat(s.Title, run.Seed, run.Fabric, run.Summary.End.PS(), *run.Trace)
	if o.plots != "" {
		if err := sprayPlots(h, o.plots, o.format.Format); err != nil {
			return err
		}
	}
	if o.json {
		return a.encode(h)
	}
	return written(report.HeatText(a.stdout, h, report.HeatOptions{TextOptions: a.layout(o.noColor, o.width), Top: o.top}))
}

// sprayPlots draws the map, and the buckets of each switch over time.
func sprayPlots(h *report.Heat, dir string, f chart.Format) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &failure{exitUnreachable, err}
	}
	keep := func(name string, src []byte, err error) error {
		if err != nil {
			return &failure{exitInternal, err}
		}
		return failed(scenario.WriteFile(filepath.Join(dir, name+"."+string(f)), src))
	}
	if len(h.QPs) > 0 {
		g := h.Grid(heatRows)
		src, err := chart.Heat(h.Title+fmt.Sprintf(", seed %d", h.Seed), g.Title, chart.Axis{Title: "path", Labels: g.Columns}, g.Rows, g.Values, 2, f)
		if err := keep("spray-map", src, err); err != nil {
			return err
		}
	}
	if g := h.BucketGrid(heatRows, heatColumns); len(g.Rows) > 0 {
		src, err := chart.Heat(h.Title+fmt.Sprintf(", seed %d", h.Seed), g.Title, timeAxis(places(h.EndPS, heatColumns)), g.Rows, g.Values, 2, f)
		return keep("buckets", src, err)
	}
	return nil
}

// places are the beginnings of equal parts of a run.
func places(end int64, n int) []units.Instant {
	out := make([]units.Instant, n)
	for i := range out {
		out[i] = units.At(end / int64(n) * int64(i))
	}
	return out
}
