package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J001: not the network: ranks of the application went different ways.
//
// Symptom: the watchdog of PyTorch ends a collective after its timeout. Mechanism: a collective waits for all
// ranks; a rank that never calls it (an uneven loader, an exception, a checkpoint on one rank) holds up the others.
// Evidence for: ranks differ in the last collective they enqueued; or some ranks never reported anything while the
// watchdog of each waiting rank does. Against: all ranks enqueued the same (J002), or the network reported an error
// of its own. The rank that is behind is the culprit, and its log is the one to read.
var causeDesync = Cause{
	Code:     "J001",
	Title:    "not the network: ranks went different ways",
	Needs:    "the logs of all ranks with the watchdog's lines (last enqueued, last completed)",
	Explains: []string{"J003"},
	Check:    checkDesync,
}

func checkDesync(v *View) Verdict {
	if f, ok := v.desyncRecorded(); ok && len(v.networkErrors()) == 0 {
		return found(f)
	}
	if s, silent := v.noWatchdog(); silent {
		return s
	}
	if f, ok := v.endedByItself(); ok {
		return ruledOut("a rank ended before: " + strings.TrimPrefix(f.Title, "not the network: "))
	}
	work := v.ranksOfWork()
	if network := v.networkErrors(); len(network) > 0 {
		return cannotCheck("RDMA errors came with the timeout: settle those first")
	}
	if f, ok := v.desyncBySize(); ok {
		return found(f)
	}
	if len(work) == 0 {
		if f, ok := v.desyncByNumber(); ok {
			return found(f)
		}
		return cannotCheck("the watchdog's line with \"last enqueued\" of every rank")
	}
	low := slices.MinFunc(work, func(a, b evidence.WorkState) int { return int(a.Enqueued - b.Enqueued) })
	high := slices.MaxFunc(work, func(a, b evidence.WorkState) int { return int(a.Enqueued - b.Enqueued) })
	f := desyncFinding()
	if low.Enqueued < high.Enqueued {
		f.Title = fmt.Sprintf("not the network: rank %d had enqueued %d collectives when rank %d had %d", low.Rank, low.Enqueued, high.Rank, high.Enqueued)
		f.Confidence = named
		f.Where = []string{fmt.Sprintf("rank %d", low.Rank)}
		f.Evidence = append(v.watchdogRows(), workRow(low, "cause"), workRow(high, "effect"))
		return found(f)
	}
	missing := v.silentRanks()
	if len(missing) > 0 && !v.allLaunched() && len(work) > 1 {
		var words []string
		for _, r := range missing {
			words = append(words, fmt.Sprint(r))
		}
		f.Title = fmt.Sprintf("collective %d timed out, and ranks %s said nothing: most likely they did not call it, and the network is not the cause", low.At, listed(words))
		f.Confidence = possible
		f.Where = []string{"rank " + words[0]}
		f.Evidence = append(v.watchdogRows(), workRow(low, "effect"), Evidence{Layer: "job", What: "ranks without a line of the watchdog", Seen: listed(words), Expected: "none: every rank that waits prints one", Role: "cause", From: low.From.String()})
		f.WrongIf = "those ranks reported the same collective in logs that were not read: then it is the data path (J002)"
		return found(f)
	}
	if len(work) < 2 {
		return cannotCheck("the watchdog's line of more than one rank")
	}
	return ruledOut(fmt.Sprintf("all %d ranks that reported had enqueued the same collective (%d)", len(work), low.Enqueued))
}

// alike are the operations for which all ranks of a group pass the same number of elements.
var alike = []string{"ALLREDUCE", "BROADCAST", "REDUCE", "ALLREDUCE_COALESCED", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"}

// desyncBySize finds a collective that timed out and to which ranks came with different sizes: a mistake in the program that
// NCCL does not check, and that hangs or ends in an error.
func (v *View) desyncBySize() (Finding, bool) {
	timeouts := without(v.said(evidence.WatchdogTimeout), func(e evidence.Event) bool {
		return e.Elements <= 0 || e.Rank < 0 || !slices.Contains(alike, e.What)
	})
	for i, a := range timeouts {
		j := slices.IndexFunc(timeouts[i:], func(b evidence.Event) bool {
			return b.Rank != a.Rank && b.Seq == a.Seq && b.What == a.What && b.Elements != a.Elements
		})
		if j < 0 {
			continue
		}
		odd, usual := a, timeouts[i+j]
		count := func(e evidence.Event) int {
			return len(without(timeouts, func(o evidence.Event) bool { return o.Seq != e.Seq || o.What != e.What || o.Elements != e.Elements }))
		}
		if count(odd) > count(usual) {
			odd, usual = usual, odd
		}
		f := desyncFinding()
		f.Title = fmt.Sprintf("not the network: rank %d came to %s number %d with %d elements, rank %d with %d", odd.Rank, odd.What, odd.Seq, odd.Elements, usual.Rank, usual.Elements)
		f.Because = "all ranks of a collective must pass the same number of elements; where they differ NCCL waits for data that nobody sends"
		f.Confidence = possible
		if count(odd) == 1 && count(usual) > 1 {
			f.Confidence = likely
		}
		f.Where = []string{fmt.Sprintf("rank %d", odd.Rank)}
		f.Evidence = []Evidence{told(odd, "cause"), told(usual, "effect")}
		f.Fix.Text = "look for what makes the shape depend on the rank (a last batch, a parameter that is frozen or missing on one rank, another version of the program), and take a flight recorder dump of all ranks"
		f.Settle = "the group of each rank (PG in the line, or the flight recorder) and the shapes it passed"
		return f, true
	}
	return Finding{}, false
}

// desyncByNumber finds ranks that wait for different collectives, from the timeouts alone: up to PyTorch 2.1 the watchdog does
// not say what was enqueued. The lowest number a rank waits for is where it stands.
func (v *View) desyncByNumber() (Finding, bool) {
	first := map[int]evidence.Event{}
	var ranks []int
	for _, e := range v.said(evidence.WatchdogTimeout) {
		if e.Seq <= 0 || e.Rank < 0 {
			continue
		}
		o, there := first[e.Rank]
		if !there {
			ranks = append(ranks, e.Rank)
		}
		if !there || e.Seq < o.Seq {
			first[e.Rank] = e
		}
	}
	if len(ranks) < 2 {
		return Finding{}, false
	}
	order := func(a, b int) int { return cmp.Compare(first[a].Seq, first[b].Seq) }
	low, high := first[slices.MinFunc(ranks, order)], first[slices.MaxFunc(ranks, order)]
	if low.Seq == high.Seq {
		return Finding{}, false
	}
	f := desyncFinding()
	f.Title = fmt.Sprintf("not the network: rank %d waits for collective %d, rank %d for %d", low.Rank, low.Seq, high.Rank, high.Seq)
	f.Confidence = possible
	f.Where = []string{fmt.Sprintf("rank %d", low.Rank)}
	f.Evidence = []Evidence{told(low, "cause"), told(high, "effect")}
	f.Because = "a collective waits for every rank; ranks that wait for different ones have lost step, and none of them can go on"
	return f, true
}

func desyncFinding() Finding {
	return Finding{
		Severity: Critical,
		Because:  "a collective waits for every rank; the watchdog of the ranks that wait reports a timeout, and the rank that did not come is the reason",
		WrongIf:  "the ranks belong to different process groups, or their logs are of different times",
		Fix: Fix{
			Text:     "read the log of the rank that is behind at that time, and take a flight recorder dump of all ranks",
			Commands: []string{"export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1", "python -m torch.distributed.flight_recorder.fr_trace DIR", "py-spy dump --pid PID"},
		},
		Settle: "\"last enqueued\" of every rank, or the flight recorder",
		Not:    []string{"the network: no RDMA error was printed, and a dead path gives one within half a minute (retries x timeout)"},
	}
}

// noWatchdog is the verdict where no collective timed out.
func (v *View) noWatchdog() (Verdict, bool) {
	n := &v.Inv.NCCL
	if len(n.Work) > 0 || len(v.said(evidence.WatchdogTimeout)) > 0 {
		return Verdict{}, false
	}
	if s, silent := v.silent(); silent {
		return s, true
	}
	return notApplicable("no watchdog reported a timeout"), true
}

// networkErrors lists what speaks of the network itself.
func (v *View) networkErrors() []evidence.Event {
	events := v.rdmaErrors()
	for _, e := range v.said(evidence.AsyncEvent) {
		if isPortDown(e) || isDeviceFatal(e) {
			events = append(events, e)
		}
	}
	return events
}

// ranksOfWork lists the state of each rank, the first one told.
func (v *View) ranksOfWork() []evidence.WorkState {
	var work []evidence.WorkState
	for _, w := range v.Inv.NCCL.Work {
		if w.Rank >= 0 && w.Enqueued > 0 && !slices.ContainsFunc(work, func(o evidence.WorkState) bool { return o.Rank == w.Rank }) {
			work = append(work, w)
		}
	}
	return work
}

// silentRanks lists ranks below the largest one that reported which reported nothing.
func (v *View) silentRanks() []int {
	seen := map[int]bool{}
	largest := v.Inv.NCCL.Ranks - 1
	note := func(r int) {
		if r >= 0 {
			seen[r] = true
			largest = max(largest, r)
		}
	}
	for _, w := range v.Inv.NCCL.Work {
		note(w.Rank)
	}
	for _, e := range v.said(evidence.WatchdogTimeout) {
		note(e.Rank)
	}
	var silent []int
	for r := range min(largest+1, 1<<16) {
		if !seen[r] {
			silent = append(silent, r)
		}
	}
	return silent
}

// allLaunched tells whether NCCL's RAS says that all ranks launched the same collectives.
func (v *View) allLaunched() bool {
	ras := v.Inv.NCCL.RAS
	return len(ras) > 0 && !slices.ContainsFunc(ras, func(r evidence.RASStatus) bool {
		return !strings.EqualFold(r.Errors, "OK") || !strings.EqualFold(r.Status, "RUNNING")
	})
}

func workRow(w evidence.WorkState, role string) Evidence {
	return Evidence{Layer: "job", What: fmt.Sprintf("work of rank %d", w.Rank), Seen: fmt.Sprintf("last enqueued %d, last completed %d", w.Enqueued, w.Completed), Role: role, From: w.From.String()}
}

func (v *View) watchdogRows() []Evidence {
	events := v.said(evidence.WatchdogTimeout)
	var rows []Evidence
	for _, e := range events[:min(len(events), 2)] {
		rows = append(rows, told(e, "effect"))
	}
	return rows
}
