package claims

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Confidence is the level of the intervals.
const Confidence = 0.95

// IntervalMethod says how the intervals are made.
const IntervalMethod = "Student's t, 95 %, over seeds"

// Estimate is a quantity over seeds. Without Known nothing is known of it, which is not zero.
type Estimate struct {
	Known  bool      `json:"known"`
	Values []float64 `json:"values,omitempty"` // by seed
	Mean   float64   `json:"mean"`
	// Low and High are the ends of the interval. Where Interval is false one value of a random quantity is all there is, and it has none.
	Interval bool    `json:"interval"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// Exact marks a quantity that no seed changes: the interval is the value.
	Exact bool `json:"exact,omitempty"`
}

// estimate makes the interval of values over seeds (Q1).
func estimate(values []float64, exact bool) Estimate {
	e := Estimate{Known: len(values) > 0, Values: values, Exact: exact}
	n := float64(len(values))
	for _, v := range values {
		e.Mean += v / n
	}
	if exact && e.Known {
		e.Mean, e.Low, e.High, e.Interval = values[0], values[0], values[0], true
		return e
	}
	if len(values) < 2 {
		return e
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - e.Mean) * (v - e.Mean)
	}
	half := studentT(len(values)-1) * math.Sqrt(squares/(n-1)/n)
	e.Low, e.High, e.Interval = e.Mean-half, e.Mean+half, true
	return e
}

// studentT is the 97.5 % quantile of Student's t with df degrees of freedom, by the incomplete beta function (NIST Digital Library of
// Mathematical Functions, 8.17; Abramowitz and Stegun, 26.7.1).
func studentT(df int) float64 {
	if df < 1 {
		return math.Inf(1)
	}
	x := mathext.InvRegIncBeta(float64(df)/2, 0.5, 1-Confidence)
	return math.Sqrt(float64(df) * (1 - x) / x)
}
