package flowsim

import (
	"math/rand/v2"

	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// stageTime is one stage in the third pass: times are by block, ps.
type stageTime struct {
	at       int
	step     int
	last     []int64
	on, back [][]int64 // by microbatch: when it arrives, nil as long as that is not known
	reduced  int64     // end of the last reduce
	phases   int       // begun so far, to find their stretches
	reduces  int
	sends    int
	ends     []int64 // by step: when its slowest block ended it
}

// run is the third pass.
func (w *stepper) run(stretches []stretch) *StepEstimate {
	s := w.s
	out := &StepEstimate{Steps: make([]StepTime, s.Steps)}
	stages := make([]stageTime, s.PP)
	for p := range stages {
		stages[p] = stageTime{last: make([]int64, w.blocks), on: make([][]int64, s.Microbatches), back: make([][]int64, s.Microbatches)}
	}
	busy := make([]int64, len(s.GPUs))
	even := s.Compute.Jitter <= 0
	for _, f := range s.Slow {
		even = even && f == 1
	}
	dice := w.dice()
	for moved := true; moved; {
		moved = false
		for p := range stages {
			for w.one(out, stages, p, stretches[p], func(time units.Duration) { w.computed(&stages[p], p, time, even, dice, busy) }) {
				moved = true
			}
		}
	}
	for i := range out.Steps {
		t := &out.Steps[i]
		t.Warmup = i < s.Warmup
		if i > 0 {
			t.Start = out.Steps[i-1].End
		}
		for p := range stages {
			if stages[p].ends[i] > t.End.PS() {
				t.End = units.At(stages[p].ends[i])
			}
		}
		out.End = t.End
	}
	// The steps of a job compute alike but for jitter, so a step's share of the whole is told.
	for r := range busy {
		for i := range out.Steps {
			out.Steps[i].Compute = max(out.Steps[i].Compute, units.Duration(busy[r]/int64(s.Steps)))
		}
	}
	return out
}

// computed has every block of a stage compute: as long as its slowest rank.
func (w *stepper) computed(st *stageTime, p int, time units.Duration, even bool, dice []*rand.Rand, busy []int64) {
	first, end := w.s.Stage(p)
	if even {
		for b := range st.last {
			st.last[b] += int64(time)
		}
		for r := first; r < end; r++ {
			busy[r] += int64(time)
		}
		return
	}
	longest := make([]int64, w.blocks)
	for r := first; r < end; r++ {
		var d *rand.Rand
		if dice != nil {
			d = dice[r]
		}
		t := int64(w.s.Spread(r, time, d))
		busy[r] += t
		b := w.blockOf[(r-first)/w.s.TP]
		longest[b] = max(longest[b], t)
	}
	for b := range st.last {
		st.last[b] += longest[b]
	}
}

// one carries out the next instruction of stage p and tells whether it could.
func (w *stepper) one(out *StepEstimate, stages []stageTime, p int, stretches stretch, computes func(units.Duration)) bool {
	st := &stages[p]
	if st.step == w.s.Steps {
		return false
	}
	if st.at == len(w.programs[p]) {
		st.ends = append(st.ends, latest(st.last))
		st.step++
		st.at = 0
		return true
	}
	i := w.programs[p][st.at]
	switch i.do {
	case compute:
		computes(i.time)
	case phase:
		x := stretches.phases[st.phases]
		st.phases++
		k := &w.kinds[i.kind]
		from := earliest(st.last)
		for b := range st.last {
			st.last[b] += stretched(k.block[b], x)
		}
		w.note(out, k, expertNames[i.name], p, st.step, from, latest(st.last), x)
	case reduce:
		x := stretches.reduces[st.reduces]
		st.reduces++
		k := &w.kinds[i.kind]
		from := max(st.reduced, latest(st.last))
		st.reduced = from + stretched(k.time, x)
		w.note(out, k, "", p, st.step, from, st.reduced, x)
	case joinAll:
		for b := range st.last {
			st.last[b] = max(st.last[b], st.reduced)
		}
	case sendOn, sendBack:
		x := stretches.sends[st.sends]
		st.sends++
		k := &w.kinds[i.kind]
		arrive := make([]int64, w.blocks)
		for b := range arrive {
			arrive[b] = st.last[b] + stretched(k.block[b], x)
		}
		if i.do == sendOn {
			stages[p+1].on[i.m] = arrive
		} else {
			stages[p-1].back[i.m] = arrive
		}
		w.note(out, k, "", p, st.step, earliest(st.last), latest(arrive), x)
	case waitOn, waitBack:
		box := &st.on[i.m]
		if i.do == waitBack {
			box = &st.back[i.m]
		}
		if *box == nil {
			return false
		}
		for b, t := range *box {
			st.last[b] = max(st.last[b], t)
		}
		*box = nil
	}
	st.at++
	return true
}

// note keeps the time of a phase.
func (w *stepper) note(out *StepEstimate, k *kind, suffix string, p, step int, from, to int64, x float64) {
	algorithm := k.call.Algorithm
	if algorithm == "" && k.call.Collective == workload.AllToAll {
		algorithm = workload.Direct
	} else if algorithm == "" {
		algorithm = workload.Ring
	}
	out.Calls = append(out.Calls, CallTime{
		Name: k.name + suffix, Collective: k.call.Collective, Algorithm: algorithm, Bytes: k.call.Size, Ranks: k.ranks, Groups: k.groups,
		Step: step, Stage: p, Warmup: step < w.s.Warmup, Start: units.At(from), End: units.At(to),
		Median: units.Duration(stretched(int64(k.median), x)), Slowest: units.Duration(stretched(k.time, x)),
	})
}

func stretched(ps int64, by float64) int64 { return ceil(float64(ps) * by) }

func earliest(list []int64) int64 {
	out := list[0]
	for _, t := range list {
		out = min(out, t)
	}
	return out
}

func latest(list []int64) int64 {
	out := list[0]
	for _, t := range list {
		out = max(out, t)
	}
	return out
}
