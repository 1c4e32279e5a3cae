package diagnose

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// L040: a switch has no room for more rules, and what finds none is hashed like any other flow.
//
// Symptom: the job starts well and slows as it opens connections; queue pairs that came late go over one path each. Mechanism: a
// scheme that sprays by a rule for each queue pair needs as many entries as there are queue pairs; past the size of the table
// (TCAM, ACL) new ones are refused, with a line in the switch's log at most, and plain ECMP takes over (article 000, section 5.1;
// S0.11). Evidence for: entries in use and free, entries refused, rules a queue pair takes. Against: a full table while every
// queue pair has its rule. Look-alikes: L021 (a hash collision without any table).
var causeRuleTable = Cause{
	Code:     "L040",
	Title:    "the rule table of a switch is full, and new queue pairs are not sprayed",
	Needs:    "entries in use and free of the switches' tables (crm show resources all)",
	Explains: []string{"L013", "L021", "L031", "L032", "L042"},
	Check:    checkRuleTable,
}

// fullTable is a table with no room left, and what it would take.
type fullTable struct {
	sw                  *evidence.Switch
	table               evidence.HardwareTable
	used, limit, needed int64 // needed is 0 where it is not known
	refused             int64
	perQP, qps          int64
}

// over is by how much the rules exceed the table; 0 where that is not known.
func (t fullTable) over() int64 { return max(t.needed-t.limit, 0) }

func checkRuleTable(v *View) Verdict {
	var full []fullTable
	judged := 0
	for _, s := range v.Inv.Switches {
		for _, h := range s.Hardware {
			if h.Name != "acl_entry" && h.Name != "nexthop_group_member" && h.Name != "nexthop_group" {
				continue // what spraying takes its entries from
			}
			limit, ok := h.Limit()
			refused, told := h.Refused.Get()
			if !ok && !told {
				continue
			}
			judged++
			if free, known := h.Available.Get(); refused == 0 && (!known || free > 0) {
				continue
			}
			t := fullTable{sw: s, table: h, used: h.Used.Or(0), limit: limit, refused: refused}
			if refused > 0 && ok {
				t.needed = t.used + refused
			}
			if h.Name == "acl_entry" && s.Spray != nil {
				t.perQP = int64(s.Spray.PerQP.Or(0))
				t.qps = v.queuePairsBelow(s)
				t.needed = max(t.needed, t.perQP*t.qps)
			}
			full = append(full, t)
		}
	}
	switch {
	case judged == 0 && v.Inv.Simulated:
		return notApplicable("the simulated fabric sprays without rules")
	case judged == 0:
		return cannotCheck("crm show resources all of the switches")
	case len(full) == 0:
		return ruledOut(fmt.Sprintf("%s that spraying takes entries from have room left", count(judged, "table")))
	}
	slices.SortStableFunc(full, func(a, b fullTable) int {
		return cmp.Or(cmp.Compare(b.refused, a.refused), cmp.Compare(b.over(), a.over()))
	})
	return found(v.ruleTableFinding(full))
}

// queuePairsBelow counts the queue pairs whose packets a switch deals out: those of the hosts that hang off it, to hosts that
// do not. 0 where they were not counted.
func (v *View) queuePairsBelow(s *evidence.Switch) (n int64) {
	below := map[string]bool{}
	for _, p := range s.Ports {
		if !v.isSwitch(p.Peer) && p.Peer != "" {
			below[p.Peer] = true
		}
	}
	for _, c := range v.Inv.Pairs {
		if below[c.Host+"/"+c.Device] && !below[c.PeerHost+"/"+c.PeerDevice] {
			n += int64(c.QPs)
		}
	}
	return n
}

func (v *View) ruleTableFinding(full []fullTable) Finding {
	worst := full[0]
	name := worst.table.Name
	if worst.table.Table != "" {
		name += " of " + worst.table.Table
	}
	f := Finding{
		Severity: Note, Confidence: possible,
		Because: "a rule that finds no room is refused, and its queue pair is hashed onto one path like any flow of plain ECMP, beside others that are spread over all",
		Settle:  "the queue pairs over each path: those without a rule use one path only",
		WrongIf: "the queue pairs that came last are spread over all paths as well",
		Fix: Fix{
			Text:     "make the table larger, or give RoCE a partition of its own (article 000: spray-rule-limit 32768, of which 24K for RoCE)",
			Commands: []string{"crm show resources all", "show acl rule | wc -l"},
		},
	}
	for _, t := range full {
		if !slices.Contains(f.Where, t.sw.Name) {
			f.Where = append(f.Where, t.sw.Name)
		}
	}
	f.Title = fmt.Sprintf("the table %s of %s is full: %d of %d entries", name, worst.sw.Name, worst.used, worst.limit)
	row := Evidence{Layer: "switch", What: fmt.Sprintf("entries of %s on %s", name, worst.sw.Name), Seen: fmt.Sprintf("%d of %d", worst.used, worst.limit), Expected: "room left", Role: "cause",
		At: v.filled(worst), From: orElse(worst.table.From.String(), telemetry.SwitchRules.String())}
	f.Evidence = append(f.Evidence, row)
	if worst.refused > 0 {
		f.Severity, f.Confidence = Warning, named
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "rules that found no room", Seen: fmt.Sprint(worst.refused), Expected: "0", Role: "cause", From: worst.table.Refused.From.String()})
	}
	if worst.perQP > 0 && worst.qps > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: fmt.Sprintf("queue pairs from below %s to elsewhere, and rules for each", worst.sw.Name), Seen: fmt.Sprintf("%d x %d", worst.qps, worst.perQP), Expected: fmt.Sprintf("up to %d rules", worst.limit), Role: "cause", From: worst.sw.Spray.PerQP.From.String()})
		if worst.over() > 0 && worst.refused == 0 {
			f.Severity, f.Confidence = Warning, likely
		}
	}
	if over := worst.over(); over > 0 {
		f.Title = fmt.Sprintf("%s has room for %d spraying rules and needs %d: %d queue pairs fall back to plain ECMP", worst.sw.Name, worst.limit, worst.needed, fellBack(worst))
		f.Fix.Try = []Change{{Setting: "path.buckets.rules.limit", Value: fmt.Sprint(roomFor(worst.needed))}}
		f.Fix.Others = []Alternative{{Text: "spray without a rule for each queue pair, by a hash over the packet's sequence number, which needs none", Try: []Change{{Setting: "path.buckets.rules.limit", Value: "0"}}}}
		f.Fix.Text = strings.Replace(f.Fix.Text, "make the table larger", fmt.Sprintf("make the table larger by %d entries at least", over), 1)
	}
	if n := len(f.Where); n > 1 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "more switches with a full table", Seen: fmt.Sprint(n - 1), Expected: "0", From: orElse(full[n-1].table.From.String(), telemetry.SwitchRules.String())})
	}
	f.Evidence = append(f.Evidence, v.unevenRow()...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return f
}

// fellBack is how many queue pairs have no rule.
func fellBack(t fullTable) int64 {
	n := max(t.refused, t.over())
	if t.perQP > 1 {
		n = (n + t.perQP - 1) / t.perQP
	}
	return n
}

// roomFor is the table that holds so many rules with as much again left: the next power of two, which is how tables are cut.
func roomFor(needed int64) int64 { return 1 << bits.Len64(uint64(max(needed, 1))) }

// filled is when a switch had no room left, as evidence carries it; nil where that cannot be told.
func (v *View) filled(t fullTable) *units.Instant {
	p, ok := v.Win.Points(key(telemetry.SwitchRulesFree, t.sw.Name, telemetry.AnyPriority))
	if !ok || t.table.Name != "acl_entry" || p.Untimed {
		return nil
	}
	for _, s := range p.Samples {
		if s.Level == 0 {
			return &s.At
		}
	}
	return nil
}

// unevenRow tells of the equal-cost group whose ports carried the most unequal shares.
func (v *View) unevenRow() []Evidence {
	prio := v.rocePriority()
	var worst collision
	for _, g := range v.equalCost() {
		if c, ok := v.hottest(g, prio); ok && c.ratio > worst.ratio {
			worst = c
		}
	}
	if worst.ratio == 0 {
		return nil
	}
	return []Evidence{{Layer: "switch", What: fmt.Sprintf("%s %s, mean of %s", worst.load.what, worst.hot.object, worst.group.name), Seen: worst.load.print(worst.hotBytes), Expected: worst.load.print(worst.fairBytes), Role: "effect", From: v.from(worst.load.id, worst.hot.object, prio)}}
}
