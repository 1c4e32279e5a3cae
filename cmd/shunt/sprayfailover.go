package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// claimedErrors is the share of decode errors during failover that article 000 claims for the fingerprint (S0.6).
const claimedErrors = 1e-6

// maxFailovers limits the seeds: each plays the whole stretch for every scheme.
const maxFailovers = 1000

func (a *app) sprayFingerprintCommand() *cobra.Command {
	o := spray.DefaultFailover()
	seeds := 5
	var asJSON bool
	c := &cobra.Command{
		Use:   "fingerprint",
		Short: "play a failover with several kinds of path id, and count decode errors",
		Long: `Fingerprint plays a stretch of spraying over paths whose links have bit errors, one of which fails. A decode error is a packet whose path
id the receiver does not know or takes for another path's. Path ids are the number of the switch port, the hash of a sample of bit
errors (before and after correction), the same smoothed, and a number given to the path with its quality kept apart.`,
		Example: `  shunt spray fingerprint
  shunt spray fingerprint --bits 4 --paths 16
  shunt spray fingerprint --ber 1e-5 --steps 64 --seeds 20`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.fingerprint(o, seeds, asJSON) },
	}
	f := c.Flags()
	f.IntVar(&o.Paths, "paths", o.Paths, "paths, and links; one more link is spare")
	f.TextVar(&o.Rate, "rate", o.Rate, "`rate` of the sender and of each link")
	f.TextVar(&o.Wire, "packet", o.Wire, "`size` of a packet on the wire")
	f.Float64Var(&o.BER, "ber", o.BER, "bit error rate before correction, in the middle of the links")
	f.Float64Var(&o.Spread, "spread", o.Spread, "decades up and down within which the links lie")
	f.Float64Var(&o.PostFEC, "post-fec", o.PostFEC, "bit error rate after correction")
	f.TextVar(&o.Sample, "sample", o.Sample, "`time` in which errors are counted")
	f.TextVar(&o.Update, "update", o.Update, "`time` until the receiver knows of a changed id")
	f.TextVar(&o.Flight, "flight", o.Flight, "`time` that a packet is under way")
	f.TextVar(&o.Stretch, "stretch", o.Stretch, "`time` that is played")
	f.TextVar(&o.FailAt, "fail-at", o.FailAt, "`time` at which a link fails")
	f.TextVar(&o.During, "during", o.During, "`time` from then on that counts as the failover")
	f.IntVar(&o.IDBits, "bits", o.IDBits, "bits of a packet for the path")
	f.IntVar(&o.Steps, "steps", o.Steps, "steps a decade of the smoothed fingerprint")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "first seed")
	f.IntVar(&seeds, "seeds", seeds, "so many seeds, each played once")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// failoverRow is one scheme over the seeds.
type failoverRow struct {
	Scheme  spray.IDScheme         `json:"scheme"`
	Holds   bool                   `json:"claim_holds"` // for every seed
	Results []spray.FailoverResult `json:"results"`     // by seed
}

// span is the least and the most of a share over the results.
func (r *failoverRow) span(share func(*spray.FailoverResult) float64) (low, high float64) {
	for i := range r.Results {
		s := share(&r.Results[i])
		if i == 0 {
			low, high = s, s
		}
		low, high = min(low, s), max(high, s)
	}
	return low, high
}

func (a *app) fingerprint(o spray.FailoverConfig, seeds int, asJSON bool) error {
	if seeds < 1 || seeds > maxFailovers {
		return fail(exitUsage, "--seeds %d is not between 1 and %d", seeds, maxFailovers)
	}
	var rows []failoverRow
	first := o.Seed
	for s := range seeds {
		o.Seed = first + uint64(s)
		results, err := spray.Failover(o)
		if err != nil {
			return &failure{exitUsage, err}
		}
		for i, r := range results {
			if s == 0 {
				rows = append(rows, failoverRow{Scheme: r.Scheme, Holds: true})
			}
			rows[i].Results = append(rows[i].Results, r)
			rows[i].Holds = rows[i].Holds && r.During.Share() < claimedErrors
		}
	}
	if asJSON {
		return a.encode(struct {
			Claimed   float64        `json:"claimed"`
			Within    units.Duration `json:"port_would_need_update_within"`
			Schemes   []failoverRow  `json:"schemes"`
			FirstSeed uint64         `json:"first_seed"`
		}{claimedErrors, o.UpdateFor(claimedErrors), rows, first})
	}
	words := map[spray.IDScheme]string{
		spray.IDPort: "switch port", spray.IDHash: "hash", spray.IDSmooth: "hash, smoothed", spray.IDPostFEC: "hash after FEC", spray.IDStable: "given number",
	}
	t := table{head: []string{"path id", "failover", "over all", "changed", "alike", "empty"}, left: 1}
	var holds []string
	for i := range rows {
		r := &rows[i]
		last := &r.Results[0]
		t.add(words[r.Scheme], spanText(r.span(func(x *spray.FailoverResult) float64 { return x.During.Share() })), spanText(r.span(func(x *spray.FailoverResult) float64 { return x.All.Share() })),
			count(uint64(last.Changes)), fmt.Sprintf("%d of %d", last.Alike, o.Paths), shareText(units.Fraction(float64(last.Empty)/float64(last.Samples))))
		if r.Holds {
			holds = append(holds, words[r.Scheme])
		}
	}
	claim := "It holds for none of them."
	if len(holds) > 0 {
		claim = "Here it holds for: " + strings.Join(holds, "; ") + "."
	}
	return a.say(wrapped(fmt.Sprintf("decode errors, %d paths of %s, %d bits of path id, errors sampled each %s, %d seeds from %d", o.Paths, o.Rate, o.IDBits, o.Sample, seeds, first), "", a.columns()) + "\n\n" + t.String() + a.noted([]string{
		"Article 000 claims fewer than 0.0001 % during failover for the hash. " + claim,
		fmt.Sprintf("With the port number a receiver would have to learn of the failover within %s to stay below that; here it takes %s.", o.UpdateFor(claimedErrors), o.Update),
		"hash: of a sample of bit errors before correction, as the article has it; smoothed: the same, averaged and in steps; after FEC: of errors after correction. The given number belongs to the path, and its quality is kept apart.",
		"changed: ids that changed; alike: paths at the end that share an id with another; empty: samples without an error; all three of the first seed. Links do not drift, and both ends agree on each sample, which favours the hash.",
	}))
}

// spanText prints a range of shares, or the one that they all are.
func spanText(low, high float64) string {
	from, to := shareText(units.Fraction(low)), shareText(units.Fraction(high))
	if from == to {
		return from
	}
	return strings.TrimSuffix(from, " %") + " to " + to
}
