// Package chart owns pictures of data: lines over a common axis and heat maps, as SVG or PNG. It knows nothing of networks; what
// is shown is the caller's business, how it is drawn is that of go-analyze/charts (docs/decisions/0009).
package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-analyze/charts"
)

// Format is a kind of picture file.
type Format string

// Formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

// Sizes in pixels: what a page or a slide shows side by side.
const (
	width      = 960
	lineHeight = 420
	rowHeight  = 15  // of a heat map
	heatFrame  = 110 // title and axis of a heat map
)

// Axis is the horizontal axis that all lines of a chart share. Labels has the text of every place; only some are shown, and they are
// evenly apart when the number of places is a multiple of 8, and one.
type Axis struct {
	Title  string
	Labels []string
}

// Vertical is the vertical axis of lines: it begins at 0.
type Vertical struct {
	Unit string  // appended to the numbers, with its space
	Most float64 // where it ends; 0: where the values do
	// LegendBelow puts the legend to the lower right, for lines that rise to the right.
	LegendBelow bool
}

// Line is one line: a value for each place of the axis. NaN is a gap.
type Line struct {
	Name   string
	Values []float64
}

// shownLabels is how many labels an axis shows: more run into each other at this width.
const shownLabels = 9

// shown leaves the last label out: it has no room of its own and would run into the one before.
func shown(labels []string) []string {
	out := slices.Clone(labels)
	if len(out) > shownLabels {
		out[len(out)-1] = ""
	}
	return out
}

// Lines draws lines over one axis.
func Lines(title, subtitle string, x Axis, y Vertical, lines []Line, f Format) ([]byte, error) {
	var list charts.LineSeriesList
	var names []string
	most := 0.0
	for _, l := range lines {
		values := make([]float64, len(l.Values))
		for i, v := range l.Values {
			if values[i] = v; math.IsNaN(v) {
				values[i] = charts.GetNullValue()
			} else {
				most = max(most, v)
			}
		}
		list = append(list, charts.LineSeries{Name: l.Name, Values: values})
		names = append(names, l.Name)
	}
	const legendTop, legendLine, axisHeight = 40, 21, 70
	top := legendTop
	if y.LegendBelow {
		top = lineHeight - axisHeight - legendLine*len(lines)
	}
	opt := charts.LineChartOption{
		Theme:           charts.GetTheme(charts.ThemeAnt),
		Padding:         charts.NewBox(16, 12, 24, 12),
		SeriesList:      list,
		Title:           titled(title, subtitle),
		Legend:          charts.LegendOption{SeriesNames: names, Vertical: charts.Ptr(true), Offset: charts.OffsetStr{Left: charts.PositionRight, Top: strconv.Itoa(top)}, Align: charts.AlignLeft},
		XAxis:           charts.XAxisOption{Title: x.Title, Labels: shown(x.Labels), LabelCount: shownLabels, BoundaryGap: charts.Ptr(false)},
		YAxis:           []charts.YAxisOption{{Min: charts.Ptr(0.0), ValueFormatter: func(v float64) string { return number(v) + y.Unit }}},
		Symbol:          charts.Symbol{Shape: charts.SymbolNone},
		LineStrokeWidth: 1.6,
	}
	if y.Most > 0 {
		const fifths = 6 // numbers from 0 to the end
		opt.YAxis[0].Max, opt.YAxis[0].LabelCount = charts.Ptr(y.Most), fifths
	} else if most == 0 {
		opt.YAxis[0].Max = charts.Ptr(1.0) // an axis from 0 to 0 has no numbers
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: string(f), Width: width, Height: lineHeight})
	if err := p.LineChart(opt); err != nil {
		return nil, fmt.Errorf("chart: %s: %w", title, err)
	}
	return bytesOf(p, title)
}

// Heat draws a heat map with one row for each name, the first on top; values go from 0 (light) to most (dark).
func Heat(title, subtitle string, x Axis, rows []string, values [][]float64, most float64, f Format) ([]byte, error) {
	opt := charts.NewHeatMapOptionWithData(values)
	opt.Theme = charts.GetTheme(charts.ThemeAnt)
	opt.Padding = charts.NewBox(16, 12, 24, 12)
	opt.Title = titled(title, subtitle)
	opt.XAxis = charts.HeatMapAxis{Title: x.Title, Labels: shown(x.Labels), LabelCount: shownLabels}
	opt.YAxis = charts.HeatMapAxis{Labels: rows, LabelCount: len(rows), LabelFontStyle: charts.FontStyle{FontSize: 8}}
	opt.ScaleMinValue, opt.ScaleMaxValue = charts.Ptr(0.0), charts.Ptr(most)
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: string(f), Width: width, Height: heatFrame + rowHeight*len(rows)})
	if err := p.HeatMapChart(opt); err != nil {
		return nil, fmt.Errorf("chart: %s: %w", title, err)
	}
	return bytesOf(p, title)
}

// titled is a title in two lines, the second smaller.
func titled(title, subtitle string) charts.TitleOption {
	return charts.TitleOption{Text: title, Subtext: subtitle, Offset: charts.OffsetStr{Left: charts.PositionCenter}, SubtextFontStyle: charts.FontStyle{FontSize: 9}}
}

func bytesOf(p *charts.Painter, title string) ([]byte, error) {
	b, err := p.Bytes()
	if err != nil {
		return nil, fmt.Errorf("chart: %s: %w", title, err)
	}
	return b, nil
}

// number prints a value of an axis: three digits and no trailing zeros.
func number(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
