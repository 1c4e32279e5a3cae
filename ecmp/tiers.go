package ecmp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Polarisation: a switch of the second tier is given only flows that the first tier's hash sent its way. Where it hashes as the first tier did, all of
// these agree on what it chooses by, and they leave by one of its links.
//
// A CRC is linear: another start value (seed) changes the hash of every flow of one length by the same constant, so that flows that agreed in the
// first tier agree in the second, only on another link. Another polynomial, or other bits of the hash, do help.

// Tier sums up the choices at one distance from the hosts.
type Tier struct {
	Tier     int     `json:"tier"` // 0 is the first choice
	Switches int     `json:"switches"`
	Links    int     `json:"links"` // of switches that got flows
	Idle     int     `json:"idle"`
	Expected float64 `json:"idle_expected"` // of a perfect hash, for the flows that each switch got
	P        float64 `json:"p"`
	Worst    float64 `json:"largest_to_fair"`
}

// Polarised tells whether more links are idle than chance leaves.
func (t *Tier) Polarised() bool { return t.Tier > 0 && float64(t.Idle) > t.Expected && t.P < chance }

// maxTiers bounds the tiers without a fabric: three choices are four tiers of switches, and no cluster has more.
const maxTiers = 4

// climb deals flows through tiers of switches with so many paths each: whatever takes path p of a switch comes to a switch of its own
// behind it. The groups come tier by tier, the first with its one switch, and each knows its flows.
func climb(s *Set, units []*Unit, d *dealer, paths, tiers int) []*Group {
	names := make([]string, paths)
	for i := range names {
		names[i] = fmt.Sprintf("path %d", i)
	}
	first := newGroup(fmt.Sprintf("%d paths", paths), 0, names)
	groups, index := []*Group{first}, map[int]*Group{}
	for i := range s.Flows {
		w := s.weight(i)
		at := d.path(units[0], units[0].Sum(&s.Flows[i]), 0, paths)
		first.add(at, w)
		where := at
		for t := 1; t < tiers; t++ {
			where = where*paths + t // a number for the switch: the way to it and its tier
			g := index[where]
			if g == nil {
				g = newGroup(fmt.Sprintf("tier %d, switch behind %s", t+1, names[at]), t, names)
				index[where] = g
				groups = append(groups, g)
			}
			u := units[min(t, len(units)-1)]
			at = d.path(u, u.Sum(&s.Flows[i]), 0, paths)
			g.add(at, w)
			where = where*paths + at
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Name, b.Name)) })
	for _, g := range groups {
		g.finish()
	}
	return groups
}

// tiersOf sums groups up by their tier.
func tiersOf(groups []*Group) []Tier {
	var out []Tier
	var variance []float64
	for _, g := range groups {
		for len(out) <= g.Tier {
			out = append(out, Tier{Tier: len(out)})
			variance = append(variance, 0)
		}
		t := &out[g.Tier]
		t.Switches++
		t.Links += len(g.Links)
		t.Idle += g.Idle
		mean, dev := expectedEmpty(len(g.weights), len(g.Links))
		t.Expected += mean
		variance[g.Tier] += dev * dev
		t.Worst = max(t.Worst, g.Ratio)
	}
	for i := range out {
		out[i].P = unlikely(float64(out[i].Idle), out[i].Expected, math.Sqrt(variance[i]))
	}
	return out
}
