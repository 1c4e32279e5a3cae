package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// L023: marked packets are not answered with congestion notifications.
//
// Symptom: queues stay full and pause although ECN is on. Mechanism: switches mark (CE), but the receiving NIC sends no
// CNP, so the sender never slows down: DCQCN's notification point is off, or for another priority than the packets have.
// Evidence for: CE packets to a host that acknowledges and sends no CNP. Look-alikes: rate control that needs no
// CNP (by delay, by acknowledgement) and a capture of another way than the CNPs took.
var causeUnansweredMarks = Cause{
	Code:     "L023",
	Title:    "marked packets are not answered with congestion notifications",
	Needs:    "a packet capture with both directions",
	Explains: []string{"L031", "L033"},
	Check:    checkUnansweredMarks,
}

// fewMarks is how many marks may be unanswered: those at the end of a capture have their answers behind it.
const fewMarks = 10

func checkUnansweredMarks(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	marked, notices := 0, 0
	var deaf []*pair
	oneWay := false
	pairs := v.pairs()
	for _, p := range pairs {
		m := p.tally(func(s *evidence.Stream) evidence.Tally { return s.Marked }).Count
		n := tallied(p.back, func(s *evidence.Stream) evidence.Tally { return s.Notices }).Count
		marked, notices = marked+m, notices+n
		switch {
		case m < fewMarks || n > 0:
		case !slices.ContainsFunc(p.back, func(s *evidence.Stream) bool { return s.Answers > 0 }):
			oneWay = true
		default:
			deaf = append(deaf, p)
		}
	}
	switch {
	case len(deaf) == 0 && oneWay:
		return cannotCheck("a capture with both directions: the hosts that get marked packets send nothing in this one")
	case len(deaf) == 0 && marked == 0:
		return ruledOut("no packet in the capture is marked (CE)")
	case len(deaf) == 0:
		return ruledOut(fmt.Sprintf("%s answered with %s", count(marked, "marked packet"), count(notices, "notification")))
	}
	p := deaf[0]
	m := p.tally(func(s *evidence.Stream) evidence.Tally { return s.Marked })
	f := Finding{
		Title:    fmt.Sprintf("%s sends no congestion notifications for %s of %s", p.dst, count(m.Count, "marked packet"), p.src),
		Severity: Warning, Confidence: possible, Where: []string{p.dst, p.src},
		Because: "the receiver acknowledges and never tells the sender that its packets were marked, so the sender does not slow down and the queue in between stays full until PFC stops it",
		Evidence: []Evidence{
			frames("switch", "packets from "+p.src+" that arrive marked (CE)", "cause", m, ""),
			{Layer: "NIC", What: "congestion notifications from " + p.dst + " to " + p.src, Seen: "0", Expected: "at least one in 50 us with marks (DCQCN)", Role: "cause", From: v.Inv.Captures[0].From.String()},
		},
		WrongIf: "the NICs control their rate by delay or by acknowledgements and need no notifications, or the notifications take a way past the place of the capture",
		Settle:  "np_ecn_marked_roce_packets and np_cnp_sent of the receiving NIC, read twice",
		Fix: Fix{
			Text:     "turn on the notification point of DCQCN on the receiving NIC, for the priority RoCE travels in",
			Commands: []string{"grep . /sys/class/net/IFACE/ecn/roce_np/enable/*", "grep . /sys/class/infiniband/*/ports/1/hw_counters/np_*"},
		},
	}
	if notices > 0 {
		f.Confidence = likely
		f.Not = append(f.Not, fmt.Sprintf("a place that sees no notifications: %s others are in the capture", count(notices, "notification of")))
	}
	for _, o := range deaf[1:min(len(deaf), 5)] {
		f.Where = append(f.Where, o.dst)
	}
	return found(f)
}
