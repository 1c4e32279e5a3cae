package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/internal/chart"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/units"
)

// plotFlag is the --plots of sim and compare: the format, or empty for none.
type plotFlag struct{ chart.Format }

// Choices lists the formats.
func (*plotFlag) Choices() []string { return []string{string(chart.SVG), string(chart.PNG)} }

func (p *plotFlag) Type() string   { return "format" }
func (p *plotFlag) String() string { return string(p.Format) }

// Set reads the value of the flag.
func (p *plotFlag) Set(text string) error {
	if f := chart.Format(text); f == chart.SVG || f == chart.PNG {
		p.Format = f
		return nil
	}
	return fmt.Errorf("write svg or png")
}

// What pictures show: more rows than a page has are no picture.
const (
	heatRows    = 48
	heatColumns = 97
	queueLines  = 8
	queuePlaces = 241
	cdfPlaces   = 241
)

// runPlots draws a run: how busy its links were, how long its queues, how long its messages took. What is not known is not drawn.
func runPlots(run *scenario.Run, title string, f chart.Format) ([]scenario.Extra, error) {
	var out []scenario.Extra
	add := func(name string, src []byte, err error) error {
		if err == nil {
			out = append(out, scenario.Extra{Name: name + "." + string(f), Bytes: src})
		}
		return err
	}
	if g := run.Heat(heatRows, heatColumns); len(g.Ports) > 0 {
		src, err := chart.Heat(title, fmt.Sprintf("share of the rate that the %d busiest links were sending at: from white (nothing) to dark (100 %%)", len(g.Ports)),
			timeAxis(g.Edges[:heatColumns]), g.Ports, g.Values, 1, f)
		if err := add("link-heat", src, err); err != nil {
			return nil, err
		}
	}
	if g := run.Queues(queueLines, queuePlaces); len(g.Ports) > 0 {
		var lines []chart.Line
		for i, port := range g.Ports {
			l := chart.Line{Name: port, Values: g.Values[i]}
			for k := range l.Values {
				l.Values[k] /= float64(units.KB)
			}
			lines = append(lines, l)
		}
		src, err := chart.Lines(title, fmt.Sprintf("the %d longest egress queues: the most within each of %d parts of the run", len(lines), queuePlaces), timeAxis(g.Edges[:queuePlaces]), chart.Vertical{Unit: " KB"}, lines, f)
		if err := add("queues", src, err); err != nil {
			return nil, err
		}
	}
	if times := run.Completions(); len(times) > 0 {
		src, err := completionPlot(title, []string{"all messages"}, [][]units.Duration{times}, f)
		if err := add("completion", src, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// completionPlot draws the distributions of the times of messages.
func completionPlot(title string, names []string, lists [][]units.Duration, f chart.Format) ([]byte, error) {
	d := scenario.DistributionOf(lists, cdfPlaces)
	x := chart.Axis{Title: "time from the send to the last byte"}
	for _, t := range d.Times {
		x.Labels = append(x.Labels, us(float64(t)/float64(units.Microsecond)))
	}
	var lines []chart.Line
	for i, name := range names {
		l := chart.Line{Name: name}
		for _, share := range d.Shares[i] {
			l.Values = append(l.Values, 100*share)
		}
		lines = append(lines, l)
	}
	return chart.Lines(title, "messages between hosts that took no longer", x, chart.Vertical{Unit: " %", Most: 100, LegendBelow: true}, lines, f)
}

func timeAxis(places []units.Instant) chart.Axis {
	x := chart.Axis{Title: "simulated time"}
	for _, t := range places {
		x.Labels = append(x.Labels, us(float64(t.PS())/float64(units.Microsecond)))
	}
	return x
}

// bucketColumns is how many places the axis of a picture of buckets has.
const bucketColumns = 256

// bucketPlot draws how many flows buckets got, beside what a perfect hash gives them on average.
func bucketPlot(r *ecmp.Report, f chart.Format) ([]byte, error) {
	width, sums := r.Occupancy.Columns(bucketColumns)
	x := chart.Axis{Title: fmt.Sprintf("bucket, %d to a place", width)}
	seen, fair := chart.Line{Name: "flows"}, chart.Line{Name: "mean"}
	mean := float64(r.Flows) * float64(width) / float64(r.Occupancy.Buckets)
	for i, n := range sums {
		x.Labels = append(x.Labels, fmt.Sprint(i*width))
		seen.Values, fair.Values = append(seen.Values, float64(n)), append(fair.Values, mean)
	}
	return chart.Lines("flows by bucket", fmt.Sprintf("%s of %s", r.Algorithm, r.Fields), x, chart.Vertical{}, []chart.Line{seen, fair}, f)
}

// comparePlots draws the messages of all sides into one picture.
func comparePlots(c *scenario.Comparison, dir string, f chart.Format) error {
	var names []string
	var lists [][]units.Duration
	for i, s := range c.Sides {
		if len(s.Completions) > 0 {
			names = append(names, letterOf(i)+"  "+s.Name)
			lists = append(lists, s.Completions)
		}
	}
	if len(lists) == 0 {
		return fail(exitUndecided, "--plots: the times of single messages are known of none of these")
	}
	src, err := completionPlot("completion of messages", names, lists, f)
	if err != nil {
		return &failure{exitInternal, err}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &failure{exitUnreachable, err}
	}
	return failed(scenario.WriteFile(filepath.Join(dir, "completion."+string(f)), src))
}
