package ecmp

import "math"

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
	return statistic, gammaQ((b-1)/scale/2, statistic/scale/2)
}

// gammaQ is the regularised upper incomplete gamma function Q(a, x): the power series of P where it converges fast, the
// continued fraction of Q elsewhere (NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2).
func gammaQ(a, x float64) float64 {
	const rounds, precision = 100_000, 1e-14
	if x <= 0 || a <= 0 {
		return 1
	}
	lg, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(x) - x - lg)
	if x < a+1 {
		term, sum := 1/a, 1/a
		for k := 1.0; k < rounds; k++ {
			term *= x / (a + k)
			sum += term
			if term < sum*precision {
				break
			}
		}
		return clamp(1 - front*sum)
	}
	// Lentz's method for 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))).
	const tiny = 1e-300
	d := 1 / (x + 1 - a)
	c, f := 1/tiny, d
	for k := 1.0; k < rounds; k++ {
		num := -k * (k - a)
		den := x + 2*k + 1 - a
		if d = num*d + den; math.Abs(d) < tiny {
			d = tiny
		}
		if c = den + num/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		f *= d * c
		if math.Abs(d*c-1) < precision {
			break
		}
	}
	return clamp(front * f)
}

// atLeast is the probability that of n balls k or more fall where each does with probability q.
func atLeast(k, n int, q float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || q <= 0:
		return 0
	case q >= 1:
		return 1
	case float64(k) <= float64(n)*q: // the smaller tail is the one that is summed up
		return clamp(1 - tail(0, k-1, n, q))
	}
	return clamp(tail(k, n, n, q))
}

// tail sums the binomial probabilities of from..to of n, beginning at the end nearer to the mean and ending where nothing is added.
func tail(from, to, n int, q float64) float64 {
	lf := func(k int) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	at := func(k int) float64 {
		return math.Exp(lf(n) - lf(k) - lf(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q))
	}
	sum := 0.0
	if float64(from) > float64(n)*q {
		for k := from; k <= to; k++ {
			t := at(k)
			if sum += t; t < sum*1e-16 {
				break
			}
		}
		return sum
	}
	for k := to; k >= from; k-- {
		t := at(k)
		if sum += t; t < sum*1e-16 {
			break
		}
	}
	return sum
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

func clamp(p float64) float64 { return min(max(p, 0), 1) }
