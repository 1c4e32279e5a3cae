package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// A slow receiver: a host that cannot take what its link brings (PCIe, memory, NUMA, GPU) and so pauses its switch.
//
//	symptom    queues and pauses spread from one leaf although every link and switch is sound
//	evidence   one NIC sends PFC pause for a notable share of the time (tx_prioN_pause_duration)
//	against    an incast (the host never pauses); a switch that pauses the hosts (rx pause at the NICs)
//	settles    outbound_pci_stalled_wr of the NIC, lspci LnkSta, IOMMU and NUMA placement of the host
var slowReceiverCause = Cause{
	Code:     "L012",
	Title:    "a receiver too slow for its link pauses the fabric",
	Needs:    "pause frames or pause time sent by the NICs (tx_prioN_pause)",
	Explains: []string{"L011", "L013", "L021", "L032", "L039", "L041", "L042"},
	Check:    checkSlowReceiver,
}

// pauseShare is the share of time spent paused that is worth a finding: at one percent, PFC has stopped being the
// backstop that it should be.
const pauseShare = 0.01

func checkSlowReceiver(v *View) Verdict {
	prio := v.rocePriority()
	type culprit struct {
		object string
		share  float64
		frames float64
		timed  bool
		storms float64
	}
	var slow []culprit
	known := 0
	for _, object := range v.objects(telemetry.NICTxPause, telemetry.NICTxPauseTime, telemetry.NICTxPauseStorms) {
		frames, ok := v.delta(telemetry.NICTxPause, object, prio)
		share, timed := v.pausedShare(telemetry.NICTxPauseTime, object, prio)
		storms, watched := v.delta(telemetry.NICTxPauseStorms, object, telemetry.AnyPriority)
		if !ok && !timed && !watched {
			continue
		}
		known++
		if storms > 0 { // the NIC's own watchdog saw it pause its switch for too long
			slow = append(slow, culprit{object, share, frames, timed, storms})
			continue
		}
		// Without elapsed time only the frames speak: a thousand pauses in a window are no accident, a few may be.
		if timed && share >= pauseShare || !timed && frames >= 1000 {
			slow = append(slow, culprit{object, share, frames, timed, 0})
		}
	}
	if known == 0 {
		return cannotCheck("no NIC's sent-pause counters over the window (two samples of ethtool -S)")
	}
	if len(slow) == 0 {
		return ruledOut(fmt.Sprintf("none of %s pauses its switch for %.0f %% of the time", count(known, "NIC"), 100*pauseShare))
	}
	slices.SortStableFunc(slow, func(a, b culprit) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.frames, a.frames)) })
	worst := slow[0]
	f := Finding{
		Title:      fmt.Sprintf("%s cannot take what its link brings and pauses its switch", spoken(worst.object)),
		Severity:   Critical,
		Confidence: 0.9,
		Because:    "a NIC whose receive buffer fills sends PFC pause; its switch port stops, the queue fills and the pause spreads to everyone who sends there",
		WrongIf:    "the NIC's receive path (PCIe, memory) shows no stall while it pauses",
		Settle:     "ethtool -S: outbound_pci_stalled_wr_events and rx_buffer_passed_thres_phy of " + worst.object + "; lspci -vvv: LnkSta of its slot",
		Fix: Fix{
			Text: "find what slows the host: PCIe width and speed, IOMMU, NUMA placement, memory bandwidth; drain the host from the job until then",
			Try:  []Change{{Setting: "host.receive", Object: worst.object, Value: "line-rate"}},
		},
	}
	for _, s := range slow {
		f.Where = append(f.Where, spoken(s.object))
	}
	seen := fmt.Sprintf("%.0f pauses", worst.frames)
	if worst.storms > 0 {
		f.Evidence = append(f.Evidence, v.grewRows("NIC", "cause", worst.object, telemetry.NICTxPauseStorms)...)
	}
	if worst.timed {
		seen = fmt.Sprintf("%.2g %% of the time, %.0f pauses", 100*worst.share, worst.frames)
		extra := units.Duration(0)
		if at, ok := v.Win.Delta(key(telemetry.NICTxPauseTime, worst.object, prio)); ok {
			extra = units.Duration(at * float64(units.Second))
		}
		if c, ok := v.share(extra, "time "+worst.object+" held its switch paused"); ok {
			f.Cost = c
		}
	} else {
		f.Confidence = 0.75
	}
	if worst.frames == 0 && worst.storms > 0 {
		seen = "not read"
	}
	f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "pause sent by " + spoken(worst.object), Seen: seen, Expected: "0", Role: "cause",
		At: v.onset(telemetry.NICTxPause, worst.object, prio), From: v.from(telemetry.NICTxPause, worst.object, prio)})
	if d, ok := v.total(telemetry.NICPCIStalledWrite, worst.object); ok && d > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "seconds in which its PCIe writes stalled", Seen: fmt.Sprintf("%.0f", d), Expected: "0", From: telemetry.NICPCIStalledWrite.String()})
		f.Confidence = 0.95
	}
	if others := known - len(slow); others > 0 {
		f.Not = append(f.Not, fmt.Sprintf("an incast (the host itself pauses; %s do not)", count(others, "other NIC")))
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return found(f)
}

// objects lists what has a stream of one of the series, each once, in the order of their names.
func (v *View) objects(ids ...telemetry.SeriesID) (all []string) {
	for _, id := range ids {
		for _, k := range v.keys(id) {
			if len(all) == 0 || all[len(all)-1] != k.Object {
				all = append(all, k.Object)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
