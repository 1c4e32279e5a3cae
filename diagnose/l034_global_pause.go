package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// L034: 802.3x pause stops the whole link.
//
// Symptom: a flow stays at a fixed part of the line rate with every drop counter at zero, as if the sender were
// slow. Mechanism: a global pause (IEEE 802.3 annex 31B) stops all priorities; the share of the time paused is
// lost to everybody. Received pauses: the peer cannot keep up; sent: this host cannot. Counters are totals since
// the driver was loaded, so only their growth counts. Evidence for: pause time that grew. Against: no growth.
// Look-alikes: L031 (PFC, one priority), a slow sender.
var causeGlobalPause = Cause{
	Code:     "L034",
	Title:    "802.3x pause stops the link for part of the time",
	Needs:    "two readings of ethtool -S (rx_global_pause_duration), ethtool -a",
	Explains: []string{"J002"},
	Check:    checkGlobalPause,
}

// Shares of the time a link may be paused. A few percent cannot be felt beside the few percent of overhead that
// every link has (preamble and gap: 20 bytes of a 1044 byte RoCE frame are 2 %); a fifth is a lost NIC in five.
const (
	pausedNoticeably = 0.02
	pausedCritically = 0.20
)

func checkGlobalPause(v *View) Verdict {
	if v.Win == nil {
		return cannotCheck("two readings of ethtool -S")
	}
	var findings []Finding
	looked := false
	for _, dir := range []struct {
		time, frames telemetry.SeriesID
		rx           bool
	}{{telemetry.NICRxGlobalPauseTime, telemetry.NICRxGlobalPause, true}, {telemetry.NICTxGlobalPauseTime, telemetry.NICTxGlobalPause, false}} {
		for _, k := range v.keys(dir.time) {
			paused, ok := v.Win.Delta(k)
			looked = looked || ok
			if !ok || paused <= 0 {
				continue
			}
			elapsed, timed := v.Win.Elapsed(k)
			share := 0.0
			if timed {
				share = paused / elapsed.Seconds()
				if share < pausedNoticeably {
					continue
				}
			} else if paused < pausedNoticeably { // readings by hand are a second or more apart
				continue
			}
			findings = append(findings, v.globalPauseFinding(k, dir.frames, dir.rx, paused, share, timed))
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case looked:
		return ruledOut("no 802.3x pause time to speak of grew between the readings")
	}
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if d.Global.Is(func(p evidence.PauseSetting) bool { return p.Rx || p.Tx }) {
				return cannotCheck(fmt.Sprintf("two readings of ethtool -S of %s, on which 802.3x pause is switched on", object(h.Name, d.Name)))
			}
		}
	}
	return cannotCheck("two readings of ethtool -S (rx_global_pause_duration)")
}

func (v *View) globalPauseFinding(k telemetry.Key, frames telemetry.SeriesID, rx bool, paused, share float64, timed bool) Finding {
	who, fault := "its peer paused it", "the switch or host at the other end cannot take what arrives"
	if !rx {
		who, fault = "it paused its peer", "this host cannot take what arrives (PCIe, memory, or a slow reader)"
	}
	f := Finding{
		Severity: Warning, Confidence: likely, Where: []string{spoken(k.Object)},
		Because: "a global pause stops all priorities of the link, and the time is lost to everything on it: " + fault,
		Not:     []string{"a slow sender: the NIC was told to wait; loss: a paused link drops nothing, so drop counters stay at zero"},
		WrongIf: "the pause time did not grow while the job ran",
		Fix: Fix{
			Text:     "switch 802.3x off and use PFC in the priority of RoCE, or mend the receiver that cannot keep up",
			Commands: []string{"ethtool -A IFACE rx off tx off", "ethtool -a IFACE"},
		},
		Settle: "ethtool -S twice, ten seconds apart under load: growth of rx_global_pause_duration (us) against the time between",
	}
	row := v.counterRow(k, paused, false, "0", "cause")
	f.Evidence = []Evidence{row}
	if at, ok := v.Win.Onset(k, 0.01); ok {
		f.Evidence[0].At = &at
	}
	if timed {
		f.Title = fmt.Sprintf("802.3x pause stops the link of %s for %.1f %% of the time: %s", spoken(k.Object), 100*share, who)
		f.Confidence = proven
		if share >= pausedCritically {
			f.Severity = Critical
		}
	} else {
		f.Title = fmt.Sprintf("802.3x pause stopped the link of %s for %.3g s between two readings: %s", spoken(k.Object), paused, who)
	}
	fk := telemetry.Key{Series: frames, Object: k.Object, Priority: telemetry.AnyPriority}
	if n, ok := v.Win.Delta(fk); ok {
		f.Evidence = append(f.Evidence, v.counterRow(fk, n, false, "0", ""))
	}
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if p, ok := d.Global.Get(); ok && (p.Rx || p.Tx) {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "802.3x pause of " + object(h.Name, d.Name), Seen: fmt.Sprintf("rx %t, tx %t", p.Rx, p.Tx), Expected: "off, with PFC for RoCE", Role: "cause", From: d.Global.From.String()})
			}
		}
	}
	return f
}
