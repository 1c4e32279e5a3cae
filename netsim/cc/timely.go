package cc

import "github.com/shunt-network/shunt/units"

// TIMELYConfig is what can be set of TIMELY.
type TIMELYConfig struct {
	Initial  units.Fraction `yaml:"initial" doc:"share of the line rate that a QP starts with"`
	Alpha    units.Fraction `yaml:"alpha" doc:"weight of a new difference of round trips"`
	Beta     units.Fraction `yaml:"beta" doc:"how strongly the rate falls with the gradient"`
	TLow     units.Duration `yaml:"t_low" min:"1ns" doc:"round trip below which the rate always rises"`
	THigh    units.Duration `yaml:"t_high" min:"1ns" doc:"round trip above which it always falls"`
	MinRTT   units.Duration `yaml:"min_rtt" min:"1ns" doc:"round trip that the gradient is relative to"`
	AIRate   units.Rate     `yaml:"ai_rate" doc:"additive increase; unset: 5 Mbit/s for each 25 Gbit/s of the line"`
	HAIRate  units.Rate     `yaml:"hai_rate" doc:"increase after five round trips without a rising one; unset: ten times that"`
	HAIAfter int            `yaml:"hai_after" min:"1" max:"1000" doc:"round trips without a rising one before the increase is larger"`
	MinRate  units.Rate     `yaml:"min_rate" min:"1Kbps" doc:"rate below which it does not fall"`
}

// TIMELYDefaults are those of the ns-3 model in the artefact of HPCC.
func TIMELYDefaults(c TIMELYConfig) TIMELYConfig {
	c.Initial = or(c.Initial, 1)
	c.Alpha = or(c.Alpha, 0.875)
	c.Beta = or(c.Beta, 0.8)
	c.TLow = or(c.TLow, 50*units.Microsecond)
	c.THigh = or(c.THigh, 500*units.Microsecond)
	c.MinRTT = or(c.MinRTT, 20*units.Microsecond)
	c.HAIAfter = or(c.HAIAfter, 5)
	c.MinRate = or(c.MinRate, 100*units.Mbps)
	return c
}

// TIMELY is the sender of one QP (Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, algorithm 1): it follows the
// gradient of the round trip, between a low threshold under which it ignores it and a high one over which the round trip itself decides.
type TIMELY struct {
	rate     float64 // bit/s
	diff     float64 // averaged difference of round trips, picoseconds
	line     float64
	ai, hai  float64
	last     units.Duration
	rises    int // round trips in a row that did not grow
	updateAt uint64
	started  bool
}

// StartTIMELY makes a QP that sends at its initial rate.
func StartTIMELY(c *TIMELYConfig, p *Path) TIMELY {
	ai := or(c.AIRate, PerLine(5*units.Mbps, p.Line))
	hai := or(c.HAIRate, 10*ai)
	return TIMELY{rate: float64(p.Line) * float64(c.Initial), line: float64(p.Line), ai: float64(ai), hai: float64(hai)}
}

// Rate is what the QP may send at.
func (t *TIMELY) Rate() units.Rate { return units.Rate(t.rate) }

// Window does not limit.
func (t *TIMELY) Window() units.Bytes { return unlimited }

// Ack takes an acknowledgement; the rate moves once a round trip.
func (t *TIMELY) Ack(c *TIMELYConfig, a *Ack) {
	if t.started && a.Acked <= t.updateAt {
		return
	}
	t.updateAt = a.Sent
	if !t.started {
		t.started, t.last = true, a.RTT
		return
	}
	alpha, rtt := float64(c.Alpha), float64(a.RTT)
	t.diff = float64((1-alpha)*t.diff) + float64(alpha*float64(a.RTT-t.last))
	t.last = a.RTT
	gradient := t.diff / float64(c.MinRTT)
	switch {
	case a.RTT < c.TLow:
		t.rate += t.ai
		t.rises = 0
	case a.RTT > c.THigh:
		t.rate *= 1 - float64(float64(c.Beta)*(1-float64(c.THigh)/rtt))
		t.rises = 0
	case gradient <= 0:
		if t.rises++; t.rises >= c.HAIAfter {
			t.rate += t.hai
		} else {
			t.rate += t.ai
		}
	default:
		t.rate *= max(1-float64(float64(c.Beta)*gradient), 0)
		t.rises = 0
	}
	t.rate = min(max(t.rate, min(float64(c.MinRate), t.line)), t.line)
}
