package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	reader "github.com/parquet-go/parquet-go"
)

type row struct {
	Yes    bool     `parquet:"yes"`
	Small  int32    `parquet:"small"`
	Big    int64    `parquet:"big"`
	Number float64  `parquet:"number"`
	Name   string   `parquet:"name"`
	MaybeB *bool    `parquet:"maybe_b,optional"`
	MaybeI *int64   `parquet:"maybe_i,optional"`
	MaybeN *float64 `parquet:"maybe_n,optional"`
	MaybeT *string  `parquet:"maybe_t,optional"`
}

var columns = []Column{
	{"yes", Bool, false}, {"small", Int32, false}, {"big", Int64, false}, {"number", Double, false}, {"name", Text, false},
	{"maybe_b", Bool, true}, {"maybe_i", Int64, true}, {"maybe_n", Double, true}, {"maybe_t", Text, true},
}

func put[T any](w *Writer, col int, v *T, add func(int, T)) {
	if v == nil {
		w.Null(col)
		return
	}
	add(col, *v)
}

func write(t testing.TB, rows []row) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, columns)
	for _, r := range rows {
		w.Bool(0, r.Yes)
		w.Int32(1, r.Small)
		w.Int64(2, r.Big)
		w.Double(3, r.Number)
		w.Text(4, r.Name)
		put(w, 5, r.MaybeB, w.Bool)
		put(w, 6, r.MaybeI, w.Int64)
		put(w, 7, r.MaybeN, w.Double)
		put(w, 8, r.MaybeT, w.Text)
		w.EndRow()
	}
	n, err := w.Close()
	if err != nil || n != int64(len(rows)) {
		t.Fatalf("%d rows, %v", n, err)
	}
	return b.Bytes()
}

// random draws a table whose columns are constant, of few values, of runs or all different, by the seed.
func random(seed uint64, n int) []row {
	r := rand.New(rand.NewPCG(seed, 1))
	kinds := r.IntN(4)
	number := func(i int) int64 {
		switch kinds {
		case 0:
			return 7
		case 1:
			return r.Int64N(5) - 2
		case 2:
			return int64(i / (1 + r.IntN(20)))
		}
		return int64(r.Uint64())
	}
	out := make([]row, n)
	for i := range out {
		v := number(i)
		out[i] = row{Yes: v%2 == 0, Small: int32(v), Big: v, Number: float64(v) / 3, Name: fmt.Sprintf("leaf%d/Ethernet8 ü", v)}
		if kinds == 1 && v == 0 {
			out[i].Number, out[i].Name = math.Inf(-1), ""
		}
		if r.IntN(3) > 0 {
			b, f, s := v%3 == 0, float64(v), fmt.Sprint(v)
			out[i].MaybeB, out[i].MaybeI = &b, &v
			if kinds > 0 {
				out[i].MaybeN, out[i].MaybeT = &f, &s // all null in kind 0
			}
		}
	}
	return out
}

// What is written is read back by another implementation of the format, over sizes around the groups of eight and of rows.
func TestReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 100, 1000, groupRows, groupRows + 1} {
		for seed := range uint64(6) {
			if n > 1000 && seed > 1 {
				break
			}
			rows := random(seed, n)
			src := write(t, rows)
			got, err := reader.Read[row](bytes.NewReader(src), int64(len(src)))
			if err != nil {
				t.Fatalf("%d rows, seed %d: %v", n, seed, err)
			}
			if n == 0 && len(got) == 0 {
				continue
			}
			if diff := cmp.Diff(rows, got); diff != "" {
				t.Fatalf("%d rows, seed %d:\n%.2000s", n, seed, diff)
			}
		}
	}
}

// The schema says which columns are text and which take nulls.
func TestSchema(t *testing.T) {
	src := write(t, random(1, 10))
	f, err := reader.OpenFile(bytes.NewReader(src), int64(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range f.Schema().Fields() {
		c := columns[i]
		if field.Name() != c.Name || field.Optional() != c.Optional || (field.Type().String() == "STRING") != (c.Kind == Text) {
			t.Errorf("column %d is %s %v optional %v, want %+v", i, field.Name(), field.Type(), field.Optional(), c)
		}
	}
	if f.NumRows() != 10 || f.Metadata().CreatedBy != "shunt" {
		t.Errorf("%d rows, created by %q", f.NumRows(), f.Metadata().CreatedBy)
	}
}

// The layout of runs and packed bits, by the example of the specification: the numbers 0 to 7 in three bits are 88 C6 FA.
func TestHybrid(t *testing.T) {
	for _, c := range []struct {
		values []uint32
		width  int
		want   []byte
	}{
		{[]uint32{0, 1, 2, 3, 4, 5, 6, 7}, 3, []byte{1<<1 | 1, 0x88, 0xc6, 0xfa}},
		{[]uint32{4, 4, 4, 4, 4, 4, 4, 4, 4}, 3, []byte{9 << 1, 4}},
		{[]uint32{300, 300, 300, 300, 300, 300, 300, 300}, 9, []byte{8 << 1, 0x2c, 0x01}},
		{[]uint32{1}, 1, []byte{1<<1 | 1, 1}},
		{[]uint32{0, 0, 0, 0, 0, 0, 0, 0}, 0, []byte{8 << 1}},
		{nil, 3, nil},
	} {
		if got := hybrid(nil, c.values, c.width); !bytes.Equal(got, c.want) {
			t.Errorf("%v in %d bits: % x, want % x", c.values, c.width, got, c.want)
		}
	}
}

// A row without a value, a value of another kind and a writer that fails are errors, not broken files.
func TestErrors(t *testing.T) {
	for name, do := range map[string]func(w *Writer){
		"no value":   func(w *Writer) { w.Int64(0, 1); w.EndRow() },
		"two":        func(w *Writer) { w.Int64(0, 1); w.Int64(0, 2); w.Text(1, "a"); w.EndRow() },
		"kind":       func(w *Writer) { w.Text(0, "a"); w.Text(1, "a"); w.EndRow() },
		"null":       func(w *Writer) { w.Null(0); w.Text(1, "a"); w.EndRow() },
		"half a row": func(w *Writer) { w.Int64(0, 1); w.Text(1, "a"); w.EndRow(); w.Int64(0, 2); w.EndRow() },
	} {
		var b bytes.Buffer
		w := NewWriter(&b, []Column{{"a", Int64, false}, {"b", Text, true}})
		do(w)
		if _, err := w.Close(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w := NewWriter(full{}, []Column{{"a", Int64, false}})
	w.Int64(0, 1)
	w.EndRow()
	if _, err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkWrite(b *testing.B) {
	rows := random(2, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(write(b, rows))))
	}
}
