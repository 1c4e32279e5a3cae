package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// L024: a capture shows a link that is held paused.
//
// Symptom: a priority stands still on one link and what is behind it fills up. Mechanism: the peer sends pause frames
// again before the last one has run out. Evidence for: the frames, their time and the speed of the link. Look-alikes:
// short pauses, which are how a lossless class works. Most NICs keep pause frames from the host and most switches do not
// mirror them, so that a capture without them rules nothing out.
var causeCapturedPause = Cause{
	Code:     "L024",
	Title:    "a link is held paused (captured pause frames)",
	Needs:    "a packet capture with pause frames and the speed of the link",
	Explains: []string{"L031", "L035"},
	Check:    checkCapturedPause,
}

const (
	// stormTime is when a pause is a storm: watchdogs of switches detect at 100 to 400 ms (SONiC's pfcwd default is 200).
	stormTime = 100 * units.Millisecond
	// heldShare is the part of the time from which pauses cost bandwidth worth a warning.
	heldShare = 0.1
)

func checkCapturedPause(v *View) Verdict {
	var findings []Finding
	seen := 0
	for _, c := range v.Inv.Captures {
		for _, p := range c.Pauses {
			seen += p.Frames.Count
			if holds(c, p.Held, p.Longest) {
				findings = append(findings, v.heldFinding(c, p))
			}
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case seen == 0:
		return cannotCheck("pause frames in a capture (most NICs and mirror ports do not show them)")
	}
	return ruledOut(count(seen, "pause") + " in the capture, each short")
}

// holds tells whether pauses of that length matter in the capture.
func holds(c evidence.Capture, held, longest units.Duration) bool {
	return longest >= stormTime || c.Span >= units.Millisecond && heldOf(c, held) >= heldShare
}

func heldOf(c evidence.Capture, held units.Duration) float64 {
	if c.Span <= 0 {
		return 0
	}
	return min(float64(held)/float64(c.Span), 1)
}

func (v *View) heldFinding(c evidence.Capture, p evidence.Pauses) Finding {
	what := fmt.Sprintf("priority %d", p.Priority)
	if p.Priority < 0 {
		what = "all priorities (802.3x)"
	}
	who := v.ownerOfMAC(p.Sender)
	part, longest := fmt.Sprintf("%.0f %%", 100*heldOf(c, p.Held)), short(p.Longest)
	if !p.Exact {
		part = fmt.Sprintf("%.2g to %.0f %%", 100*heldOf(c, p.HeldLeast), 100*heldOf(c, p.Held))
		longest = short(p.LongestLeast) + " to " + longest
	}
	f := Finding{
		Title:    fmt.Sprintf("%s pauses %s for %s of the capture", who, what, part),
		Severity: Warning, Confidence: named, Where: []string{who},
		Because: "it renews its pause before the last one has run out: what sends to it stands still, and the queue behind fills until it pauses in its turn",
		Evidence: []Evidence{
			{Layer: "switch", What: "pause frames of " + p.Sender, Seen: fmt.Sprintf("%s, %d that let go", count(p.Frames.Count, "frame"), p.Resumes), Expected: "few, each followed by one that lets go", Role: "cause", From: p.Frames.At.String()},
			{Layer: "switch", What: "longest time without a break", Seen: longest, Expected: "under 1 ms", Role: "cause", From: c.From.String()},
		},
		WrongIf: "the counters of its pauses on the port did not grow in that time",
		Settle:  "tx_prioN_pause_duration of that device, read twice, and the speed of the link",
		Fix: Fix{
			Text:     "find out why it cannot take what it gets: a NIC that cannot write to memory (PCIe, a hung host), or a switch port that is paused itself; then follow the pauses to where they begin",
			Commands: []string{"ethtool -S IFACE | grep -E 'prio._pause|pause_storm'", "show pfc counters", "show pfcwd stats"},
		},
	}
	if p.Longest >= stormTime {
		f.Severity = Critical
	}
	if !p.Exact && p.LongestLeast < stormTime {
		f.Confidence, f.Severity = likely, Warning
		f.Settle = "the speed of the link: the capture does not tell it, and times were worked out for 1.6 Tb/s and for 10 Gb/s"
		if !holds(c, p.HeldLeast, p.LongestLeast) {
			f.Confidence, f.Severity = possible, Note
		}
	}
	if p.Priority >= 0 && v.Win != nil {
		if s, ok := v.worstPause(int8(p.Priority)); ok && s > 0 {
			f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: fmt.Sprintf("pause in priority %d", p.Priority), Seen: fmt.Sprintf("up to %.2g %% of the time", 100*s), Expected: "0", Role: "effect", From: telemetry.SwitchPFCRxTime.String()})
		}
	}
	return f
}

// ownerOfMAC is the interface with a hardware address, or the address itself.
func (v *View) ownerOfMAC(mac string) string {
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if m, ok := d.MAC.Get(); ok && strings.EqualFold(m, mac) {
				return object(h.Name, d.Name)
			}
		}
	}
	return mac
}
