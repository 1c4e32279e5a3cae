package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Kind is what a column holds.
type Kind uint8

// Kinds of column.
const (
	Bool Kind = iota
	Int32
	Int64
	Double
	Text // UTF-8
)

// physical is the type of the format for each kind (parquet.thrift, Type).
var physical = [...]int{Bool: 0, Int32: 1, Int64: 2, Double: 5, Text: 6}

// Column describes one column. Optional columns have nulls.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// groupRows is how many rows a row group has: enough for dictionaries to pay, little enough to hold in memory.
const groupRows = 1 << 17

const magic = "PAR1"

// Writer writes rows of a table. Values of a row are added column by column, in any order; every column of a row needs one, or a
// Null where it is optional. Errors are kept and returned by Close.
type Writer struct {
	out    io.Writer
	cols   []Column
	chunks []chunk
	buffer bytes.Buffer
	offset int64
	rows   int64
	inRow  int // rows of the group under way
	groups []group
	err    error
}

type group struct {
	rows   int
	chunks []written
}

// NewWriter begins a table.
func NewWriter(out io.Writer, cols []Column) *Writer {
	w := &Writer{out: out, cols: cols, chunks: make([]chunk, len(cols))}
	for i, c := range cols {
		w.chunks[i] = chunk{col: c, distinct: map[value]uint32{}}
	}
	w.write([]byte(magic))
	return w
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.offset += int64(n)
	if err != nil {
		w.err = fmt.Errorf("parquet: %w", err)
	}
}

// Bool, Int32, Int64, Double and Text add a value to a column of their kind.
func (w *Writer) Bool(col int, v bool) {
	var b uint64
	if v {
		b = 1
	}
	w.add(col, Bool, value{bits: b})
}

// Int32 adds a value.
func (w *Writer) Int32(col int, v int32) { w.add(col, Int32, value{bits: uint64(uint32(v))}) }

// Int64 adds a value.
func (w *Writer) Int64(col int, v int64) { w.add(col, Int64, value{bits: uint64(v)}) }

// Double adds a value.
func (w *Writer) Double(col int, v float64) { w.add(col, Double, value{bits: math.Float64bits(v)}) }

// Text adds a value.
func (w *Writer) Text(col int, v string) { w.add(col, Text, value{text: v}) }

// Null adds the absence of a value to an optional column.
func (w *Writer) Null(col int) {
	c := &w.chunks[col]
	if !c.col.Optional {
		w.wrong("column %s takes no null", c.col.Name)
		return
	}
	c.null = append(c.null, true)
}

func (w *Writer) add(col int, kind Kind, v value) {
	c := &w.chunks[col]
	if c.col.Kind != kind {
		w.wrong("column %s is of another kind", c.col.Name)
		return
	}
	c.add(v)
}

func (w *Writer) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("parquet: "+format, args...)
	}
}

// EndRow ends a row.
func (w *Writer) EndRow() {
	w.inRow++
	for i := range w.chunks {
		if c := &w.chunks[i]; max(len(c.null), len(c.codes)) != w.inRow {
			w.wrong("row %d has no value, or several, in column %s", w.rows+int64(w.inRow)-1, c.col.Name)
			return
		}
	}
	if w.inRow == groupRows {
		w.flush()
	}
}

// flush writes a row group.
func (w *Writer) flush() {
	if w.inRow == 0 || w.err != nil {
		return
	}
	g := group{rows: w.inRow}
	for i := range w.chunks {
		w.buffer.Reset()
		at, err := w.chunks[i].pages(&w.buffer, w.offset)
		if err != nil {
			w.err = err
			return
		}
		g.chunks = append(g.chunks, at)
		w.write(w.buffer.Bytes())
		w.chunks[i].reset()
	}
	w.groups = append(w.groups, g)
	w.rows += int64(w.inRow)
	w.inRow = 0
}

// Close writes what is left and the footer, and tells how many rows there are. It does not close what it writes to.
func (w *Writer) Close() (rows int64, err error) {
	w.flush()
	if w.err != nil {
		return 0, w.err
	}
	foot := w.footer()
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	w.write(append(foot, magic...))
	return w.rows, w.err
}

// footer is FileMetaData (parquet.thrift).
func (w *Writer) footer() []byte {
	t := &compact{}
	t.begin()
	t.i32(1, 1) // the version of the format that readers look for
	t.list(2, compactStruct, len(w.cols)+1)
	t.begin()
	t.text(4, "schema")
	t.i32(5, len(w.cols))
	t.end()
	for _, c := range w.cols {
		t.begin()
		t.i32(1, physical[c.Kind])
		repetition := 0 // required
		if c.Optional {
			repetition = 1
		}
		t.i32(3, repetition)
		t.text(4, c.Name)
		if c.Kind == Text {
			t.i32(6, 0) // ConvertedType UTF8, for older readers
			t.open(10)  // LogicalType
			t.open(1)   // STRING
			t.end()
			t.end()
		}
		t.end()
	}
	t.i64(3, w.rows)
	t.list(4, compactStruct, len(w.groups))
	for _, g := range w.groups {
		t.begin()
		w.rowGroup(t, g)
		t.end()
	}
	t.text(6, "shunt")
	t.end()
	return t.b
}

// rowGroup is RowGroup with its ColumnChunks.
func (w *Writer) rowGroup(t *compact, g group) {
	t.list(1, compactStruct, len(g.chunks))
	var total int64
	for i, c := range g.chunks {
		total += c.uncompressed
		first := c.data
		if c.dictionary >= 0 {
			first = c.dictionary
		}
		t.begin()
		t.i64(2, first)
		t.open(3) // ColumnMetaData
		t.i32(1, physical[w.cols[i].Kind])
		t.list(2, compactI32, len(c.encodings))
		for _, e := range c.encodings {
			t.zigzag(int64(e))
		}
		t.list(3, compactBinary, 1)
		t.bare(w.cols[i].Name)
		t.i32(4, codecGzip)
		t.i64(5, int64(c.values))
		t.i64(6, c.uncompressed)
		t.i64(7, c.compressed)
		t.i64(9, c.data)
		if c.dictionary >= 0 {
			t.i64(11, c.dictionary)
		}
		t.end()
		t.end()
	}
	t.i64(2, total)
	t.i64(3, int64(g.rows))
}
