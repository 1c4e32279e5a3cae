package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// A degraded link: it came up at a lower speed than it is built for (lost lanes, autonegotiation, a wrong module).
//
//	symptom    everything that crosses the link is slow; per-flow hashing and equal-weight spraying both keep using it
//	evidence   speed of the port below its nominal speed, or below that of its equal-cost siblings
//	against    a link that is down (speed unknown); a fabric built with two speeds on purpose
//	settles    ethtool DEV or show interfaces status on both ends
var degradedCause = Cause{
	Code:     "P001",
	Title:    "link runs below its nominal speed",
	Needs:    "speed of ports with their nominal speed or that of their equal-cost siblings",
	Explains: []string{"L011", "L013", "L021", "L031", "L032"},
	Check:    checkDegraded,
}

type slowLink struct {
	object, peer  string
	rate, nominal units.Rate
	from          string
	bytes         float64 // carried over the window; 0 where not known
	toHost        bool    // the link joins a NIC and its leaf
}

func checkDegraded(v *View) Verdict {
	var slow []slowLink
	judged := 0
	judge := func(object, peer string, rate, nominal units.Rate, id, bytes telemetry.SeriesID, toHost bool) {
		judged++
		if rate <= 0 || rate >= nominal {
			return
		}
		b, _ := v.total(bytes, object)
		slow = append(slow, slowLink{object, peer, rate, nominal, v.from(id, object, telemetry.AnyPriority), b, toHost})
	}
	for _, p := range v.ports() {
		rate, ok := v.speed(telemetry.SwitchSpeed, p.object)
		if !ok {
			rate, ok = p.Rate.Get()
		}
		nominal, known := p.Nominal.Get()
		if !known {
			nominal, known = v.siblingSpeed(p)
		}
		if ok && known {
			judge(p.object, p.Peer, rate, nominal, telemetry.SwitchSpeed, telemetry.SwitchTxBytes, v.toHost(p))
		}
	}
	for _, n := range v.nics() {
		rate, ok := v.speed(telemetry.NICSpeed, n.object)
		if !ok {
			rate, ok = n.Rate.Get()
		}
		if nominal, known := n.Nominal.Get(); ok && known {
			judge(n.object, n.Switch, rate, nominal, telemetry.NICSpeed, telemetry.NICTxBytes, true)
		}
	}
	switch {
	case judged == 0:
		return cannotCheck("no port's speed together with the speed it is built for")
	case len(slow) == 0:
		return ruledOut(fmt.Sprintf("all %s run at their nominal speed", count(judged, "port")))
	}
	// Both ends of a link show the same fault; the end that carried more comes first.
	slices.SortStableFunc(slow, func(a, b slowLink) int { return cmp.Compare(b.bytes, a.bytes) })
	return found(v.degradedFinding(slow))
}

// speed is the last speed a port reported; 0 Mbit/s is how a link that is down reports.
func (v *View) speed(id telemetry.SeriesID, object string) (units.Rate, bool) {
	l, ok := v.Win.Level(key(id, object, telemetry.AnyPriority))
	if !ok || l.Last <= 0 {
		return 0, false
	}
	return units.Rate(l.Last), true
}

// siblingSpeed is the speed most ports of an equal-cost group run at, where at least three others agree.
func (v *View) siblingSpeed(p port) (units.Rate, bool) {
	groups := once(v, func(f *facts) **map[string]group { return &f.siblings }, func() map[string]group {
		of := map[string]group{}
		for _, g := range v.equalCost() {
			for _, q := range g.ports {
				if _, taken := of[q.object]; !taken {
					of[q.object] = g
				}
			}
		}
		return of
	})
	votes := map[units.Rate]int{}
	for _, q := range groups[p.object].ports {
		if r, ok := v.speed(telemetry.SwitchSpeed, q.object); ok && q.object != p.object {
			if votes[r]++; votes[r] >= 3 {
				return r, true
			}
		}
	}
	return 0, false
}

func (v *View) degradedFinding(slow []slowLink) Finding {
	worst := slow[0]
	f := Finding{
		Title:    fmt.Sprintf("link runs at %v, nominal %v: %s -> %s", worst.rate, worst.nominal, worst.object, worst.peer),
		Severity: Warning, Confidence: 0.95,
		Because: "equal-cost path choice gives the link the same share as its siblings, so whatever is hashed or sprayed onto it finishes last and everyone waits for it",
		WrongIf: "the nominal speed is not what the port is built for",
		Settle:  "ethtool DEV on the host, or show interfaces status on the switch: the speed at both ends",
		Fix: Fix{
			Text: "reseat or replace the module or cable and fix the speed on both ends; take the link out of the equal-cost group until then",
			Try:  []Change{{Setting: "link.healthy", Object: worst.object, Value: "true"}},
		},
		Evidence: []Evidence{{Layer: "physical", What: "speed of " + worst.object, Seen: worst.rate.String(), Expected: worst.nominal.String(), Role: "cause", From: worst.from}},
	}
	for _, s := range slow {
		f.Where = append(f.Where, s.object)
	}
	// A port to a host has no siblings to share with.
	if worst.toHost {
		f.Because = "the host behind the link receives no faster than this, and every collective it takes part in waits for it"
	}
	prio := v.rocePriority()
	for _, p := range v.ports() {
		if p.object != worst.object {
			continue
		}
		if congested, known, how := v.congestion(p, prio); known && congested {
			f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "its egress queue", Seen: how, Expected: "as its siblings", Role: "effect", At: v.onset(telemetry.SwitchECNMarked, p.object, prio), From: telemetry.SwitchQueuePeak.String()})
			f.Severity = Critical
		}
	}
	f.Evidence = append(f.Evidence, v.cnpRow()...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	if worst.bytes > 0 {
		extra := units.Serialize(units.Bytes(worst.bytes), worst.rate) - units.Serialize(units.Bytes(worst.bytes), worst.nominal)
		if c, ok := v.share(extra, fmt.Sprintf("%s at %v instead of %v", amount(worst.bytes), worst.rate, worst.nominal)); ok {
			f.Cost = c
		}
	}
	return f
}
