package scenario

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
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

// WriteParquet writes the table for programs. Axes are text, since a value may be anything that YAML can say; figures are numbers or null.
func (t *Table) WriteParquet(w io.Writer) error {
	fields := parquet.Group{"point": parquet.Int(64), "error": parquet.Optional(parquet.String())}
	for _, c := range t.Columns {
		if c.Axis {
			fields[c.Name] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		} else {
			fields[c.Name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		}
	}
	schema := parquet.NewSchema("sweep", fields)
	place := map[string]int{} // only looked up
	for i, path := range schema.Columns() {
		place[path[0]] = i
	}
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("shunt", "", ""))
	rows := make([]parquet.Row, 0, len(t.Rows))
	for _, r := range t.Rows {
		row := make(parquet.Row, len(place))
		put := func(name string, v parquet.Value, defined int) { row[place[name]] = v.Level(0, defined, place[name]) }
		put("point", parquet.Int64Value(int64(r.Index)), 0)
		put("error", parquet.NullValue(), 0)
		if r.Error != "" {
			put("error", parquet.ByteArrayValue([]byte(r.Error)), 1)
		}
		for i, c := range t.Columns {
			switch {
			case c.Axis:
				put(c.Name, parquet.ByteArrayValue([]byte(r.Text[i])), 0)
			case r.Figures[i-len(r.Text)] == nil:
				put(c.Name, parquet.NullValue(), 0)
			default:
				put(c.Name, parquet.DoubleValue(*r.Figures[i-len(r.Text)]), 1)
			}
		}
		rows = append(rows, row)
	}
	if _, err := out.WriteRows(rows); err != nil {
		return fmt.Errorf("scenario: parquet: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("scenario: parquet: %w", err)
	}
	return nil
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
