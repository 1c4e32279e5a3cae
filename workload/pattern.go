package workload

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// PatternKind is who sends to whom.
type PatternKind string

// Patterns.
const (
	Permutation PatternKind = "permutation" // every GPU to one other and from one other, drawn by the seed
	Shift       PatternKind = "shift"       // every GPU to the one Offset further
	Incast      PatternKind = "incast"      // several to one
	Outcast     PatternKind = "outcast"     // one to several
)

// Choices lists the patterns.
func (PatternKind) Choices() []string {
	return []string{string(Permutation), string(Shift), string(Incast), string(Outcast)}
}

// PatternJob is a set of transfers that start together.
type PatternJob struct {
	Kind    PatternKind `yaml:"kind" required:"true" doc:"who sends to whom"`
	Size    units.Bytes `yaml:"size" required:"true" min:"1B" max:"1TiB" example:"2MB" doc:"bytes of each transfer"`
	Ranks   Ranks       `yaml:"ranks" min:"2" example:"0-15" doc:"GPUs that take part (default: all)"`
	Offset  int         `yaml:"offset" min:"1" doc:"shift: how many ranks further (default: half of them, so that all traffic crosses the network)"`
	Target  *int        `yaml:"target" min:"0" doc:"incast: the GPU that receives; outcast: the GPU that sends (default: the first)"`
	Repeat  int         `yaml:"repeat" min:"1" max:"10000" doc:"transfers of each sender, one after the other (default 1)"`
	Message units.Bytes `yaml:"message" min:"1B" doc:"bytes of each message a transfer consists of (default: one message)"`
}

// plan checks the job and returns what writes it out.
func (j *PatternJob) plan(b *Builder, f *fabric.Fabric, priority uint8, seed uint64, budget int, tell tell) func() {
	const at = "job.pattern"
	ranks := j.Ranks.gpus(f, at+".ranks", tell)
	n := len(ranks)
	if ranks != nil && n < 2 {
		tell(at, "a pattern needs two ranks; the fabric or the list of ranks has %d", n)
	}
	target := 0 // its place among the ranks
	switch {
	case j.Target == nil:
	case j.Kind != Incast && j.Kind != Outcast:
		tell(at+".target", "target applies to incast and outcast; remove it")
	default:
		target = -1
		for i, g := range ranks {
			if int(g) == *j.Target {
				target = i
			}
		}
		if target < 0 && ranks != nil {
			tell(at+".target", "GPU %d is not one of the ranks; write one that is", *j.Target)
		}
	}
	if j.Offset != 0 && j.Kind != Shift {
		tell(at+".offset", "offset applies to shift; remove it")
	} else if j.Offset != 0 && n > 1 && j.Offset%n == 0 {
		tell(at+".offset", "an offset of %d among %d ranks is everyone to itself; write 1 to %d", j.Offset, n, n-1)
	}
	message, repeat := j.Size, max(1, j.Repeat)
	if j.Message != 0 {
		message = min(message, j.Message)
	}
	perTransfer := int64((j.Size + max(message, 1) - 1) / max(message, 1))
	if ops := perTransfer * int64(repeat) * int64(n); ops > int64(budget) {
		tell(at, "the pattern is %d messages; at most %d can be run: raise message or lower repeat", ops, budget)
	}
	return func() {
		span := b.Span(Span{Name: string(j.Kind), Bytes: j.Size, Ranks: n, Step: -1})
		for _, p := range j.pairs(n, target, seed) {
			var last []OpID
			for range repeat {
				for left := j.Size; left > 0; left -= message {
					last = []OpID{b.Add(Op{
						Kind: Send, Priority: priority, Span: span, Src: ranks[p[0]], Dst: ranks[p[1]], Bytes: min(left, message),
					}, last...)}
				}
			}
		}
	}
}

// pairs lists sender and receiver of each transfer, as places among n ranks.
func (j *PatternJob) pairs(n, target int, seed uint64) [][2]int {
	var out [][2]int
	switch j.Kind {
	case Incast, Outcast:
		for i := range n {
			if i != target && j.Kind == Incast {
				out = append(out, [2]int{i, target})
			} else if i != target {
				out = append(out, [2]int{target, i})
			}
		}
	case Shift:
		offset := j.Offset
		if offset == 0 {
			offset = n / 2
		}
		for i := range n {
			out = append(out, [2]int{i, (i + offset) % n})
		}
	default: // Sattolo's algorithm: a random cycle through all ranks, so that none sends to itself.
		to, r := make([]int, n), stream(seed, fmt.Sprintf("pattern %s", j.Kind))
		for i := range to {
			to[i] = i
		}
		for i := n - 1; i > 0; i-- {
			k := r.IntN(i)
			to[i], to[k] = to[k], to[i]
		}
		for i := range n {
			out = append(out, [2]int{i, to[i]})
		}
	}
	return out
}
