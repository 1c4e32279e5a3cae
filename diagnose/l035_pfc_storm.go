package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// L035: the PFC watchdog of a switch dropped a paused queue.
//
// Symptom: RDMA in one priority through one port is lost for periods; QPs give up with status 12. Mechanism: a peer that
// keeps sending PFC pauses (a stalled NIC or host) would stop the fabric behind it; the watchdog declares a storm after
// its detection time and drops what the queue holds and gets (SONiC, pfcwd, action drop) until the pauses end. Evidence
// for: its storm and drop counters. The culprit is who sends the pauses: what hangs off the port, not the switch.
// Look-alikes: L031 (pauses that spread, none long enough to be a storm), L012 (a slow receiver).
var causePFCStorm = Cause{
	Code:     "L035",
	Title:    "the PFC watchdog dropped a paused queue",
	Needs:    "show pfcwd stats",
	Explains: []string{"R004", "L033", "J002", "J003", "L039"},
	Check:    checkPFCStorm,
}

func checkPFCStorm(v *View) Verdict {
	if v.Win == nil {
		return cannotCheck("show pfcwd stats")
	}
	keys := v.keys(telemetry.SwitchPFCStorms)
	if len(keys) == 0 {
		if v.Inv.Simulated {
			return notApplicable("no PFC watchdog in the simulated fabric")
		}
		return cannotCheck("show pfcwd stats")
	}
	var findings []Finding
	for _, k := range keys {
		total, ok := v.lastCount(k)
		if !ok || total == 0 {
			continue
		}
		grown, twice := v.Win.Delta(k)
		ended, endedKnown := v.lastCount(telemetry.Key{Series: telemetry.SwitchPFCStormsEnded, Object: k.Object, Priority: k.Priority})
		now := endedKnown && total > ended
		if twice && grown == 0 && !now {
			continue // all of it was before the first reading
		}
		where := spoken(k.Object)
		culprit := v.peerOf(k.Object)
		f := Finding{
			Severity: Warning, Confidence: likely, Where: []string{where},
			Because: "the peer behind the port sends pauses without end; the watchdog gives up on the queue and drops what is in it, so that the pause does not spread through the fabric",
			Not:     []string{"a fault of the switch: it reacts to pauses it receives", "ordinary congestion: pauses then are short and the watchdog stays quiet"},
			WrongIf: "the counters are from before the job, and did not grow since",
			Fix: Fix{
				Text:     "find the host or NIC behind the port that sends pauses (a hung host, a NIC that cannot write to memory) and mend it; detection and restoration times only decide how soon the switch lets go",
				Commands: []string{"show pfcwd stats", "show pfc counters", "ethtool -S IFACE | grep -E 'tx_prio._pause|tx_pause_storm'", "show lldp table"},
			},
			Settle: "tx_prioN_pause_duration of the host behind the port, read twice",
		}
		keeps := "kept"
		if now {
			keeps = "keeps"
		}
		f.Title = fmt.Sprintf("the PFC watchdog dropped queue %d of %s: %s %s it paused", k.Priority, where, orElse(culprit, "a peer"), keeps)
		if culprit != "" {
			f.Where = []string{culprit, where}
		}
		n, once := grown, !twice
		if once {
			n = total
		}
		f.Evidence = []Evidence{v.counterRow(k, n, once, "0", "cause")}
		if now {
			f.Severity, f.Confidence = Critical, named
			f.Evidence[0].Seen += fmt.Sprintf("; %.0f in all, %.0f ended: stormed now", total, ended)
		} else if twice {
			f.Severity, f.Confidence = Critical, named
		}
		dk := telemetry.Key{Series: telemetry.SwitchPFCStormDrops, Object: k.Object, Priority: k.Priority}
		if drops, once, ok := v.grownOrTotal(dk); ok && drops > 0 {
			f.Evidence = append(f.Evidence, v.counterRow(dk, drops, once, "0", "effect"))
		}
		f.Evidence = append(f.Evidence, tell(v.unreachable(), "effect")...)
		findings = append(findings, f)
	}
	if len(findings) > 0 {
		return found(findings...)
	}
	return ruledOut("the PFC watchdog found no storm")
}

// lastCount is the last reading of a counter, in the series' unit.
func (v *View) lastCount(k telemetry.Key) (float64, bool) {
	p, ok := v.Win.Points(k)
	if !ok || len(p.Samples) == 0 {
		return 0, false
	}
	return float64(p.Samples[len(p.Samples)-1].Count) * p.Scale, true
}

// peerOf is what hangs off a switch port, "" where it is not known.
func (v *View) peerOf(object string) string {
	name, portName, _ := strings.Cut(object, "/")
	for _, s := range v.Inv.Switches {
		if s.Name != name {
			continue
		}
		if i := slices.IndexFunc(s.Ports, func(p evidence.SwitchPort) bool { return p.Name == portName }); i >= 0 {
			return s.Ports[i].Peer
		}
	}
	return ""
}
