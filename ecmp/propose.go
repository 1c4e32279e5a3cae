package ecmp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shunt-network/shunt/spray"
)

// Verdict is what became of a proposal.
type Verdict string

// Verdicts.
const (
	Proven   Verdict = "holds" // better on flows that it was not chosen by
	Overfits Verdict = "luck"  // better on these, and no better on others
	NoGain   Verdict = "no gain"
)

// Proposal is another way to hash, or more flows to hash, and what it came to.
type Proposal struct {
	What string `json:"what"` // "hash the destination QPN as well"
	How  string `json:"how"`  // what to set
	QPs  int    `json:"qps_per_connection,omitempty"`
	// Here is the largest link to the mean on the flows of the input. Elsewhere is the same on flows drawn anew, and Gain how much less
	// that is than with the hash as it is, on the same draws: the mean and twice its standard error.
	Here      float64 `json:"here"`
	Elsewhere Range   `json:"elsewhere"`
	Gain      float64 `json:"gain"`
	GainError float64 `json:"gain_error"`
	Draws     int     `json:"draws"`
	Verdict   Verdict `json:"verdict"`

	config Config
}

// Limits of the search. 64 seeds are as many as somebody would try in a maintenance window; more only fit the flows of today better. Draws cost a hash
// of every flow at every tier: so many hashes take about two seconds.
const (
	triedSeeds = 64
	mostDraws  = 200
	leastDraws = 12
	drawWork   = 12_000_000
	seedWork   = 6_000_000
	// moreFlows is the most flows for which more QPs are tried: that many are even over any number of links that a switch has, and another
	// four or sixteen times as many would take minutes.
	moreFlows = 1 << 18
	// worthwhile is the least gain that is told as one: below it a link is 5 % less full, which no job notices.
	worthwhile = 0.05
)

// study is one way to look at the flows: over a fabric, or over so many paths and tiers.
type study struct {
	paths, tiers int
	d            *dealer
}

// groups deals the flows of a set.
func (y *study) groups(s *Set, c Config) ([]*Group, error) {
	tiers := y.tiers
	if s.Net != nil {
		tiers = maxTiers
	}
	units, err := c.units(tiers)
	if err != nil {
		return nil, err
	}
	if s.Net != nil {
		return s.Net.deal(s, units, y.d), nil
	}
	return climb(s, units, y.d, y.paths, y.tiers), nil
}

// worst is the measure that ways to hash are compared by: the fullest of all links that were chosen among, to the mean link of the groups of its
// tier. The fullest link is what a collective waits for.
func worst(groups []*Group) float64 {
	most := 0.0
	for tier := range maxTiers {
		load, links, top := 0.0, 0, 0.0
		for _, g := range groups {
			if g.Tier == tier {
				load += sum(g.weights)
				links += len(g.Links)
				top = max(top, g.Load[g.Hot])
			}
		}
		if load > 0 {
			most = max(most, top*float64(links)/load)
		}
	}
	return most
}

// measure is worst of a set under a configuration.
func (y *study) measure(s *Set, c Config) (float64, error) {
	groups, err := y.groups(s, c)
	if err != nil {
		return 0, err
	}
	return worst(groups), nil
}

// proposals lists what could be tried instead of a configuration; the best of several seeds is picked by the flows of the set.
func (y *study) proposals(ctx context.Context, s *Set, c Config) ([]Proposal, error) {
	var out []Proposal
	roce := slices.ContainsFunc(s.Flows, func(f Flow) bool { return f.RoCE() && f.QPN != 0 })
	with := func(what, how string, change func(*Config)) {
		n := Config{Fields: c.Fields, Hash: c.Hash, Tiers: slices.Clone(c.Tiers)}
		change(&n)
		out = append(out, Proposal{What: what, How: how, config: n})
	}
	own := c.Hash.Algorithm == Simulator
	if c.Fields&FiveTuple != FiveTuple && !own {
		with("hash all of the 5-tuple", "fields "+(c.Fields|FiveTuple).String(), func(n *Config) { n.Fields |= FiveTuple })
	}
	if roce && c.Fields&QPN == 0 {
		with("hash the destination QPN as well", "fields "+(c.Fields|FiveTuple|QPN).String(), func(n *Config) { n.Fields |= FiveTuple | QPN })
	}
	if !own {
		if c.Hash.Algorithm == spray.XOR || c.Hash.Algorithm == spray.CRCXOR {
			with("a CRC in place of the XOR", "algorithm crc32", func(n *Config) { n.Hash = spray.HashConfig{Algorithm: spray.CRC32, Seed: c.Hash.Seed} })
		} else if c.Hash.Algorithm != spray.CRC32C {
			with("another polynomial", "algorithm crc32c", func(n *Config) { n.Hash = spray.HashConfig{Algorithm: spray.CRC32C, Seed: c.Hash.Seed} })
		}
		seed, err := y.bestSeed(ctx, s, c)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("the best of %d seeds", seed.tried)
		if seed.alike {
			what = anySeed
		}
		with(what, fmt.Sprintf("seed %d", seed.seed), func(n *Config) { n.Hash.Seed = seed.seed })
		if y.tiers > 1 || s.Net != nil {
			with("another seed in the second tier", "seed 1 behind the first tier", func(n *Config) {
				second := c.Hash
				second.Seed = c.Hash.Seed + 1
				n.Tiers = []spray.HashConfig{second}
			})
			with("another polynomial in the second tier", "algorithm crc32c behind the first tier", func(n *Config) {
				n.Tiers = []spray.HashConfig{otherPolynomial(c.Hash, 0), otherPolynomial(c.Hash, 1)}
			})
		}
	}
	for _, q := range []int{4, 16} {
		if len(s.Flows)*q > moreFlows || !roce {
			continue
		}
		with(fmt.Sprintf("%d times the QPs", q), moreQPs(s, q), func(*Config) {})
		out[len(out)-1].QPs = q
		if c.Fields&QPN == 0 {
			with(fmt.Sprintf("%d times the QPs, and the QPN hashed", q), moreQPs(s, q)+", fields "+(c.Fields|FiveTuple|QPN).String(), func(n *Config) { n.Fields |= FiveTuple | QPN })
			out[len(out)-1].QPs = q
		}
	}
	return out, nil
}

// moreQPs is how NCCL is told to open more QPs a connection and to cut messages over them.
func moreQPs(s *Set, q int) string {
	return fmt.Sprintf("NCCL_IB_QPS_PER_CONNECTION=%d NCCL_IB_SPLIT_DATA_ON_QPS=1", q*max(s.QPs, 1))
}

// otherPolynomial is a CRC unit that is not the given one.
func otherPolynomial(h spray.HashConfig, k int) spray.HashConfig {
	var list []spray.HashConfig
	for _, a := range []spray.Algorithm{spray.CRC32C, spray.CRC32, spray.CRC64} {
		if a != h.Algorithm {
			list = append(list, spray.HashConfig{Algorithm: a, Seed: h.Seed})
		}
	}
	return list[k%len(list)]
}

// anySeed is the proposal of another seed where all that were tried came to the same.
const anySeed = "any other seed"

type picked struct {
	seed  uint64
	tried int
	alike bool // every seed came to the same
}

// bestSeed tries seeds on the flows of the set.
func (y *study) bestSeed(ctx context.Context, s *Set, c Config) (picked, error) {
	p := picked{seed: c.Hash.Seed, tried: min(triedSeeds, max(4, seedWork/max(len(s.Flows)*max(1, y.tiers), 1)))}
	best := math.Inf(1)
	p.alike = true
	for seed := range uint64(p.tried) {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		n := c
		n.Hash.Seed = seed
		r, err := y.measure(s, n)
		if err != nil {
			return p, err
		}
		p.alike = p.alike && (seed == 0 || math.Abs(r-best) < 1e-9)
		if r < best {
			best, p.seed = r, seed
		}
	}
	return p, nil
}

// prove measures every proposal on the flows of the set and on flows drawn anew, beside the configuration as it is.
func (y *study) prove(ctx context.Context, s *Set, c Config, list []Proposal, progress func(float64)) (now Range, draws int, err error) {
	here, err := y.measure(s, c)
	if err != nil {
		return now, 0, err
	}
	work := 1
	for _, p := range list {
		work += max(1, p.QPs)
	}
	draws = min(mostDraws, max(leastDraws, drawWork/max(1, work*len(s.Flows))))
	d := newDrawer(s)
	for i := range list {
		p := &list[i]
		set := s
		if p.QPs > 1 {
			set = d.draw(rand.New(rand.NewPCG(hereStream, 1)), p.QPs) // the further QPs are nowhere yet: they are drawn
		}
		if p.Here, err = y.measure(set, p.config); err != nil {
			return now, 0, err
		}
	}
	before, after := make([]float64, draws), make([][]float64, len(list))
	for k := range draws {
		if err := ctx.Err(); err != nil {
			return now, 0, err
		}
		drawn := map[int]*Set{}
		with := func(qps int) *Set {
			if drawn[qps] == nil {
				drawn[qps] = d.draw(rand.New(rand.NewPCG(drawStream, uint64(k))), qps)
			}
			return drawn[qps]
		}
		if before[k], err = y.measure(with(1), c); err != nil {
			return now, 0, err
		}
		for i, p := range list {
			r, err := y.measure(with(max(1, p.QPs)), p.config)
			if err != nil {
				return now, 0, err
			}
			after[i] = append(after[i], r)
		}
		if progress != nil {
			progress(float64(k+1) / float64(draws))
		}
	}
	for i := range list {
		list[i].judge(here, before, after[i])
	}
	return rangeOf(before), draws, nil
}

// Streams of the draws: fixed, so that the same input gives the same page.
const (
	hereStream    = 0x5851f42d4c957f2d
	drawStream    = 0x14057b7ef767814f
	perfectStream = 0x2545f4914f6cdd1d
)

// judge compares a proposal with what is there, draw by draw.
func (p *Proposal) judge(here float64, before, after []float64) {
	p.Draws, p.Elsewhere = len(after), rangeOf(after)
	mean, square := 0.0, 0.0
	for i := range after {
		d := before[i] - after[i]
		mean += d
		square += d * d
	}
	n := float64(len(after))
	mean /= n
	p.Gain = mean
	p.GainError = 2 * math.Sqrt(max(0, square/n-mean*mean)/max(1, n-1))
	was := rangeOf(before).Mean
	switch {
	case p.Gain-p.GainError > 0 && p.Gain > worthwhile*was:
		p.Verdict = Proven
	case p.Here < here*(1-worthwhile):
		p.Verdict = Overfits
	default:
		p.Verdict = NoGain
	}
}
