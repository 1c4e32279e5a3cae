package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// ECN marks too early: ordinary bursts are marked, every sender is told to slow down again and again, and no link
// is ever kept busy.
//
//	symptom    throughput far below line rate with no loss and no pause
//	evidence   marks and CNPs at most senders while the busiest marked port idles much of its active time
//	against    real congestion: the marked port is full; a job that sends little
//	settles    kmin and kmax of the queue against bandwidth x round-trip time
var ecnLowCause = Cause{
	Code:  "L031",
	Title: "ECN threshold too low: marks without congestion",
	Needs: "ECN marks, bytes and pauses of switch ports",
	Check: checkECNLow,
}

const (
	// idleBottleneck is the use of the busiest marked port below which marking did not serve: DCQCN's own analysis
	// (Zhu et al. 2015, section 5) keeps a marked bottleneck over 90 % busy, so four fifths leaves room for ramps.
	idleBottleneck = 0.80
	// realQueue is the queue, in time at line rate, from which marking is no mistake: a threshold at or above it marks a
	// queue that stands. 128 KB at 200 Gbit/s, which operators start from, are 5 us; so is about half a round trip
	// across three switches.
	realQueue = 5 * units.Microsecond
	// markedSenders is the share of NICs that must have been told to slow down for the job as a whole to suffer.
	markedSenders = 0.5
)

func checkECNLow(v *View) Verdict {
	prio := v.rocePriority()
	var marked []port
	use := map[string]float64{}
	active := map[string]units.Duration{}
	var marks float64
	known := false
	for _, p := range v.ports() {
		m, ok := v.delta(telemetry.SwitchECNMarked, p.object, prio)
		if !ok {
			continue
		}
		known = true
		rate, rok := p.rate()
		share, act, bok := v.busy(telemetry.SwitchTxBytes, p.object, prio, rate)
		if m == 0 || !rok || !bok {
			continue
		}
		marks += m
		marked = append(marked, p)
		use[p.object], active[p.object] = share, act
	}
	if !known {
		return cannotCheck("no switch queue's ECN marks over the window")
	}
	if len(marked) == 0 {
		return ruledOut("no packet was marked at any port whose bytes are known")
	}
	busiest := slices.MaxFunc(marked, func(a, b port) int { return cmp.Compare(use[a.object], use[b.object]) })
	if use[busiest.object] >= idleBottleneck {
		return ruledOut(fmt.Sprintf("the busiest marked port, %s, is in use %.0f %% of its active time", busiest.object, 100*use[busiest.object]))
	}
	if real, how := v.queueIsReal(marked, prio); real {
		return ruledOut(how)
	}
	if share, ok := v.worstPause(prio); ok && share >= pauseShare {
		return ruledOut(fmt.Sprintf("ports are paused up to %.2g %% of the time: the queues were real", 100*share))
	}
	told, nics := 0, 0
	for _, n := range v.nics() {
		if d, ok := v.delta(telemetry.NICCNPHandled, n.object, telemetry.AnyPriority); ok {
			nics++
			if d > 0 {
				told++
			}
		}
	}
	if nics > 0 && float64(told) < markedSenders*float64(nics) {
		return ruledOut(fmt.Sprintf("only %d of %d NICs were told to slow down", told, nics))
	}
	// The most marked port, not the busiest, is the one to show.
	worst := slices.MaxFunc(marked, func(a, b port) int {
		x, _ := v.delta(telemetry.SwitchECNMarked, a.object, prio)
		y, _ := v.delta(telemetry.SwitchECNMarked, b.object, prio)
		return cmp.Compare(x, y)
	})
	f := Finding{
		Title:    fmt.Sprintf("ECN marks without congestion: the busiest marked link runs at %.0f %% of its rate", 100*use[busiest.object]),
		Severity: Critical, Confidence: 0.85,
		Where:   []string{worst.object},
		Because: "marking begins before a queue of any length stands, so ordinary bursts are answered with rate cuts that take far longer to recover than the burst lasted",
		WrongIf: "the job sends too little to fill any link even without congestion control",
		Settle:  "the same run with the threshold raised, or DCQCN off on one pair of hosts",
		Not:     []string{"a full link (no marked port is kept busy)", "PFC (no port is paused for 1 % of the time)"},
	}
	if use[busiest.object] > 0.6 {
		f.Severity = Warning
	}
	m, _ := v.delta(telemetry.SwitchECNMarked, worst.object, prio)
	f.Evidence = []Evidence{
		{Layer: "switch", What: "marks at " + worst.object, Seen: fmt.Sprintf("%.0f of %.0f", m, marks), Role: "cause", At: v.onset(telemetry.SwitchECNMarked, worst.object, prio), From: telemetry.SwitchECNMarked.String()},
		{Layer: "switch", What: "busy share of " + busiest.object + ", busiest of the marked", Seen: fmt.Sprintf("%.0f %%", 100*use[busiest.object]), Expected: "over 90 %", Role: "effect", From: telemetry.SwitchTxBytes.String()},
	}
	kmin, set := v.Inv.Setting("switch.ecn.kmin")
	if set {
		f.Evidence = slices.Insert(f.Evidence, 0, Evidence{Layer: "switch", What: "ECN threshold kmin", Seen: kmin.Value, Expected: "about rate x RTT", Role: "cause", From: kmin.From.String()})
		f.Evidence[1].Role = ""
		f.Confidence = 0.93
	}
	f.Evidence = append(f.Evidence, v.cnpRow()...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	lost := units.Duration(float64(active[busiest.object]) * (1 - use[busiest.object]))
	if c, ok := v.share(lost, fmt.Sprintf("(1 - %.2f) x the %v in which %s was active", use[busiest.object], short(active[busiest.object]), busiest.object)); ok {
		f.Cost = c
	}
	f.Fix = Fix{
		Text:     "raise kmin and kmax (start at one and four bandwidth-delay products) and lower pmax, keeping kmax below the XOFF point so that ECN still acts before PFC",
		Commands: []string{"ecnconfig -p PROFILE -gmin 800000 -gmax 3200000 -gdrop 20"},
		Try:      []Change{{Setting: "switch.ecn.kmin", Value: "800KB"}, {Setting: "switch.ecn.kmax", Value: "3200KB"}, {Setting: "switch.ecn.pmax", Value: "20%"}},
	}
	return found(f)
}

// queueIsReal tells whether marks came with a queue that stands: by the threshold where it is known, else by the
// watermarks of the marked ports.
func (v *View) queueIsReal(marked []port, prio int8) (real bool, how string) {
	var rate units.Rate
	var level, n float64
	for _, p := range marked {
		r, _ := p.rate()
		rate = max(rate, r)
		if l, ok := v.Win.Level(key(telemetry.SwitchQueuePeak, p.object, prio)); ok {
			level, n = level+l.Mean, n+1
		}
	}
	least := units.Bytes(rate.BytesPerSecond() * realQueue.Seconds())
	if s, ok := v.Inv.Setting("switch.ecn.kmin"); ok {
		if kmin, err := units.ParseBytes(s.Value); err == nil {
			return kmin >= least, fmt.Sprintf("marking begins at %v, which is %v at line rate: a queue that stands", kmin, short(units.Serialize(kmin, rate)))
		}
	}
	if n == 0 {
		return false, ""
	}
	return level/n >= float64(least), fmt.Sprintf("the queues of the marked ports reach %s on average", amount(level/n))
}

// worstPause is the largest share of time any port or NIC was paused in the priority.
func (v *View) worstPause(prio int8) (worst float64, known bool) {
	for _, p := range v.ports() {
		if s, ok := v.pausedShare(telemetry.SwitchPFCRxTime, p.object, prio); ok {
			worst, known = max(worst, s), true
		}
	}
	for _, n := range v.nics() {
		if s, ok := v.pausedShare(telemetry.NICRxPauseTime, n.object, prio); ok {
			worst, known = max(worst, s), true
		}
	}
	return worst, known
}

// ECN marks too late: queues reach the pause threshold before the marking threshold, so the network stops senders
// hop by hop instead of slowing those who cause the queue.
//
//	symptom    pauses at hosts and between switches, victims among flows that share a switch with the congestion
//	evidence   pause time without marks, or pauses that began long before the first mark
//	against    a slow receiver (the host pauses, marks would not help); pauses with marks: ECN at work, PFC as backstop
//	settles    kmax of the queue against its XOFF point
var ecnHighCause = Cause{
	Code:     "L032",
	Title:    "ECN threshold too high, or ECN off: PFC acts first",
	Needs:    "ECN marks and pause time of switch ports or NICs",
	Explains: []string{"L013", "L011", "L039"},
	Check:    checkECNHigh,
}

func checkECNHigh(v *View) Verdict {
	prio := v.rocePriority()
	worst, known := v.worstPause(prio)
	if !known {
		return cannotCheck("no pause time of any switch port or NIC over the window")
	}
	if worst < pauseShare {
		return ruledOut(fmt.Sprintf("nothing is paused for %.0f %% of the time", 100*pauseShare))
	}
	var marks, pauses float64
	marksKnown := false
	var firstPause, firstMark *units.Instant
	var where []string
	for _, p := range v.ports() {
		if d, ok := v.delta(telemetry.SwitchECNMarked, p.object, prio); ok {
			marks, marksKnown = marks+d, true
			firstMark = earlier(firstMark, v.onset(telemetry.SwitchECNMarked, p.object, prio))
		}
		if d, ok := v.delta(telemetry.SwitchPFCTx, p.object, prio); ok && d > 0 {
			pauses += d
			firstPause = earlier(firstPause, v.onset(telemetry.SwitchPFCTx, p.object, prio))
			if !slices.Contains(where, p.sw.Name) {
				where = append(where, p.sw.Name)
			}
		}
	}
	if !marksKnown {
		return cannotCheck("no switch queue's ECN marks over the window")
	}
	// Marks beside pauses mean that ECN works and PFC is its backstop; fewer marks than pauses mean that it hardly did.
	if marks > pauses {
		return ruledOut(fmt.Sprintf("%.0f packets were marked against %.0f pauses sent", marks, pauses))
	}
	if pauses == 0 {
		return ruledOut("the pauses come from hosts, not from switches")
	}
	f := Finding{
		Title:    fmt.Sprintf("PFC acts before ECN: %.0f pauses sent by %s, %.0f packets marked", pauses, count(len(where), "switch"), marks),
		Severity: Warning, Confidence: 0.85, Where: where,
		Because: "queues reach the point where the switch pauses its neighbours before they reach the point where it marks, so the senders that cause the queue are never told",
		WrongIf: "the queues named are not in the profile that marks, or the NICs ignore marks",
		Settle:  "show ecn and show pfc counters of one of these switches: kmax against the XOFF point of the queue",
		Fix: Fix{
			Text:     "lower kmin and kmax below the XOFF point of the queue, so that ECN acts first and PFC is the backstop",
			Commands: []string{"ecnconfig -p PROFILE -gmin 800000 -gmax 3200000 -gdrop 20"},
			Try:      []Change{{Setting: "switch.ecn.off", Value: "false"}, {Setting: "switch.ecn.kmin", Value: "400KB"}, {Setting: "switch.ecn.kmax", Value: "1600KB"}, {Setting: "switch.ecn.pmax", Value: "20%"}},
		},
		Evidence: []Evidence{
			{Layer: "switch", What: "packets marked in all egress queues", Seen: fmt.Sprintf("%.0f", marks), Expected: "more than there are pauses", Role: "cause", At: firstMark, From: telemetry.SwitchECNMarked.String()},
			{Layer: "switch", What: "pauses sent by " + count(len(where), "switch"), Seen: fmt.Sprintf("%.0f, up to %.2g %% of the time", pauses, 100*worst), Expected: "few: the backstop", Role: "effect", At: firstPause, From: telemetry.SwitchPFCTx.String()},
		},
	}
	if s, ok := v.Inv.Setting("switch.ecn.off"); ok && s.Value == "true" {
		f.Title = fmt.Sprintf("ECN is off: %.0f pauses sent by %s instead", pauses, count(len(where), "switch"))
		f.Evidence[0] = Evidence{Layer: "switch", What: "ECN marking", Seen: "off", Expected: "on, below the XOFF point", Role: "cause", From: s.From.String()}
		f.Confidence = 0.93
	} else if s, ok := v.Inv.Setting("switch.ecn.kmin"); ok {
		f.Evidence = slices.Insert(f.Evidence, 0, Evidence{Layer: "switch", What: "ECN threshold kmin", Seen: s.Value, Expected: "below the XOFF point of the queue", Role: "cause", From: s.From.String()})
		f.Evidence[1].Role = ""
		f.Confidence = 0.92
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	if v.hostsPause() == 0 {
		f.Not = append(f.Not, "a slow receiver (no PFC pause from hosts)")
	}
	return found(f)
}

// earlier is the earlier of two instants, either of which may be unknown.
func earlier(a, b *units.Instant) *units.Instant {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
