package flowsim

import (
	"math"
	"slices"
)

// stretch is how many times longer than alone every phase of every stage took, in the order in which the stage began them, over
// all steps.
type stretch struct{ phases, reduces, sends []float64 }

// line is one stage in the second pass.
type line struct {
	at         int   // next instruction
	until      int64 // computing
	reducing   int   // reduces queued or under way
	queue      []queued
	on, back   []bool // microbatch: activations, gradients are there
	out        stretch
	computing  bool
	inPhase    bool
	summing    bool
	ended      bool
	stepsEnded int
}

type queued struct {
	kind  uint16
	index int
}

// fluid is a phase under way.
type fluid struct {
	kind  uint16
	stage int
	what  doing
	index int // of the stage's phases, reduces or sends
	m     int
	left  float64 // ps at pace 1
	begun int64
}

// timeline runs the stages against each other, all ranks of a stage alike, and returns how much their phases were held up.
func (w *stepper) timeline(c *contention) []stretch {
	lines := make([]line, w.s.PP)
	for p := range lines {
		lines[p].on, lines[p].back = make([]bool, w.s.Microbatches), make([]bool, w.s.Microbatches)
	}
	var now int64
	var under []fluid
	start := func(p int, what doing, kind uint16, index, m int) {
		under = append(under, fluid{kind: kind, stage: p, what: what, index: index, m: m, left: float64(w.kinds[kind].time), begun: now})
		w.count[kind]++
	}
	var kinds []uint16
	for {
		for moved := true; moved; {
			moved = false
			for p := range lines {
				moved = w.advance(lines, p, now, start) || moved
			}
		}
		// Kinds sorted, so that one set has one key; under follows the same order.
		slices.SortStableFunc(under, func(a, b fluid) int {
			if a.kind != b.kind {
				return int(a.kind) - int(b.kind)
			}
			return a.index - b.index
		})
		kinds = kinds[:0]
		for _, f := range under {
			kinds = append(kinds, f.kind)
		}
		pace := c.paces(kinds)
		next := int64(math.MaxInt64)
		for i, f := range under {
			next = min(next, now+max(0, ceil(f.left/pace[i])))
		}
		for p := range lines {
			if lines[p].computing {
				next = min(next, lines[p].until)
			}
		}
		if next == math.MaxInt64 {
			break
		}
		passed := float64(next - now)
		now = next
		kept := under[:0]
		for i, f := range under {
			if f.left -= float64(pace[i] * passed); f.left > 0.5 {
				kept = append(kept, f)
				continue
			}
			w.over(lines, f, now)
		}
		under = kept
		for p := range lines {
			if l := &lines[p]; l.computing && l.until <= now {
				l.computing = false
			}
		}
	}
	out := make([]stretch, len(lines))
	for p := range lines {
		out[p] = lines[p].out
	}
	return out
}

// over ends a phase.
func (w *stepper) over(lines []line, f fluid, now int64) {
	l := &lines[f.stage]
	s := max(1, float64(now-f.begun)/float64(max(w.kinds[f.kind].time, 1)))
	switch f.what {
	case phase:
		l.inPhase = false
		l.out.phases[f.index] = s
	case reduce:
		l.summing = false
		l.reducing--
		l.out.reduces[f.index] = s
	case sendOn:
		lines[f.stage+1].on[f.m] = true
		l.out.sends[f.index] = s
	case sendBack:
		lines[f.stage-1].back[f.m] = true
		l.out.sends[f.index] = s
	}
}

// advance lets stage p do what it can at this moment, and tells whether that was anything.
func (w *stepper) advance(lines []line, p int, now int64, start func(p int, what doing, kind uint16, index, m int)) (moved bool) {
	l := &lines[p]
	if len(l.queue) > 0 && !l.summing {
		l.summing, moved = true, true
		start(p, reduce, l.queue[0].kind, l.queue[0].index, 0)
		l.queue = l.queue[1:]
	}
	for !l.computing && !l.inPhase && !l.ended {
		if l.at == len(w.programs[p]) {
			if l.stepsEnded++; l.stepsEnded == w.s.Steps {
				l.ended = true
				return true
			}
			l.at = 0
		}
		i := w.programs[p][l.at]
		switch i.do {
		case compute:
			l.computing, l.until = true, now+int64(i.time)
		case phase:
			l.inPhase = true
			l.out.phases = append(l.out.phases, 1)
			start(p, phase, i.kind, len(l.out.phases)-1, 0)
		case reduce:
			l.reducing++
			l.out.reduces = append(l.out.reduces, 1)
			l.queue = append(l.queue, queued{i.kind, len(l.out.reduces) - 1})
			if !l.summing {
				l.summing = true
				start(p, reduce, l.queue[0].kind, l.queue[0].index, 0)
				l.queue = l.queue[1:]
			}
		case joinAll:
			if l.reducing > 0 {
				return moved
			}
		case sendOn, sendBack:
			l.out.sends = append(l.out.sends, 1)
			start(p, i.do, i.kind, len(l.out.sends)-1, i.m)
		case waitOn:
			if !l.on[i.m] {
				return moved
			}
			l.on[i.m] = false
		case waitBack:
			if !l.back[i.m] {
				return moved
			}
			l.back[i.m] = false
		}
		l.at++
		moved = true
	}
	return moved
}
