package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// collective sums up the calls of one name.
type collective struct {
	name, kind string
	calls      int
	time       units.Duration // of all calls
	each       []float64      // bus bandwidth of every call
	busbw      float64        // of the median call, GB/s
	from       string
}

// collectives sums up the measured calls by name, slowest bus bandwidth first.
func (v *View) collectives() []collective {
	var all []collective
	for _, c := range v.Inv.Calls {
		i := slices.IndexFunc(all, func(a collective) bool { return a.name == c.Name && a.kind == c.Kind })
		if i < 0 {
			all = append(all, collective{name: c.Name, kind: c.Kind, from: c.From.String()})
			i = len(all) - 1
		}
		all[i].calls++
		all[i].time += c.Time
		all[i].each = append(all[i].each, c.BusBW)
	}
	for i := range all {
		slices.Sort(all[i].each)
		all[i].busbw = all[i].each[len(all[i].each)/2]
	}
	slices.SortStableFunc(all, func(a, b collective) int { return cmp.Compare(a.busbw, b.busbw) })
	return all
}

// jobRows tells what the job felt: the slowest collective beside the fastest, and the exposed communication.
func (v *View) jobRows() []Evidence {
	var rows []Evidence
	if cs := v.collectives(); len(cs) > 0 {
		slow, row := cs[0], Evidence{Layer: "collective", Role: "effect"}
		row.What, row.Seen, row.From = fmt.Sprintf("busbw of %s", slow.name), fmt.Sprintf("%.3g GB/s", slow.busbw), slow.from
		if line, ok := v.nicRate(); ok {
			row.Expected = fmt.Sprintf("to %.3g GB/s", line.BytesPerSecond()/1e9)
		}
		if fast := cs[len(cs)-1]; len(cs) > 1 && fast.busbw > 1.3*slow.busbw {
			row.What += fmt.Sprintf("; %s %.3g GB/s", fast.name, fast.busbw)
		}
		rows = append(rows, row)
	}
	if n := len(v.Inv.Steps); n > 0 {
		var exposed, total units.Duration
		for _, s := range v.Inv.Steps {
			exposed += s.Exposed / units.Duration(n)
			total += s.Time / units.Duration(n)
		}
		rows = append(rows, Evidence{Layer: "step", What: "exposed communication",
			Seen: fmt.Sprintf("%v of %v", short(exposed), short(total)), Role: "effect", From: v.Inv.Steps[0].From.String()})
	}
	return rows
}

// nicRate is the rate most NIC ports are built for.
func (v *View) nicRate() (units.Rate, bool) {
	counts := map[units.Rate]int{}
	var best units.Rate
	for _, n := range v.nics() {
		r, ok := n.Nominal.Get()
		if !ok {
			if r, ok = n.Rate.Get(); !ok {
				continue
			}
		}
		counts[r]++
		if counts[r] > counts[best] || counts[r] == counts[best] && r > best {
			best = r
		}
	}
	return best, best > 0
}

// share divides an excess of the whole window among the job's steps, or among the calls of the collective that
// took the most time where the job has no steps. ok is false where the job measured nothing.
func (v *View) share(extra units.Duration, how string) (*Cost, bool) {
	if extra <= 0 {
		return nil, false
	}
	if n := units.Duration(len(v.Inv.Steps)); n > 0 {
		var seen units.Duration
		for _, s := range v.Inv.Steps {
			seen += s.Time / n
		}
		return &Cost{Of: "step", Extra: min(extra/n, seen), Seen: seen, Expected: max(seen-extra/n, 0), How: how}, true
	}
	cs := v.collectives()
	if len(cs) == 0 {
		return nil, false
	}
	longest := slices.MaxFunc(cs, func(a, b collective) int { return cmp.Compare(a.time, b.time) })
	n := units.Duration(longest.calls)
	return &Cost{Of: longest.name, Extra: min(extra, longest.time) / n, Seen: longest.time / n,
		Expected: max(longest.time-extra, 0) / n, How: how}, true
}

// short is a time as a sentence carries it: three digits, which is more than any cause can be sure of.
func short(d units.Duration) string {
	v, unit := float64(d), "ps"
	for _, next := range []string{"ns", "us", "ms", "s"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v, unit = v/1000, next
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// calls lists the measured calls that carry a start time.
func (v *View) timedCalls() []evidence.Call {
	return slices.DeleteFunc(slices.Clone(v.Inv.Calls), func(c evidence.Call) bool { return !c.Timed })
}
