package cc

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/units"
)

// The target is 20 us, 20/6.55 for each hop, and for small windows up to 100 us more: all at a tenth of a packet, none at a
// hundred, in between a/sqrt(window)+b.
func TestSwiftTarget(t *testing.T) {
	c := SwiftDefaults(SwiftConfig{})
	s := StartSwift(&c, &path)
	fixed := 20 + 3*20/6.55
	a := 100 / (1/math.Sqrt(0.1) - 1/math.Sqrt(100))
	for window, scaling := range map[float64]float64{0.05: 100, 0.1: 100, 1: a - a/10, 25: a/5 - a/10, 100: 0, 400: 0} {
		s.window = window
		if got := s.Target(&c).Seconds() * 1e6; math.Abs(got-fixed-scaling) > 1e-3 {
			t.Errorf("target with a window of %v packets: %.3f us, want %.3f", window, got, fixed+scaling)
		}
	}
}

// Below target a window grows by a packet a round trip, above it falls in proportion to the excess, once a round trip.
func TestSwiftWindow(t *testing.T) {
	c := SwiftDefaults(SwiftConfig{})
	s := StartSwift(&c, &path)
	near(t, "first window", float64(s.Window()), 12_000)
	for range 12 {
		s.Ack(&c, &Ack{RTT: 15 * units.Microsecond, Bytes: 1000})
	}
	if s.window < 12.9 || s.window > 13 {
		t.Errorf("after a round trip below target the window is %.2f packets, want just under 13", s.window)
	}
	s.window = 100
	target := s.Target(&c)
	rtt := target + target/4 // excess 1/5 of the delay
	s.Ack(&c, &Ack{Now: us(1000), RTT: rtt, Bytes: 1000})
	near(t, "window after a fall", s.window, 100*(1-0.8*float64(rtt-target)/float64(rtt)))
	before := s.window
	s.Ack(&c, &Ack{Now: us(1000).Add(rtt / 2), RTT: rtt, Bytes: 1000})
	near(t, "window within the round trip", s.window, before)
	s.Ack(&c, &Ack{Now: us(20_000), RTT: 100 * rtt, Bytes: 1000})
	near(t, "window after the largest fall", s.window, before/2)
}

// A window below a packet sends one and waits: the rate is the window for each round trip. It grows by the packet, not by its share.
func TestSwiftBelowOnePacket(t *testing.T) {
	c := SwiftDefaults(SwiftConfig{})
	s := StartSwift(&c, &path)
	s.window = 0.25
	s.Ack(&c, &Ack{Now: us(1), RTT: 1000 * units.Microsecond}) // too long: half
	near(t, "window", s.window, 0.125)
	near(t, "window for the transport", float64(s.Window()), 1000)
	near(t, "rate", float64(s.Rate(path.Line)), 0.125*8000/1e-3)
	s.Ack(&c, &Ack{Now: us(2), RTT: 50 * units.Microsecond, Bytes: 1000})
	near(t, "window after an acknowledgement", s.window, 1.125)
	if s.Rate(path.Line) != path.Line {
		t.Errorf("rate %v with more than one packet", s.Rate(path.Line))
	}
	s.window = 8
	s.rtt = 10 * units.Microsecond
	for i := range 5 {
		s.TimedOut(&c, us(100+float64(i)*100))
	}
	near(t, "window after five timeouts", s.window, c.MinWnd)
}
