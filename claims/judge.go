package claims

import (
	"fmt"
	"math"
)

// Verdict is what came of a claim.
type Verdict string

// Verdicts.
const (
	Holds      Verdict = "holds"
	Direction  Verdict = "direction holds"
	Fails      Verdict = "does not hold"
	Undecided  Verdict = "not decided"
	Untestable Verdict = "cannot be tested here"
)

// Verdicts lists them from the best for a claim to the worst, and then those that say nothing of it.
func Verdicts() []Verdict { return []Verdict{Holds, Direction, Fails, Undecided, Untestable} }

// Rule is what a quantity is held against: a range, of which one end may be infinite, and what would be no effect at all.
type Rule struct {
	Low, High float64 // the claimed figure, twice, or a range; infinite at the side where a bound has no end
	Miss      float64 // by how much a mean may miss it and still count as that figure, as a share of the effect, or of the figure where there is none
	Neutral   float64 // the quantity if there were no effect; NaN where a figure has no direction
	given     bool
}

// Shares by which a mean may miss a figure. A quarter of the effect is what the validation ladder takes for practitioners' reports
// (validation, group claims): the cluster that a figure is of is never described well enough to ask for more. The effect and not the figure counts, so that 70
// against 50 is missed by 5 and not by 18. A figure without a direction may be missed by a tenth, and what can be counted by a hundredth.
const (
	missEffect  = 1.0 / 4
	missFigure  = 1.0 / 10
	missCounted = 1.0 / 100
)

// About is a figure with a direction; neutral is the quantity without any effect: 1 of a ratio, 0 of a loss.
func About(figure, neutral float64) Rule { return Between(figure, figure, neutral) }

// Between is a claimed range.
func Between(low, high, neutral float64) Rule { return Rule{low, high, missEffect, neutral, true} }

// Near is a figure without a direction, Exactly one that can be counted.
func Near(figure float64) Rule    { return Rule{figure, figure, missFigure, math.NaN(), true} }
func Exactly(figure float64) Rule { return Rule{figure, figure, missCounted, math.NaN(), true} }

// AtMost and AtLeast are claimed bounds.
func AtMost(figure float64) Rule  { return Rule{math.Inf(-1), figure, 0, math.NaN(), true} }
func AtLeast(figure float64) Rule { return Rule{figure, math.Inf(1), 0, math.NaN(), true} }

// Above and Below claim no more than a direction: where the article's figure cannot be laid beside ours, the sign still can.
func Above(neutral float64) Rule { return Rule{math.NaN(), math.Inf(1), 0, neutral, true} }
func Below(neutral float64) Rule { return Rule{math.Inf(-1), math.NaN(), 0, neutral, true} }

// Judge is the verdict (Q2):
//
//	not decided      nothing was measured, or one value of a random quantity, or an interval that has both the figure and no effect in it
//	holds            of a figure or range: the interval reaches into it, or the mean misses it by no more than the rule allows;
//	                 of a bound: the whole interval is within it
//	direction holds  else, when the whole interval is on the figure's side of no effect
//	does not hold    else
func Judge(r Rule, e Estimate) Verdict {
	if !r.given {
		return Untestable
	}
	if !e.Known || !e.Interval {
		return Undecided
	}
	hit, effect := r.hit(e), r.effect(e)
	switch {
	case hit && (effect || math.IsNaN(r.Neutral)):
		return Holds
	case hit && r.Low == r.High && r.Low == r.Neutral: // the claim is that there is no effect
		return Holds
	case hit:
		return Undecided
	case effect:
		return Direction
	}
	return Fails
}

// hit tells whether an estimate agrees with the claimed range.
func (r Rule) hit(e Estimate) bool {
	switch {
	case math.IsNaN(r.Low) || math.IsNaN(r.High):
		return false
	case math.IsInf(r.Low, -1):
		return e.High <= r.High
	case math.IsInf(r.High, 1):
		return e.Low >= r.Low
	}
	low, high := r.Low-r.allowed(r.Low), r.High+r.allowed(r.High)
	return e.Low <= r.High && e.High >= r.Low || e.Mean >= low && e.Mean <= high
}

// allowed is by how much a mean may miss an end of the range.
func (r Rule) allowed(end float64) float64 {
	if math.IsNaN(r.Neutral) {
		return r.Miss * math.Abs(end)
	}
	return r.Miss * math.Abs(end-r.Neutral)
}

// effect tells whether an interval lies wholly on the claimed side of no effect.
func (r Rule) effect(e Estimate) bool {
	switch {
	case math.IsNaN(r.Neutral):
		return false
	case r.up():
		return e.Low > r.Neutral
	}
	return e.High < r.Neutral
}

// up tells on which side of no effect the claim is.
func (r Rule) up() bool {
	if math.IsNaN(r.Low) {
		return true
	}
	if math.IsNaN(r.High) {
		return false
	}
	return r.Low+r.High > 2*r.Neutral
}

// String is the rule in words, for the page.
func (r Rule) String() string {
	switch {
	case !r.given:
		return "-"
	case math.IsNaN(r.Low):
		return "more than " + figure(r.Neutral)
	case math.IsNaN(r.High):
		return "less than " + figure(r.Neutral)
	case math.IsInf(r.Low, -1):
		return "at most " + figure(r.High)
	case math.IsInf(r.High, 1):
		return "at least " + figure(r.Low)
	case r.Low == r.High && r.allowed(r.Low) == 0:
		return figure(r.Low)
	case r.Low == r.High:
		return figure(r.Low) + " +- " + figure(r.allowed(r.Low))
	}
	return fmt.Sprintf("%s to %s, from %s to %s", figure(r.Low), figure(r.High), figure(r.Low-r.allowed(r.Low)), figure(r.High+r.allowed(r.High)))
}
