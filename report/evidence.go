package report

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/units"
)

// Columns of the table of evidence.
const (
	colLayer = iota
	colWhat
	colSeen
	colExpected
	colAt
	colRole
	columns
)

var headings = [columns]string{"layer", "what", "seen", "expected", "at", ""}

// Layout of the table: the number of a row takes numberWidth columns, a gap of two separates the others. A
// column of text is not squeezed below minText while another can give way.
const (
	numberWidth = 5
	gap         = 2
	minText     = 10
)

// row is one observation as the table shows it. from is where it was read, "" when the table does not say.
type row struct {
	cell [columns]string
	from string
}

// evidence writes the chain from cause to effect, one row an observation. Where times are known the last column has
// them, the first from the start and the others relative to it; where none is, it has the file and line. Where an
// observation was read stands below its row when the column has no room for it; for a simulated run, in which every
// series is the run's own, only when asked for. What is too wide for the page is wrapped inside its column, and where
// even that does not fit each observation is written out as lines.
func (t writer) evidence(list []diagnose.Evidence) {
	rows := t.rows(list)
	widths, ok := t.fit(rows)
	if _, timed := onset(list); !ok && !timed { // a long path is what does not fit most often
		for i := range rows {
			rows[i].from, rows[i].cell[colAt] = rows[i].cell[colAt], ""
		}
		widths, ok = t.fit(rows)
	}
	if !ok {
		t.stacked(rows)
		return
	}
	t.tableLine("", headings, widths, t.dim)
	for i, r := range rows {
		t.tableRow(i+1, r, widths)
	}
}

// rows turns observations into cells.
func (t writer) rows(list []diagnose.Evidence) []row {
	origin, timed := onset(list)
	first := true
	rows := make([]row, len(list))
	for i, e := range list {
		r := row{cell: [columns]string{t.o.clean(e.Layer), t.o.clean(e.What), t.o.clean(e.Seen), t.o.clean(e.Expected), "", t.o.clean(e.Role)}}
		switch {
		case !timed && !t.simulated:
			r.cell[colAt] = t.o.clean(e.From)
		case !t.simulated || t.o.Verbose:
			r.from = t.o.clean(e.From)
		}
		if e.At != nil {
			r.cell[colAt] = duration(units.Duration(e.At.PS()))
			if !first {
				r.cell[colAt] = after(e.At.Sub(origin), origin)
			}
			first = false
		}
		rows[i] = r
	}
	return rows
}

// after prints how long after the origin something began, in the unit of the origin where that takes no more than
// two decimals: "10.2 ms", then "+0.1 ms".
func after(d units.Duration, origin units.Instant) string {
	s := scaleOf(units.Duration(origin.PS()))
	if near := d < s.unit/100 && -d < s.unit/100; near && d != 0 || d >= 1000*s.unit {
		return signed(d)
	}
	return gain(d, s) + " " + s.name
}

// fit finds the width of each column: its widest cell where all fit, else the columns of text give way, the
// widest first, down to their longest word. ok is false where that is still too wide.
func (t writer) fit(rows []row) (widths [columns]int, ok bool) {
	var least [columns]int
	for c := range columns {
		for _, r := range rows {
			widths[c] = max(widths[c], width(r.cell[c]))
			least[c] = max(least[c], longest(r.cell[c]))
		}
		if widths[c] > 0 {
			widths[c] = max(widths[c], len(headings[c]))
		}
		if c == colAt || c == colLayer { // a time, a place, a name: never in two lines
			least[c] = widths[c]
		} else {
			least[c] = max(least[c], min(widths[c], minText))
		}
	}
	for total(widths) > t.o.Width {
		widest := -1
		for c := range columns {
			if widths[c] > least[c] && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}

func total(widths [columns]int) int {
	n := numberWidth - gap
	for _, w := range widths {
		if w > 0 {
			n += w + gap
		}
	}
	return n
}

// tableRow writes one observation, over as many lines as its longest cell takes.
func (t writer) tableRow(number int, r row, widths [columns]int) {
	var wrapped [columns][]string
	height := 1
	for c := range columns {
		if widths[c] > 0 {
			wrapped[c] = wrap(r.cell[c], widths[c])
			height = max(height, len(wrapped[c]))
		}
	}
	for l := range height {
		var cells [columns]string
		for c := range columns {
			if l < len(wrapped[c]) {
				cells[c] = wrapped[c][l]
			}
		}
		label := ""
		if l == 0 {
			label = fmt.Sprintf("%3d", number)
		}
		t.tableLine(label, cells, widths, nil)
	}
	if r.from != "" {
		t.line(strings.Repeat(" ", numberWidth) + t.dim("from "+r.from))
	}
}

func (t writer) tableLine(label string, cells [columns]string, widths [columns]int, style func(string) string) {
	var b strings.Builder
	b.WriteString(pad(label, numberWidth-gap))
	for c := range columns {
		if widths[c] == 0 {
			continue
		}
		b.WriteString(strings.Repeat(" ", gap))
		b.WriteString(pad(cells[c], widths[c]))
	}
	line := strings.TrimRight(b.String(), " ")
	if style != nil {
		line = style(line)
	}
	t.line(line)
}

// stacked writes each observation as lines, for pages too narrow for the table.
func (t writer) stacked(rows []row) {
	indent := strings.Repeat(" ", numberWidth)
	for i, r := range rows {
		head := r.cell[colLayer] + ": " + r.cell[colWhat]
		if r.cell[colRole] != "" {
			head += " (" + r.cell[colRole] + ")"
		}
		t.paragraph(fmt.Sprintf("%3d  ", i+1), head, numberWidth)
		text := "seen " + r.cell[colSeen]
		if r.cell[colExpected] != "" {
			text += ", expected " + r.cell[colExpected]
		}
		t.paragraph(indent, text, numberWidth)
		for _, place := range []string{r.cell[colAt], r.from} {
			if place != "" {
				t.line(indent + t.dim("at "+place))
			}
		}
	}
}
