package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
)

// Reordering taken for loss: packets of one QP take several paths (spraying, adaptive routing) and arrive out of
// order at NICs that accept only the next one. Each overtaking is answered with a NAK and everything from there on is
// sent again (go-back-N), though nothing was lost.
//
//	symptom    throughput far below line rate, links busy with repetitions, no queue stands anywhere
//	evidence   out-of-sequence packets and sequence NAKs at most NICs, while no port drops, damages or loses its link
//	against    loss: drops or CRC errors grow, or a link went down; a NIC that places out of order (it sends no NAKs)
//	settles    whether per-packet load balancing is on at the switches, and out-of-order placement at the NICs
//
// An InfiniBand or Ethernet fabric with adaptive routing and NICs that place out of order may count out-of-sequence
// packets without harm; it is the NAKs that cost.
var reorderingCause = Cause{
	Code:  "R030",
	Title: "packets that overtake each other are taken for lost",
	Needs: "out-of-sequence and NAK counters of the NICs, and drop and error counters of the switches",
	// What is sent again fills queues, now at one port and now at another.
	Explains: []string{"L041", "L042"},
	Check:    checkReordering,
}

// overtakenNICs is the share of NICs that must have met packets out of sequence for a scheme of the fabric, rather than one
// path, to be the reason.
const overtakenNICs = 0.5

func checkReordering(v *View) Verdict {
	var naks, outOfSequence float64
	known, met := 0, 0
	worst, most := "", 0.0
	for _, n := range v.nics() {
		s, ok := v.delta(telemetry.NICOutOfSequence, n.object, telemetry.AnyPriority)
		k, okNAK := v.delta(telemetry.NICPacketSeqErr, n.object, telemetry.AnyPriority)
		if !ok || !okNAK {
			continue
		}
		known++
		naks, outOfSequence = naks+k, outOfSequence+s
		if s > 0 {
			met++
		}
		if s > most {
			worst, most = n.object, s
		}
	}
	switch {
	case known == 0:
		return cannotCheck("out_of_sequence and packet_seq_err of the NICs, read twice")
	case naks == 0:
		return ruledOut(fmt.Sprintf("none of %s was told of a sequence error", count(known, "NIC")))
	case float64(met) < overtakenNICs*float64(known):
		return ruledOut(fmt.Sprintf("only %d of %d NICs met packets out of sequence: one path, not a scheme", met, known))
	}
	lost, told, how := v.losses()
	switch {
	case !told:
		return cannotCheck("drop and error counters of the switches: without them overtaking cannot be told from loss")
	case lost > 0:
		return ruledOut("packets were lost: " + how)
	}
	f := Finding{
		Title:    fmt.Sprintf("packets overtake each other and are taken for lost: %.0f out of sequence at %d of %d NICs, nothing dropped", outOfSequence, met, known),
		Severity: Critical, Confidence: 0.85,
		Where:   []string{worst},
		Because: "the paths of one QP have queues of different length, and a receiver that accepts only the next packet answers each one that comes early with a NAK, so the sender repeats what had arrived",
		WrongIf: "a switch on the way dropped packets that its counters do not show",
		Settle:  "one QP pinned to one path (spraying or adaptive routing off for its class): the NAKs must stop",
		Not:     []string{"loss (no port dropped or damaged a packet)"},
		Fix: Fix{
			Text: "spray only towards NICs that place packets out of order (and switch that on at both ends), or go back to per-flow hashing with several QPs a connection",
			Try:  []Change{{Setting: "nic.transport", Value: "place"}},
		},
		Evidence: []Evidence{
			{Layer: "RDMA", What: "packets out of sequence at the receivers", Seen: fmt.Sprintf("%.0f", outOfSequence), Expected: "0", Role: "cause", At: v.onset(telemetry.NICOutOfSequence, worst, telemetry.AnyPriority), From: v.from(telemetry.NICOutOfSequence, worst, telemetry.AnyPriority)},
			{Layer: "RDMA", What: "sequence NAKs at the senders", Seen: fmt.Sprintf("%.0f", naks), Expected: "0", Role: "effect", From: v.from(telemetry.NICPacketSeqErr, worst, telemetry.AnyPriority)},
			{Layer: "switch", What: "packets dropped or damaged", Seen: "0", Expected: "0", From: telemetry.SwitchDropped.String()},
		},
	}
	if s, ok := v.Inv.Setting("switch.path_choice"); ok {
		f.Evidence = slices.Insert(f.Evidence, 0, Evidence{Layer: "switch", What: "path choice", Seen: s.Value, Expected: "per flow, for NICs that keep order", Role: "cause", From: s.From.String()})
		f.Evidence[1].Role = "effect"
		f.Confidence = 0.93
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return found(f)
}

// losses adds up every way in which a switch or a link loses packets; told is false where no port tells of drops.
func (v *View) losses() (lost float64, told bool, how string) {
	type way struct {
		id   telemetry.SeriesID
		name string
		n    float64
	}
	ways := []way{{telemetry.SwitchDropped, "dropped by switches", 0}, {telemetry.SwitchRxErrors, "damaged", 0}, {telemetry.NICRxCRCErrors, "damaged", 0}, {telemetry.NICRxDiscards, "discarded by NICs", 0}, {telemetry.SwitchLinkDowns, "links that went down", 0}}
	for i := range ways {
		for _, k := range v.Win.Keys(ways[i].id) {
			if d, ok := v.Win.Delta(k); ok {
				ways[i].n += d
				told = told || ways[i].id == telemetry.SwitchDropped
			}
		}
		lost += ways[i].n
	}
	worst := slices.MaxFunc(ways, func(a, b way) int { return cmp.Compare(a.n, b.n) })
	return lost, told, fmt.Sprintf("%.0f %s", worst.n, worst.name)
}
