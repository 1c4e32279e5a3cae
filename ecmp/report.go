package ecmp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shunt-network/shunt/spray"
)

// Schema names the JSON form of a report.
const Schema = "shunt/hash/v1"

// DefaultBuckets are as many as the table of article 000 has (S0.7).
const DefaultBuckets = 1024

// Limits of what can be asked for. 2^20 buckets print as a line of a million numbers in JSON.
const (
	MaxBuckets = 1 << 20
	MaxPaths   = 1024
)

// Options say how switches hash and over what.
type Options struct {
	Config  Config
	Buckets int // 0: DefaultBuckets
	Paths   int // equal-cost paths; 0: those of the fabric, or none to look at
	Tiers   int // of switches with so many paths each, without a fabric; 0: 1
	// Propose looks for something better and proves it.
	Propose  bool
	Progress func(done float64)
}

// Report is what a hash does to the flows of an input.
type Report struct {
	Schema string `json:"schema"`
	Input  string `json:"input"`

	Flows       int      `json:"flows"`
	Connections int      `json:"connections"`
	Bytes       *int64   `json:"bytes,omitempty"` // nil where not known
	Known       Fields   `json:"known"`
	Modelled    Fields   `json:"modelled,omitempty"`
	Notes       []string `json:"notes,omitempty"`

	Fields     Fields          `json:"fields"`
	Algorithm  spray.Algorithm `json:"algorithm"`
	Polynomial string          `json:"polynomial,omitempty"` // hexadecimal; "" is the usual one
	Seed       uint64          `json:"seed"`

	Occupancy Occupancy `json:"occupancy"`
	Groups    []*Group  `json:"groups,omitempty"` // of a fabric the largest excess first, else by tier
	Tiers     []Tier    `json:"tiers,omitempty"`
	// Variants are the second tier under other hashes than the first; only where there are two.
	Variants []Variant `json:"tier_variants,omitempty"`

	Worst     float64    `json:"largest_to_mean,omitempty"` // the fullest of all links to the mean one of its tier
	Elsewhere *Range     `json:"elsewhere,omitempty"`       // the largest link to the mean with the hash as it is, on flows drawn anew
	Draws     int        `json:"draws,omitempty"`
	Proposals []Proposal `json:"proposals,omitempty"`
	// NeedQPs is how many QPs there would have to be where there is one for a perfect hash to come within a quarter of the fair share; 0 where
	// it does already, or where 64 would not be enough.
	NeedQPs int `json:"need_qps,omitempty"`

	Conclusions []string `json:"conclusions"`
}

// Variant is the second tier under another hash than the first.
type Variant struct {
	What string `json:"what"`
	Tier Tier   `json:"tier"`
}

// ErrNoFlows says that an input has no flow that could be hashed.
var ErrNoFlows = errors.New("ecmp: there is no flow to hash")

// Analyse works out everything. It ends early with the context's error.
func Analyse(ctx context.Context, s *Set, o Options) (*Report, error) {
	if o.Buckets == 0 {
		o.Buckets = DefaultBuckets
	}
	o.Tiers = max(o.Tiers, 1)
	switch {
	case len(s.Flows) == 0:
		return nil, ErrNoFlows
	case len(s.Flows) > MaxFlows:
		return nil, fmt.Errorf("ecmp: %d flows are more than %d", len(s.Flows), MaxFlows)
	case o.Buckets < 1 || o.Buckets > MaxBuckets:
		return nil, fmt.Errorf("ecmp: %d buckets: write 1 to %d", o.Buckets, MaxBuckets)
	case o.Paths < 0 || o.Paths > MaxPaths || o.Paths == 1:
		return nil, fmt.Errorf("ecmp: %d paths: write 2 to %d", o.Paths, MaxPaths)
	case o.Config.Hash.Algorithm == Simulator && s.Net == nil:
		return nil, errors.New("ecmp: the simulator's hash is for the flows of a scenario; choose another algorithm")
	case o.Config.Hash.Algorithm == Simulator && o.Tiers > 1:
		return nil, errors.New("ecmp: the simulator's switches have salts of their own and do not polarise; choose another algorithm")
	case o.Tiers > 1 && o.Paths == 0 && s.Net == nil:
		return nil, errors.New("ecmp: tiers need a number of paths")
	case o.Tiers > 1 && o.Paths == 0:
		return nil, errors.New("ecmp: the scenario's fabric has tiers of its own; tiers go with a number of paths")
	case len(o.Config.Tiers) > 0 && o.Tiers == 1 && (s.Net == nil || o.Paths > 0):
		return nil, errors.New("ecmp: there is no tier behind the first that could hash otherwise")
	case o.Tiers > maxTiers:
		return nil, fmt.Errorf("ecmp: %d tiers: write 1 to %d", o.Tiers, maxTiers)
	}
	if o.Paths > 0 && s.Net != nil { // the user would rather see these paths than those of the fabric
		c := *s
		c.Net = nil
		s = &c
	}
	if o.Config.Hash.Algorithm == "" {
		o.Config.Hash.Algorithm = spray.CRC32
	}
	units, err := o.Config.units(o.Tiers)
	if err != nil {
		return nil, err
	}
	d := newDealer(o.Buckets)
	r := &Report{Schema: Schema, Flows: len(s.Flows), Known: s.Known, Modelled: s.Modelled, Notes: s.Notes,
		Fields: o.Config.Fields, Algorithm: o.Config.Hash.Algorithm, Seed: o.Config.Hash.Seed, Occupancy: occupancy(s, units[0], d)}
	if p := o.Config.Hash.Polynomial; p != 0 {
		r.Polynomial = fmt.Sprintf("%#x", p)
	}
	conns := map[uint32]bool{}
	for i := range s.Flows {
		conns[s.Flows[i].Conn] = true
	}
	r.Connections = len(conns)
	if zero := o.Config.Fields &^ (s.Known | s.Modelled | Symmetric); zero != 0 {
		r.Notes = append(slices.Clone(r.Notes), zero.String()+" is hashed and not known: it counts as the same in all flows")
	}
	if s.Bytes {
		total := int64(s.total())
		r.Bytes = &total
	}
	if s.Net != nil || o.Paths > 0 {
		if err := r.links(ctx, s, o, d); err != nil {
			return nil, err
		}
	}
	r.conclude(s, o)
	return r, nil
}

// links looks at the paths.
func (r *Report) links(ctx context.Context, s *Set, o Options, d *dealer) (err error) {
	y := &study{paths: o.Paths, tiers: o.Tiers, d: d}
	if r.Groups, err = y.groups(s, o.Config); err != nil {
		return err
	}
	if len(r.Groups) == 0 {
		return nil // all flows have one way: nothing is chosen
	}
	r.Worst = worst(r.Groups)
	rng := rand.New(rand.NewPCG(perfectStream, 1))
	for i, g := range r.Groups {
		if i < perfectGroups {
			g.perfect(rng)
		}
	}
	r.Tiers = tiersOf(r.Groups)
	if len(r.Tiers) > 1 && o.Config.Hash.Algorithm != Simulator {
		if err := r.variants(s, o, y); err != nil {
			return err
		}
	}
	r.NeedQPs = r.Groups[0].needQPs(rng)
	if !o.Propose {
		return nil
	}
	if r.Proposals, err = y.proposals(ctx, s, o.Config); err != nil {
		return err
	}
	now, draws, err := y.prove(ctx, s, o.Config, r.Proposals, o.Progress)
	r.Elsewhere, r.Draws = &now, draws
	return err
}

// perfectGroups is for how many groups a perfect hash is drawn: those that a page shows and some more; a fabric may have tens of thousands.
const perfectGroups = 64

// variants looks at the second tier under other hashes.
func (r *Report) variants(s *Set, o Options, y *study) error {
	h := o.Config.Hash
	seed, bits := h, h
	seed.Seed++
	bits.Offset += 8
	for _, v := range []struct {
		what string
		hash spray.HashConfig
	}{{"another seed in it", seed}, {"higher bits of the hash in it", bits}, {"another polynomial in it", otherPolynomial(h, 0)}} {
		c := o.Config
		c.Tiers = []spray.HashConfig{v.hash, otherPolynomial(h, 1)}
		groups, err := y.groups(s, c)
		if err != nil {
			continue // a hash of 16 bits has no bits that high
		}
		if t := tiersOf(groups); len(t) > 1 {
			r.Variants = append(r.Variants, Variant{What: v.what, Tier: t[1]})
		}
	}
	return nil
}

// closeToFair is what counts as even: a quarter above the fair share. Tighter needs flows by the hundred a link.
const closeToFair = 1.25

// needQPs is how many flows there would have to be in place of each for a perfect hash to come close to fair.
func (g *Group) needQPs(rng *rand.Rand) int {
	for q := 1; q <= 64; q *= 2 {
		if len(g.weights)*q > perfectWork/leastDeals {
			return 0
		}
		weights := make([]float64, 0, len(g.weights)*q)
		for _, w := range g.weights {
			for range q {
				weights = append(weights, w/float64(q))
			}
		}
		total := 0.0
		for range leastDeals {
			total += perfectDeal(weights, len(g.Links), rng)
		}
		if total/leastDeals <= closeToFair {
			if q == 1 {
				return 0
			}
			return q
		}
	}
	return 0
}
