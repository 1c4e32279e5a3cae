package spray

import (
	"fmt"
	"math"
	"testing"

	"github.com/shunt-network/shunt/units"
)

const ns = units.Nanosecond

// The articles' decision: 12 ns for every packet, and one packet every 0.8 ns.
func TestPipelineIsTheArticles(t *testing.T) {
	p := Pipeline()
	if d := p.Decisions(1000, 1); d.Mean != 12*ns || d.Jitter() != 0 || p.Mean() != 12*ns {
		t.Errorf("%+v", d)
	}
	if math.Abs(p.Rate()-1.25e9) > 1 {
		t.Errorf("%v packets per second", p.Rate())
	}
}

// Drawn and computed moments agree: the mean of n draws lies within five standard errors.
func TestDrawsAgreeWithClosedForm(t *testing.T) {
	const n = 200_000
	for _, p := range []Platform{Interrupts(4096), Polling()} {
		d := p.Decisions(n, 7)
		if off := math.Abs(float64(d.Mean - p.Mean())); off > 5*float64(p.StdDev())/math.Sqrt(n) {
			t.Errorf("%s: drawn mean %v, computed %v +- %v", p.Name, d.Mean, p.Mean(), p.StdDev())
		}
		if again := p.Decisions(n, 7); again != d {
			t.Errorf("%s: the same seed gives %+v and %+v", p.Name, d, again)
		}
		if other := p.Decisions(n, 8); other.Mean == d.Mean {
			t.Errorf("%s: another seed gives the same mean", p.Name)
		}
	}
	// One stage alone: a miss in a quarter of the cases.
	coin := Platform{Stages: []Stage{{Base: 10 * ns, Miss: 0.25, Penalty: 100 * ns}}}
	d := coin.Decisions(n, 1)
	if coin.Mean() != 35*ns || d.Min != 10*ns || d.P50 != 10*ns || d.P99 != 110*ns || d.Max != 110*ns || d.Jitter() != 100*ns {
		t.Errorf("%+v", d)
	}
	if sd := coin.StdDev(); math.Abs(float64(sd)-43_301) > 1 { // sqrt(0.25*0.75)*100 ns
		t.Errorf("standard deviation %v", sd)
	}
}

// Without jitter the AllReduce has a closed form: a decision that is faster than the wire delays the first packet of each step, one that is
// slower sets the pace.
func TestRingClosedForm(t *testing.T) {
	r := Ring{Ranks: 4, Size: 4 * 8 * 4000, MTU: 4000, Rate: 400 * units.Gbps, Latency: 1000 * ns} // 8 packets of 80 ns a step, 6 steps
	if r.Ideal() != 6*(1000+640)*ns {
		t.Errorf("ideal %v", r.Ideal())
	}
	platform := func(occupies, overlaps, gathers units.Duration, n int) Platform {
		return Platform{Units: n, Stages: []Stage{{Hold: Occupies, Base: occupies}, {Hold: Overlaps, Base: overlaps}, {Hold: Gathers, Base: gathers}}}
	}
	for _, c := range []struct {
		name string
		p    Platform
		step units.Duration
	}{
		{"free", platform(0, 0, 0, 1), 640 * ns},
		{"faster than the wire", platform(30*ns, 12*ns, 0, 1), (30 + 12 + 640) * ns},
		{"slower than the wire", platform(200*ns, 12*ns, 0, 1), (8*200 + 12 + 80) * ns},
		{"with two units", platform(200*ns, 12*ns, 0, 2), (4*200 + 12 + 2*80) * ns}, // both finish at once, and the wire takes one after the other
		{"after a wait", platform(30*ns, 0, 500*ns, 1), (500 + 30 + 640) * ns},
	} {
		if d := r.Times(c.p, 3, 1); d.Min != 6*(c.step+1000*ns) || d.Max != d.Min {
			t.Errorf("%s: %v to %v, want %v", c.name, d.Min, d.Max, 6*(c.step+1000*ns))
		}
	}
	odd := Ring{Ranks: 3, Size: 10_000, MTU: 4000, Rate: 400 * units.Gbps} // a chunk of 3334 bytes is one short packet
	if d := odd.Times(Platform{}, 1, 1); d.Max != odd.Ideal() {
		t.Errorf("a short packet: %v, want %v", d.Max, odd.Ideal())
	}
}

// A ring waits for its slowest rank again and again, so jitter costs more than its mean.
func TestJitterCostsMoreThanItsMean(t *testing.T) {
	r := Ring{Ranks: 8, Size: 8 * 4096, MTU: 4096, Rate: 200 * units.Gbps, Latency: 2000 * ns}
	even := Platform{Stages: []Stage{{Hold: Overlaps, Base: 500 * ns}}}
	uneven := Platform{Stages: []Stage{{Hold: Overlaps, Jitter: 1000 * ns}}}
	a, b := r.Times(even, 200, 1).Mean-r.Ideal(), r.Times(uneven, 200, 1).Mean-r.Ideal()
	if a != 14*500*ns || b < a*5/4 || b > 2*a {
		t.Errorf("500 ns always cost %v, 500 ns on average %v", a, b)
	}
}

// articleRing is an AllReduce that takes about the 45 us of the articles with a pipeline; they give neither ranks nor size.
var articleRing = Ring{Ranks: 8, Size: 256 * units.KiB, MTU: 4096, Rate: 200 * units.Gbps, Latency: 2000 * ns}

// Pipeline and software, and what they make of an AllReduce: the articles have 45 and 210 us.
func ExampleRing() {
	fmt.Printf("without decisions %v\n", articleRing.Ideal())
	for _, p := range []Platform{Pipeline(), Polling(), Interrupts(4096)} {
		d, a := p.Decisions(100_000, 1), articleRing.Times(p, 2000, 1)
		fmt.Printf("%-10s decision mean %.0f p50 %.0f p99 %.0f jitter %.0f ns, %.1f M/s; AllReduce mean %.1f p99 %.1f us\n", p.Name,
			nanoseconds(d.Mean), nanoseconds(d.P50), nanoseconds(d.P99), nanoseconds(d.Jitter()), p.Rate()/1e6, nanoseconds(a.Mean)/1e3, nanoseconds(a.P99)/1e3)
	}
	// Output:
	// without decisions 46.3501us
	// pipeline   decision mean 12 p50 12 p99 12 jitter 0 ns, 1250.0 M/s; AllReduce mean 46.5 p99 46.5 us
	// polling    decision mean 2596 p50 2592 p99 4615 jitter 4048 ns, 7.9 M/s; AllReduce mean 98.5 p99 103.7 us
	// interrupts decision mean 5134 p50 5126 p99 9051 jitter 7979 ns, 1.6 M/s; AllReduce mean 192.6 p99 202.8 us
}

func nanoseconds(d units.Duration) float64 { return float64(d) / float64(ns) }
