package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// costDraws is how many decisions are drawn for a distribution, and costRuns how many collectives. A percentile of 99 rests on a
// hundredth of them.
const (
	costDraws = 100_000
	costRuns  = 2000
	maxRanks  = 512
	maxCost   = 16 * units.MiB // of the data
	maxDrawn  = 1_000_000_000  // decisions of a platform's runs: half a minute (3.2e7 took 0.8 s on a shared Xeon)
)

func (a *app) sprayCostCommand() *cobra.Command {
	// About the 45 us of article 000 with a pipeline; it gives neither ranks nor size.
	r := spray.Ring{Ranks: 8, Size: 256 * units.KiB, MTU: 4096, Rate: 200 * units.Gbps, Latency: 2 * units.Microsecond}
	var seed uint64 = 1
	var asJSON bool
	c := &cobra.Command{
		Use:   "cost",
		Short: "what a decision costs in a pipeline and in software, and what an AllReduce makes of it",
		Long: `Cost draws decisions of three platforms (the pipeline of an adapter, software that polls, software with interrupts) and plays an AllReduce
in a ring whose packets are all decided upon by each. The figures of each step are those of article 000, of public sources, or
uncertain; docs/models/spray.md tells which.`,
		Example: `  shunt spray cost
  shunt spray cost --ranks 16 --size 1MiB --rate 400Gbps`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if r.Ranks < 2 || r.Ranks > maxRanks {
				return fail(exitUsage, "--ranks %d is not between 2 and %d", r.Ranks, maxRanks)
			}
			if r.Size < units.Bytes(r.Ranks) || r.Size > maxCost || r.MTU < 1 || r.Rate <= 0 || r.Latency < 0 {
				return fail(exitUsage, "--size %s --mtu %s --rate %s --latency %s: the size is from a byte a rank to %s, payload and rate are more than 0, the latency is 0 or more", r.Size, r.MTU, r.Rate, r.Latency, maxCost)
			}
			ranks := int64(r.Ranks)
			packets := (int64(r.Size)/ranks + int64(r.MTU) - 1) / int64(r.MTU)
			if drawn := 2 * (ranks - 1) * ranks * max(1, packets) * costRuns; drawn > maxDrawn {
				return fail(exitUsage, "--ranks %d --size %s --mtu %s: %s decisions to draw are too many; at most %s", r.Ranks, r.Size, r.MTU, count(uint64(drawn)), count(maxDrawn))
			}
			return a.sprayCost(r, seed, asJSON)
		},
	}
	f := c.Flags()
	f.IntVar(&r.Ranks, "ranks", r.Ranks, "ranks of the AllReduce")
	f.TextVar(&r.Size, "size", r.Size, "`size` of the data of a rank")
	f.TextVar(&r.MTU, "mtu", r.MTU, "`size` of the payload of a packet")
	f.TextVar(&r.Rate, "rate", r.Rate, "`rate` of a port")
	f.TextVar(&r.Latency, "latency", r.Latency, "`time` from the last bit sent to the next step, without the decision")
	f.Uint64Var(&seed, "seed", seed, "seed of the draws")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// costRow is a platform. Times are in nanoseconds.
type costRow struct {
	Platform  string  `json:"platform"`
	Rate      float64 `json:"decisions_per_second"`
	Mean      float64 `json:"decision_mean_ns"`
	P50       float64 `json:"decision_p50_ns"`
	P99       float64 `json:"decision_p99_ns"`
	Jitter    float64 `json:"decision_jitter_ns"` // of the 99th percentile above the least
	AllReduce float64 `json:"allreduce_mean_ns"`
	Worst     float64 `json:"allreduce_p99_ns"`
}

func (a *app) sprayCost(r spray.Ring, seed uint64, asJSON bool) error {
	ns := func(d units.Duration) float64 { return float64(d) / float64(units.Nanosecond) }
	var rows []costRow
	for _, p := range []spray.Platform{spray.Pipeline(), spray.Polling(), spray.Interrupts(r.MTU)} {
		d, t := p.Decisions(costDraws, seed), r.Times(p, costRuns, seed)
		rows = append(rows, costRow{p.Name, p.Rate(), ns(d.Mean), ns(d.P50), ns(d.P99), ns(d.Jitter()), ns(t.Mean), ns(t.P99)})
	}
	if asJSON {
		return a.encode(struct {
			Ideal     float64   `json:"allreduce_without_decisions_ns"`
			Platforms []costRow `json:"platforms"`
		}{ns(r.Ideal()), rows})
	}
	t := table{head: []string{"decided by", "decisions", "mean", "median", "p99", "jitter", "AllReduce", "p99"}, left: 1}
	for _, x := range rows {
		t.add(x.Platform, figure(x.Rate/1e6)+" M/s", us(x.Mean/1e3), us(x.P50/1e3), us(x.P99/1e3), us(x.Jitter/1e3), us(x.AllReduce/1e3), us(x.Worst/1e3))
	}
	return a.say(fmt.Sprintf("an AllReduce of %s in a ring of %d at %s takes %s without decisions\n\n", r.Size, r.Ranks, r.Rate, us(ns(r.Ideal())/1e3)) + t.String() + a.noted([]string{
		"Article 000 has 45 us with a pipeline and 210 us in software, a jitter of 0.3 us and 2.7 us, and 12 ns for a decision; it gives neither ranks nor size nor how jitter was measured. None of it has public corroboration.",
		"Of software, the time of the hash is our own measurement; how often a cache misses, and what it takes to hand a packet over, are uncertain.",
	}))
}
