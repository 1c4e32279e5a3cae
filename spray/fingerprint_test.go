package spray

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/units"
)

// S0.6 counts on bit errors in 10 ms. Before correction there are some; after it there are none to count.
func TestErrorsInASample(t *testing.T) {
	n := SampleBits(400*units.Gbps, 10*units.Millisecond)
	if n != 4_000_000_000 {
		t.Fatalf("%d bits", n)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		ber   float64
		empty int // of 100,000 samples, at least and at most
		most  int
	}{{1e-5, 0, 0}, {1e-7, 0, 0}, {1e-9, 1500, 2200} /* e^-4 is 1832 */, {1e-12, 99_500, 99_700} /* e^-0.004: 99,601 */, {1e-15, 99_995, 100_000}} {
		empty := 0
		for range 100_000 {
			if poisson(rng, c.ber*float64(n)) == 0 {
				empty++
			}
		}
		if empty < c.empty || empty > c.most {
			t.Errorf("at %g, %d of 100,000 samples are empty", c.ber, empty)
		}
	}
}

func TestGrade(t *testing.T) {
	for _, c := range []struct {
		s    BERSample
		want uint8
	}{{BERSample{0, 4e9}, 0}, {BERSample{0, 0}, 0}, {BERSample{5, 0}, 0}, {BERSample{4e4, 4e9}, 176}, {BERSample{400, 4e9}, 144}, {BERSample{1, 1}, 255}, {BERSample{1, math.MaxUint64}, 1}} {
		if got := c.s.Grade(); got != c.want {
			t.Errorf("%+v is grade %d, want %d", c.s, got, c.want)
		}
	}
	for g := 1; g < 256; g++ {
		rate, ok := GradeRate(uint8(g))
		if !ok {
			t.Fatal(g)
		}
		if errors := uint64(rate * 1e18); errors > 100 {
			if got := (BERSample{errors, 1e18}).Grade(); int(got) != g {
				t.Errorf("grade %d is %g, which is grade %d", g, rate, got)
			}
		}
	}
	if _, ok := GradeRate(0); ok {
		t.Error("no error seen has a rate")
	}
}

// Quality moves and identity does not; an exchange shows in the fingerprint at once and forgets what was measured.
func TestLinkQuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	n := SampleBits(400*units.Gbps, 10*units.Millisecond)
	q := LinkQuality{Identity: 4711}
	if f := q.Fingerprint(); f.Identity() != 4711 || f.Quality() != 0 || f.Exchanges() != 0 {
		t.Errorf("before any sample: %08x", uint32(f))
	}
	feed := func(ber float64) (f Fingerprint, low, high uint8) {
		low = 255
		for i := range 1000 {
			q.Add(BERSample{poisson(rng, ber*float64(n)), n})
			if f = q.Fingerprint(); i >= 100 {
				low, high = min(low, f.Quality()), max(high, f.Quality())
			}
		}
		return f, low, high
	}
	f, low, high := feed(1e-7)
	if f.Identity() != 4711 || low < 143 || high > 145 { // 144 +- 1 step of 15 %
		t.Errorf("a steady link: %08x, quality %d to %d", uint32(f), low, high)
	}
	if f, low, _ = feed(1e-5); f.Identity() != 4711 || low < 175 {
		t.Errorf("a link that got worse: %08x, quality from %d", uint32(f), low)
	}
	q.Exchange()
	if f := q.Fingerprint(); f.Identity() != 4711 || f.Exchanges() != 1 || f.Quality() != 0 {
		t.Errorf("after an exchange: %08x", uint32(f))
	}
	feed(1e-7)
	for range 2000 {
		q.Add(BERSample{0, n})
	}
	if f := q.Fingerprint(); f.Quality() != 0 {
		t.Errorf("a link without errors has quality %d", f.Quality())
	}
}

// The hash of the article is neither stable nor smooth: one more error changes half of its bits.
func TestHashedSampleIsNotSmooth(t *testing.T) {
	flips, changes, last := 0, 0, uint32(0)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 1000 {
		a, b := HashedSample(BERSample{Errors: uint64(i)}), HashedSample(BERSample{Errors: uint64(i + 1)})
		for d := a ^ b; d != 0; d &= d - 1 {
			flips++
		}
		if h := HashedSample(BERSample{Errors: poisson(rng, 400)}); h != last {
			changes, last = changes+1, h
		}
	}
	if flips < 15_000 || flips > 17_000 {
		t.Errorf("%d bits of 32,000 change", flips)
	}
	if changes < 970 { // two counts around 400 are equal with a chance of 1.4 %
		t.Errorf("of 1000 samples of a steady link %d changed the hash", changes)
	}
}

func BenchmarkFailover(b *testing.B) {
	c := DefaultFailover()
	for b.Loop() {
		if _, err := Failover(c); err != nil {
			b.Fatal(err)
		}
	}
}
