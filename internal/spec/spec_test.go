package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/shunt-network/shunt/units"
)

type colour string

func (colour) Choices() []string { return []string{"red", "green", "blue"} }

// span is a list with a text form, as ranks are.
type span []int

func (s *span) UnmarshalText(text []byte) error {
	*s = nil
	for i := range len(text) {
		*s = append(*s, i)
	}
	return nil
}

type wire struct {
	_     struct{}       `doc:"one link"`
	Rate  units.Rate     `yaml:"rate" doc:"speed" required:"true" example:"400Gbps" min:"1bps"`
	Delay units.Duration `yaml:"delay" doc:"one way" min:"1ns" max:"1s"`
}

type base struct {
	Name string `yaml:"name" required:"true"`
}

type sample struct {
	base   `yaml:",inline"`
	Size   int                    `yaml:"size" min:"1" max:"10"`
	Small  uint8                  `yaml:"small"`
	Factor float64                `yaml:"factor" min:"0" max:"1"`
	On     bool                   `yaml:"on"`
	Paint  colour                 `yaml:"paint"`
	Mode   string                 `yaml:"mode" choices:"fast,slow"`
	Bytes  units.Bytes            `yaml:"bytes"`
	Share  units.Fraction         `yaml:"share"`
	Link   wire                   `yaml:"link"`
	Spare  *wire                  `yaml:"spare"`
	Links  []wire                 `yaml:"links" max:"3"`
	Pair   [2]string              `yaml:"pair"`
	ByName map[string]wire        `yaml:"by_name"`
	Count  map[colour]units.Bytes `yaml:"count"`
	Ranks  span                   `yaml:"ranks"`
	Hidden int
}

func decode(t *testing.T, src string) (sample, []string) {
	t.Helper()
	d, problems := Parse("f.yaml", []byte(src))
	var s sample
	if len(problems) == 0 {
		problems = d.Decode(&s)
	}
	var texts []string
	for _, p := range problems.Sorted() {
		texts = append(texts, p.String())
	}
	return s, texts
}

func TestDecode(t *testing.T) {
	got, problems := decode(t, `
name: x
size: 0x0a
small: 200
factor: 5e-1
on: true
paint: green
mode: slow
bytes: 4096
share: 5%
link: {rate: 400Gbps, delay: 1.5us}
spare: &s {rate: 1Gbps}
links:
  - *s
  - rate: 2Gbps
pair: [a, b]
by_name: {a.b: {rate: 3Gbps}}
count: {red: 1KiB}
ranks: abc
`)
	want := sample{
		base: base{"x"}, Size: 10, Small: 200, Factor: 0.5, On: true, Paint: "green", Mode: "slow", Bytes: 4096, Share: 0.05,
		Link: wire{Rate: 400 * units.Gbps, Delay: 1500 * units.Nanosecond}, Spare: &wire{Rate: units.Gbps},
		Links: []wire{{Rate: units.Gbps}, {Rate: 2 * units.Gbps}}, Pair: [2]string{"a", "b"},
		ByName: map[string]wire{"a.b": {Rate: 3 * units.Gbps}}, Count: map[colour]units.Bytes{"red": 1024}, Ranks: span{0, 1, 2},
	}
	if len(problems) > 0 {
		t.Fatal(strings.Join(problems, "\n"))
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}), cmp.AllowUnexported(wire{})); diff != "" {
		t.Error(diff)
	}
}

// Every problem of a file comes out at once, each at its place and with what would be right.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"all at once", `
size: 11
smal: 3
factor: high
paint: grean
mode: fastest
bytes: 3 parsecs
link:
  rate: 400
  dealy: 1us
pair: [a]
size: 2
on: yes
`, `
f.yaml:2:1: the file lacks name; add name: ...
f.yaml:2:7: size: 11 is too large; write 10 or less
f.yaml:3:1: unknown field smal in the file; did you mean small?
f.yaml:4:9: factor: "high" is not a number; write a number like 0.5
f.yaml:5:8: paint: "grean" is not one of its values; did you mean green?
f.yaml:6:7: mode: "fastest" is not one of its values; did you mean fast?
f.yaml:7:8: bytes: "3 parsecs": unknown unit "parsecs" for a size; known: B, KB, kB, KiB, MB, MiB, GB, GiB, TB, TiB, K, M, G
f.yaml:9:9: rate: "400" has no unit; write a rate like 400Gbps
f.yaml:10:3: unknown field dealy in link; did you mean delay?
f.yaml:11:7: pair has 1 items; write 2
f.yaml:12:1: size was given in line 2 already; remove one of the two
f.yaml:13:5: on: "yes" is not true or false; write true or false`},
		{"shapes", "name: [a]\nlink: fast\nlinks: {a: b}\nby_name: 3\nspare:\n  delay: 2s\n", `
f.yaml:1:7: name is a list; write text
f.yaml:2:7: link is "fast"; write fields: rate, delay
f.yaml:3:8: links is a map; write a list: [a, b] or a line with - for each
f.yaml:4:10: by_name is "3"; write a map of name: value
f.yaml:6:3: spare lacks rate (speed); add rate: 400Gbps
f.yaml:6:10: delay: 2s is too large; write 1s or less`},
		{"empty values", "name:\nlinks:\nlink:\n", `
f.yaml:1:6: name is empty; write text
f.yaml:3:6: link is empty; write fields: rate, delay`},
		{"too many", "name: x\nlinks: [{rate: 1bps}, {rate: 1bps}, {rate: 1bps}, {rate: 0bps}]\n", `
f.yaml:2:8: links has 4 items; write 3 or fewer
f.yaml:2:58: rate: 0bps is too small; write 1bps or more`},
		{"text wanted", "name: 12\n", `
f.yaml:1:7: name: "12" is not text; write text, in quotes: "12"`},
		{"map names", "name: x\ncount: {rad: 1KiB}\n", `
f.yaml:2:9: count: unknown name "rad"; did you mean red?`},
		{"merge and tag", "name: !mine x\nspare: &s {rate: 1Gbps}\nlink:\n  <<: *s\n  rate: 1Gbps\n", `
f.yaml:1:7: name has the tag !mine; tags are not used, remove it
f.yaml:4:3: merging maps with << is not supported; write the fields out`},
		{"empty file", "", `
f.yaml:1:1: the file lacks name; add name: ...`},
		{"tab", "name: x\nlink:\n\trate: 1Gbps\n", `
f.yaml:3:1: not YAML: found character that cannot start any token while scanning for the next token; indent with spaces, not tabs`},
		{"open list", "name: x\npair: [a, b\nsize: 3\n", `
f.yaml:3:5: not YAML: did not find expected ',' or ']' while parsing a flow sequence that begins in line 2; close the list with ] or separate its items with commas`},
		{"two documents", "name: x\n---\nname: y\n", `
f.yaml:2:1: a second document begins here; write one document a file`},
		{"control", "name: \"x\x01\"\n", `
f.yaml:1:9: control character U+0001; remove it`},
		{"latin 1", "name: caf\xe9\n", `
f.yaml:1:10: not UTF-8 text; save the file as UTF-8`},
		{"anchor", "name: *x\n", `
f.yaml:1:7: not YAML: unknown anchor 'x' referenced; define it before with &name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := decode(t, c.src)
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), strings.Join(problems, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAt(t *testing.T) {
	d, _ := Parse("f.yaml", []byte("a:\n  b: 1\nlist:\n  - x: 2\n  - {y: [3, 4]}\nodd.name: {z: 5}\n"))
	for path, want := range map[string][2]int{
		"a":               {1, 1},
		"a.b":             {2, 6},
		"a.missing":       {1, 1},
		"list[0].x":       {4, 8},
		"list[1].y[1]":    {5, 13},
		"list[9]":         {3, 1},
		`["odd.name"].z`:  {6, 15},
		"nowhere.at[3].a": {1, 1},
		"list[":           {3, 1},
		"":                {1, 1},
	} {
		if line, col := d.At(path); [2]int{line, col} != want {
			t.Errorf("At(%q) = %d:%d, want %d:%d", path, line, col, want[0], want[1])
		}
	}
	if !d.Has("list[1].y[0]") || d.Has("list[2]") {
		t.Error("Has: list[1].y[0] is there and list[2] is not")
	}
	var problems Problems
	d.Reporter(&problems, "list")("[1].y", "wrong; right")
	if got, want := problems.Error(), "f.yaml:5:9: wrong; right"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// A small file cannot expand into a large amount of work or memory, nor nest without end.
func TestLimits(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("name: x\nx0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n")
	for i := range 9 {
		bomb.WriteString(strings.ReplaceAll(strings.ReplaceAll("xN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n",
			"N", string(rune('1'+i))), "M", string(rune('0'+i))))
	}
	bomb.WriteString("deep: *a9\n")
	type bombed struct {
		Name string                   `yaml:"name"`
		Deep [][][][][][][][][][]uint `yaml:"deep"`
	}
	d, problems := Parse("f.yaml", []byte(bomb.String()))
	if len(problems) == 0 {
		var v bombed
		problems = d.Decode(&v)
	}
	if !strings.Contains(problems.Error(), "aliases expand to more than") {
		t.Errorf("alias bomb: %v", problems)
	}

	type nest struct {
		Inner []nest `yaml:"inner"`
	}
	if d, problems := Parse("f.yaml", []byte("inner: &a [{inner: *a}]\n")); len(problems) == 0 {
		if problems = d.Decode(&nest{}); len(problems) == 0 {
			t.Error("an alias inside its own anchor was accepted")
		}
	}
	if _, problems := Parse("f.yaml", []byte("inner: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000))); len(problems) != 1 {
		t.Errorf("deep nesting: %d problems, want 1", len(problems))
	}
	if _, problems := Parse("f.yaml", make([]byte, MaxFileBytes+1)); len(problems) != 1 {
		t.Errorf("large file: %d problems, want 1", len(problems))
	}
	if _, problems := decode(t, "name: x\nlinks: ["+strings.Repeat("x, ", 3*MaxProblems)+"]"); len(problems) != MaxProblems+1 {
		t.Errorf("%d problems, want %d and the count of the rest", len(problems), MaxProblems+1)
	}
	if _, err := Schema(nest{}); err == nil {
		t.Error("a type that contains itself has a schema")
	}
}

// Reader and schema judge the same files alike: what one refuses for its form, so does the other.
func TestSchemaAgrees(t *testing.T) {
	text, err := Schema(&sample{})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		"size: 3", "size: 3.0", "size: 3.5", "size: 0", "size: 11", "size: big", "size: [1]", "size:",
		"small: 255", "small: 256", "small: -1", "factor: 0.5", "factor: 2", "factor: a", "on: true", "on: yes", "on: 1",
		"paint: red", "paint: rod", "mode: fast", "mode: x", "bytes: 4096", "bytes: 4 KiB", "bytes: 2MB", "bytes: 3 ft", "bytes: 1G",
		"share: 5%", "share: 0.05", "share: x", "link: {rate: 1Gb/s}", "link: {rate: 400}", "link: {rate: 1 gbps}", "link: {rate: fast}",
		"link: {}", "link: [1]", "link:", "link: {rate: 1bps, x: 2}", "link: {rate: 1bps, delay: 1.5us}", "link: {rate: 1bps, delay: 1h}",
		"link: {rate: 1bps, delay: 3 µs}", "links:", "links: []", "links: [{rate: 1bps}]", "links: [{}]", "links: {}",
		"pair: [a, b]", "pair: [a]", "pair: [1, 2]", "pair:", "by_name: {x: {rate: 1bps}}", "by_name: {x: 1}", "count: {red: 1}", "count: {rod: 1}",
		"ranks: abc", "ranks: [1, 2]", "ranks: [a]", "ranks: {}", "Hidden: 1", "spare: {rate: 1bps}", "spare: 2", "name2: x",
	} {
		src := "name: x\n" + body + "\n"
		_, problems := decode(t, src)
		var value any
		if err := yaml.Unmarshal([]byte(src), &value); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		value = nil
		if err := json.Unmarshal(j, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != (len(problems) == 0) {
			t.Errorf("%s: schema says %v, reader says %q", body, err, problems)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"name: x\nsize: 3\nlink: {rate: 400Gbps}\n", "a: &a [*a]\n", "? [x]\n: y\n", "<<: {a: b}\n", "name: !!binary aGk=\n",
		"{", "- 1\n- 2\n", "name: 'x\n", "links:\n- rate: 1\n- *x\n", "%YAML 1.2\n---\nname: x\n...\n", "name: 2001-01-01\nsize: .inf\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, problems := Parse("f.yaml", src)
		if (d == nil) == (len(problems) == 0) {
			t.Fatalf("document %v with problems %v", d, problems)
		}
		if d == nil {
			return
		}
		problems = d.Decode(&sample{})
		lines := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + strings.Count(string(src), "\u0085") +
			strings.Count(string(src), "\u2028") + strings.Count(string(src), "\u2029") + 1
		for _, p := range problems {
			if p.Line > lines || p.Text == "" {
				t.Fatalf("problem %v lies outside the file of %d lines", p, lines)
			}
		}
		d.At("links[0].rate")
	})
}
