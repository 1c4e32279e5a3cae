package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// L042: the link state that spraying goes by is refreshed too seldom.
//
// Symptom: after each change of the load one path stays congested while its siblings have room, and the job is slow for as
// long; then it recovers by itself. Mechanism: the weights of the paths follow the link state, and that is read once a refresh
// period; until then packets are dealt out by what was true before (article 000, sections 4 and 5: a firmware that read it each
// 2 s instead of each 200 ms; S0.3). Evidence for: one path of a sprayed group is congested alone for as long as a refresh period takes, and
// that is a notable part of the time. Against: it stays so over several refreshes (the weights do not see it: L041, or a hash of
// flows: L021); periods without it that are much longer than a refresh. Look-alikes: P001, L021, L041.
var causeSlowRefresh = Cause{
	Code:     "L042",
	Title:    "spraying goes by link state that is refreshed too seldom",
	Needs:    "the refresh period of the link state, and marks, pauses or queues of each uplink over time",
	Explains: []string{"L013", "L021", "L031", "L032"},
	Check:    checkSlowRefresh,
}

const (
	// laggedTime is the part of the window that must have gone by with one path congested alone. Measured on examples/pitfalls/slow-refresh: at
	// 25 % (refreshes of 100 and 200 us) calls take 0.1 % more than with one of 20 us, at 58 % (500 us) 5 % and at 55 % (1 ms) 15 %.
	laggedTime = 1.0 / 3
	// lagLeast and lagMost bound how long a period of it may last, in refreshes: a change falls anywhere between two refreshes, so on
	// the mean half of one is left; and the table moves a part of its buckets at a time, which takes a few.
	lagLeast, lagMost = 0.25, 4.0
	// lagBins is how finely the window is looked at.
	lagBins = 128
)

// lag is the periods in which one path of a group was congested alone.
type lag struct {
	group   sprayedGroup
	port    port // of the longest period
	longest units.Duration
	from    units.Instant // of the longest
	total   units.Duration
	periods int
	refresh units.Duration
	how     string
	series  telemetry.SeriesID
	ended   bool // the longest ended before the window did
}

func checkSlowRefresh(v *View) Verdict {
	if !v.anySprays() {
		return v.notSprayed()
	}
	if v.Win == nil || v.Win.To.Sub(v.Win.From) <= 0 {
		return cannotCheck("counters of the uplinks over time")
	}
	window := v.Win.To.Sub(v.Win.From)
	prio := v.rocePriority()
	var hits []lag
	judged, unset, lasting := 0, 0, 0
	for _, g := range v.sprayedGroups() {
		refresh, ok := g.sw.Spray.Refresh.Get()
		if !ok || refresh <= 0 {
			unset++
			continue
		}
		l, known := v.lagOf(g, prio)
		if !known {
			continue
		}
		judged++
		l.refresh = refresh
		if l.total.Seconds() < laggedTime*window.Seconds() {
			continue
		}
		if l.longest.Seconds() < lagLeast*refresh.Seconds() && refresh < window {
			continue // it ended long before the link state was read again
		}
		if l.longest.Seconds() > lagMost*refresh.Seconds() {
			lasting++
			continue
		}
		hits = append(hits, l)
	}
	switch {
	case judged == 0 && unset > 0:
		return cannotCheck("the refresh period of the link state")
	case judged == 0:
		return cannotCheck("marks, pauses or queues of all uplinks of a switch that sprays, over time")
	case len(hits) == 0 && lasting > 0:
		return ruledOut("one path stays congested over many refreshes: it is not their period")
	case len(hits) == 0:
		return ruledOut(fmt.Sprintf("no path of %s is congested alone for a refresh period and %.0f %% of the time", count(judged, "sprayed group"), 100*laggedTime))
	}
	slices.SortStableFunc(hits, func(a, b lag) int { return cmp.Compare(b.total, a.total) })
	return found(v.slowRefreshFinding(hits, window, prio))
}

// lagOf finds the periods in which exactly one port of a group was congested: packets were marked there, or its queue stood. A port that is
// paused is congested by what is behind it, which no reading of its own switch shows (L041). known is false where that cannot be told of all.
func (v *View) lagOf(g sprayedGroup, prio int8) (best lag, known bool) {
	bin := v.Win.To.Sub(v.Win.From) / lagBins
	if bin <= 0 {
		return best, false
	}
	for _, how := range []struct {
		series telemetry.SeriesID
		what   string
		bins   func(v *View, p port, prio int8, bin units.Duration) ([]bool, bool)
	}{
		{telemetry.SwitchECNMarked, "packets marked", (*View).markedBins},
		{telemetry.SwitchQueueBytes, "its queue", (*View).queuedBins},
	} {
		congested := make([][]bool, len(g.ports))
		complete := true
		for i, p := range g.ports {
			if congested[i], complete = how.bins(v, p, prio, bin); !complete {
				break
			}
		}
		if !complete {
			continue
		}
		known = true
		l := periods(congested, bin)
		p := g.ports[l.worst]
		if paused, ok := v.pausedShare(telemetry.SwitchPFCRxTime, p.object, prio); ok && paused >= sprayedPause || l.total <= best.total {
			continue
		}
		best = l.lag
		best.group, best.port, best.series, best.how = g, p, how.series, how.what
		best.from = v.Win.From.Add(bin * units.Duration(l.startBin))
	}
	return best, known
}

// markedBins tells for each bin of the window whether packets were marked at a port.
func (v *View) markedBins(p port, prio int8, bin units.Duration) ([]bool, bool) {
	k := key(telemetry.SwitchECNMarked, p.object, prio)
	if _, timed := v.Win.Elapsed(k); !timed {
		return nil, false
	}
	bins := make([]bool, lagBins)
	for b := range bins {
		from := v.Win.From.Add(bin * units.Duration(b))
		bins[b] = v.grownBetween(k, from, from.Add(bin)) >= 1
	}
	return bins, true
}

// queuedBins tells for each bin whether a reading of the port's queue in it, or the last one before it, found more than queueTime at line rate.
func (v *View) queuedBins(p port, prio int8, bin units.Duration) ([]bool, bool) {
	points, ok := v.Win.Points(key(telemetry.SwitchQueueBytes, p.object, prio))
	rate, told := p.rate()
	if !ok || !told || points.Untimed || len(points.Samples) < 2 {
		return nil, false
	}
	full := rate.BytesPerSecond() * queueTime.Seconds()
	bins := make([]bool, lagBins)
	next, standing := 0, false
	for b := range bins {
		end := v.Win.From.Add(bin * units.Duration(b+1))
		bins[b] = standing
		for ; next < len(points.Samples) && points.Samples[next].At.Before(end); next++ {
			standing = points.Samples[next].Level >= full
			bins[b] = bins[b] || standing
		}
	}
	return bins, true
}

// lagPlace is a lag that does not know yet which port and which times its bins stand for.
type lagPlace struct {
	lag
	startBin, worst int
}

// periods adds up the runs of bins in which one port alone is congested.
func periods(congested [][]bool, bin units.Duration) (l lagPlace) {
	run, who := 0, -1
	end := func(at int, ended bool) {
		if run == 0 {
			return
		}
		d := bin * units.Duration(run)
		l.total += d
		l.periods++
		if d > l.longest {
			l.longest, l.startBin, l.worst, l.ended = d, at-run, who, ended
		}
		run = 0
	}
	for b := range lagBins {
		alone, several := -1, false
		for i := range congested {
			if congested[i][b] {
				several = several || alone >= 0
				alone = i
			}
		}
		if alone < 0 || several || alone != who {
			end(b, true)
		}
		if alone >= 0 && !several {
			run, who = run+1, alone
		}
	}
	end(lagBins, false)
	return l
}

// grownBetween is how much a counter grew between two times, evenly between its samples.
func (v *View) grownBetween(k telemetry.Key, from, to units.Instant) (grew float64) {
	p, ok := v.Win.Points(k)
	if !ok {
		return 0
	}
	for i := 1; i < len(p.Samples); i++ {
		a, b := p.Samples[i-1], p.Samples[i]
		if !from.Before(b.At) || b.Count <= a.Count {
			continue
		}
		if !a.At.Before(to) {
			break
		}
		lo, hi := a.At, b.At
		if lo.Before(from) {
			lo = from
		}
		if to.Before(hi) {
			hi = to
		}
		if d := b.At.Sub(a.At); d > 0 {
			grew += float64(b.Count-a.Count) * p.Scale * hi.Sub(lo).Seconds() / d.Seconds()
		}
	}
	return grew
}

func (v *View) slowRefreshFinding(hits []lag, window units.Duration, prio int8) Finding {
	worst := hits[0]
	share := worst.total.Seconds() / window.Seconds()
	spray := worst.group.sw.Spray
	better := min(worst.refresh, worst.longest) / 10 // an order below what it has to follow
	f := Finding{
		Title:    fmt.Sprintf("%s reads its link state only every %s: one path stayed congested alone for up to %s", worst.group.sw.Name, short(worst.refresh), short(worst.longest)),
		Severity: Warning, Confidence: likely,
		Because: "packets are dealt out by the state of the last refresh, so until the next one a path that has filled up is given as much as before, and every queue pair waits for it",
		WrongIf: "the congestion of the path ends long before the next refresh, or lasts over many of them",
		Settle:  "the refresh period as the device runs it, not as it is documented: a firmware may have it wrong (article 000: 2 s instead of 200 ms)",
		Fix: Fix{
			Text: "refresh the link state more often, an order at least below the time between two changes of the load; where the firmware does not let go of its period, replace it",
			Try:  []Change{{Setting: "path.buckets.refresh", Value: better.String()}},
		},
		Evidence: []Evidence{
			{Layer: "switch", What: "refresh of the link state of " + worst.group.sw.Name, Seen: short(worst.refresh), Expected: short(better) + " or so", Role: "cause", From: spray.Refresh.From.String()},
			{Layer: "switch", What: fmt.Sprintf("time in which one of %s was congested alone", worst.group.name), Seen: fmt.Sprintf("%.0f %% of %s, in %s", 100*share, short(window), counted(worst.periods, "period", "periods")), Expected: fmt.Sprintf("under %.0f %%", 100*laggedTime), Role: "effect", At: &worst.from, From: worst.series.String()},
			{Layer: "switch", What: fmt.Sprintf("the longest of these, at %s (%s)", worst.port.object, worst.how), Seen: fmt.Sprintf("%s, %.2g refreshes", short(worst.longest), worst.longest.Seconds()/worst.refresh.Seconds()), Expected: "one or less", Role: "effect", From: v.from(worst.series, worst.port.object, prio)},
		},
	}
	for _, h := range hits {
		if !slices.Contains(f.Where, h.group.sw.Name) {
			f.Where = append(f.Where, h.group.sw.Name)
		}
	}
	switch {
	case worst.refresh >= window:
		f.Confidence = possible // it was not read once, so nothing shows that reading it would have helped
	case worst.ended && worst.periods > 1:
		f.Confidence = named
	}
	for i, p := range worst.group.paths {
		if p == nil {
			continue
		}
		if age, ok := p.Oldest.Get(); ok && worst.group.ports[i].object == worst.port.object {
			f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "oldest state of " + worst.port.object + " that a decision rested on", Seen: short(age), Role: "cause", From: p.Oldest.From.String()})
		}
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return f
}
