package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// X021: RoCE packets carry a UDP checksum.
//
// Symptom: none by itself; connections that work through some devices and fail through others. Mechanism: RoCEv2 senders
// leave the checksum at 0, as the ICRC stands in for it. One that is not 0 asks each device that looks (a virtual switch,
// a firewall, a NIC's checksum engine) to verify it and to drop what does not match; schemes that put something else
// into the field, such as a path or sequence mark, are dropped there. Evidence for: the field, in a capture.
var causeUDPChecksum = Cause{
	Code:  "X021",
	Title: "RoCE packets carry a UDP checksum",
	Needs: "a packet capture",
	Check: checkUDPChecksum,
}

func checkUDPChecksum(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	packets := 0
	var with []*pair
	of := func(s *evidence.Stream) evidence.Tally { return s.Checksums }
	for _, p := range v.pairs() {
		packets += p.sum(func(s *evidence.Stream) int { return s.Packets })
		if p.tally(of).Count > 0 {
			with = append(with, p)
		}
	}
	if len(with) == 0 {
		return ruledOut(fmt.Sprintf("the UDP checksum of %s is 0", count(packets, "RoCE packet")))
	}
	p := with[0]
	t := p.tally(of)
	f := Finding{
		Title:    fmt.Sprintf("RoCE packets from %s to %s carry a UDP checksum (%s)", p.src, p.dst, ofAll(t.Count, p.sum(func(s *evidence.Stream) int { return s.Packets }))),
		Severity: Note, Confidence: possible, Where: []string{p.String()},
		Because:  "RoCEv2 leaves the field at 0; another value asks every device on the way to verify it, and one that finds it wrong drops the packet",
		Evidence: []Evidence{frames("RDMA", "RoCE packets with a UDP checksum", "cause", t, "0")},
		WrongIf:  "the checksum is right, or nothing on the way looks at it",
		Settle:   "the same stream captured behind each device on the way: where it ends, it is dropped",
		Fix:      Fix{Text: "find out what puts the value there (a tunnel, a spraying scheme, a software sender) and turn it off where the way leads through devices that verify"},
	}
	for _, o := range with[1:min(len(with), 5)] {
		f.Where = append(f.Where, o.String())
	}
	return found(f)
}
