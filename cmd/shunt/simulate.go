package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/report"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// simulate runs a scenario and explains it.
func (a *app) simulate(ctx context.Context, file string, o explainOptions) (*answer, error) {
	s, err := scenario.Load(file)
	if err != nil {
		var problems spec.Problems
		if errors.As(err, &problems) {
			return nil, &failure{exitUsage, err}
		}
		return nil, &failure{exitUnreachable, err}
	}
	if o.seedSet {
		s.Seed = o.seed
	}
	if o.noTrial {
		o.seeds = 0
	}
	line := a.progress("simulating")
	out, err := s.Explain(ctx, scenario.Options{Seeds: o.seeds, Progress: func(done float64) { line.update(done, 1) }})
	line.clear()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return nil, &failure{exitInternal, err}
	}
	if out == nil {
		return unfinished(), nil
	}
	run := runOf(s.Title, out.Run)
	run.File = file
	result := out.Result
	if len(o.causes) > 0 { // rules may explain what Shunt found, so all is judged together
		result = diagnose.RunWith(&diagnose.View{Inv: out.Inventory, Win: out.Run.Window}, o.causes)
		tried(result.Findings, out.Result.Findings)
	}
	r := report.New(result, out.Inventory, run)
	r.Interrupted = interrupted
	return &answer{r, out.Inventory, out.Run.Window, o.causes}, nil
}

// runOf sums up a run for the report: what the job felt, and what the network counted.
func runOf(title string, run *scenario.Run) *report.Run {
	r := &report.Run{
		Title:       title,
		Job:         fmt.Sprintf("%d GPUs on %d hosts, %d switches", len(run.Fabric.GPUs), len(run.Fabric.Hosts()), len(run.Fabric.Switches())),
		Seed:        run.Seed,
		Fingerprint: fmt.Sprintf("%016x", run.Summary.Fingerprint),
		End:         run.Summary.End.Sub(units.Instant{}),
		Stalled:     run.Summary.Stalled,
		Cut:         run.Cut,
		Collectives: collectives(run.Inventory.Calls),
		Counters: report.Counters{
			PacketHops: run.Summary.PacketHops,
			Events:     run.Summary.Events,
			ECNMarks:   total(run.Window, telemetry.SwitchECNMarked),
			Pauses:     total(run.Window, telemetry.SwitchPFCTx) + total(run.Window, telemetry.NICTxPause),
		},
	}
	for _, d := range run.Summary.Deadlocks {
		var cycle []string
		for _, p := range append(d.Ports, d.Ports[0]) {
			cycle = append(cycle, run.Fabric.PortName(p))
		}
		r.Deadlocks = append(r.Deadlocks, fmt.Sprintf("%s, priority %d, since %v", strings.Join(cycle, " -> "), d.Priority, d.Since))
	}
	var times []units.Duration
	for _, s := range run.Inventory.Steps {
		times = append(times, s.Time)
	}
	if len(times) > 0 {
		f := figures(times)
		r.Step = &f
	}
	for reason, n := range run.Summary.Drops {
		if n > 0 {
			r.Counters.Drops = append(r.Counters.Drops, report.Drop{Reason: netsim.DropReason(reason).String(), Packets: n})
		}
	}
	return r
}

// total is how much a counter grew over the run, over all objects and priorities.
func total(w *telemetry.Window, id telemetry.SeriesID) uint64 {
	var sum float64
	for _, k := range w.Keys(id) {
		if d, ok := w.Delta(k); ok {
			sum += d
		}
	}
	return uint64(math.Round(sum))
}

// collectives groups the calls of a run by name and size, in the order in which the job first made them.
func collectives(calls []evidence.Call) []report.Collective {
	var list []report.Collective
	var groups [][]evidence.Call
	for _, c := range calls {
		i := slices.IndexFunc(list, func(g report.Collective) bool {
			return g.Name == c.Name && g.Kind == c.Kind && g.Bytes == c.Bytes && g.Ranks == c.Ranks
		})
		if i < 0 {
			i = len(list)
			list = append(list, report.Collective{Name: c.Name, Kind: c.Kind, Bytes: c.Bytes, Ranks: c.Ranks})
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	for i, group := range groups {
		slices.SortStableFunc(group, func(a, b evidence.Call) int { return cmp.Compare(a.Time, b.Time) })
		times := make([]units.Duration, len(group))
		for j, c := range group {
			times[j] = c.Time
		}
		median := group[rank(len(group), 50)]
		list[i].Calls, list[i].Time = len(group), figures(times)
		list[i].AlgBW, list[i].BusBW = median.AlgBW, median.BusBW
	}
	return list
}

// figures sums up times; there is at least one.
func figures(times []units.Duration) report.Figures {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return report.Figures{Count: n, Min: sorted[0], P50: sorted[rank(n, 50)], P99: sorted[rank(n, 99)], Max: sorted[n-1]}
}

// rank is the index of a percentile among n sorted values, by nearest rank: the first value that at least that
// share of all values does not exceed.
func rank(n, percent int) int { return (n*percent+99)/100 - 1 }
