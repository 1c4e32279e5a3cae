package ecmp

import (
	"math/rand/v2"
	"slices"
)

// Links are what a job feels. Few large flows on few links collide under the best of hashes, so that a ratio by itself accuses nobody: beside it stand what a
// perfect hash would do to flows of just these sizes, and what nobody could do better.

// Group is equal-cost links that a hash deals flows over, and what they carry.
type Group struct {
	Name   string    `json:"name"`             // "8 paths", "leaf2"
	Tier   int       `json:"tier"`             // 0 is the first choice on the way from a host
	Links  []string  `json:"links"`            // "path 0", "leaf2/Ethernet32 -> spine0"
	Flows  []int     `json:"flows"`            // by link
	Load   []float64 `json:"load"`             // by link: bytes, or flows where these are not known
	Hot    int       `json:"largest"`          // the link with the largest load
	Ratio  float64   `json:"to_fair"`          // its load to the mean
	ByFlow float64   `json:"to_fair_by_flows"` // the most flows of a link to the mean
	Idle   int       `json:"idle"`
	// Perfect is Ratio as a perfect hash would have it for flows of these sizes; P is the share of its deals that come to as much.
	Perfect Range   `json:"perfect_hash"`
	P       float64 `json:"p"`
	// Best is below what no assignment of these flows to these links comes, whoever chooses it.
	Best         float64 `json:"best_possible"`
	IdleExpected float64 `json:"idle_expected"`

	weights []float64 // of the flows that were dealt here
}

// Range is a mean and the middle 90 %.
type Range struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"p5"`
	High float64 `json:"p95"`
}

func rangeOf(values []float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	s := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	at := func(q float64) float64 { return s[min(int(q*float64(len(s))), len(s)-1)] }
	return Range{Mean: sum / float64(len(s)), Low: at(0.05), High: at(0.95)}
}

// add deals a flow to a link.
func (g *Group) add(link int, weight float64) {
	g.Flows[link]++
	g.Load[link] += weight
	g.weights = append(g.weights, weight)
}

func newGroup(name string, tier int, links []string) *Group {
	return &Group{Name: name, Tier: tier, Links: links, Flows: make([]int, len(links)), Load: make([]float64, len(links))}
}

// Fair is what each link would carry.
func (g *Group) Fair() float64 { return sum(g.weights) / float64(len(g.Links)) }

// Excess is what the fullest link carries beyond its fair share, by which groups are ranked: it is what the job waits for.
func (g *Group) Excess() float64 { return g.Load[g.Hot] - g.Fair() }

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

// finish works out the figures of what was dealt.
func (g *Group) finish() {
	most := 0
	for i, l := range g.Load {
		if l > g.Load[g.Hot] {
			g.Hot = i
		}
		most = max(most, g.Flows[i])
		if g.Flows[i] == 0 {
			g.Idle++
		}
	}
	n, links := len(g.weights), len(g.Links)
	if n == 0 {
		return
	}
	if fair := g.Fair(); fair > 0 {
		g.Ratio = g.Load[g.Hot] / fair
	}
	g.ByFlow = float64(most) * float64(links) / float64(n)
	g.IdleExpected, _ = expectedEmpty(n, links)
	g.Best = bestPossible(g.weights, links)
}

// Deals of a perfect hash are drawn, since flows of unequal sizes have no closed form. A thousand give a probability to
// about a percent; of very many flows fewer do, because their largest link hardly varies.
const (
	perfectDeals = 1000
	perfectWork  = 4_000_000 // flows dealt in all
	leastDeals   = 50
)

// perfect draws what a perfect hash would do.
func (g *Group) perfect(rng *rand.Rand) {
	n := len(g.weights)
	if n == 0 {
		return
	}
	deals := min(max(perfectWork/n, leastDeals), perfectDeals)
	ratios, asMuch := make([]float64, deals), 0
	for i := range ratios {
		ratios[i] = perfectDeal(g.weights, len(g.Links), rng)
		if ratios[i] >= g.Ratio-1e-9 {
			asMuch++
		}
	}
	g.Perfect = rangeOf(ratios)
	g.P = float64(asMuch+1) / float64(deals+1) // never 0: no more deals than these were looked at (Davison and Hinkley, 1997, 4.2)
}

// perfectDeal deals flows at random and returns the largest load to the mean.
func perfectDeal(weights []float64, links int, rng *rand.Rand) float64 {
	load, total, most := make([]float64, links), 0.0, 0.0
	for _, w := range weights {
		l := rng.IntN(links)
		load[l] += w
		total += w
		most = max(most, load[l])
	}
	if total == 0 {
		return 0
	}
	return most * float64(links) / total
}

// bestPossible is a bound that no assignment beats: the largest flow goes somewhere whole, and of more flows than links some link has at least
// the (links+1)-th and the links-th largest, or larger ones (Graham's bounds for scheduling on identical machines, 1969).
func bestPossible(weights []float64, links int) float64 {
	total := sum(weights)
	if total == 0 {
		return 1
	}
	fair := total / float64(links)
	s := slices.Clone(weights)
	slices.SortFunc(s, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	least := max(fair, s[0])
	for k := 1; k*links < len(s); k++ { // k*links+1 flows: some link has k+1 of them, none smaller than the last
		least = max(least, float64(k+1)*s[k*links])
		if float64(k) > 64 { // by then the bound is within 2 % of the fair share
			break
		}
	}
	return least / fair
}
