package cc

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/units"
)

func params() Params {
	return Params{
		G: 1.0 / 256, MinDecFac: 0.5, InitialAlpha: 1,
		AlphaPeriod: 55 * units.Microsecond, ReducePeriod: 4 * units.Microsecond, TimeReset: 55 * units.Microsecond,
		ByteReset: 10 * units.MB, Threshold: 5,
		AIRate: 40 * units.Mbps, HAIRate: 200 * units.Mbps, MinRate: 40 * units.Mbps, LineRate: 40 * units.Gbps,
	}
}

func us(n float64) units.Instant { return units.At(int64(n * 1e6)) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s is %.9g, want %.9g", what, got, want)
	}
}

// The paper's recursion by hand, with alpha 1, g 1/256: the first cut halves; fast recovery halves the way back to the
// old rate five times less one; then the target rises by 40 Mbit/s.
func TestCutAndRecovery(t *testing.T) {
	p := params()
	d := Start(&p)
	if d.Rate() != p.LineRate {
		t.Fatal("does not start at line rate")
	}
	d.CNP(&p, us(100))
	near(t, "rate after the first CNP", float64(d.Rate()), 20e9)
	want := 20e9
	for i := 1; i <= 4; i++ {
		d.Advance(&p, us(100+55*float64(i)))
		want = (want + 40e9) / 2
		near(t, "rate in fast recovery", float64(d.Rate()), want)
	}
	d.Advance(&p, us(100+55*5)) // T = F: additive, but the target is at line rate already
	near(t, "rate at the first additive increase", float64(d.Rate()), (want+40e9)/2)
}

// Alpha moves once a period: up in one with a CNP, down in one without.
func TestAlpha(t *testing.T) {
	p := params()
	p.InitialAlpha = 0.5
	d := Start(&p)
	d.CNP(&p, us(0))
	near(t, "alpha at the first CNP", float64(d.Alpha()), 0.5)
	d.Advance(&p, us(55))
	a := 0.5*255/256 + 1.0/256
	near(t, "alpha after a period with a CNP", float64(d.Alpha()), a)
	d.Advance(&p, us(55*101))
	near(t, "alpha after 100 periods without", float64(d.Alpha()), a*math.Pow(255.0/256, 100))
}

// CNPs faster than the reduce period wait for its end and count once.
func TestReducePeriod(t *testing.T) {
	p := params()
	d := Start(&p)
	for _, at := range []float64{0, 1, 2, 3} {
		d.CNP(&p, us(at))
	}
	near(t, "rate within the reduce period", float64(d.Rate()), 20e9)
	if at, ok := d.NextChange(&p); !ok || at != us(4) {
		t.Errorf("next change at %v, want 4us", at)
	}
	d.Advance(&p, us(4))
	near(t, "rate after it", float64(d.Rate()), 10e9)
	d.Advance(&p, us(20))
	near(t, "rate long after it", float64(d.Rate()), 10e9)
}

// A second cut before any increase keeps the target, unless it is clamped; after an increase it takes the rate as target.
func TestTarget(t *testing.T) {
	for _, clamp := range []bool{false, true} {
		p := params()
		p.ClampTarget = clamp
		d := Start(&p)
		d.CNP(&p, us(0))
		d.CNP(&p, us(10)) // alpha still 1: a quarter
		d.Advance(&p, us(65))
		want := (10e9 + 40e9) / 2
		if clamp {
			want = (10e9 + 20e9) / 2
		}
		near(t, "rate one increase after two cuts", float64(d.Rate()), want)
	}
}

// The byte counter increases without the timer, and both beyond the threshold increase faster.
func TestByteCounterAndHyperIncrease(t *testing.T) {
	p := params()
	p.Threshold = 1
	d := Start(&p)
	d.CNP(&p, us(0))
	d.Sent(&p, 10*units.MB) // BC 1, T 0: max is not below F, min is not above: additive
	near(t, "rate after 10 MB", float64(d.Rate()), 30e9)
	d.target = 31e9
	d.Advance(&p, us(110)) // T 2, BC 1
	d.Sent(&p, 10*units.MB)
	target := 31e9 + 40e6*2 + (2-1)*200e6 - 40e6*0
	if math.Abs(float64(d.target)-target) > 1e6 {
		t.Errorf("target %d, want %.0f", d.target, target)
	}
}

// No cut goes below the least share of the rate, nor below the least rate.
func TestFloors(t *testing.T) {
	p := params()
	p.MinDecFac = 0.9
	d := Start(&p)
	d.CNP(&p, us(0))
	near(t, "rate with min_dec_fac 90 %", float64(d.Rate()), 36e9)
	p.MinDecFac = 0.5
	for i := range 100 {
		d.CNP(&p, us(float64(5*i+5)))
	}
	if d.Rate() != p.MinRate {
		t.Errorf("rate %v, want the least %v", d.Rate(), p.MinRate)
	}
}

func TestRateOnFirstCNP(t *testing.T) {
	p := params()
	p.RateOnFirstCNP = 0.25
	d := Start(&p)
	d.CNP(&p, us(0))
	near(t, "rate", float64(d.Rate()), 10e9)
	d.Advance(&p, us(60))
	near(t, "rate: the target fell as well", float64(d.Rate()), 10e9)
}

// What happens between two looks does not depend on how often one looks.
func TestLazyTimersAreExact(t *testing.T) {
	p := params()
	p.AlphaPeriod = units.Microsecond
	often, once := Start(&p), Start(&p)
	for i := range 20_000 {
		at := us(float64(i) / 2)
		if i%700 == 3 {
			often.CNP(&p, at)
			once.CNP(&p, at)
		}
		often.Advance(&p, at)
	}
	often.Advance(&p, us(10_001))
	once.Advance(&p, us(10_001))
	if often != once {
		t.Errorf("looked at often %+v\nlooked at once  %+v", often, once)
	}
}
