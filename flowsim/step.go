package flowsim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A training step is worked out in three passes. First every kind of phase (the tensor-parallel calls of a stage, its expert
// exchanges, its gradients, its sends to the next stage) is worked out alone: its connections and so its paths are the same each time. Then
// the stages run against each other as if every rank of a stage were as fast as its slowest group, which tells how much phases that
// overlap hold each other up (timeline.go). Last every block of ranks that depend on each other in every layer runs at its own pace,
// with jitter and stragglers, stretched by what the second pass found (blocks.go).

// StepEstimate is a training job worked out.
type StepEstimate struct {
	Steps []StepTime
	Calls []CallTime
	// Busy is by port: how long it sends over the whole run.
	Busy  []float64 // ps
	End   units.Instant
	Flows int64
}

// Fingerprint folds the times of all steps and calls into 64 bits.
func (o *StepEstimate) Fingerprint() uint64 {
	h := uint64(fnvOffset)
	add := func(v int64) { h = (h ^ uint64(v)) * fnvPrime; h ^= h >> 29 }
	for i := range o.Steps {
		add(o.Steps[i].End.PS())
	}
	for i := range o.Calls {
		add(o.Calls[i].Start.PS())
		add(o.Calls[i].End.PS())
	}
	add(o.End.PS())
	return h
}

// StepTime is one step, from the end of the one before to its own.
type StepTime struct {
	Start, End units.Instant
	Warmup     bool
	Compute    units.Duration // of the GPU that computed longest
}

// CallTime is one phase of one stage: one call of a collective by each of its groups.
type CallTime struct {
	Name            string
	Collective      workload.Collective
	Algorithm       workload.Algorithm
	Bytes           units.Bytes
	Ranks, Groups   int // ranks of a group
	Step, Stage     int
	Warmup          bool
	Start, End      units.Instant
	Median, Slowest units.Duration // of the groups
}

// kind is one kind of phase of one stage.
type kind struct {
	call   workload.Call
	name   string
	groups int
	ranks  int
	median units.Duration
	block  []int64 // time by block
	time   int64   // of the slowest
}

// stepper works a step out.
type stepper struct {
	e        *Estimator
	s        *workload.Step
	seed     uint64
	kinds    []kind
	phases   []Phase // by kind
	programs [][]instr
	blocks   int
	blockOf  []int32 // data-parallel rank -> block
	count    []int64 // by kind: how often it ran
	flows    int64
}

// instr is one thing that a stage does.
type instr struct {
	do   doing
	kind uint16 // of phase, send, reduce
	name uint8  // of phase: which name
	m    int    // of wait and send: the microbatch
	time units.Duration
}

type doing uint8

const (
	compute  doing = iota // for time
	phase                 // and wait for it
	reduce                // start it after the one before, and go on
	joinAll               // wait for all reduces
	sendOn                // to the next stage, and go on
	sendBack              // to the stage before, and go on
	waitOn                // for the activations of microbatch m
	waitBack              // for its gradients
)

// Step works out a job of training steps that Resolve has found right.
func (e *Estimator) Step(s *workload.Step, seed uint64) (*StepEstimate, error) {
	w := &stepper{e: e, s: s, seed: seed, blocks: s.DP, blockOf: make([]int32, s.DP), programs: make([][]instr, s.PP)}
	for d := range w.blockOf {
		w.blockOf[d] = int32(d)
	}
	if s.EP > 1 {
		w.blocks = s.DP / s.EP
		for d := range w.blockOf {
			if w.blockOf[d] = int32(d / s.EP); s.SpreadExperts {
				w.blockOf[d] = int32(d % w.blocks)
			}
		}
	}
	for p := range s.PP {
		if err := w.program(p); err != nil {
			return nil, err
		}
	}
	w.count = make([]int64, len(w.kinds))
	stretches := w.timeline(newContention(w.phases))
	out := w.run(stretches)
	out.Flows = w.flows
	out.Busy = make([]float64, len(e.f.Ports))
	for k := range w.phases {
		for p, b := range w.phases[k].Busy {
			out.Busy[p] += float64(float64(b)*float64(w.phases[k].Time)) * float64(w.count[k])
		}
	}
	return out, nil
}

// gpus turns rank numbers into GPUs.
func (w *stepper) gpus(groups [][]int) [][]fabric.GPUID {
	out := make([][]fabric.GPUID, len(groups))
	for i, g := range groups {
		out[i] = make([]fabric.GPUID, len(g))
		for k, r := range g {
			out[i][k] = w.s.GPUs[r]
		}
	}
	return out
}

// add works out a kind of phase. block tells which block group i belongs to; a negative one belongs to all.
func (w *stepper) add(name string, call workload.Call, groups [][]int, block func(i int) int) (uint16, error) {
	p, err := w.e.Collective(call, w.gpus(groups))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return w.keep(name, call, len(groups), len(groups[0]), p, block), nil
}

func (w *stepper) keep(name string, call workload.Call, groups, ranks int, p Phase, block func(i int) int) uint16 {
	k := kind{name: name, call: call, groups: groups, ranks: ranks, block: make([]int64, w.blocks), time: int64(p.Time)}
	for i, t := range p.Times {
		if b := block(i); b >= 0 {
			k.block[b] = max(k.block[b], int64(t))
			continue
		}
		for b := range k.block {
			k.block[b] = max(k.block[b], int64(t))
		}
	}
	sorted := slices.Sorted(slices.Values(p.Times))
	k.median = sorted[(len(sorted)-1)/2]
	w.kinds, w.phases = append(w.kinds, k), append(w.phases, p)
	w.flows += p.Flows
	return uint16(len(w.kinds) - 1)
}

// kindsOf are the kinds of phase of one stage.
type kindsOf struct {
	tensor, gather, scatter, experts, on, back uint16
	sums                                       []sum // gradients by size
}

type sum struct {
	size units.Bytes
	kind uint16
}

// sum is the kind of the all_reduce of gradients of a size.
func (w *stepper) sum(k *kindsOf, p int, name string, size units.Bytes) (uint16, error) {
	for _, s := range k.sums {
		if s.size == size && w.kinds[s.kind].name == name {
			return s.kind, nil
		}
	}
	call := workload.Call{Collective: workload.AllReduce, Algorithm: w.s.Algorithm, Size: size, Channels: w.s.Channels}
	// Every call of the communicator takes the connections that the first has opened.
	first := slices.Clone(w.e.links.id.qpn)
	if len(k.sums) > 0 {
		copy(w.e.links.id.qpn, w.e.start)
	}
	id, err := w.add(name, call, w.s.DataGroups(p), func(int) int { return -1 })
	if len(k.sums) > 0 {
		copy(w.e.links.id.qpn, first)
	}
	k.sums = append(k.sums, sum{size, id})
	return id, err
}

// program writes down what stage p does in a step, as workload writes its operations.
func (w *stepper) program(p int) error {
	s := w.s
	var k kindsOf
	var err error
	tensor := func(c workload.Collective) uint16 {
		if err != nil {
			return 0
		}
		call := workload.Call{Collective: c, Size: units.Bytes(s.Group) * s.Sizes.TP, Channels: s.Channels}
		if c == workload.AllReduce {
			call.Algorithm = s.Algorithm
		}
		var id uint16
		id, err = w.add("tp "+c.String(), call, s.TensorGroups(p), func(i int) int { return int(w.blockOf[i]) })
		return id
	}
	switch {
	case s.SequenceParallel:
		k.gather, k.scatter = tensor(workload.AllGather), tensor(workload.ReduceScatter)
	case s.TP > 1:
		k.tensor = tensor(workload.AllReduce)
	}
	if s.EP > 1 && err == nil {
		call := workload.Call{Collective: workload.AllToAll, Size: units.Bytes(s.Group) * s.Sizes.EP, InFlight: s.InFlight}
		k.experts, err = w.add("ep alltoall", call, s.ExpertGroups(p), func(i int) int { return i % w.blocks })
	}
	if p+1 < s.PP {
		k.on = w.transfer(p, p+1)
	}
	if p > 0 {
		k.back = w.transfer(p, p-1)
	}
	passes := workload.OneFOneB(p, s.PP, s.Microbatches)
	for i, pass := range passes {
		if err == nil {
			err = w.pass(&k, p, pass, i == len(passes)-1)
		}
	}
	if err != nil {
		return err
	}
	do := func(i instr) { w.programs[p] = append(w.programs[p], i) }
	do(instr{do: joinAll})
	if s.Sizes.Tail > 0 {
		id, err := w.sum(&k, p, "dp all_reduce tail", s.Sizes.Tail)
		if err != nil {
			return err
		}
		do(instr{do: reduce, kind: id})
		do(instr{do: joinAll})
	}
	do(instr{do: compute, time: s.Compute.Optimizer})
	return nil
}

// transfer is the kind of what a stage sends a neighbour.
func (w *stepper) transfer(p, to int) uint16 {
	first, end := w.s.Stage(p)
	apart := (to - p) * (end - first)
	e := w.e
	e.messages = min(e.f.Planes, int(w.s.Sizes.PP))
	e.begin()
	for r := first; r < end; r++ {
		e.add(w.s.GPUs[r], w.s.GPUs[r+apart], w.s.Sizes.PP)
	}
	e.settle()
	ph := Phase{Busy: make([]float32, len(e.f.Ports)), Times: make([]units.Duration, end-first), Flows: e.flows}
	e.sent(ph.Busy, 1)
	e.again()
	for r := first; r < end; r++ {
		x := e.look(w.s.GPUs[r], w.s.GPUs[r+apart], w.s.Sizes.PP)
		ph.Times[r-first] = units.Duration(ceil(x.ps + x.latency))
		ph.Time = max(ph.Time, ph.Times[r-first])
	}
	for i := range ph.Busy {
		ph.Busy[i] /= float32(max(ph.Time, 1))
	}
	call := workload.Call{Collective: workload.SendRecv, Algorithm: workload.Direct, Size: w.s.Sizes.PP}
	ph.PerFlow = e.links.c.wire(w.s.Sizes.PP) * e.ack / float64(e.messages) / float64(max(ph.Time, 1))
	return w.keep("pp send", call, 1, 2*(end-first), ph, func(i int) int { return int(w.blockOf[i/w.s.TP]) })
}

// names of the two exchanges of experts, by instr.name.
var expertNames = [...]string{"", " dispatch", " combine"}

// pass writes down one forward or backward pass of a microbatch through stage p. last is the one that completes the gradients.
func (w *stepper) pass(k *kindsOf, p int, i workload.Pass, last bool) error {
	s := w.s
	do := func(i instr) { w.programs[p] = append(w.programs[p], i) }
	one := s.Compute.Forward
	if i.Backward {
		one = s.Compute.Backward
	}
	switch {
	case i.Backward && p < s.PP-1:
		do(instr{do: waitBack, m: i.Micro})
	case !i.Backward && p > 0:
		do(instr{do: waitOn, m: i.Micro})
	}
	experts := units.Duration(0)
	if s.EP > 1 {
		experts = units.Duration(float64(one) * float64(s.Compute.Experts) / float64(s.Compute.Forward))
	}
	group := units.Duration(s.Group)
	exchange := func(there, back uint8) {
		do(instr{do: phase, kind: k.experts, name: there})
		do(instr{do: compute, time: group * experts})
		do(instr{do: phase, kind: k.experts, name: back})
	}
	gradients := units.Bytes(0)
	groups := s.Layers / s.PP / s.Group
	sum := func(bytes units.Bytes) error {
		id, err := w.sum(k, p, "dp all_reduce", bytes)
		do(instr{do: reduce, kind: id})
		return err
	}
	for g := range groups {
		if s.SequenceParallel {
			do(instr{do: phase, kind: k.gather})
		}
		if i.Backward && s.EP > 1 {
			exchange(2, 1)
		}
		do(instr{do: compute, time: group * (one - experts)})
		switch {
		case s.SequenceParallel:
			do(instr{do: phase, kind: k.scatter})
		case s.TP > 1:
			do(instr{do: phase, kind: k.tensor})
		}
		if !i.Backward && s.EP > 1 {
			exchange(1, 2)
		}
		if last && s.DP > 1 {
			gradients += units.Bytes(s.Group) * s.Sizes.DP
			if !s.NoOverlap && (g == groups-1 || gradients >= s.Bucket()) {
				if err := sum(gradients); err != nil {
					return err
				}
				gradients = 0
			}
		}
	}
	for gradients > 0 {
		bucket := min(gradients, max(s.Bucket(), units.Bytes(s.Group)*s.Sizes.DP))
		if err := sum(bucket); err != nil {
			return err
		}
		gradients -= bucket
	}
	switch {
	case !i.Backward && p < s.PP-1:
		do(instr{do: sendOn, kind: k.on, m: i.Micro})
	case i.Backward && p > 0:
		do(instr{do: sendBack, kind: k.back, m: i.Micro})
	}
	return nil
}

// dice are the sources of chance of all ranks, nil where nothing is left to it.
func (w *stepper) dice() []*rand.Rand {
	if w.s.Compute.Jitter <= 0 {
		return nil
	}
	out := make([]*rand.Rand, len(w.s.GPUs))
	for r := range out {
		out[r] = workload.Dice(w.seed, r)
	}
	return out
}
