package scenario

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

func axesOf(t *testing.T, texts ...string) []Axis {
	t.Helper()
	var out []Axis
	for _, text := range texts {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

func TestParseAxis(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"seed=1..4", []string{"1", "2", "3", "4"}},
		{"switch.ecn.kmin=100KB, 400KB", []string{"100KB", "400KB"}},
		{"switch.ecn.kmin=100KB..400KB/150KB", []string{"100KB", "250KB", "400KB"}},
		{"switch.ecn.pmax=0.1..0.3/0.1", []string{"0.1", "0.2", "0.3"}},
		{"faults[0].at=0..20us/10us", []string{"0us", "10us", "20us"}},
		{"faults=[{kind: link-down, link: [a, b]}],[]", []string{"[{kind: link-down, link: [a, b]}]", "[]"}},
		{`title="a, b",c`, []string{`"a, b"`, "c"}},
		{"nic.split=true,false", []string{"true", "false"}},
	} {
		a, err := ParseAxis(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for i := range a.Count() {
			got = append(got, a.At(i))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.text, diff)
		}
		again, err := ParseAxis(a.String())
		if err != nil || again.String() != a.String() {
			t.Errorf("%s is written %s and read as %s, %v", c.text, a.String(), again.String(), err)
		}
	}
	for _, text := range []string{"seed", "=1", "seed=4..1", "seed=1..b", "kmin=1KB..2MB", "seed=1..9/0", "seed=a,,b", "seed=0..10000000"} {
		if a, err := ParseAxis(text); err == nil {
			t.Errorf("%s was read as %+v", text, a)
		}
	}
}

func TestPoints(t *testing.T) {
	axes := axesOf(t, "a=1,2", "b=x,y,z")
	grid, err := points(axes, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int32{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}, grid); diff != "" {
		t.Error(diff)
	}
	some, _ := points(axes, 4, 7)
	again, _ := points(axes, 4, 7)
	other, _ := points(axes, 4, 8)
	if diff := cmp.Diff(some, again); diff != "" || len(some) != 4 {
		t.Errorf("random points: %v and %v", some, again)
	}
	if cmp.Equal(some, other) {
		t.Errorf("two seeds draw the same points %v", some)
	}
	if all, _ := points(axes, 100, 1); len(all) != 6 {
		t.Errorf("%d points of 6", len(all))
	}
	if _, err := points(axesOf(t, "a=1..5000", "b=1..5000"), 0, 0); err == nil {
		t.Error("25 million points were taken")
	}
	if some, err := points(axesOf(t, "a=1..5000", "b=1..5000"), 3, 0); err != nil || len(some) != 3 {
		t.Errorf("%v, %v", some, err)
	}
}

func smallSweep(t *testing.T) *Sweep {
	t.Helper()
	s := &Sweep{Source: Source{File: "ring.yaml", Bytes: []byte(ringFile), built: &built{}}, Engine: Flows, Axes: axesOf(t, "job.collective.size=64KiB,1MiB", "seed=1..3", "nic.qps=1,2")}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Wherever a sweep is cut off, also in the middle of a line, it goes on from there and comes to the same results.
func TestSweepResumes(t *testing.T) {
	s := smallSweep(t)
	whole, err := s.Run(context.Background(), nil, SweepOptions{Jobs: 2})
	if err != nil || len(whole) != 12 {
		t.Fatalf("%d results, %v", len(whole), err)
	}
	path := filepath.Join(t.TempDir(), SweepResults)
	file, err := s.OpenFile(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), file, SweepOptions{Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	file.Close()
	full, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(full, []byte("\n"))
	for _, cut := range []int{0, len(lines[0]) / 2, len(lines[0]), len(lines[0]) + 1, len(full) / 2, len(full) - 1, len(full)} {
		if err := os.WriteFile(path, full[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := s.OpenFile(path, "test")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := max(0, bytes.Count(full[:cut], []byte("\n"))-1)
		if len(file.Results) != want {
			t.Errorf("cut at %d: %d results taken over, want %d", cut, len(file.Results), want)
		}
		again, err := s.Run(context.Background(), file, SweepOptions{Jobs: 2})
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, again); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
		after, _ := os.ReadFile(path)
		if n := bytes.Count(after, []byte("\n")); n != 13 {
			t.Errorf("cut at %d: the file has %d lines, want 13", cut, n)
		}
	}
	// Rubbish at the end, as a file system may leave after a crash, is dropped as well; in the middle it is told.
	if err := os.WriteFile(path, append(slices.Clone(full), "\x00\x00\x00\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := s.OpenFile(path, "test"); err != nil || len(file.Results) != 12 {
		t.Errorf("rubbish at the end: %v", err)
	} else {
		file.Close()
	}
	broken := bytes.Replace(full, []byte("\n{\"index\""), []byte("\nrubbish\n{\"index\""), 1)
	os.WriteFile(path, broken, 0o600)
	if _, err := s.OpenFile(path, "test"); err == nil || !strings.Contains(err.Error(), ":2:") {
		t.Errorf("rubbish in the middle: %v", err)
	}
}

// Results of something else are not gone on with, and one file is not shared.
func TestSweepFileIsItsOwn(t *testing.T) {
	s := smallSweep(t)
	path := filepath.Join(t.TempDir(), SweepResults)
	file, err := s.OpenFile(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenFile(path, "test"); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	file.Close()
	for name, other := range map[string]Sweep{
		"engine":   {Source: s.Source, Axes: s.Axes, Engine: Packets},
		"axes":     {Source: s.Source, Axes: s.Axes[:2], Engine: Flows},
		"random":   {Source: s.Source, Axes: s.Axes, Engine: Flows, Random: 3},
		"scenario": {Source: Source{File: "ring.yaml", Bytes: append([]byte(ringFile), '\n')}, Axes: s.Axes, Engine: Flows},
	} {
		if err := other.Prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := other.OpenFile(path, "test"); !errors.Is(err, ErrOtherSweep) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	os.WriteFile(path, []byte("precious notes\n"), 0o600)
	if _, err := s.OpenFile(path, "test"); !errors.Is(err, ErrOtherSweep) {
		t.Errorf("a file of something else: %v", err)
	}
	if src, _ := os.ReadFile(path); string(src) != "precious notes\n" {
		t.Errorf("it now holds %q", src)
	}
}

// A point that cannot be run is a result that says why; the others go on. A field or value that is none is told before the first run.
func TestSweepProblems(t *testing.T) {
	s := &Sweep{Source: Source{File: "ring.yaml", Bytes: []byte(ringFile)}, Engine: Flows, Axes: axesOf(t, "fabric.spines=0,2")}
	if err := s.Prepare(); err == nil || !strings.Contains(err.Error(), "--over fabric.spines=0: spines") {
		t.Errorf("a value out of bounds: %v", err)
	}
	s.Axes = axesOf(t, "switch.ecn.kmn=1KB")
	if err := s.Prepare(); err == nil || !strings.Contains(err.Error(), "unknown field kmn in ecn; did you mean kmin?") {
		t.Errorf("an unknown field: %v", err)
	}
	s.Axes = axesOf(t, "switch.ecn.kmin=1KB,900KB", "switch.ecn.kmax=500KB")
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	results, err := s.Run(context.Background(), nil, SweepOptions{Jobs: 1})
	if err != nil || len(results) != 2 || results[0].Error != "" || !strings.Contains(results[1].Error, "kmax") {
		t.Errorf("%+v, %v", results, err)
	}
	s.Axes = axesOf(t, "seed=1", "seed=2")
	if err := s.Prepare(); err == nil {
		t.Error("an axis given twice was taken")
	}
}

func TestSweepTable(t *testing.T) {
	s := smallSweep(t)
	results, err := s.Run(context.Background(), nil, SweepOptions{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	table := s.Table(results)
	var b bytes.Buffer
	if err := table.WriteParquet(&b); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Point int64    `parquet:"point"`
		Size  string   `parquet:"job.collective.size"`
		BusBW *float64 `parquet:"all_reduce 64KiB busbw,optional"`
		Plain *float64 `parquet:"all_reduce busbw,optional"`
		Error *string  `parquet:"error,optional"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 12 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if r.Point != int64(i) || r.Size != results[i].Set[0] || r.Plain == nil || *r.Plain != results[i].Figures.Collectives[0].BusBW || r.Error != nil {
			t.Errorf("row %d is %+v", i, r)
		}
	}
	b.Reset()
	if err := table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); !strings.HasPrefix(head, "point,job.collective.size,seed,nic.qps,all_reduce p50 (us),") || strings.Count(b.String(), "\n") != 13 {
		t.Errorf("CSV:\n%s", b.String())
	}
	list, axes, unit, ok := table.Rank(table.Figure())
	// Seeds are taken together; a large message makes more of the link than a small one.
	if !ok || unit != "GB/s" || len(axes) != 2 || len(list) != 4 || list[0].Text[0] != "1MiB" || list[3].Text[0] != "64KiB" || list[0].Runs != 3 {
		t.Errorf("%v: %+v", axes, list)
	}
	if _, _, _, ok := table.Rank("step mean"); ok {
		t.Error("ranked by a figure that no point has")
	}
}
