package workload

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// StepJob is a training job: each step computes forward and backward over its microbatches, communicates along four
// kinds of parallelism, and updates the weights.
//
// Ranks are numbered with tensor parallelism fastest, then data parallelism, then pipeline stages, as
// Megatron-LM's default order (tp-cp-ep-dp-pp) does: rank = tp + TP*(dp + DP*pp). The ranks of an expert group are EP
// consecutive data-parallel ranks.
type StepJob struct {
	TP int `yaml:"tp" min:"1" max:"1024" doc:"tensor-parallel ranks (default 1)"`
	DP int `yaml:"dp" min:"1" max:"65536" doc:"data-parallel ranks (default: as many as the ranks make)"`
	PP int `yaml:"pp" min:"1" max:"1024" doc:"pipeline stages (default 1)"`
	EP int `yaml:"ep" min:"1" max:"65536" doc:"expert-parallel ranks, a divisor of dp (default 1)"`

	Layers           int   `yaml:"layers" required:"true" min:"1" max:"4096" example:"32" doc:"layers of the model, a multiple of pp"`
	Group            int   `yaml:"group" min:"1" max:"4096" doc:"layers taken together between two communications; more makes the plan smaller and coarser (default 1)"`
	Microbatches     int   `yaml:"microbatches" min:"1" max:"4096" doc:"microbatches of a step (default 1)"`
	Steps            int   `yaml:"steps" min:"1" max:"1000" doc:"steps (default 1)"`
	Warmup           int   `yaml:"warmup" min:"0" max:"1000" doc:"of these, steps at the start that are not measured (default 0)"`
	Ranks            Ranks `yaml:"ranks" min:"1" doc:"GPUs of the job, in rank order (default: all, or the first tp x dp x pp)"`
	SpreadExperts    bool  `yaml:"spread_experts" doc:"the ranks of an expert group lie dp/ep apart, so that every group spans the hosts, instead of next to each other"`
	SequenceParallel bool  `yaml:"sequence_parallel" doc:"all_gather before and reduce_scatter after a layer instead of one all_reduce"`
	NoOverlap        bool  `yaml:"no_overlap" doc:"begin the gradient all_reduce only when the backward pass is over"`
	InFlight         int   `yaml:"in_flight" min:"1" doc:"peers that a rank exchanges expert tokens with at once (default: all)"`
	Channels         int   `yaml:"channels" min:"1" max:"64" doc:"channels of every collective (default: one for each GPU of a host and plane, fewer for small sizes)"`

	Compute StepCompute `yaml:"compute" required:"true" doc:"how long computing takes"`
	Sizes   StepSizes   `yaml:"sizes" doc:"how much is communicated; what is left out is not"`

	Algorithm Algorithm `yaml:"algorithm" choices:"ring,tree" doc:"of the all_reduces (default ring)"`
}

// StepCompute is the time one GPU computes.
type StepCompute struct {
	Forward   units.Duration `yaml:"forward" required:"true" min:"1ps" max:"10s" example:"2ms" doc:"forward pass of one layer and microbatch"`
	Backward  units.Duration `yaml:"backward" min:"1ps" max:"10s" example:"4ms" doc:"backward pass of one layer and microbatch (default: twice forward)"`
	Experts   units.Duration `yaml:"experts" min:"0s" max:"10s" example:"1ms" doc:"part of forward spent in the experts, between dispatch and combine; the same share of backward"`
	Optimizer units.Duration `yaml:"optimizer" min:"0s" max:"10s" example:"5ms" doc:"update of the weights at the end of a step (default 0)"`
	Jitter    units.Fraction `yaml:"jitter" max:"50%" doc:"each computation takes up to this much more or less, drawn by the seed"`
	Slow      []SlowGPU      `yaml:"slow" doc:"GPUs that compute slower than the rest"`
}

// SlowGPU makes GPUs compute slower: a straggler.
type SlowGPU struct {
	Ranks  Ranks   `yaml:"ranks" required:"true" min:"1" example:"[3]" doc:"ranks of the job"`
	Factor float64 `yaml:"factor" required:"true" min:"1" max:"100" example:"1.3" doc:"how many times longer they take"`
}

// StepSizes are bytes as nccl-tests count the size of each collective.
type StepSizes struct {
	TP     units.Bytes `yaml:"tp" min:"0B" max:"1TiB" example:"64MiB" doc:"tensor parallelism: all_reduced for one layer and microbatch, in each direction"`
	EP     units.Bytes `yaml:"ep" min:"0B" max:"1TiB" example:"32MiB" doc:"expert parallelism: exchanged by dispatch, and again by combine, for one layer and microbatch, in each direction"`
	PP     units.Bytes `yaml:"pp" min:"0B" max:"1TiB" example:"16MiB" doc:"pipeline: sent to the next stage by each rank for one microbatch, and back as gradient"`
	DP     units.Bytes `yaml:"dp" min:"0B" max:"1TiB" example:"200MiB" doc:"data parallelism: gradients of one layer on one GPU, all_reduced once a step"`
	Bucket units.Bytes `yaml:"bucket" min:"1B" max:"1TiB" example:"100MiB" doc:"gradients collected before an all_reduce of them begins (default: one layer's)"`
	Tail   units.Bytes `yaml:"tail" min:"0B" max:"1TiB" doc:"all_reduced over data parallelism after everything else, hidden by nothing"`
}

// Channel numbers of the communicators of a step, apart by MaxChannels and more.
const (
	commTP uint16 = 256 * iota
	commEP
	commPP
	commDP
)

// plan checks the job and returns what writes it out.
func (j *StepJob) plan(b *Builder, f *fabric.Fabric, priority uint8, seed uint64, budget int, tell tell) func() {
	r := j.Resolve(f, tell)
	if r == nil {
		return nil
	}
	w := stepWriter{Step: *r, b: b, f: f, priority: priority, seed: seed}
	if w.DP%w.EP == 0 && w.Layers%w.PP == 0 {
		if ops := w.count(); ops > int64(budget/w.Steps) {
			tell("job.step", "%d steps of %d operations each are too many; at most %d can be run: raise group, lower steps or microbatches", w.Steps, ops, budget)
		}
	}
	return w.write
}

// Step is a training job with all that it left open filled in: every size is at least 1 and the ranks are GPUs of a fabric.
type Step struct {
	StepJob
	GPUs []fabric.GPUID // by rank
	Slow []float64      // by rank: how many times longer it computes
}

// Resolve checks the job and fills in what it leaves open. What is wrong is told; the result is nil where there is nothing to go on
// with, and of no use when anything was told.
func (j *StepJob) Resolve(f *fabric.Fabric, tell func(path, format string, args ...any)) *Step {
	const at = "job.step"
	s := *j
	s.TP, s.PP, s.EP = max(1, s.TP), max(1, s.PP), max(1, s.EP)
	s.Group, s.Microbatches, s.Steps = max(1, s.Group), max(1, s.Microbatches), max(1, s.Steps)
	ranks := s.Ranks.gpus(f, at+".ranks", tell)
	if ranks == nil {
		return nil
	}
	whole := s.TP * s.PP
	if s.DP == 0 {
		s.DP = max(1, len(ranks)/whole)
	}
	if need := whole * s.DP; need > len(ranks) || j.DP == 0 && need != len(ranks) || j.Ranks != nil && need != len(ranks) {
		tell(at, "tp %d x dp %d x pp %d are %d ranks, and there are %d GPUs; make them equal", s.TP, s.DP, s.PP, need, len(ranks))
		return nil
	}
	ranks = ranks[:whole*s.DP]
	if s.DP%s.EP != 0 {
		tell(at+".ep", "%d expert-parallel ranks do not divide dp, %d; write a divisor", s.EP, s.DP)
	}
	if s.Layers%s.PP != 0 || s.Layers/s.PP%s.Group != 0 {
		tell(at+".layers", "%d layers do not split into %d stages of whole groups of %d; write a multiple of %d", s.Layers, s.PP, s.Group, s.PP*s.Group)
	}
	if s.Warmup >= s.Steps {
		tell(at+".warmup", "%d of %d steps are warm-up, so none is measured; write fewer", s.Warmup, s.Steps)
	}
	s.checkUse(tell)
	if s.Compute.Backward == 0 {
		s.Compute.Backward = 2 * s.Compute.Forward // a layer's backward pass multiplies by weights and by activations: two products for one
	}
	slow := make([]float64, len(ranks))
	for i := range slow {
		slow[i] = 1
	}
	for i, g := range s.Compute.Slow {
		for _, r := range g.Ranks {
			if r < 0 || r >= len(ranks) {
				tell(pathOf(at+".compute.slow", i, "ranks"), "there is no rank %d; the job has 0-%d", r, len(ranks)-1)
				break
			}
			slow[r] = max(slow[r], g.Factor)
		}
	}
	return &Step{StepJob: s, GPUs: ranks, Slow: slow}
}

// checkUse reports sizes for parallelism that the job has not, and what it has without what it needs.
func (s *StepJob) checkUse(tell tell) {
	const at = "job.step"
	for _, u := range []struct {
		name  string
		ranks int
		size  units.Bytes
		path  string
	}{{"tp", s.TP, s.Sizes.TP, "sizes.tp"}, {"ep", s.EP, s.Sizes.EP, "sizes.ep"}, {"pp", s.PP, s.Sizes.PP, "sizes.pp"}, {"dp", s.DP, s.Sizes.DP, "sizes.dp"}} {
		switch {
		case u.ranks == 1 && u.size > 0:
			tell(at+"."+u.path, "%s is 1, so nothing of this is sent; raise %s or remove it", u.name, u.name)
		case u.ranks > 1 && u.size == 0:
			tell(at+".sizes", "%s is %d but sizes.%s is not given; add it", u.name, u.ranks, u.name)
		}
	}
	if s.Sizes.Tail > 0 && s.DP == 1 {
		tell(at+".sizes.tail", "dp is 1, so nothing of this is sent; raise dp or remove it")
	}
	if s.SequenceParallel && s.TP == 1 {
		tell(at+".sequence_parallel", "tp is 1, so there is nothing to split; raise tp or remove it")
	}
	switch c := s.Compute; {
	case c.Forward <= 0:
		tell(at+".compute", "the forward pass has no time; add forward: 2ms or what a layer takes")
	case s.EP > 1 && (c.Experts <= 0 || c.Experts > c.Forward):
		tell(at+".compute.experts", "with expert parallelism, the part of forward (%s) spent in the experts is needed; write experts: more than 0 and at most that", c.Forward)
	case s.EP == 1 && c.Experts != 0:
		tell(at+".compute.experts", "ep is 1, so no tokens travel to experts; raise ep or remove it")
	}
}
