package spray

import (
	"cmp"
	"fmt"
	"slices"
)

// What to do about a fleet that disagrees. The aim is one layout, and where layouts are not known one firmware for each model: the layout that
// most NICs have, and the newest firmware that is already here, since a site has tried both. Nothing here knows which firmware of a vendor
// has which layout; it goes by what other NICs of the same family show.

// changes tells what to bring where: NICs below a minimum, NICs of another layout than most have, and of each model with several firmwares
// and a layout that is not known those that are not the newest.
func (v *FleetVerdict) changes(minimums []Firmware) {
	most := v.commonLayout()
	for i := range v.Groups {
		g := &v.Groups[i]
		if do := v.change(g, most, minimums); do != "" {
			v.Changes = append(v.Changes, FleetChange{i, do})
		}
	}
}

func (v *FleetVerdict) change(g *FleetGroup, most Layout, minimums []Firmware) string {
	for _, m := range minimums {
		if g.valid && m.Family() == g.version.Family() && g.version.Compare(m) < 0 {
			v.Status = FleetDisagrees
			return "upgrade: older than the minimum " + m.String()
		}
	}
	if g.bounded && g.valid && g.since.Family() == g.version.Family() && g.version.Compare(g.since) < 0 {
		v.Status = FleetDisagrees
		return fmt.Sprintf("upgrade: %s understands layout %s, this one is older", g.since, cmp.Or(g.Layout, "(not known)"))
	}
	if g.Layout != "" && most != "" && g.Layout != most {
		var target *FleetGroup
		for i := range v.Groups {
			o := &v.Groups[i]
			if o.Layout == most && g.valid && o.valid && o.version.Family() == g.version.Family() && (target == nil || target.version.Compare(o.version) < 0) {
				target = o
			}
		}
		if target != nil && target.Firmware == g.Firmware {
			return fmt.Sprintf("set layout %s, as most have: others with this firmware do", most)
		}
		if target != nil {
			return fmt.Sprintf("bring to %s, which has layout %s, as most have", target.Firmware, most)
		}
		return fmt.Sprintf("no firmware of this model here has layout %s, which most have: ask the vendor for one, or turn context ids off on all", most)
	}
	if g.Layout == "" && g.valid {
		newest := g
		for i := range v.Groups {
			if o := &v.Groups[i]; o.valid && o.Model == g.Model && o.version.Family() == g.version.Family() && o.version.Compare(newest.version) > 0 {
				newest = o
			}
		}
		if newest != g {
			return fmt.Sprintf("bring to %s, the newest of this model here, so that one firmware is left", newest.Firmware)
		}
	}
	return ""
}

// commonLayout is the layout of most NICs, "" where none is known.
func (v *FleetVerdict) commonLayout() Layout {
	var names []Layout
	var counts []int
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.Layout == "" || g.Layout == LayoutNone {
			continue
		}
		at := slices.Index(names, g.Layout)
		if at < 0 {
			at, names, counts = len(names), append(names, g.Layout), append(counts, 0)
		}
		counts[at] += len(g.NICs)
	}
	best := Layout("")
	for i, n := range counts {
		if best == "" || n > counts[slices.Index(names, best)] {
			best = names[i]
		}
	}
	return best
}

// notes says what the verdict rests on and what it does not know.
func (v *FleetVerdict) notes() {
	told, blind, cx7 := 0, 0, 0
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.Layout != "" {
			told += len(g.NICs)
		} else if !g.valid {
			blind += len(g.NICs)
		}
		if g.Model == "ConnectX-7" {
			cx7 += len(g.NICs)
		}
	}
	if rest := v.NICs - told; rest > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("the layout of %d of %d NICs is not known: no public tool prints it. They are compared by model and firmware", rest, v.NICs))
	}
	if blind > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("of %d NICs the firmware is not known either", blind))
	}
	if cx7 > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("article 000 asks for %s or later of a ConnectX-7. That is a number of BlueField-2's family, 24; a ConnectX-7 has 28, and no firmware of it can be compared with the claim", ArticleMinimum))
	}
}
