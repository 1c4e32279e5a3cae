package scenario

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/internal/parquet"
)

// Column is one column of the table of a sweep's results: a field that was swept, or a figure.
type Column struct {
	Name string // "switch.ecn.kmin", "step p50"
	Unit string // of a figure
	Axis bool
}

// Table is the results of a sweep as a table: a row for each point.
type Table struct {
	Columns []Column
	Rows    []TableRow
}

// TableRow is one point. Text holds the values of the axes, Figures those of the other columns; one that is not known is nil.
type TableRow struct {
	Index   int
	Text    []string
	Figures []*float64
	Error   string

	Unfinished bool // the run stalled or was cut
}

// Table lays results out. Columns of figures come in the order in which the points first have them.
func (s *Sweep) Table(results []Result) *Table {
	t := &Table{}
	for i := range s.Axes {
		t.Columns = append(t.Columns, Column{Name: s.Axes[i].Path, Axis: true})
	}
	axes := len(s.Axes)
	at := map[string]int{} // only looked up
	for _, r := range results {
		row := TableRow{Index: r.Index, Text: r.Set, Error: r.Error}
		if r.Figures != nil {
			row.Unfinished = r.Figures.Stalled || r.Figures.Cut
			for _, f := range r.Figures.list() {
				k, ok := at[f.name]
				if !ok {
					k = len(t.Columns) - axes
					at[f.name] = k
					t.Columns = append(t.Columns, Column{Name: f.name, Unit: f.unit})
				}
				for len(row.Figures) <= k {
					row.Figures = append(row.Figures, nil)
				}
				row.Figures[k] = pointer(f.value)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Rows {
		for len(t.Rows[i].Figures) < len(t.Columns)-axes {
			t.Rows[i].Figures = append(t.Rows[i].Figures, nil)
		}
	}
	return t
}

// WriteCSV writes the table for people: a head with units, one line a point, empty where nothing is known.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"point"}
	for _, col := range t.Columns {
		name := col.Name
		if col.Unit != "" {
			name += " (" + col.Unit + ")"
		}
		head = append(head, name)
	}
	c.Write(append(head, "error")) // Flush tells of errors
	for _, r := range t.Rows {
		line := append([]string{strconv.Itoa(r.Index)}, r.Text...)
		for _, v := range r.Figures {
			text := ""
			if v != nil {
				text = strconv.FormatFloat(*v, 'g', -1, 64)
			}
			line = append(line, text)
		}
		c.Write(append(line, r.Error))
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	return nil
}

// WriteParquet writes the table for programs. Axes are text, since a value may be anything that YAML can say; figures are numbers or
// null.
func (t *Table) WriteParquet(w io.Writer) error {
	cols := []parquet.Column{{Name: "point", Kind: parquet.Int64}}
	for _, c := range t.Columns {
		if c.Axis {
			cols = append(cols, parquet.Column{Name: c.Name, Kind: parquet.Text})
		} else {
			cols = append(cols, parquet.Column{Name: c.Name, Kind: parquet.Double, Optional: true})
		}
	}
	cols = append(cols, parquet.Column{Name: "error", Kind: parquet.Text, Optional: true})
	out := parquet.NewWriter(w, cols)
	for _, r := range t.Rows {
		out.Int64(0, int64(r.Index))
		for i, text := range r.Text {
			out.Text(1+i, text)
		}
		for i, v := range r.Figures {
			if col := 1 + len(r.Text) + i; v == nil {
				out.Null(col)
			} else {
				out.Double(col, *v)
			}
		}
		if r.Error == "" {
			out.Null(len(cols) - 1)
		} else {
			out.Text(len(cols)-1, r.Error)
		}
		out.EndRow()
	}
	_, err := closed(out)
	return err
}

// Files of a sweep.
const (
	SweepResults = "results.jsonl"
	SweepCSV     = "results.csv"
	SweepParquet = "results.parquet"
)

// Keep writes the tables of a sweep beside its results.
func (t *Table) Keep(dir string) error {
	for _, f := range []struct {
		name  string
		write func(w io.Writer) error
	}{{SweepCSV, t.WriteCSV}, {SweepParquet, t.WriteParquet}} {
		if err := replaceFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// Ranked is one combination of values, seeds taken together.
type Ranked struct {
	Text []string // by axis but seed
	Value
	Runs, Failed int
}

// Rank orders the combinations of a table by one figure, the best first: the least, or the most of a bandwidth. Points that differ
// in the seed alone are one combination. axes lists the columns that Ranked.Text has. ok is false where no point has the figure.
func (t *Table) Rank(figure string) (list []Ranked, axes []Column, unit string, ok bool) {
	col, first := -1, 0
	for i, c := range t.Columns {
		if c.Axis {
			first = i + 1
			if c.Name != "seed" {
				axes = append(axes, c)
			}
		} else if c.Name == figure {
			col, unit = i-first, c.Unit
		}
	}
	if col < 0 {
		return nil, axes, "", false
	}
	at := map[string]int{} // only looked up
	for _, r := range t.Rows {
		var text []string
		for i := range r.Text {
			if t.Columns[i].Name != "seed" {
				text = append(text, r.Text[i])
			}
		}
		key := fmt.Sprintf("%q", text)
		k, found := at[key]
		if !found {
			k = len(list)
			at[key] = k
			list = append(list, Ranked{Text: text})
		}
		g := &list[k]
		if g.Runs++; r.Figures[col] == nil {
			g.Failed++
			continue
		}
		v := *r.Figures[col]
		if !g.Known {
			g.Value = Value{Known: true, Min: v, Max: v}
		}
		g.Min, g.Max = min(g.Min, v), max(g.Max, v)
		g.Mean += v
	}
	for i := range list {
		if n := list[i].Runs - list[i].Failed; n > 0 {
			list[i].Mean /= float64(n)
			ok = true
		}
	}
	slices.SortStableFunc(list, func(a, b Ranked) int {
		switch {
		case a.Known != b.Known:
			return map[bool]int{true: -1, false: 1}[a.Known]
		case a.Mean == b.Mean:
			return 0
		case (a.Mean < b.Mean) != (unit == "GB/s"):
			return -1
		}
		return 1
	})
	return list, axes, unit, ok
}

// Figure is the figure that a table is ranked by when nobody says: the step, else the call of the first collective, else the message.
func (t *Table) Figure() string {
	for _, want := range []string{"step mean", "busbw", "message p99"} {
		for _, c := range t.Columns {
			if !c.Axis && (c.Name == want || want == "busbw" && c.Unit == "GB/s") {
				return c.Name
			}
		}
	}
	return "end"
}
