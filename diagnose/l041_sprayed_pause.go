package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// L041: a switch goes on spraying into a path that is paused.
//
// Symptom: one path is congested, and everything slows, though the other paths have room. Mechanism: every queue pair has packets
// on every path, so each waits for those that stand before the paused port; what waits there fills the switch's buffer, which
// then pauses its hosts (article 000, section 5.3; S0.13). A sprayer that is told of a pause leaves the path out; one that goes by
// utilisation reads a paused port as an idle one. Evidence for: one of a switch's uplinks is paused by its peer for a notable part of
// the time and its siblings are not, while it is given its share as before. Against: siblings paused as much (what is behind all of
// them is slow); a share that shrinks; feedback of pauses that is on. Look-alikes: L013 (pauses that spread without spraying), L012.
var causeSprayedPause = Cause{
	Code:     "L041",
	Title:    "packets are sprayed into a paused path",
	Needs:    "pauses received, or their time, and bytes of each uplink, and how the switch sprays",
	Explains: []string{"L013", "L021", "L031", "L032"},
	Check:    checkSprayedPause,
}

const (
	// sprayedPause is the part of the time that one path must be paused: with equal shares the path's packets come 1/(1-s) later
	// than the others', and 5 % is more than the deviation of sprayed calls from each other.
	sprayedPause = 0.05
	// keptShare is the part of its fair share that a path must still be given for the sprayer not to have noticed.
	keptShare = 0.75
	// pausesMany is how many pauses a path must receive where their time is not counted: a thousand in a window are no accident, as for L012.
	pausesMany = 1000
)

type sprayedIntoPause struct {
	group    sprayedGroup
	port     port
	timed    bool    // paused and siblings are parts of the time, else frames
	paused   float64 // part of the time, or pauses received
	siblings float64 // the most that another path of the group was, or received
	sibling  string  // which one
	given    float64 // of its fair share
	how      string  // what given was told from
	from     string
}

func checkSprayedPause(v *View) Verdict {
	if !v.anySprays() {
		return v.notSprayed()
	}
	prio := v.rocePriority()
	var hits []sprayedIntoPause
	judged, told := 0, 0
	for _, g := range v.sprayedGroups() {
		hit, known := v.pausedPath(g, prio)
		if !known {
			continue
		}
		judged++
		least := sprayedPause
		if !hit.timed {
			least = pausesMany
		}
		if hit.paused < least || hit.siblings > hit.paused/2 || hit.given < keptShare {
			continue
		}
		if on, known := g.sw.Spray.Feedback.Get(); known && on {
			told++
			continue
		}
		hits = append(hits, hit)
	}
	switch {
	case judged == 0:
		return cannotCheck("pauses and bytes of the uplinks of a switch that sprays, read twice")
	case len(hits) == 0 && told > 0:
		return ruledOut("the switches with a paused path are told of pauses at once")
	case len(hits) == 0:
		return ruledOut(fmt.Sprintf("no path of %s is paused for %.0f %% of the time (or %d times) while the others are free", count(judged, "sprayed group"), 100*sprayedPause, pausesMany))
	}
	slices.SortStableFunc(hits, func(a, b sprayedIntoPause) int { return cmp.Compare(b.paused, a.paused) })
	return found(v.sprayedPauseFinding(hits, prio))
}

// pausedPath finds the path of a group that was paused longest, or most often where a port does not count the time; known is false where
// both, or the bytes of a port, are missing.
func (v *View) pausedPath(g sprayedGroup, prio int8) (hit sprayedIntoPause, known bool) {
	if hit, known = v.pausedPathBy(g, prio, v.pausedShare, telemetry.SwitchPFCRxTime); known {
		hit.timed = true
		return hit, true
	}
	return v.pausedPathBy(g, prio, v.delta, telemetry.SwitchPFCRx)
}

func (v *View) pausedPathBy(g sprayedGroup, prio int8, of func(telemetry.SeriesID, string, int8) (float64, bool), id telemetry.SeriesID) (hit sprayedIntoPause, known bool) {
	hit.group = g
	worst, second := -1, -1
	var sum, own float64
	shares := make([]float64, len(g.ports))
	for i, p := range g.ports {
		share, ok := of(id, p.object, prio)
		bytes, counted := v.delta(telemetry.SwitchTxBytes, p.object, prio)
		if !ok || !counted {
			return hit, false
		}
		shares[i], sum = share, sum+bytes
		if worst < 0 || share > shares[worst] {
			worst, own = i, bytes
		}
	}
	for i, s := range shares {
		if i != worst && (second < 0 || s > shares[second]) {
			second = i
		}
	}
	hit.port, hit.paused, hit.siblings, hit.sibling = g.ports[worst], shares[worst], shares[second], g.ports[second].object
	if sum < collisionBytes {
		return hit, true // next to no traffic: nothing is given to any path
	}
	// Lossless traffic that was given to a path leaves through it in the end, so its bytes are what it was given.
	hit.given, hit.how = own/sum*float64(len(g.ports)), "bytes of "+hit.port.object+", mean of "+g.name
	hit.from = v.from(telemetry.SwitchTxBytes, hit.port.object, prio)
	if share, ok := g.share(worst); ok && share*float64(len(g.ports)) < hit.given {
		hit.given, hit.how, hit.from = share*float64(len(g.ports)), "buckets of "+hit.port.object+", mean of "+g.name, g.sw.Spray.From.String()
	}
	return hit, true
}

func (v *View) sprayedPauseFinding(hits []sprayedIntoPause, prio int8) Finding {
	worst := hits[0]
	spray := worst.group.sw.Spray
	p := worst.port
	counter, expected := telemetry.SwitchPFCRxTime, "under 1 %"
	stood := fmt.Sprintf("stood for %.0f %% of the time", 100*worst.paused)
	seen, others := fmt.Sprintf("%.2g %% of the time", 100*worst.paused), fmt.Sprintf("%.2g %% of the time", 100*worst.siblings)
	if !worst.timed {
		counter, expected = telemetry.SwitchPFCRx, "few"
		seen, others = fmt.Sprintf("%.0f pauses", worst.paused), fmt.Sprintf("%.0f pauses", worst.siblings)
		stood = "received " + seen
	}
	f := Finding{
		Title:    fmt.Sprintf("%s sprays on into a paused path: %s -> %s %s and kept %.0f %% of its share", worst.group.sw.Name, p.object, orElse(p.Peer, "the next tier"), stood, 100*worst.given),
		Severity: Critical, Confidence: likely,
		Because: "every queue pair has packets on every path, so all of them wait for those before the paused port; by utilisation a paused port looks idle and is given more",
		WrongIf: "the pauses began at the hosts, or the other paths were paused as well",
		Settle:  "the path taken out of the group by hand: the pauses of the hosts must end",
		Not:     []string{"a slow receiver, which pauses all paths (the others: " + others + " at most)"},
		Fix: Fix{
			Text:   "feed pauses back to the sprayer, so that a paused path is left out at once, and find what is slow behind it",
			Try:    []Change{{Setting: "path.buckets.pause_feedback", Value: "true"}},
			Others: v.lowerThreshold(),
		},
		Evidence: []Evidence{
			{Layer: "switch", What: p.object + " was paused by " + orElse(p.Peer, "its peer"), Seen: seen, Expected: expected, Role: "cause", At: v.onset(telemetry.SwitchPFCRx, p.object, prio), From: v.from(counter, p.object, prio)},
			{Layer: "switch", What: "the most that another of " + worst.group.name + " was", Seen: others, From: v.from(counter, worst.sibling, prio)},
			{Layer: "switch", What: worst.how, Seen: fmt.Sprintf("%.0f %%", 100*worst.given), Expected: "next to none while it is paused", Role: "cause", From: worst.from},
		},
	}
	for _, h := range hits {
		f.Where = append(f.Where, h.port.object)
	}
	if on, known := spray.Feedback.Get(); known && !on {
		f.Confidence = named
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "feedback of pauses to the sprayer", Seen: "off", Expected: "on", Role: "cause", From: spray.Feedback.From.String()})
	}
	if r, ok := spray.Refresh.Get(); ok {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "refresh of the link state", Seen: short(r), From: spray.Refresh.From.String()})
	}
	for _, name := range []string{"switch.xoff", "switch.alpha"} {
		if s, ok := v.Inv.Setting(name); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "pause threshold (" + name + ")", Seen: s.Value, From: s.From.String()})
		}
	}
	paused, known := 0, 0
	for _, n := range v.nics() {
		if s, ok := v.pausedShare(telemetry.NICRxPauseTime, n.object, prio); ok {
			known++
			if s >= pauseShare {
				paused++
			}
		}
	}
	if known > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "NICs paused by their switch", Seen: fmt.Sprintf("%d of %d", paused, known), Expected: "0", Role: "effect", From: telemetry.NICRxPauseTime.String()})
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	if d, ok := v.Win.Delta(key(telemetry.SwitchPFCRxTime, p.object, prio)); ok {
		if c, ok := v.share(units.Duration(d*float64(units.Second)), "time "+p.object+" was paused"); ok {
			f.Cost = c
		}
	}
	return f
}

// lowerThreshold is the other advice of article 000: to pause at 65 % of what pauses at 80 % now. It is tried beside the fix, because it makes pauses
// come earlier and more often, and does not by itself end one sooner.
func (v *View) lowerThreshold() []Alternative {
	a := Alternative{Text: "a pause threshold of 65/80 of the present one (article 000), which by itself only makes pauses come earlier"}
	if s, ok := v.Inv.Setting("switch.xoff"); ok {
		var xoff units.Bytes
		if err := xoff.UnmarshalText([]byte(s.Value)); err == nil && xoff > 0 {
			a.Try = []Change{{Setting: "switch.xoff", Value: (xoff * 65 / 80).String()}}
		}
	}
	if s, ok := v.Inv.Setting("switch.alpha"); ok && a.Try == nil {
		if alpha, err := strconv.ParseFloat(s.Value, 64); err == nil && alpha > 0 {
			a.Try = []Change{{Setting: "switch.alpha", Value: strconv.FormatFloat(alpha*65/80, 'g', 6, 64)}}
		}
	}
	return []Alternative{a}
}
