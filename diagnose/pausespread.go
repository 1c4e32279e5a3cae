package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/telemetry"
)

// PFC pause spreading: one congested queue pauses the ports that feed it, their queues fill and pause the next
// tier, until flows that never meet the congested port stand still as well (head-of-line blocking).
//
//	symptom    many unrelated flows slow at once; pauses at ports between switches
//	evidence   pauses received by ports between switches, traced down to the one congested queue that nobody pauses
//	against    pauses between a leaf and its hosts alone: the backstop at work, local
//	settles    the pause counters of every hop at the same time
//
// On its own it means that the root of the pauses is a queue that no other cause explains.
var pauseSpreadCause = Cause{
	Code:  "L013",
	Title: "PFC pause spreads from one congested queue",
	Needs: "pause counters of switch ports (SAI PFC RX/TX)",
	Check: checkPauseSpread,
}

func checkPauseSpread(v *View) Verdict {
	prio := v.rocePriority()
	known := 0
	var paused []port // ports between switches that their peer paused for a notable share of the time
	var time float64
	for _, p := range v.ports() {
		share, ok := v.pausedShare(telemetry.SwitchPFCRxTime, p.object, prio)
		if !ok {
			continue
		}
		known++
		if share >= pauseShare && !v.toHost(p) {
			paused = append(paused, p)
			time = max(time, share)
		}
	}
	if known == 0 {
		return cannotCheck("no switch port's pause time over the window")
	}
	if len(paused) == 0 {
		return ruledOut(fmt.Sprintf("none of %s between switches is paused for %.0f %% of the time", count(known, "port"), 100*pauseShare))
	}
	root, how := v.pauseRoot(paused, prio)
	f := Finding{
		Severity: Warning, Confidence: 0.7,
		Because: "a full queue pauses every port that feeds it, whatever else those ports carry, and their queues pause the next ones",
		WrongIf: "the pauses at the tier above began before the queue named here grew",
		Settle:  "the cause of the queue at the root: who sends there, and whether the port or the host behind it is slow",
		Fix:     Fix{Text: "mark before pausing (ECN kmax below the XOFF point) and remove the cause at the root queue"},
	}
	nics := 0
	for _, n := range v.nics() {
		if s, ok := v.pausedShare(telemetry.NICRxPauseTime, n.object, prio); ok && s >= pauseShare {
			nics++
		}
	}
	if root.object != "" {
		f.Title = fmt.Sprintf("PFC pause spreads from %s to %s between switches and %s", root.object, count(len(paused), "port"), count(nics, "NIC"))
		f.Where = append(f.Where, root.object)
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "queue at " + root.object + ", which nobody pauses", Seen: how, Role: "cause",
			At: v.onset(telemetry.SwitchECNMarked, root.object, prio), From: telemetry.SwitchQueuePeak.String()})
	} else {
		f.Title = fmt.Sprintf("PFC pause spreads over %s between switches and %s; its root is not visible", count(len(paused), "port"), count(nics, "NIC"))
		f.Confidence = 0.5
	}
	for _, p := range paused {
		f.Where = append(f.Where, p.object)
	}
	f.Evidence = append(f.Evidence,
		Evidence{Layer: "switch", What: fmt.Sprintf("pause at %s between switches", count(len(paused), "port")), Seen: fmt.Sprintf("up to %.2g %% of the time", 100*time),
			Expected: "under 1 %", Role: "effect", At: v.onset(telemetry.SwitchPFCRx, paused[0].object, prio), From: telemetry.SwitchPFCRxTime.String()},
		Evidence{Layer: "NIC", What: "NICs paused by their switch", Seen: fmt.Sprint(nics), Expected: "0", Role: "effect", From: telemetry.NICRxPauseTime.String()})
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return found(f)
}

// pauseRoot follows the pauses down: from a paused port to the switch that paused it, and there to the congested
// egress port that is paused least. The walk ends at a port that nobody pauses, or after as many hops as there are
// switches.
func (v *View) pauseRoot(paused []port, prio int8) (root port, how string) {
	at := slices.MaxFunc(paused, func(a, b port) int {
		x, _ := v.pausedShare(telemetry.SwitchPFCRxTime, a.object, prio)
		y, _ := v.pausedShare(telemetry.SwitchPFCRxTime, b.object, prio)
		return cmp.Compare(x, y)
	})
	for range len(v.Inv.Switches) {
		sw, _, _ := strings.Cut(at.Peer, "/")
		next, grew := port{}, 0.0
		for _, p := range v.ports() {
			congested, known, h := v.congestion(p, prio)
			level, _ := v.Win.Level(key(telemetry.SwitchQueuePeak, p.object, prio))
			if p.sw.Name != sw || !known || !congested || level.Max < grew {
				continue
			}
			next, grew, how = p, level.Max, h
		}
		if next.object == "" {
			return port{}, ""
		}
		if s, ok := v.pausedShare(telemetry.SwitchPFCRxTime, next.object, prio); !ok || s < pauseShare {
			return next, how
		}
		at = next
	}
	return port{}, ""
}
