package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// What PyTorch's flight recorder and NCCL's RAS say of ranks that went different ways, for J001.

// desyncRecorded finds ranks that called different collectives, or that are behind, in what was recorded.
func (v *View) desyncRecorded() (Finding, bool) {
	if f, ok := v.differentCalls(); ok {
		return f, true
	}
	if f, ok := v.behindRecorded(); ok {
		return f, true
	}
	return v.behindRAS()
}

// calledBy is what one rank called under a number of a process group.
type calledBy struct {
	rank int
	op   evidence.FlightOp
}

// differentCalls finds the first operation that ranks of one process group called with another function, size or type.
func (v *View) differentCalls() (Finding, bool) {
	by := map[string][]calledBy{}
	for _, d := range v.Inv.Flights {
		for _, o := range d.Ops {
			if d.Rank >= 0 && !o.P2P {
				key := fmt.Sprintf("%s %d", o.Group, o.Seq)
				by[key] = append(by[key], calledBy{d.Rank, o})
			}
		}
	}
	var first []calledBy
	for _, ranks := range by {
		kinds := map[string]int{}
		for _, r := range ranks {
			kinds[signature(r.op)]++
		}
		if len(kinds) > 1 && (first == nil || ranks[0].op.Seq < first[0].op.Seq || ranks[0].op.Seq == first[0].op.Seq && ranks[0].op.Group < first[0].op.Group) {
			first = ranks
		}
	}
	if first == nil {
		return Finding{}, false
	}
	slices.SortFunc(first, func(a, b calledBy) int { return cmp.Compare(a.rank, b.rank) })
	odd, usual := oddCall(first)
	f := desyncFinding()
	f.Title = fmt.Sprintf("not the network: at number %d of its group rank %d called %s, and rank %d %s", odd.op.Seq, odd.rank, spelled(odd.op), usual.rank, spelled(usual.op))
	f.Because = "ranks that call different collectives, or one with other sizes, wait for each other for ever or exchange nonsense: the program took different branches"
	f.Confidence = proven
	f.Where = []string{fmt.Sprintf("rank %d", odd.rank)}
	for _, r := range []calledBy{odd, usual} {
		role := "cause"
		if r.rank == usual.rank {
			role = ""
		}
		f.Evidence = append(f.Evidence, Evidence{Layer: "job", What: fmt.Sprintf("operation %d of rank %d", r.op.Seq, r.rank), Seen: spelled(r.op), Expected: "the same on all ranks", Role: role, From: r.op.From.String()})
	}
	f.WrongIf = "the dumps are of different times, so that the numbers do not stand for the same call"
	f.Settle = "the lines of the program that made the two calls (frames in the dump)"
	return f, true
}

// signature is what must be equal on all ranks. Sizes of inputs may differ where the collective gathers or scatters unequal
// shares, so these count for reductions and broadcasts alone.
func signature(o evidence.FlightOp) string {
	s := o.Name + " " + o.Type
	if strings.Contains(o.Name, "all_reduce") || strings.Contains(o.Name, "broadcast") {
		s += " " + o.InSizes
	}
	return s
}

func spelled(o evidence.FlightOp) string {
	s := strings.TrimPrefix(o.Name, "nccl:")
	if o.InSizes != "" {
		s += " of " + o.InSizes
	}
	if o.Type != "" {
		s += " " + o.Type
	}
	return shorten(s)
}

// oddCall picks a rank that called what few called, and one that called what most did.
func oddCall(ranks []calledBy) (odd, usual calledBy) {
	count := map[string]int{}
	for _, r := range ranks {
		count[signature(r.op)]++
	}
	odd, usual = ranks[0], ranks[0]
	for _, r := range ranks {
		if n := count[signature(r.op)]; n < count[signature(odd.op)] {
			odd = r
		} else if n > count[signature(usual.op)] {
			usual = r
		}
	}
	if signature(odd.op) == signature(usual.op) { // as many of each
		for _, r := range ranks {
			if signature(r.op) != signature(usual.op) {
				odd = r
				break
			}
		}
	}
	return odd, usual
}

// behindRecorded finds a rank whose process group came less far than on other ranks, where others wait in it.
func (v *View) behindRecorded() (Finding, bool) {
	type progress struct {
		rank     int
		enqueued int64
		waits    bool
		from     evidence.Source
	}
	by := map[string][]progress{}
	var names []string
	for _, d := range v.Inv.Flights {
		for _, g := range d.Groups {
			n, ok := g.Enqueued.Get()
			if !ok || d.Rank < 0 {
				continue
			}
			done, told := g.Completed.Get()
			if _, there := by[g.Name]; !there {
				names = append(names, g.Name)
			}
			by[g.Name] = append(by[g.Name], progress{d.Rank, n, told && done < n, d.From})
		}
	}
	for _, name := range names {
		ranks := by[name]
		low := slices.MinFunc(ranks, func(a, b progress) int {
			return cmp.Or(cmp.Compare(a.enqueued, b.enqueued), cmp.Compare(a.rank, b.rank))
		})
		high := slices.MaxFunc(ranks, func(a, b progress) int { return cmp.Compare(a.enqueued, b.enqueued) })
		if low.enqueued >= high.enqueued || !high.waits {
			continue
		}
		f := desyncFinding()
		f.Title = fmt.Sprintf("not the network: rank %d had called %d operations of group %s when rank %d waited in number %d", low.rank, low.enqueued, name, high.rank, high.enqueued)
		f.Confidence = named
		f.Where = []string{fmt.Sprintf("rank %d", low.rank)}
		f.Evidence = []Evidence{
			{Layer: "job", What: fmt.Sprintf("operations of group %s that rank %d called", name, low.rank), Seen: fmt.Sprint(low.enqueued), Expected: fmt.Sprint(high.enqueued), Role: "cause", From: low.from.String()},
			{Layer: "job", What: fmt.Sprintf("operations of group %s that rank %d called", name, high.rank), Seen: fmt.Sprint(high.enqueued), Role: "effect", From: high.from.String()},
		}
		f.Settle = "what rank " + fmt.Sprint(low.rank) + " did at that time: its log, or the stacks of its process"
		return f, true
	}
	return Finding{}, false
}

// behindRAS finds ranks that launched fewer operations, in a RAS report. The report names the smaller set of ranks, whether
// it is ahead or behind: what counts is the number.
func (v *View) behindRAS() (Finding, bool) {
	for _, r := range v.Inv.NCCL.RASReports {
		byKind := map[string][]evidence.RASMismatch{}
		for _, m := range r.Mismatches {
			if m.Kind != "status" {
				byKind[m.Comm+" "+m.Kind] = append(byKind[m.Comm+" "+m.Kind], m)
			}
		}
		for _, key := range sortedKeys(byKind) {
			sets := byKind[key]
			low := slices.MinFunc(sets, func(a, b evidence.RASMismatch) int { return cmp.Compare(a.Upto, b.Upto) })
			high := slices.MaxFunc(sets, func(a, b evidence.RASMismatch) int { return cmp.Compare(a.Upto, b.Upto) })
			if low.Upto >= high.Upto {
				continue
			}
			where := counted(low.Ranks, "rank", "ranks")
			if len(low.Named) > 0 {
				where = fmt.Sprintf("rank %d", low.Named[0].Rank)
				if low.Named[0].Host != "" {
					where += " on " + low.Named[0].Host
				}
			}
			f := desyncFinding()
			f.Title = fmt.Sprintf("not the network: %s launched %d times %s, where others launched %d", where, low.Upto, low.Kind, high.Upto)
			f.Confidence = likely
			f.Where = []string{where}
			f.Evidence = []Evidence{
				{Layer: "job", What: "NCCL's RAS: " + low.Kind + " launched by " + counted(low.Ranks, "rank", "ranks"), Seen: fmt.Sprint(low.Upto), Expected: fmt.Sprint(high.Upto), Role: "cause", From: low.From.String()},
				{Layer: "job", What: "NCCL's RAS: " + high.Kind + " launched by " + counted(high.Ranks, "rank", "ranks"), Seen: fmt.Sprint(high.Upto), From: high.From.String()},
			}
			f.WrongIf = "a second report some seconds later shows the counts move: then the ranks are uneven, and not stuck (C021)"
			f.Settle = "ncclras twice, ten seconds apart"
			return f, true
		}
	}
	return Finding{}, false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
