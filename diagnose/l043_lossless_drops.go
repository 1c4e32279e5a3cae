package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/telemetry"
)

// L043: a switch drops packets in a queue that is meant to lose none.
//
// Symptom: RDMA resends and times out although PFC is on. Mechanism: a pause reaches its sender after a cable, a port and a
// pipeline, and what is under way then needs room (headroom); too little of it, a port on the way in that does not pause,
// or early drop (WRED) without marks in the queue loses packets all the same. Evidence for: the queue's drop counter grows,
// and PFC is on for its priority on that port, or that switch sends or gets pauses in it. Against: nothing these tables hold.
// Look-alikes: drops in a queue of ordinary traffic, which loss is normal for; L035 (the watchdog dropped a queue that was
// paused for too long).
var causeLosslessDrops = Cause{
	Code:     "L043",
	Title:    "a switch drops in a queue that is meant to lose nothing",
	Needs:    "two readings of the switch's queues (SONiC show queue counters, NX-OS show queuing interface, nv show interface counters qos), and PFC by priority",
	Explains: []string{"L033", "R004", "J002"},
	Check:    checkLosslessDrops,
}

// dropped is a lossless queue and what it lost.
type dropped struct {
	key    telemetry.Key
	growth float64
	how    string // it is known to be lossless
	from   string
}

func checkLosslessDrops(v *View) Verdict {
	const needs = "two readings of a switch's queues (show queue counters, before and after), and for which priorities it pauses"
	switch {
	case v.Inv.Simulated:
		return notApplicable("what a simulated switch drops, and why, is told by its causes")
	case v.Win == nil:
		return cannotCheck(needs)
	}
	judged := 0
	var lost []dropped
	for _, k := range v.keys(telemetry.SwitchQueueDropped) {
		growth, ok := v.Win.Delta(k)
		if !ok || k.Priority < 0 {
			continue
		}
		how, from := v.lossless(k.Object, k.Priority)
		if how == "" {
			continue
		}
		judged++
		if growth > 0 {
			lost = append(lost, dropped{k, growth, how, from})
		}
	}
	switch {
	case len(lost) > 0:
		return found(v.losslessFinding(lost))
	case judged > 0:
		return ruledOut(fmt.Sprintf("no drop in %s that pause protects", count(judged, "queue")))
	}
	return cannotCheck(needs)
}

// lossless tells how a queue is known to be one that pause protects, "" where it is not: its port pauses in the priority
// of the same number, or the switch has sent or got pauses in it.
func (v *View) lossless(object string, priority int8) (how, from string) {
	for _, p := range v.ports() {
		if p.object != object || p.QoS == nil {
			continue
		}
		if on, ok := p.QoS.PFC.Get(); ok {
			if !on[priority] {
				return "", ""
			}
			return "PFC is on for it", p.QoS.PFC.From.String()
		}
	}
	name, _, _ := strings.Cut(object, "/")
	for _, id := range []telemetry.SeriesID{telemetry.SwitchPFCTx, telemetry.SwitchPFCRx} {
		for _, k := range v.keys(id) {
			if k.Priority != priority || !strings.HasPrefix(k.Object, name+"/") {
				continue
			}
			if n, ok := v.lastCount(k); ok && n > 0 {
				return fmt.Sprintf("%s pauses in it", orElse(name, "the switch")), v.counterRow(k, n, true, "", "").From
			}
		}
	}
	return "", ""
}

func (v *View) losslessFinding(lost []dropped) Finding {
	slices.SortStableFunc(lost, func(a, b dropped) int { return cmp.Compare(b.growth, a.growth) })
	worst := lost[0]
	where := spoken(worst.key.Object)
	f := Finding{
		Title:    fmt.Sprintf("%s drops in queue %d, which is meant to lose nothing", where, worst.key.Priority),
		Severity: Critical, Confidence: likely,
		Because: "what is under way when a pause is sent needs room: too little headroom for the cable and the speed, a port on the way in that does not pause, or early drop without marks loses it",
		Not:     []string{"ordinary traffic: the queue is one that pause protects"},
		WrongIf: "packets of another class are put into the queue, or it is emptied by the watchdog (show pfcwd stats)",
		Fix: Fix{
			Text: "look at the headroom of the priority group on the ports the traffic comes in by, at PFC on all of them, and at early drop in the queue (it must mark, not drop)",
			Commands: []string{
				"show buffer configuration; show priority-group drop counters   # SONiC", "show queuing interface | include \"QOS GROUP|Drop\"; show interface priority-flow-control   # NX-OS",
				"nv show interface SWP counters qos; nv show qos roce   # Cumulus Linux",
			},
		},
		Settle: "the drop counters of the priority group on the way in, and the watchdog's",
	}
	const shown = 5
	for i, d := range lost {
		if len(f.Where) < shown {
			f.Where = append(f.Where, spoken(d.key.Object))
		}
		if i < shown {
			row := v.counterRow(d.key, d.growth, false, "0", "cause")
			row.Layer = "switch"
			f.Evidence = append(f.Evidence, row)
		}
	}
	f.Where = slices.Compact(f.Where)
	f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: fmt.Sprintf("queue %d of %s", worst.key.Priority, where), Seen: worst.how, From: worst.from})
	return f
}
