package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J002: all ranks launched the collective, and it is stuck in the data path.
//
// Symptom: the watchdog's timeout, while NCCL's RAS shows RUNNING and OK. Mechanism: RAS compares how many
// collectives each rank launched and whether processes live; a collective that every rank launched and that hangs
// in a NIC, the network or a GPU is no difference to it. Evidence for: equal last enqueued on all ranks, or RAS OK,
// with work completed that stays behind. Against: unequal counts (J001). An RDMA error, where there is one, says more.
var causeStuck = Cause{
	Code:     "J002",
	Title:    "all ranks launched the collective: it is stuck in the data path",
	Needs:    "the watchdog's lines of all ranks, or NCCL's RAS report",
	Explains: []string{"J003"},
	Check:    checkStuck,
}

func checkStuck(v *View) Verdict {
	if s, silent := v.noWatchdog(); silent {
		return s
	}
	work := v.ranksOfWork()
	if len(work) == 0 {
		return cannotCheck("the watchdog's line with \"last enqueued\"")
	}
	low := slices.MinFunc(work, func(a, b evidence.WorkState) int { return int(a.Enqueued - b.Enqueued) })
	high := slices.MaxFunc(work, func(a, b evidence.WorkState) int { return int(a.Enqueued - b.Enqueued) })
	if low.Enqueued != high.Enqueued {
		return ruledOut("the ranks had not launched the same collectives")
	}
	if f, ok := v.endedByItself(); ok {
		return ruledOut("a rank ended before: " + strings.TrimPrefix(f.Title, "not the network: "))
	}
	launched := v.allLaunched()
	all := len(work) > 1 && len(v.silentRanks()) == 0
	errors := v.networkErrors()
	if !launched && !all && len(errors) == 0 {
		if len(v.Inv.NCCL.RAS) > 0 {
			return ruledOut("NCCL's RAS reports ranks that differ or are gone")
		}
		return cannotCheck("the watchdog's line of every rank, or NCCL's RAS report")
	}
	f := Finding{
		Title:    fmt.Sprintf("collective %d was launched by all ranks and never completed: look at the data path, not at the application", low.At),
		Severity: Critical, Confidence: likely, Where: []string{fmt.Sprintf("collective %d", low.At)},
		Because: "every rank enqueued it, so none is missing; a NIC, the network or a GPU holds it up, and RAS, which counts launches, cannot see that",
		WrongIf: "a rank whose log was not read had enqueued less",
		Not:     []string{"ranks that went different ways: they had all enqueued the same"},
		Fix: Fix{
			Text:     "read the NIC's and switch's counters of the hosts of that communicator twice while it hangs (pause, retries, link-down), and the GPUs' error logs",
			Commands: []string{"rdma statistic show", "ethtool -S IFACE | grep -E 'pause|discards|link_down'", "dmesg | grep -iE 'xid|mlx5'", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"},
		},
		Settle: "two readings of the RDMA counters of the hosts while it hangs, or a flight recorder dump",
	}
	f.Evidence = append(v.watchdogRows(), workRow(low, "effect"))
	if waiting := low.Enqueued - low.Completed; waiting > 1 {
		f.Evidence[len(f.Evidence)-1].Seen += fmt.Sprintf(" (%d queued behind it)", waiting-1)
	}
	if len(work) > 1 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "job", What: fmt.Sprintf("last enqueued on %d ranks", len(work)), Seen: fmt.Sprintf("%d on all", low.Enqueued), Role: "cause", From: high.From.String()})
	}
	if launched {
		r := v.Inv.NCCL.RAS[0]
		f.Evidence = append(f.Evidence, Evidence{Layer: "job", What: "NCCL's RAS report", Seen: r.Status + ", " + r.Errors, Role: "cause", From: r.From.String()})
		f.Not = append(f.Not, "a process that died: RAS sees all of them")
	}
	if !launched && v.Inv.NCCL.Ranks == 0 { // of how many ranks is not known
		f.Title = fmt.Sprintf("collective %d was launched by all %d ranks that reported and never completed: most likely it is stuck in the data path", low.At, len(work))
		f.Confidence = possible
	}
	if len(errors) == 0 {
		f.Not = append(f.Not, "a dead RDMA path: that gives an error within half a minute; the QPs are alive, paused or waiting")
	}
	if all && launched {
		f.Confidence = named
	}
	return found(f)
}

// beforeOthers sorts events by the time they were printed where all have one, else by the order of the inputs.
func beforeOthers(events []evidence.Event) []evidence.Event {
	sorted := slices.Clone(events)
	timed := !slices.ContainsFunc(sorted, func(e evidence.Event) bool { return e.Time == "" })
	slices.SortStableFunc(sorted, func(a, b evidence.Event) int {
		if timed && a.Time != b.Time {
			if a.Time < b.Time { // one format within one job, so text order is time order
				return -1
			}
			return 1
		}
		return a.Sequence - b.Sequence
	})
	return sorted
}
