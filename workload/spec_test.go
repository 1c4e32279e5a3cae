package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/units"
)

// parse reads a Spec and plans it on f; the text is every problem, a line each.
func parse(t *testing.T, f *fabric.Fabric, src string) (*Plan, string) {
	t.Helper()
	doc, problems := spec.Parse("w.yaml", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var s Spec
	if problems = doc.Decode(&s); len(problems) > 0 {
		return nil, problems.Error()
	}
	p := s.Plan(f, 7, doc.Reporter(&problems, ""))
	if (p == nil) != (len(problems) > 0) {
		t.Fatalf("plan %v with problems %v", p != nil, problems)
	}
	return p, problems.Error()
}

func plan(t *testing.T, f *fabric.Fabric, src string) *Plan {
	t.Helper()
	p, problems := parse(t, f, src)
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

func TestCollectiveJob(t *testing.T) {
	f := cluster(4, 1)
	p := plan(t, f, "job:\n  collective: {kind: all_reduce, size: 4MiB, repeat: 2, warmup: 1}\n")
	if len(p.Spans) != 3 || !p.Spans[0].Warmup || p.Spans[2].Warmup || p.Steps != 0 {
		t.Fatalf("spans %+v", p.Spans)
	}
	want := Span{Name: "all_reduce", Collective: AllReduce, Algorithm: "ring", Protocol: "simple", Bytes: 4 * units.MiB, Ranks: 4, Step: -1}
	if diff := cmp.Diff(want, p.Spans[1]); diff != "" {
		t.Error(diff)
	}
	// A rank calls again only when its call before is over: every send of the second call waits for one of the first.
	for i, o := range p.Ops {
		if o.Span > 0 && o.Kind == Send && p.Dependencies(OpID(i)) == 0 {
			t.Errorf("%+v of call %d waits for nothing", o, o.Span)
		}
		if o.Kind == Send && o.Priority != 3 {
			t.Errorf("priority %d, want the default 3", o.Priority)
		}
	}
}

func TestRanks(t *testing.T) {
	for text, want := range map[string]Ranks{
		"0-3": {0, 1, 2, 3}, "0-1,6-7": {0, 1, 6, 7}, "0-16/8": {0, 8, 16}, "5-5": {5}, "3,1": {3, 1},
	} {
		var r Ranks
		if err := r.UnmarshalText([]byte(text)); err != nil || cmp.Diff(want, r) != "" {
			t.Errorf("%q: %v, %v", text, r, err)
		}
		again, _ := r.MarshalText()
		var back Ranks
		if err := back.UnmarshalText(again); err != nil || cmp.Diff(r, back) != "" {
			t.Errorf("%q written as %q reads as %v, %v", text, again, back, err)
		}
	}
	for _, bad := range []string{"", "8", "3-1", "a-b", "0-3/0", "0-99999999", "-1-3", "1/2", "0-3,"} {
		var r Ranks
		if err := r.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q: read as %v", bad, r)
		}
	}
}

func TestPatterns(t *testing.T) {
	f := cluster(8, 1)
	sends := func(src string) (from, to map[fabric.GPUID]int, bytes units.Bytes) {
		from, to = map[fabric.GPUID]int{}, map[fabric.GPUID]int{}
		for _, o := range plan(t, f, src).Ops {
			if o.Src == o.Dst {
				t.Errorf("%s: GPU %d sends to itself", src, o.Src)
			}
			from[o.Src]++
			to[o.Dst]++
			bytes += o.Bytes
		}
		return from, to, bytes
	}
	for _, c := range []struct {
		src                string
		senders, targets   int
		messages           int
		bytes              units.Bytes
		mostFrom, mostOnTo int
	}{
		{"job: {pattern: {kind: permutation, size: 2MB}}\n", 8, 8, 8, 16 * units.MB, 1, 1},
		{"job: {pattern: {kind: shift, size: 10KB, message: 4KB, repeat: 2}}\n", 8, 8, 48, 160 * units.KB, 6, 6},
		{"job: {pattern: {kind: incast, size: 1MB, target: 3}}\n", 7, 1, 7, 7 * units.MB, 1, 7},
		{"job: {pattern: {kind: outcast, size: 1MB, ranks: 2-5}}\n", 1, 3, 3, 3 * units.MB, 3, 1},
	} {
		from, to, bytes := sends(c.src)
		most := func(m map[fabric.GPUID]int) (n int) {
			for _, k := range m {
				n = max(n, k)
			}
			return n
		}
		if len(from) != c.senders || len(to) != c.targets || bytes != c.bytes || most(from) != c.mostFrom || most(to) != c.mostOnTo {
			t.Errorf("%s: from %v to %v, %d bytes", c.src, from, to, bytes)
		}
	}
}

// A stream offers its bytes on its own clock, and the run does not wait for it.
func TestBackground(t *testing.T) {
	f := cluster(4, 2)
	p := plan(t, f, `
job: {collective: {kind: alltoall, size: 1MB}}
background:
  - {name: storage, from: [host0, host1], to: [host3], rate: 80Gbps, start: 1ms, for: 1ms, priority: 2}
  - {name: backup, from: [host2], to: [host0], size: 3MiB}
`)
	var bytes [2]units.Bytes
	var last units.Duration
	for i, o := range p.Ops {
		s := p.Spans[o.Span]
		if o.Background != s.Background {
			t.Errorf("%+v is background, its span %q is not, or the reverse", o, s.Name)
		}
		switch s.Name {
		case "storage":
			bytes[0] += o.Bytes
			last = max(last, o.At)
			if o.Rate != 80*units.Gbps || o.Priority != 2 || o.At < units.Millisecond || p.Dependencies(OpID(i)) != 0 || f.GPUs[o.Dst].Index != 0 {
				t.Errorf("%+v", o)
			}
		case "backup":
			bytes[1] += o.Bytes
		}
	}
	// 80 Gbit/s for 1 ms are 10 MB a sender.
	if bytes[0] != 20*units.MB || bytes[1] != 3*units.MiB {
		t.Errorf("%v bytes", bytes)
	}
	if last < 1900*units.Microsecond || last >= 2*units.Millisecond {
		t.Errorf("the last message is offered at %v, want shortly before 2ms", last)
	}
}

func TestSpecProblems(t *testing.T) {
	f := cluster(4, 2)
	for _, c := range []struct{ name, src, want string }{
		{"no kind", "job: {}\n", `
w.yaml:1:6: the job has 0 kinds; write exactly one of collective, step, pattern`},
		{"unknown collective", "job: {collective: {kind: allreduce, size: 1MB}}\n", `
w.yaml:1:26: kind: "allreduce" is not one of its values; did you mean all_reduce?`},
		{"collective", "job:\n  collective: {kind: alltoall, algorithm: ring, size: 1MB, ranks: [0, 9, 9]}\nbackground:\n  - {name: s, from: [host7], to: [host0], rate: 1Gbps}\n", `
w.yaml:2:43: alltoall is not done by ring; write direct
w.yaml:2:67: there is no GPU 9; the fabric has 0-7
w.yaml:4:5: s needs to end: add one of for and size
w.yaml:4:22: no host is called "host7"; hosts are host0 to host3`},
		{"too much", "job: {collective: {kind: all_reduce, size: 1GiB, repeat: 10000, chunks: 4096, channels: 64}}\n", `
w.yaml:1:19: 10000 calls of 58720264 operations each are too many; at most 8388608 can be run: lower repeat, chunks, channels or ranks`},
		{"pattern", "job: {pattern: {kind: permutation, size: 1MB, target: 2, offset: 3}}\n", `
w.yaml:1:55: target applies to incast and outcast; remove it
w.yaml:1:66: offset applies to shift; remove it`},
		{"step ranks", "job: {step: {tp: 2, dp: 5, layers: 4, compute: {forward: 1ms}}}\n", `
w.yaml:1:13: tp 2 x dp 5 x pp 1 are 10 ranks, and there are 8 GPUs; make them equal`},
		{"step", "job:\n  step: {tp: 2, pp: 2, ep: 3, layers: 5, warmup: 1, sizes: {ep: 1MB, tp: 1MB}, compute: {forward: 1ms}}\n", `
w.yaml:2:28: 3 expert-parallel ranks do not divide dp, 2; write a divisor
w.yaml:2:39: 5 layers do not split into 2 stages of whole groups of 1; write a multiple of 2
w.yaml:2:50: 1 of 1 steps are warm-up, so none is measured; write fewer
w.yaml:2:60: pp is 2 but sizes.pp is not given; add it
w.yaml:2:60: dp is 2 but sizes.dp is not given; add it
w.yaml:2:89: with expert parallelism, the part of forward (1ms) spent in the experts is needed; write experts: more than 0 and at most that`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := parse(t, f, c.src)
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzPlan(f *testing.F) {
	for _, s := range []string{
		"job: {collective: {kind: all_reduce, size: 4MiB, algorithm: tree, chunks: 3}}\nbackground: [{name: s, from: [host0], to: [host1], rate: 1Gbps, for: 1ms}]\n",
		"job: {step: {tp: 2, pp: 2, layers: 4, microbatches: 3, sizes: {tp: 1MB, pp: 1MB, dp: 1MB}, compute: {forward: 1ms, jitter: 3%}}}\n",
		"job: {step: {ep: 4, dp: 4, tp: 2, layers: 1, sizes: {ep: 1MB, dp: 1MB, tp: 1B}, compute: {forward: 2ms, experts: 1ms}}}\n",
		"job: {pattern: {kind: shift, size: 1MB, offset: 3}}\n",
	} {
		f.Add(s)
	}
	fab := cluster(4, 2)
	f.Fuzz(func(t *testing.T, src string) {
		doc, problems := spec.Parse("w.yaml", []byte(src))
		if len(problems) > 0 {
			return
		}
		var s Spec
		if problems = doc.Decode(&s); len(problems) > 0 {
			return
		}
		if st := s.Job.Step; st != nil && max(st.Steps, 1)*max(st.Microbatches, 1)*max(st.Layers, 1) > 200 {
			return // keep the fuzzer quick
		}
		p := s.Plan(fab, 1, doc.Reporter(&problems, ""))
		if (p == nil) == (len(problems) == 0) {
			t.Fatalf("plan %v with problems %v", p != nil, problems)
		}
		if p != nil && len(p.Ops) > MaxOps {
			t.Fatalf("%d operations, more than the limit", len(p.Ops))
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name        string
		hosts, gpus int
		src         string
	}{
		{"ring1024", 128, 8, "job: {collective: {kind: all_reduce, size: 256MiB, channels: 1}}\n"},
		{"alltoall256", 32, 8, "job: {collective: {kind: alltoall, size: 64MiB}}\n"},
		{"step64", 8, 8, "job: {step: {tp: 8, pp: 2, layers: 32, group: 4, microbatches: 8, sizes: {tp: 64MiB, pp: 16MiB, dp: 200MiB}, compute: {forward: 1ms}}}\n"},
	} {
		f := cluster(c.hosts, c.gpus)
		doc, _ := spec.Parse("w.yaml", []byte(c.src))
		var s Spec
		if p := doc.Decode(&s); len(p) > 0 {
			b.Fatal(p)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var problems spec.Problems
				p := s.Plan(f, 1, doc.Reporter(&problems, ""))
				if p == nil {
					b.Fatal(problems)
				}
				b.ReportMetric(float64(len(p.Ops)), "ops")
			}
		})
	}
}

// The schema of a job and the reader agree on files that people write.
func TestSchemaTakesJobs(t *testing.T) {
	text, err := spec.Schema(Spec{})
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
	for src, good := range map[string]bool{
		`{"job": {"collective": {"kind": "all_reduce", "size": "1GiB", "ranks": "0-7"}}}`:             true,
		`{"job": {"collective": {"kind": "all_reduce", "size": 4096, "ranks": [0, 1]}}}`:              true,
		`{"job": {"collective": {"kind": "allreduce", "size": "1GiB"}}}`:                              false,
		`{"job": {"collective": {"kind": "all_reduce", "size": "1GiB", "ranks": [0]}}}`:               false,
		`{"job": {"step": {"layers": 2, "compute": {"forward": "1ms", "jitter": "2%"}}}}`:             true,
		`{"job": {"step": {"layers": 2, "compute": {"forward": 1}}}}`:                                 false,
		`{"job": {"pattern": {"kind": "incast", "size": "1MB", "target": 0}}, "background": null}`:    true,
		`{"job": {"pattern": {"kind": "incast", "size": "1MB"}}, "background": [{"name": "backup"}]}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(src), &v); err != nil {
			t.Fatal(err)
		}
		doc, problems := spec.Parse("w.yaml", []byte(src)) // JSON is YAML
		if len(problems) == 0 {
			problems = doc.Decode(&Spec{})
		}
		if err := resolved.Validate(v); (err == nil) != good || (len(problems) == 0) != good {
			t.Errorf("%s: schema says %v, reader says %v", src, err, problems)
		}
	}
}
