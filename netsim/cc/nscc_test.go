package cc

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

// The network that NSCC's constants are for: 100 Gbit/s and 12 us, 150 000 bytes. With trimming the target is 9 us.
var reference = Path{Line: 100 * units.Gbps, BaseRTT: 12 * units.Microsecond, NetworkRTT: 12 * units.Microsecond, MTU: 4096}

func startNSCC(t *testing.T) (NSCCConfig, NSCC) {
	t.Helper()
	c := NSCCDefaults(NSCCConfig{})
	s := StartNSCC(&c, &reference, true)
	near(t, "first window", float64(s.Window()), 225_000)
	near(t, "target", s.target, 9e6)
	s.window = 100_000
	return c, s
}

// ack is an acknowledgement at a time in microseconds, of a packet that met a queueing delay.
func (s *NSCC) ack(c *NSCCConfig, at, delay float64, bytes units.Bytes, isMarked bool) {
	s.Ack(c, &Ack{Now: us(at), RTT: reference.BaseRTT + units.Duration(delay*1e6), Bytes: bytes, Marked: isMarked})
}

// The four cases, each over one batch of increases at the start of a run: 9 packets in one acknowledgement exceed the batch of 8.
func TestNSCCCases(t *testing.T) {
	const bytes = 9 * 4096
	for _, k := range []struct {
		name   string
		delay  float64
		marked bool
		want   float64
	}{
		{"unmarked, short: in proportion to what is missing", 3, false, 100_000 + 4*4096*(9.0/12)/9e6*bytes*6e6/100_000},
		{"unmarked, long: a little", 10, false, 100_000 + 5*4096*bytes/100_000.0},
		{"marked, short: nothing", 3, true, 100_000},
		{"marked, long, but not on average: nothing", 10, true, 100_000},
	} {
		c, s := startNSCC(t)
		s.ack(&c, 5, k.delay, bytes, k.marked)
		near(t, k.name, s.window, k.want)
	}
	c, s := startNSCC(t)
	s.delay = 18e6
	s.ack(&c, 5, 18, 4096, true)
	near(t, "marked, long: by the average above target", s.window, 100_000*(1-0.8*9/18))
	s.ack(&c, 10, 18, 4096, true)
	near(t, "a second fall within a round trip", s.window, 100_000*(1-0.8*9/18))
	s.ack(&c, 18, 18, 4096, true)
	near(t, "a fall a round trip later", s.window, 100_000*(1-0.8*9/18)*(1-0.8*9/18)+0.15*4096) // and eta, as a round trip is over
}

// On an empty network a window grows by a quarter of what arrives, once a window has arrived without delay.
func TestNSCCFastIncrease(t *testing.T) {
	c, s := startNSCC(t)
	s.window = 10_000
	for range 2 {
		s.ack(&c, 5, 0.5, 4096, false)
	}
	if s.window != 10_000 {
		t.Errorf("window %.0f before a window has arrived", s.window)
	}
	s.ack(&c, 5, 0.5, 4096, false)
	near(t, "window after it", s.window, 10_000+4096*0.25)
	s.ack(&c, 5, 2, 4096, false)
	if s.speeding {
		t.Error("still fast when a packet had to wait")
	}
}

// An unmarked packet that came late saw a queue that is draining: it counts as a quarter of a round trip.
func TestNSCCAverage(t *testing.T) {
	c, s := startNSCC(t)
	s.ack(&c, 1, 5, 100, false)
	near(t, "average", s.delay, 0.0125*5e6)
	s.ack(&c, 2, 50, 100, false)
	near(t, "average with a late unmarked one", s.delay, 0.0125*5e6*0.9875+0.0125*3e6)
}

// A trimmed packet takes its bytes out of the window. When less than an eighth of the largest window arrived in the last round
// trip and target, the window becomes what arrived, and marked news of what was in flight then is ignored.
func TestNSCCQuickAdapt(t *testing.T) {
	c, s := startNSCC(t)
	s.ack(&c, 1, 3, 4096, true) // quick adapt looks next at 1+12+9 us
	s.Lost(&c, us(5), 4096, 0)
	near(t, "window after one trimmed packet", s.window, 100_000-4096)
	s.ack(&c, 10, 30, 2*4096, true)
	s.Lost(&c, us(23), 4096, 50_000)
	near(t, "window after quick adapt", s.window, 2*4096)
	window := s.window
	s.ack(&c, 24, 40, 45_000, true)
	near(t, "window while old packets arrive", s.window, window)
	s.Lost(&c, us(25), 4096, 0)
	near(t, "window when old packets are trimmed", s.window, window)
	s.ack(&c, 30, 3, 9*4096, false)
	if s.window <= window {
		t.Errorf("window %.0f does not grow with unmarked news", s.window)
	}
}

// Quick adapt leaves a flow alone that gets its share.
func TestNSCCQuickAdaptGate(t *testing.T) {
	c, s := startNSCC(t)
	s.ack(&c, 1, 3, 4096, true)
	s.ack(&c, 10, 30, 30_000, true) // more than 225 000 / 8
	before := s.window
	s.Lost(&c, us(23), 4096, 50_000)
	near(t, "window", s.window, before-4096)
}

// Other networks scale the constants by their bandwidth-delay product.
func TestNSCCScales(t *testing.T) {
	c := NSCCDefaults(NSCCConfig{})
	p := Path{Line: 400 * units.Gbps, BaseRTT: 6 * units.Microsecond, NetworkRTT: 12 * units.Microsecond, MTU: 4096}
	s := StartNSCC(&c, &p, false)
	near(t, "target without trimming", s.target, 12e6)
	near(t, "fair increase", s.fair, 5*4096*4)
	near(t, "eta", s.eta, 0.15*4096*4)
	near(t, "fast increase", s.fast, 0.25*4)
	near(t, "alpha", s.alpha, 4*4096*4*1/12e6)
	near(t, "largest window, of its own round trip", s.largest, 1.5*300_000)
}
