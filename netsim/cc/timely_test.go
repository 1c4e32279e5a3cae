package cc

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

// Algorithm 1 by hand at 25 Gbit/s, where the steps are 5 and 50 Mbit/s.
func TestTIMELY(t *testing.T) {
	c := TIMELYDefaults(TIMELYConfig{Initial: 0.4})
	p := Path{Line: 25 * units.Gbps}
	s := StartTIMELY(&c, &p)
	round := uint64(0)
	ack := func(us float64) {
		round += 10
		s.Ack(&c, &Ack{RTT: units.Duration(us * 1e6), Acked: round, Sent: round + 5})
	}
	ack(100)
	near(t, "rate after the first round trip", float64(s.Rate()), 10e9)
	ack(40) // below t_low: the gradient does not matter
	near(t, "rate below t_low", float64(s.Rate()), 10e9+5e6)
	s.Ack(&c, &Ack{RTT: 600 * units.Microsecond, Acked: round + 1, Sent: round + 6})
	near(t, "rate within the round trip", float64(s.Rate()), 10e9+5e6)

	s.rate, s.diff, s.last = 10e9, 0, 100*units.Microsecond
	ack(110) // diff = 0.875*10 us, gradient = 8.75/20
	near(t, "rate with a rising round trip", float64(s.Rate()), 10e9*(1-0.8*8.75/20))
	ack(1000)
	near(t, "rate above t_high", float64(s.Rate()), 10e9*(1-0.8*8.75/20)*(1-0.8*(1-500.0/1000)))

	s.rate, s.diff, s.last, s.rises = 1e9, 0, 200*units.Microsecond, 0
	for i := 1; i <= 4; i++ {
		ack(200)
		near(t, "rate with a flat round trip", float64(s.Rate()), 1e9+5e6*float64(i))
	}
	ack(200)
	near(t, "rate at the fifth", float64(s.Rate()), 1e9+4*5e6+50e6)

	s.rate, s.last = 1e9, 100*units.Microsecond
	ack(400)
	near(t, "least rate", float64(s.Rate()), 100e6)
}
