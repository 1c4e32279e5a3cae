package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// L025: packets are damaged between the check sequences of links.
//
// Symptom: loss that no link counts as an error. Mechanism: Ethernet's check sequence is made anew at every hop, so bytes
// that go wrong inside a switch or a host arrive with a right one; the ICRC, which no hop changes, is wrong, and the
// receiving NIC drops the packet without a word. Evidence for: wrong ICRCs in a capture, of some packets. Where all
// packets of a pair have a wrong one, something rewrites what it covers (address translation, a virtual switch), or the
// capture was made before the NIC put it in.
var causeCorruptPackets = Cause{
	Code:     "L025",
	Title:    "packets are damaged inside a switch or host (wrong ICRC)",
	Needs:    "a packet capture with whole packets",
	Explains: []string{"L022", "L033", "R004"},
	Check:    checkCorruptPackets,
}

// rewritten is the share of wrong ICRCs from which they are no accident.
const rewritten = 0.5

func checkCorruptPackets(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	var bad []*pair
	checked := 0
	corrupt := func(s *evidence.Stream) evidence.Tally { return s.Corrupt }
	whole := func(s *evidence.Stream) int { return s.Checked }
	for _, p := range v.pairs() {
		checked += p.sum(whole)
		if p.tally(corrupt).Count > 0 {
			bad = append(bad, p)
		}
	}
	switch {
	case checked == 0:
		return cannotCheck("whole packets in the capture (tcpdump -s 0): the ICRC stands at their end")
	case len(bad) == 0:
		return ruledOut(fmt.Sprintf("the ICRC of %s is right", count(checked, "packet")))
	}
	slices.SortStableFunc(bad, func(a, b *pair) int { return cmp.Compare(b.tally(corrupt).Count, a.tally(corrupt).Count) })
	p := bad[0]
	t, n := p.tally(corrupt), p.sum(whole)
	f := Finding{
		Title:    fmt.Sprintf("packets from %s to %s arrive damaged: the ICRC of %s is wrong", p.src, p.dst, ofAll(t.Count, n)),
		Severity: Warning, Confidence: named, Where: []string{p.String()},
		Because:  "the check sequence of the link was right, since the frame was passed on; the ICRC, which covers the packet from NIC to NIC, is not: bytes went wrong inside a device on the way, and the receiver drops the packet unseen",
		Evidence: []Evidence{frames("RDMA", "packets with a wrong ICRC", "cause", t, "0")},
		WrongIf:  "the receiving NIC does not count them (rx_icrc_encapsulated stays)",
		Settle:   "captures before and behind each switch on the way: the one that damages has right ICRCs on one side alone",
		Fix: Fix{
			Text:     "follow the packets hop by hop and take the switch or NIC out that damages them; its memory or its crossbar is at fault, and no cable",
			Commands: []string{"grep . /sys/class/infiniband/*/ports/1/hw_counters/rx_icrc_encapsulated"},
		},
	}
	if float64(t.Count) >= rewritten*float64(n) {
		f.Confidence = possible
		f.Title = fmt.Sprintf("the ICRC of %s from %s to %s is wrong: something rewrites them", ofAll(t.Count, n)+" packets", p.src, p.dst)
		f.Because = "something between the NICs changes what the ICRC covers (addresses, ports, IP identification), as address translation or a virtual switch does; the receiver drops what does not match"
		f.WrongIf = "RDMA between the two works: the capture was then made in the sending host, before its NIC put the ICRC in"
		f.Fix = Fix{Text: "take what translates or rewrites off the way of RoCE (UDP port 4791)", Commands: []string{"nft list ruleset; iptables -t nat -S", "ovs-ofctl dump-flows BRIDGE"}}
		f.Settle = "the same packets captured at the receiver's switch port"
	}
	for _, o := range bad[1:min(len(bad), 5)] {
		f.Where = append(f.Where, o.String())
	}
	return found(f)
}
