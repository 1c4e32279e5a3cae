package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type numbered struct {
	N    int
	Line string
}

func all(r *Reader) (out []numbered) {
	for line, ok := r.Next(); ok; line, ok = r.Next() {
		out = append(out, numbered{r.N, string(line)})
	}
	return out
}

func TestReader(t *testing.T) {
	const text = "\xef\xbb\xbffirst\r\n\n\x1b[1;31mred\x1b[0m end\n 1%\r 2%\rlast of three\nno newline"
	want := []numbered{{1, "first"}, {2, ""}, {3, "red end"}, {4, " 1%"}, {4, " 2%"}, {4, "last of three"}, {5, "no newline"}}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		lr := NewReader(r)
		if diff := cmp.Diff(want, all(lr)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if lr.Err() != nil || lr.Cut != 0 {
			t.Errorf("%s: err %v, %d cut", name, lr.Err(), lr.Cut)
		}
	}
}

// A line of any length costs a bounded amount of memory and does not disturb the numbers of the next.
func TestLongLine(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("a\n"), strings.NewReader(strings.Repeat("x", 5*MaxLine)), strings.NewReader("\nb\n")))
	got := all(r)
	if len(got) != 3 || got[2] != (numbered{3, "b"}) || len(got[1].Line) != MaxLine || r.Cut != 1 {
		t.Errorf("%d lines, last %+v, %d cut", len(got), got[len(got)-1], r.Cut)
	}
}

// Of a line of which more is to be kept, more is kept, and no more than that.
func TestKeep(t *testing.T) {
	r := NewReader(strings.NewReader("{" + strings.Repeat("x", 3*MaxLine) + "\ny" + strings.Repeat("x", 3*MaxLine) + "\n{" + strings.Repeat("x", 9*MaxLine) + "\n"))
	r.Keep = func(head []byte) int {
		if head[0] == '{' {
			return 4 * MaxLine
		}
		return 0
	}
	var lengths []int
	for _, l := range all(r) {
		lengths = append(lengths, len(l.Line))
	}
	if len(lengths) != 3 || lengths[0] != 3*MaxLine+1 || lengths[1] != MaxLine || lengths[2] > 4*MaxLine || lengths[2] < 2*MaxLine || r.Cut != 2 {
		t.Errorf("lengths %v, %d cut", lengths, r.Cut)
	}
}

func TestReset(t *testing.T) {
	r := NewReader(strings.NewReader("a\rb\nc"))
	r.Next()
	r.Reset(strings.NewReader("x\ny"))
	if diff := cmp.Diff([]numbered{{1, "x"}, {2, "y"}}, all(r)); diff != "" || r.Err() != nil {
		t.Error(diff, r.Err())
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if got := all(r); len(got) != 2 || !errors.Is(r.Err(), broken) {
		t.Errorf("%+v, %v", got, r.Err())
	}
}

func TestUnwrap(t *testing.T) {
	for line, want := range map[string]string{
		"2025-06-02T16:13:44.884Z: [1,12]<stdout>:# size":      "# size",
		"2025-06-02 16:13:44,884 text":                         "text",
		"2025-06-02T16:13:44+02:00 text":                       "text",
		"[1,0]<stderr>: text":                                  " text"[1:],
		"(RayWorkerWrapper pid=721, ip=192.0.2.1) [rank3]:txt": "txt",
		"[rank12]: text":                                       "text",
		"[12345.678] mlx5_core text":                           "[12345.678] mlx5_core text",
		"(not a wrapper) text":                                 "(not a wrapper) text",
		"2025-06 text":                                         "2025-06 text",
		"":                                                     "",
	} {
		if got := string(Unwrap([]byte(line))); got != want {
			t.Errorf("%q unwraps to %q, want %q", line, got, want)
		}
	}
}

func TestHost(t *testing.T) {
	for line, want := range map[string]string{"node-1.example.org: CA 'mlx5_0'": "node-1.example.org|CA 'mlx5_0'", "key:value": "", "two words: x": "", ": x": "", "a:": ""} {
		host, rest, ok := Host([]byte(line))
		got := ""
		if ok {
			got = string(host) + "|" + string(rest)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\x1b[1mb\x1b\n\r\rc"))
	f.Add([]byte("[1,2]<stdout>:[rank1]:2025-06-02T16:13:44Z: (a pid=1) x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(strings.NewReader(string(text)))
		total := 0
		for line, ok := r.Next(); ok; line, ok = r.Next() {
			total += len(line)
			if len(line) > MaxLine {
				t.Fatal("a line over the limit")
			}
			if rest := Unwrap(line); len(rest) > len(line) {
				t.Fatal("unwrapping made a line longer")
			}
			Host(line)
		}
		if total > len(text) {
			t.Fatalf("%d bytes out of %d", total, len(text))
		}
	})
}
