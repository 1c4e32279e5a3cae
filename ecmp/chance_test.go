package ecmp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Upper tails of the chi-square distribution at the quantiles that tables print (NIST/SEMATECH e-Handbook, 1.3.6.7.4).
func TestGammaAgainstTables(t *testing.T) {
	for _, c := range []struct{ degrees, x, p float64 }{
		{1, 3.841, 0.05}, {1, 10.828, 0.001}, {10, 18.307, 0.05}, {10, 3.940, 0.95}, {50, 67.505, 0.05}, {100, 149.449, 0.001}, {100, 77.929, 0.95},
	} {
		near(t, "Q", mathext.GammaIncRegComp(c.degrees/2, c.x/2), c.p, 2e-5)
	}
	// Q(1, x) = exp(-x), on both sides of where the method changes.
	for _, x := range []float64{0.1, 1.9, 2.1, 30} {
		near(t, "Q(1,x)", mathext.GammaIncRegComp(1, x)/math.Exp(-x), 1, 1e-10)
	}
	if p := mathext.GammaIncRegComp(511.5, 1000); !(p > 0 && p < 1e-50) {
		t.Errorf("far in the tail p is %v", p)
	}
}

// Three throws of two coins, written out: 1/8, 3/8, 3/8, 1/8.
func TestBinomialTail(t *testing.T) {
	for k, want := range []float64{1, 0.875, 0.5, 0.125, 0} {
		near(t, "P(X >= k)", atLeast(k, 3, 0.5), want, 1e-12)
	}
	// 686 of 1024 in an eighth of the buckets, article 000's figure: a perfect hash does not come to that.
	if p := atLeast(686, 1024, 1.0/8); !(p >= 0 && p < 1e-200) {
		t.Errorf("67 %% in an eighth has probability %v", p)
	}
	near(t, "P(X >= 128)", atLeast(128, 1024, 1.0/8), 0.515, 0.02)
}

// With two cells and two balls one is empty half of the time: mean 1/2, variance 1/4.
func TestEmptyCells(t *testing.T) {
	mean, dev := expectedEmpty(2, 2)
	near(t, "mean", mean, 0.5, 1e-12)
	near(t, "deviation", dev, 0.5, 1e-12)
	mean, dev = expectedEmpty(1024, 1024)
	near(t, "mean of 1024", mean, 376.5, 0.1)
	near(t, "deviation of 1024", dev, 10.0, 0.5) // sqrt(b(1/e - 2/e^2)) = 10.0
}

// The p value of what is really dealt at random is evenly spread: as many below 10 % as chance allows.
func TestChiSquareOfChance(t *testing.T) {
	for _, shape := range []struct{ n, b int }{{100, 1024}, {1024, 1024}, {5000, 64}, {12, 4}} {
		rng := rand.New(rand.NewPCG(7, uint64(shape.n)))
		const trials = 2000
		low, empties := 0, 0.0
		for range trials {
			counts := make([]int, shape.b)
			for range shape.n {
				counts[rng.IntN(shape.b)]++
			}
			if _, p := chiSquare(counts, shape.n); p < 0.1 {
				low++
			}
			for _, c := range counts {
				if c == 0 {
					empties++
				}
			}
		}
		// 10 % of 2000 is 200 with a standard deviation of 13; the statistic of few balls moves in steps.
		if low < 120 || low > 280 {
			t.Errorf("%d in %d: %d of %d have p < 10 %%", shape.n, shape.b, low, trials)
		}
		mean, dev := expectedEmpty(shape.n, shape.b)
		near(t, "mean of the empty", empties/trials, mean, 4*dev/math.Sqrt(trials)+1e-9)
	}
}
