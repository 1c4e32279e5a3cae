package flowsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Random flows come and go on random constraints. After every change the rates overrun nothing (W1) and are max-min fair (W2):
// each flow has the most it can have anywhere, or goes through a full constraint on which nobody is faster.
func TestMaxMin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := sharing{cons: make([]constraint, 2+r.IntN(12))}
		for i := range s.cons {
			s.cons[i] = constraint{capacity: float64(1 + r.IntN(10)), head: none}
		}
		var going []uint32
		for range 60 {
			if len(going) == 0 || r.IntN(3) > 0 {
				var path []hop
				for con := range s.cons {
					if r.IntN(3) == 0 {
						path = append(path, hop{uint32(con), []float64{1, 0.5, 0.25}[r.IntN(3)]})
					}
				}
				if path == nil {
					continue
				}
				limit := math.Inf(1)
				if r.IntN(4) == 0 {
					limit = r.Float64() * 5
				}
				id := s.add(path, limit)
				s.begin(id)
				going = append(going, id)
			} else {
				i := r.IntN(len(going))
				s.end(going[i])
				going = append(going[:i], going[i+1:]...)
			}
			if r.IntN(4) == 0 {
				continue // several changes at once
			}
			s.reach()
			s.share()
			if err := fair(&s, going); err != nil {
				t.Fatalf("seed %d, %d flows: %v", seed, len(going), err)
			}
		}
	}
}

func fair(s *sharing, going []uint32) error {
	const eps = 1e-6
	load, fastest := make([]float64, len(s.cons)), make([]float64, len(s.cons))
	for _, id := range going {
		f := &s.flows[id]
		for _, e := range s.entries[f.first : f.first+f.n] {
			load[e.con] += e.weight * f.rate
			fastest[e.con] = max(fastest[e.con], f.rate)
		}
	}
	for con := range load {
		if load[con] > s.cons[con].capacity*(1+eps) {
			return fmt.Errorf("constraint %d carries %v of %v", con, load[con], s.cons[con].capacity)
		}
	}
	for _, id := range going {
		f := &s.flows[id]
		held := f.rate >= f.most*(1-eps)
		for _, e := range s.entries[f.first : f.first+f.n] {
			held = held || load[e.con] >= s.cons[e.con].capacity*(1-eps) && f.rate >= fastest[e.con]*(1-eps)
		}
		if !held {
			return fmt.Errorf("flow %d has %v of at most %v and nothing holds it back", id, f.rate, f.most)
		}
	}
	return nil
}

// Two flows through one link and one of them through another: the textbook case.
func TestSharesByHand(t *testing.T) {
	s := sharing{cons: []constraint{{capacity: 10, head: none}, {capacity: 4, head: none}}}
	a, b, c := s.add([]hop{{0, 1}}, math.Inf(1)), s.add([]hop{{0, 1}, {1, 1}}, math.Inf(1)), s.add([]hop{{1, 1}}, 1)
	for _, id := range []uint32{a, b, c} {
		s.begin(id)
	}
	s.reach()
	s.share()
	for i, want := range []float64{7, 3, 1} {
		if got := s.flows[i].rate; math.Abs(got-want) > 1e-12 {
			t.Errorf("flow %d has %v, want %v", i, got, want)
		}
	}
}

// Ending flows together moves every time by no more than its share allows, and saves most of the work.
func TestTogether(t *testing.T) {
	f := leafSpine(8, 8, 8)
	p := planFor(t, f, collective(workload.AllToAll, "", 32*units.MiB), 1)
	exact := carry(t, f, p, Config{Seed: 3, Together: 1e-15})
	quick := carry(t, f, p, Config{Seed: 3})
	if quick.Fills()*3 > exact.Fills()*2 {
		t.Errorf("%d fills together, %d exact; want less than two thirds", quick.Fills(), exact.Fills())
	}
	for i := range p.Ops {
		a, b := exact.Ops()[i].End, quick.Ops()[i].End
		if off := math.Abs(float64(a.PS()-b.PS())) / float64(a.PS()); off > 0.01 {
			t.Errorf("operation %d ends at %v together, %v exact", i, b, a)
		}
	}
}

// Splitting a run in two changes nothing in it, and the same seed gives the same bits.
func TestSameBits(t *testing.T) {
	f := leafSpine(4, 4, 2)
	p := planFor(t, f, collective(workload.AllToAll, "", 8*units.MiB), 1)
	whole := carry(t, f, p, Config{Seed: 4})
	parts, err := New(f, p, Config{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	for at, done := int64(0), false; !done; at += 7_654_321 {
		if done, err = parts.RunUntil(units.At(at)); err != nil {
			t.Fatal(err)
		}
	}
	off := 0
	for i := range p.Ops {
		// Settling more often rounds more often: a picosecond in a hundred million.
		if d := whole.Ops()[i].End.PS() - parts.Ops()[i].End.PS(); d < -2 || d > 2 {
			off++
		}
	}
	if off > 0 {
		t.Errorf("%d of %d operations end elsewhere when the run is split", off, len(p.Ops))
	}
	again := carry(t, f, p, Config{Seed: 4})
	for i := range p.Ops {
		if whole.Ops()[i] != again.Ops()[i] {
			t.Fatalf("operation %d: %v and %v", i, whole.Ops()[i], again.Ops()[i])
		}
	}
}

// A configuration and a plan that cannot be are refused with what is wrong.
func TestRefuses(t *testing.T) {
	f := leafSpine(1, 2, 1)
	p := planFor(t, f, pattern(workload.Shift, 1), 1)
	for _, c := range []Config{{Path: 9}, {QPs: -1}, {MTU: -1}, {Together: 2}, {Faults: []Fault{{Port: 99}}}, {Faults: []Fault{{Kind: RateDegraded}}}} {
		if _, err := New(f, p, c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	var b workload.Builder
	b.Add(workload.Op{Kind: workload.Send, Src: 0, Dst: fabric.GPUID(9), Bytes: 1})
	if _, err := New(f, b.Plan(), Config{}); err == nil {
		t.Error("a plan with an unknown GPU was taken")
	}
}
