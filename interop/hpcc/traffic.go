package hpcc

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Traffic is flows that begin at random, as traffic_gen.py makes them: each host begins flows in a Poisson process, to
// another host with equal chance each, of sizes drawn from the distribution.
type Traffic struct {
	Load     units.Fraction // of the rate of a host's first NIC port
	Time     units.Duration // during which flows begin
	Seed     uint64
	Priority uint8
}

// Flows draws the flows of t for the hosts of f. The same arguments give the same flows; another host changes nothing of
// what the rest send, but for whom they choose. The error says which argument is wrong.
func (c *CDF) Flows(f *fabric.Fabric, t Traffic) (*Flows, error) {
	switch {
	case !(t.Load > 0 && t.Load <= 1):
		return nil, fmt.Errorf("hpcc: a load of %v: write more than 0%% and at most 100%%", t.Load)
	case t.Time <= 0 || t.Time > latest:
		return nil, fmt.Errorf("hpcc: flows that begin during %v: write a time above 0 and at most %v", t.Time, latest)
	case len(f.GPUs) < 2:
		return nil, fmt.Errorf("hpcc: the fabric has %d hosts, and traffic needs two", len(f.GPUs))
	}
	numbers, mean := NumbersOf(f), c.Mean()
	expected := 0.0
	for _, g := range f.GPUs {
		expected += f.Ports[g.NICs[0]].Rate.BytesPerSecond() * float64(t.Load) / mean * t.Time.Seconds()
	}
	if expected > 0.9*workload.MaxOps {
		return nil, fmt.Errorf("hpcc: this is about %.3g flows of %.0f bytes; at most %d can be run: shorten the time or lower the load", expected, mean, workload.MaxOps)
	}
	out := &Flows{Report: c.Report}
	for i, g := range f.GPUs {
		src := numbers.Of(f, fabric.GPUID(i))
		dice := stream(t.Seed, fmt.Sprintf("flows of %d", src))
		gap := mean / (f.Ports[g.NICs[0]].Rate.BytesPerSecond() * float64(t.Load)) // seconds between flows
		at := units.Duration(0)
		for {
			at += max(1, units.Duration(dice.ExpFloat64()*gap*float64(units.Second)))
			if at > t.Time {
				break
			}
			dst := dice.IntN(len(f.GPUs) - 1)
			if dst >= i {
				dst++
			}
			out.List = append(out.List, Flow{
				Src: src, Dst: numbers.Of(f, fabric.GPUID(dst)), Priority: t.Priority, Port: 100, Bytes: c.Size(dice.Float64()), Start: at,
			})
		}
	}
	slices.SortStableFunc(out.List, func(a, b Flow) int { return cmp.Compare(a.Start, b.Start) })
	return out, nil
}

// stream is the source of random numbers of one host.
func stream(seed uint64, entity string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(entity))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
