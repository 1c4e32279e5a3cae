package report

import "gonum.org/v1/gonum/mathext"

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
	u.p = mathext.GammaIncRegComp(float64(len(counts)-1)/2, u.statistic/2)
	return u
}
