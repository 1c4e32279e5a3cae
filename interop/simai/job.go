package simai

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Options say what a workload leaves open.
type Options struct {
	Priority uint8
	// TP is the first dimension of ASTRA-sim's system, which the policies HYBRID_DATA_MODEL and HYBRID_MODEL_DATA split
	// by; elsewhere it stands for a header that does not say it.
	TP int
}

// Job writes one pass of the workload out for the GPUs of a fabric. GPUs are numbered with tensor parallelism fastest,
// then expert and data parallelism, then pipeline stages, as Megatron-LM's default order does. The error is a
// spec.Problems.
//
// Collectives are carried out as workload.Call does, after NCCL; SimAI's own flow models cut data otherwise.
func (w *Workload) Job(f *fabric.Fabric, o Options) (*workload.Plan, error) {
	x := &writer{Workload: w, Options: o, f: f, b: &workload.Builder{}, checkpoints: map[int]bool{}, initiates: map[int]bool{}, spans: map[string]workload.SpanID{}}
	for _, i := range w.Checkpoints {
		x.checkpoints[i] = true
	}
	for _, i := range w.Initiates {
		x.initiates[i] = true
	}
	if !x.split() {
		return nil, w.Report.Err()
	}
	x.counting = true
	x.run()
	x.counting, x.ops = false, 0
	if x.ok() {
		x.at, x.last = make([][]workload.OpID, x.gpus), map[Group][]workload.OpID{}
		x.run()
	}
	if err := w.Report.Err(); err != nil {
		return nil, err
	}
	plan := x.b.Plan()
	if w.Policy != Micro {
		plan.Steps = 1
	}
	return plan, nil
}

// writer writes a workload out. All ranks do the same, so time to compute adds up for all until they communicate.
type writer struct {
	*Workload
	Options
	f                      *fabric.Fabric
	b                      *workload.Builder
	checkpoints, initiates map[int]bool
	gpus, tp, ep, dp, pp   int

	phase   string                    // what is computed
	pending units.Duration            // computed by every rank since the last operation
	at      [][]workload.OpID         // by rank: what the next thing on its stream of computing waits for
	last    map[Group][]workload.OpID // by group and rank: the last call, since a communicator carries out one after the other
	members map[Group][][]int         // by group: the ranks of each
	spans   map[string]workload.SpanID
	ops     int64 // about how many operations there are
	// counting is the first time through, which only adds up ops: a plan that is too large is found before it is written.
	counting bool
}

// split works out how many GPUs there are of each kind.
func (x *writer) split() bool {
	r := x.Report
	wrong := func(format string, args ...any) bool {
		r.Wrong(x.header, format, args...)
		return false
	}
	x.gpus = x.GPUs
	if x.gpus == 0 {
		x.gpus = len(x.f.GPUs)
	}
	if x.gpus > len(x.f.GPUs) {
		return wrong("the workload is for %d GPUs and the fabric has %d; use a fabric of at least as many", x.gpus, len(x.f.GPUs))
	}
	x.tp, x.ep, x.pp = x.Workload.TP, max(x.EP, 1), max(x.PP, 1)
	if x.tp == 0 {
		x.tp = x.Options.TP
	}
	needs := x.Policy == DataModel || x.Policy == ModelData
	for _, l := range x.Layers {
		needs = needs || l.Policy == DataModel || l.Policy == ModelData || l.Policy == Transformer
	}
	if x.tp == 0 && needs {
		return wrong("%s splits GPUs by the first dimension of ASTRA-sim's system, which the file does not tell; set tp to its size", x.Policy)
	}
	if x.tp == 0 { // Sys.cc: all GPUs are one tensor-parallel group
		x.tp = x.gpus / x.pp
	}
	if x.gpus%(x.tp*x.pp) != 0 {
		return wrong("%d GPUs do not make whole groups of tp %d and pp %d; write numbers whose product divides it", x.gpus, x.tp, x.pp)
	}
	x.dp = x.gpus / (x.tp * x.pp)
	if x.dp%x.ep != 0 {
		return wrong("ep %d does not divide the %d data-parallel GPUs; write a divisor", x.ep, x.dp)
	}
	if x.pp > 1 {
		r.Note(x.header, "pp %d: the layers are carried out by every stage at once and nothing is sent between stages, as SimAI's packet simulation does; pp_comm is of its analytical mode", x.pp)
	}
	if x.Policy == Micro && len(x.Layers) > 1 {
		r.Note(x.header, "MICRO: the %d lines are carried out one after the other; SimAI carries out the first", len(x.Layers))
	}
	x.members = map[Group][][]int{}
	for stage := range x.pp {
		first := stage * x.tp * x.dp
		rank := func(t, d int) int { return first + t + x.tp*d }
		for d := range x.dp {
			x.members[TP] = append(x.members[TP], list(x.tp, func(t int) int { return rank(t, d) }))
		}
		for t := range x.tp {
			x.members[DP] = append(x.members[DP], list(x.dp, func(d int) int { return rank(t, d) }))
			for e := range x.dp / x.ep {
				x.members[EP] = append(x.members[EP], list(x.ep, func(d int) int { return rank(t, e*x.ep+d) }))
			}
			for e := range x.ep {
				x.members[DPEP] = append(x.members[DPEP], list(x.dp/x.ep, func(d int) int { return rank(t, d*x.ep+e) }))
			}
		}
	}
	x.members[All] = [][]int{list(x.gpus, func(i int) int { return i })}
	return true
}

func list(n int, of func(i int) int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

// ok tells that nothing stands against going on.
func (x *writer) ok() bool { return x.Report.OK() }

// compute lets every rank compute for d.
func (x *writer) compute(d units.Duration) { x.pending += d }

// enter begins a phase of computing.
func (x *writer) enter(phase string) {
	x.flush()
	x.phase = phase
}

// flush writes out what was computed.
func (x *writer) flush() {
	if x.pending == 0 || x.counting {
		x.ops += int64(x.gpus)
		x.pending = 0
		return
	}
	span := x.span(x.phase)
	for r := range x.at {
		x.at[r] = []workload.OpID{x.b.Add(workload.Op{Kind: workload.Compute, Span: span, Src: fabric.GPUID(r), Time: x.pending}, x.at[r]...)}
	}
	x.ops += int64(len(x.at))
	x.pending = 0
}

func (x *writer) span(name string) workload.SpanID {
	id, ok := x.spans[name]
	if !ok {
		id = x.b.Span(workload.Span{Name: name, Ranks: x.gpus, Step: x.step()})
		x.spans[name] = id
	}
	return id
}

func (x *writer) step() int {
	if x.Policy == Micro {
		return -1
	}
	return 0
}

// comm begins the collective of a phase after what was computed, and returns its end on every rank; nil when there is
// nothing to send. otherwise is the group of a collective whose name has none.
func (x *writer) comm(p *Phase, otherwise Group) []workload.OpID {
	group := p.Group
	if group == NoGroup {
		group = otherwise
	}
	if p.Collective == workload.NoCollective || p.Bytes == 0 || group == NoGroup || len(x.members[group][0]) < 2 || !x.ok() {
		return nil
	}
	x.flush()
	members := x.members[group]
	if x.ops += x.cost(p, members[0]) * int64(len(members)); x.ops > workload.MaxOps {
		x.Report.Wrong(p, "with this %s of %s over %d GPUs the plan has more than the %d operations that can be run; simulate fewer GPUs or layers", p.Collective, p.Bytes, len(members[0]), workload.MaxOps)
		return nil
	}
	if x.counting {
		return nil
	}
	if x.last[group] == nil {
		x.last[group] = make([]workload.OpID, x.gpus)
		for i := range x.last[group] {
			x.last[group][i] = noOp
		}
	}
	out := make([]workload.OpID, x.gpus)
	for _, members := range members {
		call := workload.Call{
			Collective: p.Collective, Size: p.Bytes, Priority: x.Priority, Comm: 256 * uint16(group), Step: x.step(),
			Name: fmt.Sprintf("%s %s", group, p.Collective), Ranks: make([]fabric.GPUID, len(members)),
		}
		after := make([][]workload.OpID, len(members))
		for i, r := range members {
			call.Ranks[i] = fabric.GPUID(r)
			after[i] = x.at[r]
			if before := x.last[group][r]; before != noOp {
				after[i] = append(slices.Clone(x.at[r]), before)
			}
		}
		for i, op := range x.b.Call(x.f, call, after) {
			out[members[i]] = op
			x.last[group][members[i]] = op
		}
	}
	return out
}

const noOp = workload.OpID(1<<32 - 1)

// cost is about how many operations a call makes: a ring moves each of n parts 2(n-1) times, in two slices of each
// chunk of 2 MiB of each channel, and has a channel for each GPU of a host and plane (workload.Call).
func (x *writer) cost(p *Phase, members []int) int64 {
	n, planes := int64(len(members)), int64(max(x.f.Planes, 1))
	if p.Collective == workload.AllToAll {
		return n*(n-1)*planes + n
	}
	longest, run := int64(1), int64(1)
	for i := 1; i < len(members); i++ {
		if x.f.GPUs[members[i]].Host != x.f.GPUs[members[i-1]].Host {
			run = 0
		}
		run++
		longest = max(longest, run)
	}
	channels := min(longest*planes, workload.MaxChannels)
	return 2*(n-1)*2*(n*channels+int64(p.Bytes/(2*units.MiB))) + n
}

// blocking makes the computing wait for done.
func (x *writer) blocking(done []workload.OpID) {
	if done == nil {
		return
	}
	for r, op := range done {
		x.at[r] = []workload.OpID{op}
	}
}

// alsoWait makes the computing wait for done and for what came before.
func (x *writer) alsoWait(done []workload.OpID) {
	if done == nil {
		return
	}
	x.flush()
	for r, op := range done {
		x.at[r] = append(slices.Clone(x.at[r]), op)
	}
}

// free lets done go on beside the computing; the weights of layer l are updated when it is over.
func (x *writer) free(done []workload.OpID, l *Layer) {
	if done == nil || l.Update == 0 {
		return
	}
	span := x.span("update")
	for r, op := range done {
		x.b.Add(workload.Op{Kind: workload.Compute, Span: span, Src: fabric.GPUID(r), Time: l.Update}, op)
	}
	x.ops += int64(len(done))
}
