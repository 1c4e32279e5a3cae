package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/telemetry"
)

// L037: congestion notifications do not do their work.
//
// Symptom: queues and pauses although ECN is on, or senders that never slow down. Mechanism: a marked packet makes its
// receiver send a notification (CNP, RoCE v2 annex A17.9.3), which makes the sender slow down (DCQCN). Receivers that see
// marks and send nothing, senders that hear nothing of what was sent, or that ignore it, break the circle. Evidence for:
// growth of the counters of both sides over one window. Against: a few packets; counters of one host only, whose peers
// are elsewhere. Look-alikes: L031 and L032, where the circle works at the wrong threshold; notifications for packets
// out of order, which some NICs send without a mark.
var causeNotifications = Cause{
	Code:     "L037",
	Title:    "congestion notifications are not sent, not heard or ignored",
	Needs:    "two readings of the NICs' counters of marks and notifications (hw_counters), of senders and receivers",
	Explains: []string{"L032", "L033"},
	Check:    checkNotifications,
}

// enoughMarks is how many marks or notifications make silence on the other side mean something: at one notification per
// 50 us and connection, the slowest that DCQCN's authors and vendors use, a thousand marks span more than that many times.
const enoughMarks = 1000

func checkNotifications(v *View) Verdict {
	switch {
	case v.Inv.Simulated:
		return notApplicable("a simulated NIC answers each mark as its rate law says")
	case v.roce() == no:
		return notApplicable("InfiniBand has no such notifications")
	}
	marks, marksAt, marksKnown := v.grown(telemetry.NICECNMarked)
	sent, sentAt, sentKnown := v.grown(telemetry.NICCNPSent)
	handled, handledAt, handledKnown := v.grown(telemetry.NICCNPHandled)
	ignored, ignoredAt, ignoredKnown := v.grown(telemetry.NICCNPIgnored)
	row := func(id telemetry.SeriesID, n float64, at telemetry.Key, expected, role string) Evidence {
		return Evidence{Layer: "NIC", What: telemetry.Catalogue[id].Meaning, Seen: fmt.Sprintf("+%.6g", n), Expected: expected, Role: role, From: v.from(id, at.Object, at.Priority)}
	}
	f := Finding{
		Severity: Warning, Confidence: likely,
		WrongIf: "the counters are of hosts that do not talk to each other",
		Settle:  "the same counters of a sender and of its receiver, read twice under load",
	}
	switch {
	case marksKnown && sentKnown && marks >= enoughMarks && sent == 0:
		f.Title = fmt.Sprintf("receivers do not answer marks: %.6g packets arrived marked and no notification was sent", marks)
		f.Where = []string{spoken(marksAt.Object)}
		f.Because = "the notification point is switched off on the receivers, so senders never learn of the queue, and only pause or loss stops them"
		f.Confidence = named
		f.Fix = Fix{Text: "switch the notification point on for RoCE's priority on all NICs", Commands: []string{"cat /sys/class/net/IFACE/ecn/roce_np/enable/3", "echo 1 > /sys/class/net/IFACE/ecn/roce_np/enable/3"}}
		f.Evidence = []Evidence{row(telemetry.NICECNMarked, marks, marksAt, "", "cause"), row(telemetry.NICCNPSent, 0, sentAt, "more than 0", "cause")}
	case sentKnown && handledKnown && sent >= enoughMarks && handled == 0 && v.hostsOf(telemetry.NICCNPSent, telemetry.NICCNPHandled) > 1:
		f.Title = fmt.Sprintf("notifications do not reach the senders: %.6g were sent and none was handled", sent)
		f.Where = []string{spoken(handledAt.Object)}
		f.Because = "notifications that are dropped or sorted into a paused class on their way, or a reaction point that is off, leave senders at full rate"
		if ignoredKnown && ignored > 0 {
			f.Title = fmt.Sprintf("senders ignore notifications: %.6g", ignored)
			f.Because = "the reaction point is switched off on the senders, so nothing slows them down but pause and loss"
			f.Where = []string{spoken(ignoredAt.Object)}
			f.Confidence = named
		}
		f.Fix = Fix{
			Text:     "switch the reaction point on for RoCE's priority; give notifications (DSCP 48 by default) a class of their own with strict priority on NICs and switches",
			Commands: []string{"cat /sys/class/net/IFACE/ecn/roce_rp/enable/3", "cat /sys/class/net/IFACE/ecn/roce_np/cnp_dscp", "sonic-cfggen -d --var-json DSCP_TO_TC_MAP   # the class of 48"},
		}
		f.Evidence = []Evidence{row(telemetry.NICCNPSent, sent, sentAt, "", "cause"), row(telemetry.NICCNPHandled, 0, handledAt, fmt.Sprintf("about %.6g", sent), "cause")}
		if ignoredKnown {
			f.Evidence = append(f.Evidence, row(telemetry.NICCNPIgnored, ignored, ignoredAt, "+0", "cause"))
		}
	case marksKnown && sentKnown && sent >= enoughMarks && marks == 0:
		f.Title = fmt.Sprintf("%.6g notifications were sent although no packet arrived marked", sent)
		f.Severity, f.Confidence = Note, possible
		f.Where = []string{spoken(sentAt.Object)}
		f.Because = "NICs also send notifications for packets that arrive out of order: packets get lost or take several paths, and ECN does not mark on the way"
		f.WrongIf = "the fabric spreads packets over paths on purpose, and the NICs put them in order"
		f.Fix = Fix{Text: "look for loss at the switches; check that the queue of RoCE has a profile that marks", Commands: []string{"show ecn", "show queue counters"}}
		f.Evidence = []Evidence{row(telemetry.NICCNPSent, sent, sentAt, "0 without marks", "cause"), row(telemetry.NICECNMarked, 0, marksAt, "some", "")}
	case !sentKnown || !marksKnown && !handledKnown:
		return cannotCheck("two readings of np_cnp_sent with np_ecn_marked_roce_packets or rp_cnp_handled")
	default:
		return ruledOut(fmt.Sprintf("marks, notifications sent and handled fit: %s", fit(marks, marksKnown, sent, handled, handledKnown)))
	}
	f.Evidence = append(f.Evidence, v.pauseRows()...)
	return found(f)
}

func fit(marks float64, marksKnown bool, sent, handled float64, handledKnown bool) string {
	text := fmt.Sprintf("+%.6g sent", sent)
	if marksKnown {
		text = fmt.Sprintf("+%.6g marked, ", marks) + text
	}
	if handledKnown {
		text += fmt.Sprintf(", +%.6g handled", handled)
	}
	return text
}

// grown adds up the growth of a series over all objects, and names the stream that grew most; known is false where no
// stream was read twice.
func (v *View) grown(id telemetry.SeriesID) (sum float64, most telemetry.Key, known bool) {
	largest := -1.0
	for _, k := range v.keys(id) {
		d, ok := v.Win.Delta(k)
		if !ok {
			continue
		}
		known = true
		sum += d
		if d > largest {
			largest, most = d, k
		}
	}
	return sum, most, known
}

// hostsOf counts the hosts that have two readings of each of the series.
func (v *View) hostsOf(ids ...telemetry.SeriesID) int {
	seen := map[string]int{}
	for i, id := range ids {
		for _, k := range v.keys(id) {
			host := hostOf(k.Object)
			if _, ok := v.Win.Delta(k); ok && seen[host] == i {
				seen[host]++
			}
		}
	}
	n := 0
	for _, have := range seen {
		if have == len(ids) {
			n++
		}
	}
	return n
}

// pauseRows tells of pauses received by NICs beside another fault.
func (v *View) pauseRows() []Evidence {
	n, at, known := v.grown(telemetry.NICRxPause)
	if !known || n == 0 {
		return nil
	}
	return []Evidence{{Layer: "NIC", What: fmt.Sprintf("PFC pauses received, priority %d", at.Priority), Seen: fmt.Sprintf("+%.6g", n), Expected: "few", Role: "effect", From: v.from(telemetry.NICRxPause, at.Object, at.Priority)}}
}
