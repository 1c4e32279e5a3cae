package ecmp

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// What chance does with n balls in b cells when every cell is as likely as any other, as under a perfect hash. The formulas
// are those of the occupancy problem (Feller, An Introduction to Probability Theory, vol. 1, II.5 and IV.2).

// expectedEmpty is how many of b cells stay empty on average, and the standard deviation of that.
func expectedEmpty(n, b int) (mean, deviation float64) {
	if b == 0 {
		return 0, 0
	}
	one := math.Pow(1-1/float64(b), float64(n)) // a given cell is empty
	two := 0.0                                  // two given cells are
	if b > 1 {
		two = math.Pow(1-2/float64(b), float64(n))
	}
	f := float64(b)
	mean = f * one
	return mean, math.Sqrt(max(0, f*one+f*(f-1)*two-mean*mean))
}

// chiSquare is Pearson's statistic of the counts against equal ones, and the probability that a perfect hash comes to as
// much or more. With few balls in a cell the statistic has the mean b-1 still, but the variance 2(b-1)(n-1)/n; a
// scaled chi-square distribution of that mean and variance is what it is compared with (Satterthwaite, 1946).
func chiSquare(counts []int, n int) (statistic, p float64) {
	b := float64(len(counts))
	if len(counts) < 2 || n < 2 {
		return 0, 1
	}
	mean := float64(n) / b
	for _, c := range counts {
		d := float64(c) - mean
		statistic += d * d / mean
	}
	scale := float64(n-1) / float64(n)
	return statistic, mathext.GammaIncRegComp((b-1)/scale/2, statistic/scale/2)
}

// atLeast is the probability that of n balls k or more fall where each does with probability q: the binomial tail is an incomplete beta
// function (NIST Digital Library of Mathematical Functions, 8.17.5).
func atLeast(k, n int, q float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || q <= 0:
		return 0
	case q >= 1:
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), q)
}

// unlikely is the probability that something with a mean and deviation lies as far from its mean as what was seen, or farther, either way.
// The number of empty cells is close to normal where balls and cells are some ten each (Weiss, 1958).
func unlikely(seen, mean, deviation float64) (p float64) {
	if deviation == 0 {
		if math.Abs(seen-mean) < 0.5 {
			return 1
		}
		return 0
	}
	// Half a cell off for a distribution of whole numbers.
	return math.Erfc(max(0, math.Abs(seen-mean)-0.5) / deviation / math.Sqrt2)
}
