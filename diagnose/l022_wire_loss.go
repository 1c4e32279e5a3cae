package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// L022: packets are lost between two hosts, as a capture shows.
//
// Symptom: a receiver refuses with a sequence error and its sender repeats, or a sender repeats unasked after its timer.
// Mechanism: a packet did not arrive; with go-back-N everything behind it is sent again. Evidence for: the NAKs, which
// name the number that is missing. A number the capture did not see either was lost before the place it was made at,
// one it saw was lost behind it. Look-alikes: packets that overtake one another under spraying, which a receiver without
// out-of-order placement refuses in the same way (they come late and are not missing); a capture that lost packets
// itself, which no receiver complains of; packets captured twice.
var causeWireLoss = Cause{
	Code:     "L022",
	Title:    "packets are lost between two hosts",
	Needs:    "a packet capture with both directions",
	Explains: []string{"L033", "R004"},
	Check:    checkWireLoss,
}

// wasteful is the share of packets sent again from which the loss is critical: a tenth of the bandwidth is gone.
const wasteful = 0.1

// twice is the share of repeated packets from which a capture has everything twice (mirrored where it comes in and where
// it goes out): half of all, less what is at its ends.
const twice = 0.4

// wireLoss is what a pair shows of loss.
type wireLoss struct {
	*pair
	refused, before, behind, again, late, holes evidence.Tally
	requests, missing                           int
}

func checkWireLoss(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	var bad []*wireLoss
	requests, answers, missing, doubled := 0, 0, 0, false
	for _, p := range v.pairs() {
		l := &wireLoss{pair: p,
			before: p.tally(func(s *evidence.Stream) evidence.Tally { return s.LostBefore }), behind: p.tally(func(s *evidence.Stream) evidence.Tally { return s.LostBehind }),
			again: p.tally(func(s *evidence.Stream) evidence.Tally { return s.Again }), late: p.tally(func(s *evidence.Stream) evidence.Tally { return s.OutOfOrder }),
			holes:    p.tally(func(s *evidence.Stream) evidence.Tally { return s.Holes }),
			requests: p.sum(func(s *evidence.Stream) int { return s.Requests }), missing: p.sum(func(s *evidence.Stream) int { return s.Missing }),
			refused: tallied(p.back, func(s *evidence.Stream) evidence.Tally { return s.Refused(evidence.RefusedSequence) }),
		}
		requests, missing = requests+l.requests, missing+l.missing
		answers += p.sum(func(s *evidence.Stream) int { return s.Answers })
		if l.refused.Count == 0 && float64(l.again.Count) >= twice*float64(l.requests) {
			doubled = doubled || l.again.Count > 0
			continue
		}
		if l.refused.Count > 0 || l.again.Count > 0 {
			bad = append(bad, l)
		}
	}
	switch {
	case len(bad) > 0:
		slices.SortStableFunc(bad, func(a, b *wireLoss) int {
			return cmp.Compare(b.refused.Count+b.again.Count, a.refused.Count+a.again.Count)
		})
		return found(v.wireLossFinding(bad))
	case doubled:
		return cannotCheck("a capture that has each packet once: this one has them twice")
	case answers == 0:
		return cannotCheck("a capture with both directions: this one has no acknowledgements")
	case missing > 0:
		return ruledOut(fmt.Sprintf("%s missing from the capture, and no receiver missed them: they took another way, or the capture lost them", count(missing, "packet")))
	}
	return ruledOut(fmt.Sprintf("%s in sequence, and no receiver missed any", count(requests, "request packet")))
}

func (v *View) wireLossFinding(bad []*wireLoss) Finding {
	l := bad[0]
	share := float64(l.again.Count) / float64(max(l.requests, 1))
	f := Finding{
		Severity: Warning, Confidence: named, Where: []string{l.String()},
		Because:  "a packet that does not arrive makes the receiver refuse all that follow it, and the sender repeats them: one loss costs what was on its way",
		WrongIf:  "the receiver's out_of_sequence did not grow in the time of the capture",
		Settle:   "out_of_sequence and packet_seq_err of both NICs, read twice, and the drop and error counters of the ports between them",
		Evidence: []Evidence{},
		Fix: Fix{
			Text:     "find the port that drops or damages between these two hosts: read the error and drop counters of the ports on the way, and check that RoCE's priority has PFC on each of them",
			Commands: []string{"grep . /sys/class/infiniband/*/ports/1/hw_counters/{out_of_sequence,packet_seq_err,local_ack_timeout_err}", "show interfaces counters; show priority-group drop counters"},
		},
	}
	if share >= wasteful {
		f.Severity = Critical
	}
	kind := "are lost"
	switch {
	case l.refused.Count == 0:
		f.Confidence = likely
		kind = "are sent again without a refusal"
		f.Because = "the sender's timer ran out before an acknowledgement came: the last packets of a message, or the acknowledgement itself, did not arrive"
	case l.late.Count >= l.refused.Count && l.missing == 0:
		f.Confidence = likely
		kind = "overtake one another"
		f.Because = "packets took ways of different length and came out of order; a receiver that places in order only refuses them as if they were lost, and the sender repeats them"
		f.Fix = Fix{Text: "keep a queue pair on one way (hash by flow), or turn on out-of-order placement at both ends before packets are sprayed", Commands: []string{"show ip load-sharing; show ar config   # what spreads packets, by vendor"}}
		f.Settle = "whether the switches between them spray packets, and whether both NICs place out of order"
	default:
		f.Not = append(f.Not, "packets that overtake one another: "+ofAll(l.late.Count, l.requests)+" came late")
	}
	f.Title = fmt.Sprintf("packets from %s to %s %s: %s sent again", l.src, l.dst, kind, ofAll(l.again.Count, l.requests))
	if l.refused.Count > 0 {
		f.Evidence = append(f.Evidence, frames("RDMA", "sequence NAKs of "+l.dst, "cause", l.refused, "0"))
	}
	if n := l.before.Count; n > 0 {
		f.Evidence = append(f.Evidence, frames("RDMA", "of these, for packets the capture did not see either: lost before it", "", l.before, "0"))
	}
	if n := l.behind.Count; n > 0 {
		f.Evidence = append(f.Evidence, frames("RDMA", "of these, for packets the capture saw: lost behind it", "", l.behind, "0"))
	}
	if l.holes.Count > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "sequence numbers skipped in the capture", Seen: fmt.Sprintf("%s, %d never seen", count(l.holes.Count, "time"), l.missing), Expected: "0", From: l.holes.At.String()})
	}
	if l.late.Count > 0 {
		f.Evidence = append(f.Evidence, frames("RDMA", "packets that came behind later ones", "", l.late, "0"))
	}
	if l.again.Count > 0 {
		f.Evidence = append(f.Evidence, frames("RDMA", "packets sent again", "effect", l.again, "0"))
	}
	for _, o := range bad[1:min(len(bad), 5)] {
		f.Where = append(f.Where, o.String())
	}
	if n := v.lostByCapture(); n > 0 {
		f.Not = append(f.Not, fmt.Sprintf("holes alone: the capturing host lost %d packets itself, so that only refusals and repeats count", n))
	}
	return f
}
