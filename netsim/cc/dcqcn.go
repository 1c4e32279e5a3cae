package cc

import (
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// unit is 1 in the fixed-point form of alpha and g: 30 fractional bits, where the adapter itself has 10.
const unit = 1 << 30

// fixed turns a share into 30-bit fixed point. The product with a power of two is exact, so this rounds once.
func fixed(f units.Fraction) uint32 { return uint32(float64(f)*unit + 0.5) }

// Params are the DCQCN parameters of an adapter, made once for all its QPs.
type Params struct {
	G, MinDecFac, InitialAlpha, RateOnFirstCNP units.Fraction
	AlphaPeriod, ReducePeriod, TimeReset       units.Duration
	ByteReset                                  units.Bytes
	Threshold                                  int
	AIRate, HAIRate, MinRate, LineRate         units.Rate
	ClampTarget                                bool
}

// DCQCN is the reaction point of one QP (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section
// 3 and figure 7; parameters as NVIDIA's adapters name them). Its timers need no events: what they did is made up for whenever
// the QP sends or is notified, in the order in which it would have happened.
type DCQCN struct {
	rate, target int64
	alpha        uint32

	alphaAt  int64 // the alpha period under way began here
	reduceAt int64 // the last cut
	timerAt  int64 // the period of the increase timer under way began here
	sent     int64 // bytes since the byte counter last ran out

	timers, counts int32 // runs of timer and byte counter since the last cut (T and BC of the paper)

	active  bool // a CNP has come: rate, alpha and timers are live
	cnp     bool // a CNP came in the alpha period under way
	pending bool // a CNP waits for the reduce period to end
	raised  bool // timer or byte counter ran since the last cut
}

// Start makes a QP that sends at line rate.
func Start(p *Params) DCQCN {
	return DCQCN{rate: int64(p.LineRate), target: int64(p.LineRate)}
}

// Rate is what the QP may send at.
func (d *DCQCN) Rate() units.Rate { return units.Rate(d.rate) }

// Alpha is the congestion estimate, 0..1.
func (d *DCQCN) Alpha() units.Fraction { return units.Fraction(float64(d.alpha) / unit) }

// CNP is a notification that arrived at now. A cut follows at once, or when the reduce period since the last one is over.
func (d *DCQCN) CNP(p *Params, now units.Instant) {
	t := now.PS()
	d.Advance(p, now)
	if !d.active {
		d.active = true
		d.alpha = fixed(p.InitialAlpha)
		d.alphaAt, d.timerAt = t, t
		d.cnp = true
		d.rate, d.target = int64(p.LineRate), int64(p.LineRate)
		if p.RateOnFirstCNP > 0 {
			d.rate = max(int64(p.MinRate), scale(int64(p.LineRate), fixed(p.RateOnFirstCNP)))
			d.target = d.rate
			d.restart(t)
			return
		}
		d.cut(p, t)
		return
	}
	d.cnp = true
	if t-d.reduceAt >= int64(p.ReducePeriod) {
		d.cut(p, t)
		return
	}
	d.pending = true
}

// Sent counts bytes that left, for the increase by count.
func (d *DCQCN) Sent(p *Params, b units.Bytes) {
	if !d.active || p.ByteReset <= 0 {
		return
	}
	d.sent += int64(b)
	for d.sent >= int64(p.ByteReset) {
		d.sent -= int64(p.ByteReset)
		d.counts++
		d.increase(p)
	}
}

// Advance makes up for the timers until now and tells whether the rate changed.
func (d *DCQCN) Advance(p *Params, now units.Instant) bool {
	if !d.active {
		return false
	}
	t, before := now.PS(), d.rate
	for {
		cutAt, tickAt := int64(-1), d.timerAt+int64(p.TimeReset)
		if d.pending {
			cutAt = d.reduceAt + int64(p.ReducePeriod)
		}
		switch {
		case cutAt >= 0 && cutAt <= t && cutAt <= tickAt:
			d.cut(p, cutAt)
		case tickAt <= t:
			if d.rate == int64(p.LineRate) && d.target == d.rate {
				// At line rate the timer changes nothing; skip the idle periods at once.
				periods := (t - d.timerAt) / int64(p.TimeReset)
				d.timerAt += periods * int64(p.TimeReset)
				d.timers = int32(min(int64(d.timers)+periods, 1<<20))
				continue
			}
			d.timerAt = tickAt
			d.timers++
			d.increase(p)
		default:
			d.decay(p, t)
			return d.rate != before
		}
	}
}

// NextChange is when the rate next changes of itself, if it does.
func (d *DCQCN) NextChange(p *Params) (units.Instant, bool) {
	if !d.active || d.rate == int64(p.LineRate) && !d.pending {
		return units.Instant{}, false
	}
	at := d.timerAt + int64(p.TimeReset)
	if d.pending {
		at = min(at, d.reduceAt+int64(p.ReducePeriod))
	}
	return units.At(at), true
}

// decay brings alpha up to t: each period it moves towards 1 if a CNP came in it, else towards 0.
func (d *DCQCN) decay(p *Params, t int64) {
	g := uint64(fixed(p.G))
	for d.alphaAt+int64(p.AlphaPeriod) <= t {
		step := uint32(uint64(d.alpha) * g >> 30)
		if !d.cnp && step == 0 { // as low as it gets: the remaining periods change nothing
			d.alphaAt += (t - d.alphaAt) / int64(p.AlphaPeriod) * int64(p.AlphaPeriod)
			return
		}
		d.alpha -= step
		if d.cnp {
			d.alpha += uint32(g)
			d.cnp = false
		}
		d.alphaAt += int64(p.AlphaPeriod)
	}
}

// cut lowers the rate by alpha/2 (rpg_gd 11 is exactly this half: alpha has 10 fractional bits).
func (d *DCQCN) cut(p *Params, t int64) {
	d.decay(p, t)
	if d.raised || p.ClampTarget {
		d.target = d.rate
	}
	left := max(unit-d.alpha/2, fixed(p.MinDecFac))
	d.rate = max(int64(p.MinRate), scale(d.rate, left))
	d.target = max(d.target, d.rate)
	d.restart(t)
}

func (d *DCQCN) restart(t int64) {
	d.pending, d.raised = false, false
	d.reduceAt, d.timerAt = t, t
	d.timers, d.counts, d.sent = 0, 0, 0
}

// increase is one run of the timer or of the byte counter: fast recovery halves the way back to the target, after
// Threshold runs the target itself rises, by HAIRate when both counters have passed it.
func (d *DCQCN) increase(p *Params) {
	f := int32(p.Threshold)
	switch {
	case max(d.timers, d.counts) < f:
	case min(d.timers, d.counts) > f:
		d.target += int64(min(d.timers, d.counts)-f) * int64(p.HAIRate)
	default:
		d.target += int64(p.AIRate)
	}
	d.raised = true
	d.target = min(d.target, int64(p.LineRate))
	d.rate = (d.rate + d.target) / 2
	if int64(p.LineRate)-d.rate <= 1 { // halving never quite arrives
		d.rate = int64(p.LineRate)
	}
}

// scale is rate*share with share in 30-bit fixed point.
func scale(rate int64, share uint32) int64 {
	hi, lo := bits.Mul64(uint64(rate), uint64(share))
	return int64(hi<<34 | lo>>30)
}
