package claims

import "math"

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

// studentT is the 97.5 % quantile of Student's t with df degrees of freedom: a table up to 30 (NIST/SEMATECH e-Handbook of Statistical
// Methods, 1.3.6.7.2), and beyond it the expansion in 1/df about the normal quantile (Abramowitz and Stegun, 26.7.5), which is right to
// three decimals from 30 on.
func studentT(df int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
		2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if df < 1 {
		return math.Inf(1)
	}
	if df <= len(table) {
		return table[df-1]
	}
	const z = 1.959964
	n := float64(df)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}
