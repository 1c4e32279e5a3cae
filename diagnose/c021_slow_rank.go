package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// C021: one rank comes last to the collectives.
//
// Symptom: every rank's communication takes long, with nothing wrong in the network. Mechanism: a collective ends for all at
// about the same time, and lasts for each rank from when it came; those that wait measure long times, and the one they wait
// for measures the shortest. So the rank with the shortest communication is the slow one. Evidence for: NCCL's inspector or
// PyTorch's flight recorder of several ranks, the same rank shortest or last in most operations. Against: an order that
// changes from one operation to the next. Look-alikes: P and H codes of that rank's host, which may say why.
var causeSlowRank = Cause{
	Code:  "C021",
	Title: "not the network: one rank comes last to the collectives",
	Needs: "NCCL's inspector or PyTorch's flight recorder, of several ranks",
	Check: checkSlowRank,
}

const (
	// fewOps is the least number of operations over which a rank must be last: fewer are chance.
	fewOps = 5
	// mostOps is the part of them in which it must be.
	mostOps = 0.7
	// muchLater is how much longer the others must take than the shortest: the rest is noise of the clocks and launches.
	muchLater = 1.5
)

// opTimes is one operation as its ranks measured it.
type opTimes struct {
	name string
	took map[int]float64 // us, by rank
	came map[int]int64   // ns since 1970 when the rank called it; only where the recorder tells
	from evidence.Source
	host map[int]string
	of   map[int]evidence.Source
}

func checkSlowRank(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has neither recorder")
	}
	ops := v.opTimes()
	type tally struct {
		last, gain float64
		host       string
		from       evidence.Source
	}
	tallies := map[int]*tally{}
	judged := 0
	for _, op := range ops {
		rank, gain, ok := lastOf(op)
		if !ok {
			continue
		}
		judged++
		t := tallies[rank]
		if t == nil {
			t = &tally{host: op.host[rank], from: op.from}
			if from, ok := op.of[rank]; ok {
				t.from = from
			}
			tallies[rank] = t
		}
		t.last++
		t.gain += gain
	}
	if judged < fewOps {
		return cannotCheck(fmt.Sprintf("%d operations timed on three ranks or more (NCCL's inspector, or a flight recorder with timing)", fewOps))
	}
	worst, at := (*tally)(nil), -1
	for rank, t := range tallies {
		if worst == nil || t.last > worst.last || t.last == worst.last && rank < at {
			worst, at = t, rank
		}
	}
	if worst.last < mostOps*float64(judged) {
		return ruledOut(fmt.Sprintf("no rank is last in most of %d operations", judged))
	}
	where := fmt.Sprintf("rank %d", at)
	if worst.host != "" {
		where += " on " + worst.host
	}
	mean := worst.gain / worst.last
	severity := Warning
	return found(Finding{
		Title:    fmt.Sprintf("not the network: %s comes last to %.0f of %d collectives, and the others wait %s for it", where, worst.last, judged, micros(mean)),
		Severity: severity, Confidence: named, Where: []string{where},
		Because: "a collective ends for all ranks together, so each measures how long it waited; the rank that all wait for measures the shortest time",
		Evidence: []Evidence{
			{Layer: "collective", What: fmt.Sprintf("operations in which %s was the shortest or the last to come", where), Seen: fmt.Sprintf("%.0f of %d", worst.last, judged), Expected: "about as many for each rank", Role: "cause", From: worst.from.String()},
			{Layer: "collective", What: "what the others took longer, mean", Seen: micros(mean), Expected: "0", Role: "effect", From: worst.from.String()},
		},
		Not:     []string{"the data path of that rank: a slow path makes its own time long as well"},
		WrongIf: "the clocks of the hosts differ, where only the times of arrival were recorded",
		Fix:     Fix{Text: "look at what that rank does before the collective: its GPU's clocks and errors, its loader, its share of the work (a pipeline stage or experts with more of it)", Commands: []string{"nvidia-smi -q -d PERFORMANCE,CLOCK,ECC", "py-spy dump --pid PID", "dcgmi diag -r 2"}},
		Settle:  "the same job with that rank's host replaced",
	})
}

func micros(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.3g s", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.3g ms", us/1e3)
	}
	return fmt.Sprintf("%.3g us", us)
}

// lastOf is the rank that came last to an operation, and how much longer the others' median is; ok is false where too few
// ranks tell or no rank stands out.
func lastOf(op opTimes) (rank int, gain float64, ok bool) {
	if len(op.took) >= 3 {
		ranks := sortedRanks(op.took, func(a, b float64) int { return cmp.Compare(a, b) })
		short, median := op.took[ranks[0]], op.took[ranks[len(ranks)/2]]
		if short <= 0 || median < muchLater*short || op.took[ranks[1]] < 1.1*short { // two that come together are no one rank
			return 0, 0, false
		}
		return ranks[0], median - short, true
	}
	if len(op.came) >= 3 {
		ranks := sortedRanks(op.came, func(a, b int64) int { return cmp.Compare(b, a) })
		late, next, median := op.came[ranks[0]], op.came[ranks[1]], op.came[ranks[len(ranks)/2]]
		if late-median < 1_000_000 || late-next < (late-median)/2 { // a millisecond: clocks kept by NTP differ by less within a rack
			return 0, 0, false
		}
		return ranks[0], float64(late-median) / 1e3, true
	}
	return 0, 0, false
}

func sortedRanks[T any](m map[int]T, less func(a, b T) int) []int {
	ranks := make([]int, 0, len(m))
	for r := range m {
		ranks = append(ranks, r)
	}
	slices.SortFunc(ranks, func(a, b int) int { return cmp.Or(less(m[a], m[b]), cmp.Compare(a, b)) })
	return ranks
}

// opTimes gathers operations that several ranks measured, in order of appearance.
func (v *View) opTimes() []opTimes {
	var all []opTimes
	place := map[string]int{}
	at := func(key, name string, from evidence.Source) *opTimes {
		i, there := place[key]
		if !there {
			i = len(all)
			place[key] = i
			all = append(all, opTimes{name: name, took: map[int]float64{}, came: map[int]int64{}, host: map[int]string{}, of: map[int]evidence.Source{}, from: from})
		}
		return &all[i]
	}
	for _, c := range v.Inv.Calls {
		rank, ok := c.Rank.Get()
		if !ok || c.Comm == "" || c.Time <= 0 || c.Peer.Known() {
			continue
		}
		op := at(fmt.Sprintf("%s %d %s", c.Comm, c.Seq, c.Kind), c.Kind, c.From)
		op.took[rank], op.host[rank], op.of[rank] = c.Time.Seconds()*1e6, c.Host, c.From
	}
	for _, d := range v.Inv.Flights {
		if d.Rank < 0 {
			continue
		}
		for _, o := range d.Ops {
			if o.P2P {
				continue
			}
			op := at(fmt.Sprintf("flight %s %d %s", o.Group, o.Seq, o.Name), o.Name, o.From)
			op.host[d.Rank], op.of[d.Rank] = d.Host, o.From
			if ms, ok := o.Duration.Get(); ok && ms > 0 && o.State == "completed" {
				op.took[d.Rank] = ms * 1e3
			}
			if o.Created > 0 {
				op.came[d.Rank] = o.Created
			}
		}
	}
	return all
}
