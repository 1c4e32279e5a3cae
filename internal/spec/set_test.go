package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

type settable struct {
	Seed int `yaml:"seed" min:"0"`
	ECN  struct {
		KMin units.Bytes `yaml:"kmin" max:"1GB"`
		Off  bool        `yaml:"off"`
	} `yaml:"ecn"`
	Other struct {
		KMin units.Bytes `yaml:"kmin"`
	} `yaml:"other"`
	Links []struct {
		Between []string   `yaml:"between"`
		Rate    units.Rate `yaml:"rate"`
	} `yaml:"links"`
}

const settableFile = `seed: 3
ecn: &e {kmin: 100KB}
other: *e
links:
  - {between: [a, b], rate: 100Gbps}
`

func TestSet(t *testing.T) {
	for _, c := range []struct {
		path, value string
		see         func(s settable) string
		want        string
	}{
		{"seed", "7", func(s settable) string { return strings.Repeat("x", s.Seed) }, "xxxxxxx"},
		{"ecn.kmin", "5KB", func(s settable) string { return s.ECN.KMin.String() + " " + s.Other.KMin.String() }, "5KB 100KB"},
		{"other.kmin", "5KB", func(s settable) string { return s.ECN.KMin.String() + " " + s.Other.KMin.String() }, "100KB 5KB"},
		{"ecn", "{kmin: 1KB}", func(s settable) string { return s.ECN.KMin.String() }, "1KB"},
		{"links[0].rate", "200Gbps", func(s settable) string { return s.Links[0].Rate.String() + s.Links[0].Between[1] }, "200Gbpsb"},
		{"links[1].rate", "300Gbps", func(s settable) string { return s.Links[1].Rate.String() }, "300Gbps"},
		{"links[1]", "{between: [c, d]}", func(s settable) string { return s.Links[1].Between[0] }, "c"},
	} {
		d, ps := Parse("f.yaml", []byte(settableFile))
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		if err := d.Set(c.path, c.value, "--set"); err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		var s settable
		if ps := d.Decode(&s); len(ps) > 0 {
			t.Errorf("%s=%s: %v", c.path, c.value, ps)
		} else if got := c.see(s); got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.path, c.value, got, c.want)
		}
	}
}

// Problems of a value that was set are told under what set it; those of the file keep their places.
func TestSetProblems(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"ecn.kmin", "5XB", `--set ecn.kmin=5XB: kmin: `},
		{"ecn.kmim", "5KB", `--set ecn.kmim=5KB: unknown field kmim in ecn; did you mean kmin?`},
		{"nothing.here", "1", `--set nothing.here=1: unknown field nothing in the file; `},
		{"ecn.kmin", "2GB", `--set ecn.kmin=2GB: kmin`},
		{"ecn.kmin", "[1", `--set ecn.kmin=[1: not YAML: `},
		{"seed.x", "1", `--set seed.x=1: seed is "3" and has nothing inside`},
		{"links.rate", "1", `--set links.rate=1: links is a list; write links[0].rate or another index`},
		{"links[5].rate", "1", `--set links[5].rate=1: links has 1 items; the next is [1]`},
		{"", "1", `--set =1: "" is no path`},
		{"a..b", "1", `--set a..b=1: "a..b" is no path`},
	} {
		d, _ := Parse("f.yaml", []byte(settableFile+"wrong: 1\n"))
		var all []string
		if err := d.Set(c.path, c.value, "--set "+c.path+"="+c.value); err != nil {
			all = append(all, err.Error())
		} else {
			var s settable
			for _, p := range d.Decode(&s).Sorted() {
				all = append(all, p.String())
			}
			if !strings.Contains(strings.Join(all, "\n"), "f.yaml:6:1: unknown field wrong") {
				t.Errorf("%s: the problem of the file is lost: %q", c.path, all)
			}
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%s=%s:\n%s\nwant %s", c.path, c.value, strings.Join(all, "\n"), c.want)
		}
	}
}

// An empty file can be set from nothing, and a problem found later has the name of the option as well.
func TestSetEmpty(t *testing.T) {
	d, _ := Parse("f.yaml", nil)
	if err := d.Set("ecn.kmin", "5KB", "--set ecn.kmin=5KB"); err != nil {
		t.Fatal(err)
	}
	var s settable
	if ps := d.Decode(&s); len(ps) > 0 || s.ECN.KMin != 5*units.KB {
		t.Errorf("%v, %v", ps, s.ECN.KMin)
	}
	if diff := cmp.Diff("--set ecn.kmin=5KB: too small", d.Problem("ecn.kmin", "too small").String()); diff != "" {
		t.Error(diff)
	}
}

// Whatever path and value are set, the document is decoded or refused, never a panic.
func FuzzSet(f *testing.F) {
	for _, seed := range [][2]string{{"ecn.kmin", "1KB"}, {"links[0].between[1]", "x"}, {"links[1]", "{rate: 1Gbps}"}, {"other", "*e"}, {"ecn", "&a [*a]"}, {`["a b"]`, "1"}, {"[", "]"}, {"a[-1]", "{"}, {"ecn.kmin.x[0]", "!!binary x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, value string) {
		d, ps := Parse("f.yaml", []byte(settableFile))
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		if err := d.Set(path, value, "--set"); err != nil {
			return
		}
		var s settable
		for _, p := range d.Decode(&s) {
			if p.Line < 0 {
				t.Fatalf("%q=%q: a problem in line %d", path, value, p.Line)
			}
		}
	})
}
