package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
)

// A link with bit errors: a dirty or failing module or cable, or the wrong FEC. The link stays up and its speed is
// right; frames arrive damaged, are dropped, and RDMA sends again from the gap (go-back-N).
//
//	symptom    sporadic slow steps; retransmissions; no congestion anywhere
//	evidence   growing CRC or symbol errors at one port; out-of-sequence at receivers and NAKs at senders
//	against    drops for lack of buffer (discards grow, CRC does not); lifetime totals from the day of installation
//	settles    the same counters after the module or cable is swapped
var bitErrorCause = Cause{
	Code:     "P002",
	Title:    "link damages frames (CRC or symbol errors)",
	Needs:    "two samples of CRC, symbol or receive-error counters",
	Explains: []string{"L033"},
	Check:    checkBitErrors,
}

var damageSeries = []telemetry.SeriesID{telemetry.NICRxCRCErrors, telemetry.NICRxSymbolErrors, telemetry.NICRxFECUncorrectable, telemetry.SwitchRxErrors, telemetry.SwitchFECUncorrectable}

func checkBitErrors(v *View) Verdict {
	type damage struct {
		id     telemetry.SeriesID
		object string
		n      float64
	}
	var bad []damage
	known, lifetime := 0, false
	for _, id := range damageSeries {
		for _, k := range v.keys(id) {
			n, ok := v.Win.Delta(k)
			if !ok {
				p, _ := v.Win.Points(k)
				lifetime = lifetime || p != nil && len(p.Samples) == 1 && p.Samples[0].Count > 0
				continue
			}
			known++
			if n > 0 {
				bad = append(bad, damage{id, k.Object, n})
			}
		}
	}
	switch {
	case known == 0 && lifetime:
		return cannotCheck("error counters are lifetime totals: a second sample some minutes later is needed")
	case known == 0:
		return cannotCheck("no CRC, symbol or receive-error counter")
	case len(bad) == 0:
		return ruledOut(fmt.Sprintf("%s of damaged frames did not grow", count(known, "counter")))
	}
	slices.SortStableFunc(bad, func(a, b damage) int { return cmp.Compare(b.n, a.n) })
	worst := bad[0]
	f := Finding{
		Title:    fmt.Sprintf("%s receives damaged frames: %.0f in the window", name(worst.object), worst.n),
		Severity: Warning, Confidence: 0.9,
		Because: "a damaged frame is dropped at once and the sender has to start again from it, with everything that was already on the way",
		WrongIf: "the counter grew only while the link was being plugged or trained",
		Settle:  "ethtool -m: receive power of the module; the same counters after swapping the cable with a sound one",
		Fix: Fix{
			Text:     "clean, reseat or replace module and cable on this link, and fix FEC to RS on both ends",
			Commands: []string{"ethtool --show-fec DEV", "ethtool -m DEV"},
			Try:      []Change{{Setting: "link.healthy", Object: worst.object, Value: "true"}},
		},
	}
	for _, d := range bad {
		if !slices.Contains(f.Where, d.object) {
			f.Where = append(f.Where, d.object)
		}
	}
	f.Evidence = []Evidence{{Layer: "physical", What: telemetry.Catalogue[worst.id].Meaning + " at " + name(worst.object), Seen: fmt.Sprintf("%.0f", worst.n), Expected: "0", Role: "cause",
		At: v.onset(worst.id, worst.object, telemetry.AnyPriority), From: v.from(worst.id, worst.object, telemetry.AnyPriority)}}
	naks, from := 0.0, ""
	for _, id := range []telemetry.SeriesID{telemetry.NICPacketSeqErr, telemetry.NICLocalAckTimeout} {
		for _, k := range v.keys(id) {
			if d, ok := v.Win.Delta(k); ok && d > 0 {
				naks += d
				from = v.from(id, k.Object, k.Priority)
			}
		}
	}
	if naks > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "NAKs and timeouts at the senders", Seen: fmt.Sprintf("%.0f", naks), Expected: "0", Role: "effect", From: from})
		f.Confidence = 0.95
		f.Severity = Critical
	} else if worst.n < 10 {
		// A handful without any retransmission is within what a healthy link may do in a day.
		f.Severity, f.Confidence = Note, 0.6
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return found(f)
}

// name is an object as people read it, where a file did not tell which device it is of.
func name(object string) string {
	if object == "" || object == "/" {
		return "the port (no name in the file)"
	}
	return spoken(object)
}
