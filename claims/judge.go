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
	Tolerance float64 // by which share of the figure a mean may miss it and still count as that figure
	Neutral   float64 // the quantity if there were no effect; NaN where a figure has no direction
	given     bool
}

// About is a figure that a mean may miss by a share of it. neutral is the quantity without any effect: 1 of a ratio, 0 of a loss.
func About(figure, tolerance, neutral float64) Rule {
	return Between(figure, figure, tolerance, neutral)
}

// Exactly is a figure that follows or does not: within a hundredth, without a direction.
func Exactly(figure float64) Rule { return Between(figure, figure, 0.01, math.NaN()) }

// Between is a claimed range.
func Between(low, high, tolerance, neutral float64) Rule {
	return Rule{low, high, tolerance, neutral, true}
}

// AtMost and AtLeast are claimed bounds.
func AtMost(figure float64) Rule  { return Rule{math.Inf(-1), figure, 0, math.NaN(), true} }
func AtLeast(figure float64) Rule { return Rule{figure, math.Inf(1), 0, math.NaN(), true} }

// Above and Below claim no more than a direction: where the article's figure cannot be laid beside ours, the sign still can.
func Above(neutral float64) Rule { return Rule{math.NaN(), math.Inf(1), 0, neutral, true} }
func Below(neutral float64) Rule { return Rule{math.Inf(-1), math.NaN(), 0, neutral, true} }

// Judge is the verdict (Q2):
//
//	not decided      nothing was measured, or one value of a random quantity, or an interval that has both the figure and no effect in it
//	holds            of a figure or range: the interval reaches into it, or the mean lies within the tolerance of it;
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
	low, high := r.Low-r.Tolerance*math.Abs(r.Low), r.High+r.Tolerance*math.Abs(r.High)
	return e.Low <= r.High && e.High >= r.Low || e.Mean >= low && e.Mean <= high
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
	unit := ""
	tolerance := ""
	if r.Tolerance > 0 {
		tolerance = fmt.Sprintf(" +- %s %%", figure(100*r.Tolerance))
	}
	switch {
	case !r.given:
		return "-"
	case math.IsNaN(r.Low):
		return "more than " + figure(r.Neutral) + unit
	case math.IsNaN(r.High):
		return "less than " + figure(r.Neutral) + unit
	case math.IsInf(r.Low, -1):
		return "at most " + figure(r.High)
	case math.IsInf(r.High, 1):
		return "at least " + figure(r.Low)
	case r.Low == r.High:
		return figure(r.Low) + tolerance
	}
	return figure(r.Low) + " to " + figure(r.High) + tolerance
}
