package rules

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

func TestPieces(t *testing.T) {
	for text, want := range map[string][]Piece{
		"plain":                {{Literal: "plain"}},
		"":                     nil,
		"{a.b} and {c}":        {{Expression: "a.b", At: 1}, {Literal: " and "}, {Expression: "c", At: 11}},
		"{{not}} {a}":          {{Literal: "{not} "}, {Expression: "a", At: 9}},
		`{f("}", {"k": '{'})}`: {{Expression: `f("}", {"k": '{'})`, At: 1}},
		`{"a\"}b"}.`:           {{Expression: `"a\"}b"`, At: 1}, {Literal: "."}},
		"\u00fc {x}":           {{Literal: "\u00fc "}, {Expression: "x", At: 4}},
	} {
		got, _, err := Pieces(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for text, at := range map[string]int{"a {": 2, "a }": 2, "{ }": 0, "{'}": 0, "x {a{b}": 2} {
		if list, got, err := Pieces(text); err == nil || got != at {
			t.Errorf("%q: %v at %d (%v), want a mistake at %d", text, list, got, err, at)
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, s := range []string{"{a}", "{{", "{'}'}", "}", `{"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, at, err := Pieces(s)
		if err != nil && (at < 0 || at >= len(s)) {
			t.Fatalf("a mistake at %d of %q", at, s)
		}
		for _, p := range list {
			if p.Expression != "" && s[p.At:p.At+len(p.Expression)] != p.Expression {
				t.Fatalf("%q does not stand at %d of %q", p.Expression, p.At, s)
			}
		}
	})
}

const minimal = "rules:\n  - {code: U001, title: t, when: \"true\", because: b}\n"

func TestParse(t *testing.T) {
	f, err := Parse("r.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if r := &f.Rules[0]; r.Subject() != OfCluster || r.Sure() != likely || r.Severity.Severity() != diagnose.Warning || f.Name() != "r.yaml" {
		t.Errorf("%+v", r)
	}
	_, err = Parse("r.yaml", []byte(`rules:
  - {code: P001, title: t, when: "true", because: b}
  - code: U002
    title: t
    when: "true"
    because: b
    confidence: 2
    explains: [P001, U009, Q1]
    tests:
      - name: both
        given: {hosts: []}
        files: [x.log]
        expect: clear
        where: [a]
  - {code: U002, title: t, when: "true"}
`))
	var problems spec.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems.Sorted() {
		place, _, _ := strings.Cut(p.String(), ": ")
		got = append(got, place)
	}
	if diff := cmp.Diff([]string{"r.yaml:2:12", "r.yaml:7:17", "r.yaml:8:28", "r.yaml:12:16", "r.yaml:14:16", "r.yaml:15:5", "r.yaml:15:12"}, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "nowhere.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The place of a mistake inside an expression is that of the file, however YAML writes the expression.
func TestPlaces(t *testing.T) {
	const head = "rules:\n  - code: U001\n    title: t\n    because: b\n    when: "
	for _, c := range []struct {
		when      string
		line, col int
		want      string
	}{
		{"abc", 1, 2, "5:12"},
		{"'a''c'", 1, 3, "5:15"},
		{`"a\"c"`, 1, 3, "5:15"},
		{"|\n      abc\n        d", 1, 2, "6:8"},
		{"|\n      abc\n        d", 2, 3, "7:9"},
		{">\n      abc\n      def", 1, 2, "6:8"},
		{">\n      abc\n      def", 1, 6, "7:8"},
		{"abc\n      def", 1, 6, "6:8"},
		{"\"abc\n      def\"", 1, 6, "6:8"},
		{"abc", 0, 0, "5:11"},
		{"abc", 1, 400, "6:1"}, // past the end: no further than the file
	} {
		f, err := Parse("r.yaml", []byte(head+c.when+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Problem("rules[0].when", "x", c.line, c.col); got.String() != "r.yaml:"+c.want+": x" {
			t.Errorf("%q at %d:%d: %v, want %s", c.when, c.line, c.col, got, c.want)
		}
	}
}

// What the inventory does not know, expressions do not have.
func TestFromView(t *testing.T) {
	at := evidence.Source{File: "f", Line: 3}
	inv := &evidence.Inventory{Switches: []*evidence.Switch{{Name: "leaf1", Ports: []evidence.SwitchPort{{Name: "Ethernet8"}}}}}
	h := inv.Host("node1")
	n := h.NIC("mlx5_0", 2)
	n.ActiveMTU, n.Rate = evidence.Known(4096, at), evidence.Missing[units.Rate]("N/A", at)
	n.GIDs = []evidence.GID{{Index: 3, Address: netip.MustParseAddr("::ffff:192.0.2.1"), Version: "v2"}}
	inv.NCCL.Events = []evidence.Event{{Kind: evidence.CompletionError, Rank: -1, Status: 12}, {Kind: evidence.OtherWarning}}
	inv.Calls = []evidence.Call{{Name: "all_reduce", Wrong: -1, Step: -1, Time: 5 * units.Millisecond}}
	win := telemetry.NewWindow(units.At(0), units.At(0))
	for i, count := range []uint64{5, 9} {
		win.Add(telemetry.Key{Series: telemetry.NICRxPause, Object: "node1/mlx5_0", Priority: 3}, telemetry.Sample{At: units.At(int64(i) * int64(units.Second)), Count: count}, 1, "f:7", false)
	}
	win.Add(telemetry.Key{Series: telemetry.NICRxPause, Object: "node2/mlx5_0", Priority: 3}, telemetry.Sample{Count: 9}, 1, "g:7", false)
	c := FromView(&diagnose.View{Inv: inv, Win: win})
	nic := c.Hosts[0].NICs[0]
	if *nic.MTU != 4096 || nic.Rate != nil || nic.Object != "node1/mlx5_0:2" || nic.From != "f:3" || nic.GIDs[0].Address != "::ffff:192.0.2.1" || nic.GIDs[0].Netdev != nil {
		t.Errorf("%+v", nic)
	}
	if p := c.Switches[0].Ports[0]; p.Peer != nil || p.Object != "leaf1/Ethernet8" {
		t.Errorf("%+v", p)
	}
	if e := c.Events; e[0].Kind != "completion error" || e[0].Rank != nil || e[1].Kind != "warning" || *e[1].Rank != 0 {
		t.Errorf("%+v", e)
	}
	if x := c.Calls[0]; x.Wrong != nil || x.Step != nil || *x.Time != 5 || x.BusBW != nil {
		t.Errorf("%+v", x)
	}
	if s := c.Series; len(s) != 2 || *s[0].Growth != 4 || *s[0].Seconds != 1 || *s[0].Priority != 3 || s[1].Growth != nil {
		t.Errorf("%+v", s)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Cluster
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	back.Hosts[0].Sysctl = c.Hosts[0].Sysctl // an empty map and none are the same
	if diff := cmp.Diff(*c, back); diff != "" {
		t.Errorf("it changes on its way:\n%s", diff)
	}
}

func TestComplete(t *testing.T) {
	c := &Cluster{
		Hosts:    []Host{{Name: "node1", NICs: []NIC{{Device: "mlx5_0"}, {Device: "mlx5_0", Port: 2}, {Device: "x", Host: "other", Object: "o"}}, Netdevs: []Netdev{{Name: "eth1"}}, PCI: []PCI{{Address: "5c:00.0"}}}},
		Switches: []Switch{{Name: "leaf1", Ports: []Port{{Name: "Ethernet8"}}}},
	}
	c.Complete()
	n := c.Hosts[0].NICs
	got := []string{n[0].Object, n[1].Object, n[2].Object, n[0].Host, n[2].Host, c.Hosts[0].Netdevs[0].Host, c.Hosts[0].PCI[0].Host, c.Switches[0].Ports[0].Object}
	if diff := cmp.Diff([]string{"node1/mlx5_0", "node1/mlx5_0:2", "o", "node1", "other", "node1", "node1", "leaf1/Ethernet8"}, got); diff != "" {
		t.Error(diff)
	}
}

// play puts a script in the place of the program.
func play(t *testing.T, script string) Program {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A program that fails, is of another release or is not there is told of; a rule never passes because of it.
func TestProgramThatFails(t *testing.T) {
	if _, err := play(t, "echo 'r.yaml:1:2: wrong' >&2; exit 2").Causes(t.Context(), nil); err == nil || err.Error() != "r.yaml:1:2: wrong" {
		t.Errorf("mistakes: %v", err)
	}
	if _, err := play(t, "echo '{}'").Causes(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "another release") {
		t.Errorf("another release: %v", err)
	}
	if _, err := play(t, "echo broken >&2; exit 7").Causes(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "ended with 7: broken") {
		t.Errorf("a crash: %v", err)
	}
	// It answers once, and then no more.
	dir := t.TempDir()
	p := play(t, "if [ -e "+dir+"/asked ]; then exit 7; fi; : > "+dir+`/asked; echo '{"schema":"`+Schema+`","verdicts":[{"code":"U001","title":"t","outcome":"unknown"}]}'`)
	causes, err := p.Causes(t.Context(), nil)
	if err != nil || len(causes) != 1 {
		t.Fatal(causes, err)
	}
	v := causes[0].Check(&diagnose.View{Inv: &evidence.Inventory{}})
	if v.State != diagnose.CannotCheck || !strings.Contains(v.Why, "ended with 7") {
		t.Errorf("%+v", v)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); !errors.Is(err, ErrNoProgram) {
		t.Errorf("no program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Causes(ctx, nil); err == nil {
		t.Error("it answers after it was interrupted")
	}
}
