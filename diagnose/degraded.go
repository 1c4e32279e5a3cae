package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	Explains: []string{"L011", "L013", "L021", "L031", "L032", "L041", "L042"},
	Check:    checkDegraded,
}

type slowLink struct {
	object, peer  string
	rate, nominal units.Rate
	from          string
	bytes         float64 // carried over the window; 0 where not known
	toHost        bool    // the link joins a NIC and its leaf
}

// ends names the link by its ends, as far as they are known.
func (s slowLink) ends() string {
	if s.peer == "" {
		return spoken(s.object)
	}
	return s.object + " -> " + s.peer
}

func checkDegraded(v *View) Verdict {
	var slow []slowLink
	judged := 0
	judge := func(s slowLink, bytes telemetry.SeriesID) {
		judged++
		if s.rate <= 0 || s.rate >= s.nominal {
			return
		}
		s.bytes, _ = v.total(bytes, s.object)
		slow = append(slow, s)
	}
	for _, p := range v.ports() {
		s := slowLink{object: p.object, peer: p.Peer, toHost: v.toHost(p), from: v.from(telemetry.SwitchSpeed, p.object, telemetry.AnyPriority)}
		var ok, known bool
		if s.rate, ok = v.speed(telemetry.SwitchSpeed, p.object); !ok {
			s.rate, ok = p.Rate.Get()
			s.from = orElse(p.Rate.From.String(), s.from)
		}
		if s.nominal, known = p.Nominal.Get(); !known {
			s.nominal, known = v.siblingSpeed(p)
		}
		if ok && known {
			judge(s, telemetry.SwitchTxBytes)
		}
	}
	for _, n := range v.nics() {
		if n.State.Is(func(s string) bool { return !strings.Contains(strings.ToUpper(s), "ACTIVE") }) {
			continue // a port that is down shows the lowest rate there is
		}
		s := slowLink{object: n.object, peer: n.Switch, toHost: true, from: v.from(telemetry.NICSpeed, n.object, telemetry.AnyPriority)}
		var ok, known bool
		if s.rate, ok = v.speed(telemetry.NICSpeed, n.object); !ok {
			s.rate, ok = n.Rate.Get()
			s.from = orElse(n.Rate.From.String(), s.from)
		}
		if s.nominal, known = n.Nominal.Get(); !known {
			s.nominal, known = v.sisterSpeed(n)
		}
		if ok && known {
			judge(s, telemetry.NICTxBytes)
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

// sisterSpeed is the speed of a NIC port's sisters where nothing tells what it is built for: the ports of the same part
// on its host, or those of the same name on other hosts. At least three must agree, and none be faster, and the port
// must run at a half, a quarter or an eighth of it, which is what lost lanes and a fallback of the speed leave.
func (v *View) sisterSpeed(n nic) (units.Rate, bool) {
	sisters := once(v, func(f *facts) **map[string]map[units.Rate]int { return &f.sisters }, func() map[string]map[units.Rate]int {
		votes := map[string]map[units.Rate]int{}
		for _, m := range v.nics() {
			rate, ok := m.Rate.Get()
			if !ok || rate <= 0 {
				continue
			}
			for _, k := range sisterKeys(m) {
				if votes[k] == nil {
					votes[k] = map[units.Rate]int{}
				}
				votes[k][rate]++
			}
		}
		return votes
	})
	rate, ok := n.Rate.Get()
	if !ok || rate <= 0 {
		return 0, false
	}
	for _, k := range sisterKeys(n) {
		var most units.Rate
		for r := range sisters[k] {
			most = max(most, r)
		}
		if ratio := most / rate; sisters[k][most] >= 3 && most%rate == 0 && (ratio == 2 || ratio == 4 || ratio == 8) {
			return most, true
		}
	}
	return 0, false
}

// sisterKeys are what the sisters of a port have in common with it.
func sisterKeys(n nic) (keys []string) {
	layer := n.LinkLayer.Or("")
	switch part := n.PartID.Or(0); {
	case n.Board.Known():
		keys = append(keys, n.host.Name+"/board "+n.Board.Or("")+layer)
	case n.Model.Known():
		keys = append(keys, n.host.Name+"/model "+n.Model.Or("")+layer)
	case part != 0:
		keys = append(keys, fmt.Sprintf("%s/part %d%s", n.host.Name, part, layer))
	}
	if n.host.Name != "" {
		keys = append(keys, "device "+n.Device+layer)
	}
	return keys
}

func (v *View) degradedFinding(slow []slowLink) Finding {
	worst := slow[0]
	f := Finding{
		Title:    fmt.Sprintf("link runs at %v, nominal %v: %s", worst.rate, worst.nominal, worst.ends()),
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
