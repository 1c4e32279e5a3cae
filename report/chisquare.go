package report

import "math"

// uneven is the outcome of a chi-square test of counts against an even split (Pearson 1900).
type uneven struct {
	statistic float64
	p         float64 // how likely an even split by chance would be as uneven as this
	judged    bool    // false: too few to tell
}

// leastExpected is how many packets a path must expect for the test to be trusted (Cochran, Biometrics 10, 1954).
const leastExpected = 5

// evenSplit tests whether counts may come of an even split.
func evenSplit(counts []uint64) uneven {
	var sum float64
	for _, c := range counts {
		sum += float64(c)
	}
	expected := sum / float64(len(counts))
	if len(counts) < 2 || expected < leastExpected {
		return uneven{}
	}
	u := uneven{judged: true}
	for _, c := range counts {
		d := float64(c) - expected
		u.statistic += d * d / expected
	}
	u.p = gammaQ(float64(len(counts)-1)/2, u.statistic/2)
	return u
}

// gammaQ is the regularised upper incomplete gamma function Q(a, x), by its series below a+1 and its continued fraction above, where each
// of them converges fast (Abramowitz and Stegun, 6.5.29 and 6.5.31; the fraction by Lentz's method).
func gammaQ(a, x float64) float64 {
	const steps, enough = 500, 1e-14
	if x <= 0 {
		return 1
	}
	lg, _ := math.Lgamma(a)
	front := math.Exp(-x + a*math.Log(x) - lg)
	if x < a+1 {
		term := 1 / a
		sum := term
		for n := 1; n <= steps && term > enough*sum; n++ {
			term *= x / (a + float64(n))
			sum += term
		}
		return max(0, 1-front*sum)
	}
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for n := 1; n <= steps; n++ {
		k := -float64(n) * (float64(n) - a)
		b += 2
		if d = k*d + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + k/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		h *= d * c
		if math.Abs(d*c-1) < enough {
			break
		}
	}
	return front * h
}
