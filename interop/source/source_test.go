package source

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/units"
)

func TestWordsKnowTheirPlace(t *testing.T) {
	r := NewReader("f.txt", strings.NewReader("a  bb\tc\r\n\r\n  d"))
	var got []string
	for r.Line() {
		for _, w := range r.Words() {
			got = append(got, fmt.Sprintf("%s@%d:%d", w, w.Line, w.Col))
		}
	}
	if diff := cmp.Diff([]string{"a@1:1", "bb@1:4", "c@1:7", "d@3:3"}, got); diff != "" {
		t.Error(diff)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestNextCrossesLines(t *testing.T) {
	r := NewReader("f.txt", strings.NewReader("1 2\n\n 3\n"))
	r.Line()
	var got []string
	for {
		w, ok := r.Next()
		if !ok {
			if diff := cmp.Diff(Place{3, 3}, w.Place); diff != "" {
				t.Errorf("end: %s", diff)
			}
			break
		}
		got = append(got, w.String())
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("12345678 ", 100_000)
	r := NewReader("f.txt", strings.NewReader(long+"\nx y\n"))
	if !r.Line() || len(r.Words()) != 100_000 {
		t.Fatalf("%d words", len(r.Words()))
	}
	if !r.Line() || len(r.Words()) != 2 || r.Words()[1].Place != (Place{2, 3}) {
		t.Errorf("then %v", r.Words())
	}
	r = NewReader("f.txt", strings.NewReader(strings.Repeat("x", 2*MaxLine)))
	if r.Line() {
		t.Error("a line beyond the limit was read")
	}
	if r.Line() || len(r.Problems) != 1 {
		t.Errorf("after a line beyond the limit: %v", r.Problems)
	}
}

func TestReadErrors(t *testing.T) {
	r := NewReader("f.txt", io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("disk on fire"))))
	for r.Line() {
	}
	if diff := cmp.Diff("f.txt:2:1: cannot read on: disk on fire", r.Err().Error()); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	w := func(text string) Word { return Word{Place{1, 1}, []byte(text)} }
	r := &Report{File: "f"}
	for text, want := range map[string]units.Rate{"100Gbps": 100 * units.Gbps, "25000000000.0": 25 * units.Gbps, "50Mb/s": 50 * units.Mbps} {
		if got, ok := r.Rate(w(text), "the rate"); !ok || got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	for text, want := range map[string]units.Duration{
		"1000ns": units.Microsecond, "0.001ms": units.Microsecond, "1us": units.Microsecond, "0.000025ms": 25 * units.Nanosecond, "2": 2 * units.Second, "0ns": 0,
	} {
		if got, ok := r.Duration(w(text), "the delay"); !ok || got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	if got, ok := r.Times(w("0.15"), "the start", units.Second); !ok || got != 150*units.Millisecond {
		t.Errorf("0.15 s is %v", got)
	}
	if got, ok := r.Int(w("5000000000"), "the size", 1, math.MaxInt64); !ok || got != 5_000_000_000 {
		t.Errorf("a size is %d", got)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	r.Int(w("1.5"), "the size", 1, 9)
	r.Float(w("nan"), "the share", 0, 1)
	r.Float(w("-1"), "the load", 0, math.Inf(1))
	r.Rate(w("0"), "the rate")
	r.Duration(w("-1us"), "the delay")
	r.Times(w("1e300"), "the start", units.Second)
	want := `f:1:1: the size is "1.5"; write a whole number from 1 to 9
f:1:1: the share is "nan"; write a number from 0 to 1
f:1:1: the load is "-1"; write a number of at least 0
f:1:1: the rate is "0"; write a rate above 0 like 100Gbps, or a bare number of bit/s
f:1:1: the delay is "-1us"; write a time of 0 or more like 1us, 1000ns or 0.001ms
f:1:1: the start is "1e300"; write a number from 0 to 4.611686018427388e+06`
	if diff := cmp.Diff(want, r.Err().Error()); diff != "" {
		t.Error(diff)
	}
}

func TestReportIsBounded(t *testing.T) {
	r := &Report{File: "f"}
	for range 3 * spec.MaxProblems {
		r.Wrong(Place{1, 1}, "wrong")
		r.Note(Place{1, 1}, "known")
	}
	if len(r.Problems) != spec.MaxProblems || len(r.Notes) != spec.MaxProblems || !r.Full() {
		t.Errorf("%d problems, %d notes", len(r.Problems), len(r.Notes))
	}
	if !strings.Contains(r.Err().Error(), "and 400 more problems") {
		t.Error("the rest is not counted")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a b\r\n\tc\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		r := NewReader("f", strings.NewReader(string(src)))
		lines := 0
		for r.Line() {
			lines++
			for _, w := range r.Words() {
				if got := string(r.Text()[w.Col-1 : w.Col-1+len(w.Text)]); w.Line != lines || len(w.Text) == 0 || !w.Is(got) {
					t.Fatalf("word %q is said to be at %v, where %q stands", w.Text, w.Place, got)
				}
				r.Rate(w, "x")
				r.Duration(w, "x")
				r.Times(w, "x", units.Second)
			}
		}
	})
}
