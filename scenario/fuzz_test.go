package scenario

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever stands on a command line as an axis is read or refused, and what is read is written and read again as the same.
func FuzzParseAxis(f *testing.F) {
	for _, seed := range []string{"seed=1..10", "a.b[0].c=1KB..5KB/2KB", "x=[a, b],{c: d},'e,f'", "y=-1..1/0.5", "z=1..1e9", "=", "a=..", "a=1../", "a=\"", "a=}}],[[{", "0=0..0\xad."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAxis(text)
		if err != nil {
			return
		}
		n := a.Count()
		if n < 1 || n > MaxValues+1 {
			t.Fatalf("%q has %d values", text, n)
		}
		first, last := a.At(0), a.At(n-1)
		again, err := ParseAxis(a.String())
		if err != nil || again.Count() != n || again.At(0) != first || again.At(n-1) != last {
			t.Fatalf("%q is written %q and read as %+v, %v", text, a.String(), again, err)
		}
	})
}

// Whatever a file of results holds, it is gone on with or refused, and refused files stay as they were.
func FuzzSweepFile(f *testing.F) {
	axis, err := ParseAxis("seed=1..3")
	if err != nil {
		f.Fatal(err)
	}
	s := &Sweep{Source: Source{File: "ring.yaml", Bytes: []byte(ringFile)}, Engine: Flows, Axes: []Axis{axis}}
	if err := s.Prepare(); err != nil {
		f.Fatal(err)
	}
	head := `{"schema":"shunt/sweep/v1","scenario_sha256":"` + s.head("").Scenario + `","over":["seed=1..3/1"],"engine":"flow","points":3,"version":""}` + "\n"
	for _, seed := range []string{"", "{}", head, head + `{"index":1,"set":["2"]}` + "\n", head + `{"index":7}` + "\n", head + `{"ind`, "\x00\n", head + "x\n" + `{"index":1}` + "\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		path := filepath.Join(t.TempDir(), "results.jsonl")
		if err := os.WriteFile(path, src, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := s.OpenFile(path, "")
		if err != nil {
			if after, _ := os.ReadFile(path); string(after) != string(src) {
				t.Fatalf("refused (%v), and changed from %q to %q", err, src, after)
			}
			return
		}
		n := len(file.Results)
		file.Close()
		again, err := s.OpenFile(path, "")
		if err != nil || len(again.Results) != n {
			t.Fatalf("%d results, then %v", n, err)
		}
		again.Close()
	})
}
