package scenario

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

var update = flag.Bool("update", false, "rewrite docs/schema/scenario.schema.json")

// examples lists the scenarios among the examples.
func examples() (files []string) {
	for _, folder := range []string{"*", "pitfalls/*"} {
		found, _ := filepath.Glob("../examples/" + folder + "/" + FileName) // the patterns are well formed
		files = append(files, found...)
	}
	return files
}

// Every example comes to what it says it expects, and to nothing else; where a gain is expected, the first fix is tried.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("whole simulations; the race detector looks at TestTrials")
	}
	files := examples()
	if len(files) < 15 {
		t.Fatalf("%d examples: %v", len(files), files)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			s, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			seeds := 0
			if s.Expect.Gain > 0 {
				seeds = 2
			}
			out, err := s.Explain(context.Background(), Options{Seeds: seeds})
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range s.Score(out.Result) {
				t.Error(wrong)
			}
			for _, f := range out.Result.Findings {
				for _, e := range f.Evidence {
					if e.From == "" {
						t.Errorf("%s: no source for %q", f.Code, e.What)
					}
				}
			}
		})
	}
}

// The fixes are tried side by side, and which trial ends first changes nothing.
func TestTrials(t *testing.T) {
	s, err := Parse("tiny.yaml", []byte(tiny+"faults: [{kind: rate-degraded, link: [leaf0, spine1], rate: 10Gbps}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var trials []diagnose.Trial
	for range 2 {
		var last float64
		out, err := s.Explain(context.Background(), Options{Seeds: 3, Progress: func(done float64) {
			if done < last {
				t.Errorf("progress went back from %v to %v", last, done)
			}
			last = done
		}})
		if err != nil {
			t.Fatal(err)
		}
		f := out.Result.Findings
		if len(f) == 0 || f[0].Code != "P001" || f[0].Fix.Trial == nil {
			t.Fatalf("no trial of a sound link: %+v", f)
		}
		trials = append(trials, *f[0].Fix.Trial)
	}
	if trials[0] != trials[1] || trials[0].Seeds != 3 || trials[0].After >= trials[0].Before {
		t.Errorf("%+v, then %+v", trials[0], trials[1])
	}
}

const tiny = `title: two hosts
seed: 5
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, link: {rate: 100Gbps, delay: 300ns}}
job: {collective: {kind: alltoall, size: 1MiB, repeat: 3}}
`

// The same file gives the same run, whatever the number of processors, with and without a tap in between.
func TestRunIsDeterministic(t *testing.T) {
	var prints []uint64
	for _, procs := range []int{1, 2} {
		old := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(old)
		s, err := Parse("tiny.yaml", []byte(tiny))
		if err != nil {
			t.Fatal(err)
		}
		run, err := s.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		prints = append(prints, run.Summary.Fingerprint)
	}
	if prints[0] != prints[1] {
		t.Errorf("fingerprints %x and %x", prints[0], prints[1])
	}
	s, _ := Parse("tiny.yaml", []byte(strings.Replace(tiny, "seed: 5", "seed: 6", 1)))
	run, err := s.Run(context.Background(), nil)
	if err != nil || run.Summary.Fingerprint == prints[0] {
		t.Errorf("another seed gave the same run, or none: %x, %v", prints[0], err)
	}
}

// The tap emits nothing that real hardware does not: every series of the window is in the catalogue with a source.
func TestTapEmitsOnlyTheCatalogue(t *testing.T) {
	s, err := Parse("tiny.yaml", []byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for id := range telemetry.SeriesCount {
		keys := run.Window.Keys(id)
		seen += len(keys)
		if len(keys) > 0 && len(telemetry.Catalogue[id].Sources) == 0 {
			t.Errorf("%v has no real source", id)
		}
	}
	if seen == 0 {
		t.Error("the window is empty")
	}
}

// All mistakes come out at once, each at its place.
func TestTenMistakes(t *testing.T) {
	src := `title: ten mistakes
sede: 7
fabric:
  topology: leaf-spin
  leaves: four
  hosts_per_leaf: 0
  link: {rate: 400Gpbs, delay: 500}
switch:
  ecn: {kmin: 8KB, kmx: 32KB, pmax: 120%}
nic: {transport: quic}
job:
  collective: {kind: all_redduce, size: -1}
`
	_, err := Parse("bad.yaml", []byte(src))
	var problems spec.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"bad.yaml:2:1:", "bad.yaml:4:13:", "bad.yaml:5:11:", "bad.yaml:6:19:", "bad.yaml:7:16:", "bad.yaml:7:32:", "bad.yaml:9:20:", "bad.yaml:9:37:", "bad.yaml:12:22:", "bad.yaml:12:41:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no problem at %s", want)
		}
	}
	if len(problems) < 10 {
		t.Errorf("%d problems:\n%v", len(problems), err)
	}
}

// The parameters of spraying are judged like all others, those of several fields together at the first of them.
func TestSprayingMistakes(t *testing.T) {
	for _, k := range []struct {
		name, src string
		want      []string
	}{
		{"fields", `path:
  buckets: {count: 0, key: psn, hash: {algorithm: crc99, offset: -1}, curve: flat, refresh: 0us, jitter: -1us, view: leaf, hysteresis: 0, max_step: 0, queue_weight: 300, rules: {limit: -4, per_qp: 0}}
nic:
  ppcid: {layout: v9, paths: 0}
  deal: {by: luck, refresh: 0us, staleness: -1us}
`, []string{"6:20: count", "6:28: key", "6:51: algorithm", "6:66: offset", "6:78: curve", "6:93: refresh", "6:106: jitter", "6:118: view", "6:136: hysteresis", "6:149: max_step", "6:166: queue_weight", "6:186: limit",
			"6:198: per_qp", "8:19: layout", "8:30: paths", "9:14: by", "9:29: refresh", "9:45: staleness"}},
		{"together", `path:
  buckets:
    refresh: 100us
    jitter: 200us
    hash: {algorithm: crc64, polynomial: 2}
nic:
  ppcid: {layout: keyed}
  deal: {by: link-state, refresh: 1us, jitter: 100ms}
`, []string{"8:13: path buckets jitter", "9:11: path buckets hash", "11:19: nic ppcid layout", "12:9: nic deal staleness, jitter"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			_, err := Parse("bad.yaml", []byte(tiny+k.src))
			var problems spec.Problems
			if !errors.As(err, &problems) || len(problems) != len(k.want) {
				t.Errorf("%d problems, want %d:\n%v", len(problems), len(k.want), err)
			}
			for _, want := range k.want {
				if !strings.Contains(fmt.Sprint(err), "bad.yaml:"+want) {
					t.Errorf("no problem at %s in\n%v", want, err)
				}
			}
		})
	}
}

// What fields mean together is told with the place of the field too.
func TestSemanticMistakes(t *testing.T) {
	src := tiny + `faults:
  - {kind: link-down, link: [leaf0, spine9]}
  - {kind: rate-degraded, link: [leaf0, spine1]}
  - {kind: slow-receiver, host: leaf1, rate: 1Gbps}
expect: {findings: [L999]}
`
	_, err := Parse("bad.yaml", []byte(src))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`bad.yaml:6:37: no node is called "spine9"`, "bad.yaml:7:5: a rate-degraded fault needs a rate", "bad.yaml:8:5: a slow-receiver fault needs host", `bad.yaml:9:21: no cause has the code "L999"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestWith(t *testing.T) {
	s, err := Parse("tiny.yaml", []byte(tiny+"faults: [{kind: rate-degraded, link: [leaf0, spine1], rate: 50Gbps}]\nbackground: [{name: backup, from: [host0], to: [host3], size: 1MiB, priority: 3}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := s.With([]diagnose.Change{
		{Setting: "switch.path_choice", Value: "ecmp-qpn"}, {Setting: "nic.qps", Value: "4"}, {Setting: "switch.ecn.kmin", Value: "400KB"},
		{Setting: "background.priority", Object: "backup", Value: "1"}, {Setting: "link.healthy", Object: "spine1/Ethernet0", Value: "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if fixed.PathChoice != "ecmp-qpn" || fixed.NIC.QPs != 4 || fixed.Switch.ECN.KMin != 400_000 || fixed.Background[0].Priority != 1 || len(fixed.Faults) != 0 {
		t.Errorf("%+v", fixed)
	}
	if len(s.Faults) != 1 || s.Background[0].Priority != 3 {
		t.Error("the scenario itself was changed")
	}
	sprayed, err := s.With([]diagnose.Change{
		{Setting: "path.buckets.refresh", Value: "20us"}, {Setting: "path.buckets.pause_feedback", Value: "true"}, {Setting: "path.buckets.rules.limit", Value: "64"},
		{Setting: "switch.xoff", Value: "130KB"}, {Setting: "switch.alpha", Value: "0.1"}, {Setting: "nic.ppcid.layout", Value: "v1"}, {Setting: "middlebox.udp_checksum", Value: "any"}, {Setting: "nic.deal.by", Value: "link-state"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if b := sprayed.Path.Buckets; b.Refresh != 20*units.Microsecond || !b.PauseFeedback || b.Rules.Limit != 64 || sprayed.Switch.XOFF != 130_000 || sprayed.Switch.Alpha != 0.1 || sprayed.NIC.PPCID.Layout != "v1" || sprayed.NIC.Deal.By != "link-state" || len(sprayed.Faults) != 1 {
		t.Errorf("%+v", sprayed)
	}
	for _, bad := range []diagnose.Change{{Setting: "no.such"}, {Setting: "nic.ppcid.layout", Value: "v9"}, {Setting: "nic.deal.by", Value: "chance"}, {Setting: "path.buckets.refresh", Value: "soon"}, {Setting: "nic.qps", Value: "many"}, {Setting: "link.healthy", Object: "leaf9/Ethernet0"}, {Setting: "background.priority", Object: "nobody", Value: "1"}} {
		if _, err := s.With([]diagnose.Change{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestCancelledRun(t *testing.T) {
	s, err := Parse("tiny.yaml", []byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Explain(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSchemaIsFresh(t *testing.T) {
	const page = "../docs/schema/scenario.schema.json"
	want, err := spec.Schema(Scenario{})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is not what the types say (%v); run go test ./scenario -update", page, err)
	}
}

// A scenario of foreign bytes is refused or loads; it never panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(tiny))
	for _, file := range examples() {
		if src, err := os.ReadFile(file); err == nil {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4096 { // large fabrics are slow to build, and are fuzzed in their own packages
			return
		}
		Parse("fuzz.yaml", src)
	})
}

// A job that never ends has no time of its own to compare a fix with; that it ends with the fix is the gain.
func TestTrialOfAStalledJob(t *testing.T) {
	s, err := Parse("tiny.yaml", []byte(tiny+"nic: {transport: ppcid, timeout: 2, ppcid: {layout: v1, hosts: [{host: host0, layout: v2}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(context.Background(), nil)
	if err != nil || !run.Summary.Stalled {
		t.Fatalf("stalled %t, %v; a host that nobody understands should stop the job", run.Summary.Stalled, err)
	}
	out := &Outcome{Run: run, Result: diagnose.Result{Findings: []diagnose.Finding{{Fix: diagnose.Fix{
		Try:    []diagnose.Change{{Setting: "nic.ppcid.layout", Value: "v2"}},
		Others: []diagnose.Alternative{{Try: []diagnose.Change{{Setting: "nic.qps", Value: "2"}}}},
	}}}}}
	if err := s.try(context.Background(), out, 2, func(float64) {}); err != nil {
		t.Fatal(err)
	}
	fix := out.Result.Findings[0].Fix
	if r := fix.Trial; r == nil || !r.Stalled || r.Metric != "alltoall" || r.After <= 0 || r.Before != 0 || r.Seeds != 2 || r.Gain() != 1 {
		t.Errorf("one layout: %+v", r)
	}
	if r := fix.Others[0].Trial; r != nil {
		t.Errorf("more QPs do not end it either: %+v", r)
	}
}
