package ecmp

import "fmt"

// What follows from the figures, in sentences: whose fault the skew is, whether any hash could do better, and what would. A page of probabilities is read
// by few; these lines by all, so each says what it rests on.

// Uneven is from which ratio to its fair share a link counts as overloaded: that of the finding L021.
const Uneven = 1.5

// Found tells whether there is something to act on.
func (r *Report) Found() bool {
	for _, t := range r.Tiers {
		if t.Polarised() {
			return true
		}
	}
	return r.Occupancy.Skewed() || len(r.Groups) > 0 && r.Groups[0].Ratio >= Uneven
}

// conclude puts what was found into sentences.
func (r *Report) conclude(s *Set, o Options) {
	say := func(format string, args ...any) { r.Conclusions = append(r.Conclusions, fmt.Sprintf(format, args...)) }
	b := &r.Occupancy
	switch {
	case b.FieldsToBlame():
		say("the hashed fields tell only %d of %d flows apart; the function deals these evenly, so other fields help and another function does not", b.Keys, b.Flows)
	case b.Skewed() && b.Keys < b.Flows/2:
		say("the buckets are filled in a way that chance does not explain, and the hashed fields tell only %d of %d flows apart", b.Keys, b.Flows)
	case b.Skewed():
		say("the buckets are filled in a way that chance does not explain: the function keeps a pattern of the fields")
	case r.Occupancy.Flows < 10:
		say("%d flows are too few to tell a good hash from a bad one", b.Flows)
	case b.P > 1-chance:
		say("the buckets are filled more evenly than a perfect hash would fill them: these flows differ in a way that the function spreads out")
	default:
		say("the buckets are filled as a perfect hash would fill them")
	}
	for i := range r.Tiers {
		if t := &r.Tiers[i]; t.Polarised() {
			say("tier %d is polarised: %d of %d links are idle where a perfect hash leaves %.0f", t.Tier+1, t.Idle, t.Links, t.Expected)
		}
	}
	if len(r.Groups) == 0 {
		return
	}
	g := r.Groups[0]
	n, links := len(g.weights), len(g.Links)
	switch {
	case n < links:
		say("%s are fewer than %d links: no hash can use them all; more QPs per connection or spraying would", plural(n, "flow"), links)
	case g.Best > Uneven:
		say("no hash can help: with %s of these sizes on %d links one link has at least %.3gx its share; cut messages over more QPs, or spray", plural(n, "flow"), links, g.Best)
	case g.Ratio >= Uneven && g.P >= chance && g.Perfect.Mean >= Uneven*0.9:
		say("%.3gx is what a perfect hash does to %s on %d links as well (%.3gx on average): more flows help, another hash does not", g.Ratio, plural(n, "flow"), links, g.Perfect.Mean)
	}
	if few := len(s.fewPorts()); few > 0 {
		say("the adapters take %s for all of their QPs: only the destination QPN tells QPs between two addresses apart", plural(few, "UDP source port"))
	}
	best, overfit := -1, false
	for i, p := range r.Proposals {
		switch p.Verdict {
		case Proven:
			if best < 0 || p.Gain > r.Proposals[best].Gain+r.Proposals[best].GainError { // of alike ones the first: it changes least
				best = i
			}
		case Overfits:
			overfit = true
		}
		if p.What == anySeed {
			say("%s is linear: another seed changes the hashes of all flows alike, which here swaps links and evens nothing", o.Config.Hash.Algorithm)
		}
	}
	switch {
	case best >= 0:
		p := r.Proposals[best]
		say("most is gained by this, on flows it was not chosen by: %s, %.3gx in place of %.3gx (%s)", p.What, p.Elsewhere.Mean, r.Elsewhere.Mean, p.How)
	case len(r.Proposals) > 0:
		say("nothing that was tried is better on flows it was not chosen by")
	}
	if overfit {
		say("what is better on these flows alone is luck: QPNs and source ports change with every start of the job")
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
