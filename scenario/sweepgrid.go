package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Sheet is the results of a sweep laid out for reading by a PlanTable: rows of one axis against columns of another or of figures.
type Sheet struct {
	Title   string
	Section []string // "job AllReduce": the other axes and their values here
	Rows    string   // the axis of the rows
	Columns []SheetColumn
	Lines   []SheetLine
	Over    SeedSummary
	Seeds   int // the most runs of a cell
}

// SheetColumn is one column: a value of an axis, or a figure.
type SheetColumn struct {
	Name, Unit string
}

// SheetLine is one row.
type SheetLine struct {
	Name  string
	Cells []Cell // by column
}

// Cell is one figure of all points that differ in the seed alone.
type Cell struct {
	Value
	P99        float64 // by nearest rank
	Runs       int
	Without    int // runs that have no such figure
	Unfinished int // runs that did not end: what they counted until then is no result
}

// Sheets lays the table of a sweep out as t says. The error names a figure that no point has, and those there are.
func (t *Table) Sheets(p PlanTable) ([]Sheet, error) {
	rows, columns := t.axis(p.Rows), t.axis(p.Columns)
	if rows < 0 || p.Columns != "" && columns < 0 {
		return nil, fmt.Errorf("scenario: the sweep has no axis %q or %q", p.Rows, p.Columns)
	}
	var figures []int
	for _, name := range p.Figures {
		k := slices.IndexFunc(t.Columns, func(c Column) bool { return !c.Axis && c.Name == name })
		if k < 0 {
			return nil, fmt.Errorf("no point has a figure %q; there are: %s", name, strings.Join(t.figures(), ", "))
		}
		figures = append(figures, k)
	}
	axes := t.axes()
	var out []Sheet
	for _, section := range t.sections(rows, columns) {
		in := t.matching(section)
		if columns < 0 {
			s := Sheet{Title: p.Title, Section: t.sectionText(section), Rows: p.Rows, Over: p.Over.orMean()}
			for _, k := range figures {
				s.Columns = append(s.Columns, SheetColumn{t.Columns[k].Name, t.Columns[k].Unit})
			}
			for _, row := range valuesAt(in, rows) {
				line := SheetLine{Name: row}
				for _, k := range figures {
					line.Cells = append(line.Cells, s.cell(in, k-axes, rows, row, -1, ""))
				}
				s.Lines = append(s.Lines, line)
			}
			out = append(out, s)
			continue
		}
		for _, k := range figures {
			s := Sheet{Title: p.Title, Section: t.sectionText(section), Rows: p.Rows, Over: p.Over.orMean()}
			if s.Title == "" || len(figures) > 1 {
				s.Title = strings.TrimPrefix(s.Title+", "+t.Columns[k].Name, ", ")
			}
			across := valuesAt(in, columns)
			for _, column := range across {
				s.Columns = append(s.Columns, SheetColumn{column, t.Columns[k].Unit})
			}
			for _, row := range valuesAt(in, rows) {
				line := SheetLine{Name: row}
				for _, column := range across {
					line.Cells = append(line.Cells, s.cell(in, k-axes, rows, row, columns, column))
				}
				s.Lines = append(s.Lines, line)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func (s SeedSummary) orMean() SeedSummary {
	if s == "" {
		return SeedMean
	}
	return s
}

// axis is the column of an axis, -1 where there is none.
func (t *Table) axis(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Axis && c.Name == name })
}

func (t *Table) axes() int {
	n := 0
	for _, c := range t.Columns {
		if c.Axis {
			n++
		}
	}
	return n
}

// figures lists the names of the figures.
func (t *Table) figures() []string {
	var out []string
	for _, c := range t.Columns {
		if !c.Axis {
			out = append(out, c.Name)
		}
	}
	return out
}

// seedAxis is the axis whose values are taken together.
const seedAxis = "seed"

// sections lists the combinations of values of the axes that are neither rows nor columns nor the seed, in the order of the points. The
// others are empty.
func (t *Table) sections(rows, columns int) [][]string {
	var out [][]string
	for _, r := range t.Rows {
		key := make([]string, len(r.Text))
		for i := range r.Text {
			if i != rows && i != columns && t.Columns[i].Name != seedAxis {
				key[i] = r.Text[i]
			}
		}
		if !slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, key) }) {
			out = append(out, key)
		}
	}
	return out
}

func (t *Table) sectionText(section []string) []string {
	var out []string
	for i, v := range section {
		if v != "" {
			out = append(out, t.Columns[i].Name+" "+v)
		}
	}
	return out
}

// matching lists the points of a section.
func (t *Table) matching(section []string) []TableRow {
	var out []TableRow
	for _, r := range t.Rows {
		fits := true
		for i, v := range section {
			fits = fits && (v == "" || r.Text[i] == v)
		}
		if fits {
			out = append(out, r)
		}
	}
	return out
}

// valuesAt lists the values of an axis among points, in their order.
func valuesAt(points []TableRow, axis int) []string {
	var out []string
	for _, r := range points {
		if !slices.Contains(out, r.Text[axis]) {
			out = append(out, r.Text[axis])
		}
	}
	return out
}

// cell sums up one figure of the points with a value of the row's axis and of the column's, where there is one.
func (s *Sheet) cell(points []TableRow, figure, rows int, row string, columns int, column string) Cell {
	var c Cell
	var values []float64
	for _, r := range points {
		if r.Text[rows] != row || columns >= 0 && r.Text[columns] != column {
			continue
		}
		c.Runs++
		switch {
		case r.Unfinished:
			c.Unfinished++
			continue
		case r.Figures[figure] == nil:
			c.Without++
			continue
		}
		values = append(values, *r.Figures[figure])
	}
	s.Seeds = max(s.Seeds, c.Runs)
	n := len(values)
	if n == 0 {
		return c
	}
	slices.Sort(values)
	c.Value = Value{Known: true, Min: values[0], Max: values[n-1]}
	for _, v := range values {
		c.Mean += v / float64(n)
	}
	c.P99 = values[rank(n, 99)]
	return c
}
