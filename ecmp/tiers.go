package ecmp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
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

// place is a switch behind the first tier: its tier and the way to it, the paths taken as the digits of a number.
type place struct{ tier, way int }

// name is "tier 3, behind paths 1, 4".
func (p place) name(paths int) string {
	digits := make([]string, p.tier)
	for i, way := p.tier-1, p.way; i >= 0; i, way = i-1, way/paths {
		digits[i] = fmt.Sprint(way % paths)
	}
	word := "path"
	if p.tier > 1 {
		word = "paths"
	}
	return fmt.Sprintf("tier %d, switch behind %s %s", p.tier+1, word, strings.Join(digits, ", "))
}

// climb deals flows through tiers of switches with so many paths each: whatever takes path p of a switch comes to a switch of its own
// behind it. The groups come tier by tier, the first with its one switch, and each knows its flows.
func climb(s *Set, units []*Unit, d *dealer, paths, tiers int) []*Group {
	names := make([]string, paths)
	for i := range names {
		names[i] = fmt.Sprintf("path %d", i)
	}
	first := newGroup(fmt.Sprintf("%d paths", paths), 0, names)
	groups, index := []*Group{first}, map[place]*Group{}
	for i := range s.Flows {
		w := s.weight(i)
		at := d.path(units[0], units[0].Sum(&s.Flows[i]), 0, paths)
		first.add(at, w)
		sw := place{tier: 1, way: at}
		for t := 1; t < tiers; t++ {
			g := index[sw]
			if g == nil {
				g = newGroup(sw.name(paths), t, names)
				index[sw] = g
				groups = append(groups, g)
			}
			u := units[min(t, len(units)-1)]
			at = d.path(u, u.Sum(&s.Flows[i]), 0, paths)
			g.add(at, w)
			sw = place{tier: t + 1, way: sw.way*paths + at}
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
