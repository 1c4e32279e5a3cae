package flowsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

const (
	us = units.Microsecond
	mb = units.MiB
)

// stepOf resolves a job, which has to be right.
func stepOf(t testing.TB, f *fabric.Fabric, j workload.StepJob) *workload.Step {
	t.Helper()
	s := j.Resolve(f, func(path, format string, args ...any) { t.Errorf(path+": "+format, args...) })
	if s == nil || t.Failed() {
		t.FailNow()
	}
	return s
}

// A step worked out in phases takes as long as the same step carried out flow by flow.
func TestStepsAgreeWithFlows(t *testing.T) {
	flat, nvlink := leafSpine(4, 4, 4), rails(t, 8)
	compute := workload.StepCompute{Forward: 100 * us, Backward: 200 * us, Optimizer: 50 * us}
	experts := compute
	experts.Experts = 50 * us
	jitter := compute
	jitter.Jitter = 0.1
	straggler := compute
	straggler.Slow = []workload.SlowGPU{{Ranks: workload.Ranks{3}, Factor: 1.5}}
	for _, c := range []struct {
		name        string
		f           *fabric.Fabric
		job         workload.StepJob
		least, most float64
	}{
		{"dp", flat, workload.StepJob{DP: 16, Layers: 4, Steps: 2, Compute: compute, Sizes: workload.StepSizes{DP: 8 * mb}}, 0.97, 1.05},
		{"dp, buckets", flat, workload.StepJob{DP: 16, Layers: 6, Steps: 2, Compute: compute, Sizes: workload.StepSizes{DP: 4 * mb, Bucket: 10 * mb, Tail: mb}}, 0.97, 1.05},
		{"dp, jitter", flat, workload.StepJob{DP: 16, Layers: 4, Steps: 2, Compute: jitter, Sizes: workload.StepSizes{DP: 8 * mb}}, 0.97, 1.05},
		{"dp, straggler", flat, workload.StepJob{DP: 16, Layers: 4, Steps: 2, Compute: straggler, Sizes: workload.StepSizes{DP: 8 * mb}}, 0.97, 1.05},
		{"moe", flat, workload.StepJob{DP: 16, EP: 4, SpreadExperts: true, Layers: 2, Steps: 2, NoOverlap: true, Compute: experts, Sizes: workload.StepSizes{EP: 8 * mb, DP: 8 * mb}}, 0.95, 1.2},
		{"moe, overlap", flat, workload.StepJob{DP: 16, EP: 4, SpreadExperts: true, Layers: 4, Steps: 2, Compute: experts, Sizes: workload.StepSizes{EP: 8 * mb, DP: 8 * mb}}, 0.9, 1.25},
		{"tp dp", nvlink, workload.StepJob{TP: 4, DP: 8, Layers: 4, Steps: 2, Compute: compute, Sizes: workload.StepSizes{TP: 16 * mb, DP: 8 * mb}}, 0.95, 1.1},
		{"tp dp pp", nvlink, workload.StepJob{TP: 4, DP: 4, PP: 2, Layers: 4, Microbatches: 4, Steps: 2, Compute: compute, Sizes: workload.StepSizes{TP: 16 * mb, DP: 8 * mb, PP: 4 * mb}}, 0.95, 1.1},
		{"sp ep pp", nvlink, workload.StepJob{TP: 4, DP: 4, PP: 2, EP: 4, Layers: 4, Microbatches: 2, SequenceParallel: true, Compute: experts,
			Sizes: workload.StepSizes{TP: 16 * mb, DP: 8 * mb, PP: 4 * mb, EP: 8 * mb}}, 0.95, 1.15},
	} {
		for seed := range uint64(2) {
			p := planFor(t, c.f, workload.Spec{Job: workload.Job{Step: &c.job}}, seed)
			n := carry(t, c.f, p, Config{Seed: seed})
			e, err := NewEstimator(c.f, Config{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if seed == 1 {
				e.carried = 0 // as for jobs too large to carry out
			}
			out, err := e.Step(stepOf(t, c.f, c.job), seed)
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(out.End.PS()) / float64(n.Now().PS())
			t.Logf("%-16s seed %d: phases %v, flows %v, ratio %.4f", c.name, seed, out.End, n.Now(), ratio)
			if ratio < c.least || ratio > c.most {
				t.Errorf("%s, seed %d: the phases take %v, flow by flow %v: ratio %.4f, want %v to %v", c.name, seed, out.End, n.Now(), ratio, c.least, c.most)
			}
			var calls, spans int
			for _, x := range out.Calls {
				calls += x.Groups
			}
			for _, s := range p.Spans {
				if s.Collective != workload.NoCollective {
					spans++
				}
			}
			if calls != spans {
				t.Errorf("%s: %d calls in phases, %d in the plan", c.name, calls, spans)
			}
			// What the ports send is what they sent flow by flow.
			var busy, sent float64
			for i := range c.f.Ports {
				busy += out.Busy[i] * float64(c.f.Ports[i].Rate) / 8e12
				sent += float64(n.Bytes(fabric.PortID(i)))
			}
			if r := busy / sent; r < 0.99 || r > 1.01 {
				t.Errorf("%s: %.0f bytes in phases, %.0f flow by flow", c.name, busy, sent)
			}
		}
	}
}
