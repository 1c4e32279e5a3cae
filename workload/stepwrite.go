package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// stepWriter writes the steps of a training job out as operations. Within a stage all ranks do the same, so the
// stage is the unit: state is by rank of the job.
type stepWriter struct {
	Step
	b        *Builder
	f        *fabric.Fabric
	priority uint8
	seed     uint64

	dice []*rand.Rand // by rank
	step int
	last []OpID // by rank: the end of what its stream of computing did last; noOp before the first

	span map[string]SpanID // of computing, by phase, for this step

	fromPrev, fromNext [][]OpID // by microbatch and rank: the arrival of activations and of gradients
	reduced            []OpID   // by rank: its last gradient all_reduce in this step; noOp before the first
}

const noOp = OpID(1<<32 - 1)

func pathOf(list string, i int, field string) string { return fmt.Sprintf("%s[%d].%s", list, i, field) }

// Rank is the number of a rank in the job.
func (s *Step) Rank(t, d, p int) int { return t + s.TP*(d+s.DP*p) }

// Stage lists the ranks of stage p: from first up to, not including, end.
func (s *Step) Stage(p int) (first, end int) { return s.Rank(0, 0, p), s.Rank(0, 0, p+1) }

func (w *stepWriter) write() {
	w.dice = make([]*rand.Rand, len(w.GPUs))
	w.last = make([]OpID, len(w.GPUs))
	for i := range w.GPUs {
		w.dice[i] = Dice(w.seed, i)
		w.last[i] = noOp
	}
	w.b.grow(int64(w.Steps) * w.count())
	for w.step = range w.Steps {
		w.one()
	}
	w.b.plan.Steps = w.Steps
}

// one writes one step: every stage does its items in the order of 1F1B, each as soon as what it needs is
// written, so that operations only wait for earlier ones.
func (w *stepWriter) one() {
	w.span = map[string]SpanID{}
	w.fromPrev, w.fromNext = make([][]OpID, w.Microbatches), make([][]OpID, w.Microbatches)
	for m := range w.Microbatches {
		w.fromPrev[m], w.fromNext[m] = w.nothing(), w.nothing()
	}
	w.reduced = w.nothing()
	todo := make([][]Pass, w.PP)
	left := 0
	for p := range todo {
		todo[p] = OneFOneB(p, w.PP, w.Microbatches)
		left += len(todo[p])
	}
	for left > 0 {
		for p := range todo {
			for len(todo[p]) > 0 && w.ready(todo[p][0], p) {
				w.item(todo[p][0], p, len(todo[p]) == 1)
				todo[p] = todo[p][1:]
				left--
			}
		}
	}
	w.finish()
}

func (w *stepWriter) nothing() []OpID {
	out := make([]OpID, len(w.GPUs))
	for i := range out {
		out[i] = noOp
	}
	return out
}

// Pass is the forward or backward pass of a microbatch through a stage.
type Pass struct {
	Micro    int
	Backward bool
}

// OneFOneB is the order in which stage p of n works (PipeDream-Flush, Narayanan et al., SC 2021): enough forward passes
// to fill the stages behind it, then one forward and one backward in turn, then the remaining backwards.
func OneFOneB(p, n, micros int) []Pass {
	var out []Pass
	ahead := min(n-1-p, micros)
	for m := range ahead {
		out = append(out, Pass{m, false})
	}
	for m := range micros {
		if m+ahead < micros {
			out = append(out, Pass{m + ahead, false})
		}
		out = append(out, Pass{m, true})
	}
	return out
}

// ready tells whether the stage before (or behind) has passed on what i needs.
func (w *stepWriter) ready(i Pass, p int) bool {
	first, _ := w.Stage(p)
	if i.Backward {
		return p == w.PP-1 || w.fromNext[i.Micro][first] != noOp
	}
	return p == 0 || w.fromPrev[i.Micro][first] != noOp
}

// item writes one pass of stage p. lastItem is the backward pass that completes the gradients.
func (w *stepWriter) item(i Pass, p int, lastItem bool) {
	arrived, phase, one := w.fromPrev, "forward", w.Compute.Forward
	if i.Backward {
		arrived, phase, one = w.fromNext, "backward", w.Compute.Backward
	}
	first, end := w.Stage(p)
	at := make([][]OpID, end-first) // by rank of the stage: what it waits for
	for r := first; r < end; r++ {
		at[r-first] = some(w.last[r], arrived[i.Micro][r])
	}
	experts := units.Duration(0)
	if w.EP > 1 {
		experts = units.Duration(float64(one) * float64(w.Compute.Experts) / float64(w.Compute.Forward))
	}
	gradients := units.Bytes(0)
	group := units.Duration(w.Group)
	for g := range w.Layers / w.PP / w.Group {
		if w.SequenceParallel {
			at = w.tensor(p, AllGather, at)
		}
		if i.Backward && w.EP > 1 { // the way back through the experts comes first
			at = w.experts(p, phase, group*experts, at, "combine", "dispatch")
		}
		at = w.compute(p, phase, group*(one-experts), at)
		switch {
		case w.SequenceParallel:
			at = w.tensor(p, ReduceScatter, at)
		case w.TP > 1:
			at = w.tensor(p, AllReduce, at)
		}
		if !i.Backward && w.EP > 1 {
			at = w.experts(p, phase, group*experts, at, "dispatch", "combine")
		}
		if lastItem && w.DP > 1 {
			gradients += units.Bytes(w.Group) * w.Sizes.DP
			if done := g == w.Layers/w.PP/w.Group-1; !w.NoOverlap && (done || gradients >= w.Bucket()) {
				w.reduceGradients(p, "dp all_reduce", gradients, at)
				gradients = 0
			}
		}
	}
	for gradients > 0 {
		bucket := min(gradients, max(w.Bucket(), units.Bytes(w.Group)*w.Sizes.DP))
		w.reduceGradients(p, "dp all_reduce", bucket, at)
		gradients -= bucket
	}
	for r := first; r < end; r++ {
		w.last[r] = at[r-first][0]
	}
	w.passOn(i, p)
}

// Bucket is how many bytes of gradients are collected before an all_reduce of them begins.
func (s *Step) Bucket() units.Bytes {
	if s.Sizes.Bucket == 0 {
		return s.Sizes.DP
	}
	return s.Sizes.Bucket
}

// passOn sends the result of a pass to the next stage, or back to the one before. The sender does not wait.
func (w *stepWriter) passOn(i Pass, p int) {
	to, arrived := p+1, w.fromPrev
	if i.Backward {
		to, arrived = p-1, w.fromNext
	}
	if to < 0 || to >= w.PP {
		return
	}
	first, end := w.Stage(p)
	span := w.b.Span(Span{
		Name: "pp send", Collective: SendRecv, Algorithm: string(Direct), Bytes: w.Sizes.PP, Ranks: 2 * (end - first),
		Step: w.step, Warmup: w.step < w.Warmup,
	})
	messages := min(w.f.Planes, int(w.Sizes.PP)) // of one connection, whose QPs take the planes in turn
	for r := first; r < end; r++ {
		peer := r + (to-p)*(end-first)
		var parts []OpID
		for i := range messages {
			parts = append(parts, w.b.Add(Op{
				Kind: Send, Priority: w.priority, Channel: commPP, Span: span, Src: w.GPUs[r], Dst: w.GPUs[peer],
				Bytes: share(w.Sizes.PP, messages, i),
			}, w.last[r]))
		}
		arrived[i.Micro][peer] = parts[0]
		if len(parts) > 1 {
			arrived[i.Micro][peer] = w.b.join(span, w.GPUs[peer], parts)
		}
	}
}

// compute keeps every rank of stage p busy for about time.
func (w *stepWriter) compute(p int, phase string, time units.Duration, after [][]OpID) [][]OpID {
	first, end := w.Stage(p)
	out := make([]OpID, end-first)
	for r := first; r < end; r++ {
		out[r-first] = w.b.Add(Op{
			Kind: Compute, Span: w.phase(phase), Src: w.GPUs[r], Time: w.Spread(r, time, w.dice[r]),
		}, after[r-first]...)
	}
	return each(out)
}

// Dice is the source of chance of the computing of a rank.
func Dice(seed uint64, rank int) *rand.Rand {
	return stream(seed, fmt.Sprintf("compute of rank %d", rank))
}

// Spread is time as rank r takes it. dice is that of the rank; it is not touched where nothing is left to chance.
func (s *Step) Spread(r int, time units.Duration, dice *rand.Rand) units.Duration {
	factor := s.Slow[r]
	if j := float64(s.Compute.Jitter); j > 0 {
		factor *= 1 + j*(2*dice.Float64()-1)
	}
	return units.Duration(float64(time) * factor)
}

// phase is the span of all computing of a phase in this step.
func (w *stepWriter) phase(name string) SpanID {
	id, ok := w.span[name]
	if !ok {
		id = w.b.Span(Span{Name: name, Ranks: len(w.GPUs), Step: w.step, Warmup: w.step < w.Warmup})
		w.span[name] = id
	}
	return id
}

// finish ends the step on every rank: the tail, then the weights.
func (w *stepWriter) finish() {
	for p := range w.PP {
		first, end := w.Stage(p)
		after := make([][]OpID, end-first)
		for r := first; r < end; r++ {
			after[r-first] = some(w.last[r], w.reduced[r])
		}
		if w.Sizes.Tail > 0 {
			w.reduceGradients(p, "dp all_reduce tail", w.Sizes.Tail, after)
			for r := first; r < end; r++ {
				after[r-first] = []OpID{w.reduced[r]}
			}
		}
		after = w.compute(p, "optimizer", w.Compute.Optimizer, after)
		for r := first; r < end; r++ {
			w.last[r] = after[r-first][0]
		}
	}
}

// some lists the operations that are there.
func some(ops ...OpID) []OpID {
	out := make([]OpID, 0, len(ops))
	for _, op := range ops {
		if op != noOp {
			out = append(out, op)
		}
	}
	return out
}
