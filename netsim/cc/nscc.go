package cc

import (
	"math"

	"github.com/shunt-network/shunt/units"
)

// NSCCConfig is what can be set of NSCC.
type NSCCConfig struct {
	Target  units.Duration `yaml:"target" min:"0ns" doc:"queueing delay that a window steers to; unset: three quarters of the network's longest round trip with trimming, all of it without"`
	Window  float64        `yaml:"window" doc:"first and largest window in bandwidth-delay products"`
	Gamma   units.Fraction `yaml:"gamma" doc:"how strongly a window falls with the delay above target"`
	MaxFall units.Fraction `yaml:"max_fall" doc:"most that it falls at once"`
	Gate    int            `yaml:"gate" min:"0" max:"16" doc:"quick adapt needs what arrived to be below 1/2^gate of the largest window"`
}

// NSCCDefaults are those of the open simulator of Ultra Ethernet (uet-htsim, uec.cpp).
func NSCCDefaults(c NSCCConfig) NSCCConfig {
	c.Window = or(c.Window, 1.5)
	c.Gamma = or(c.Gamma, 0.8)
	c.MaxFall = or(c.MaxFall, 0.5)
	c.Gate = or(c.Gate, 3)
	return c
}

// Constants of NSCC (uet-htsim, uec.cpp), for a network of 100 Gbit/s and 12 us and scaled to others by their bandwidth-delay product.
const (
	nsccReferenceRTT  = 12 * units.Microsecond
	nsccReferenceRate = 100 * units.Gbps

	nsccAlpha     = 4.0    // packets a round trip at the target: proportional increase
	nsccFair      = 5.0    // packets: increase while the delay is above target but nothing is marked
	nsccEta       = 0.15   // packets a round trip, always
	nsccFast      = 0.25   // share of what arrives: increase on an empty network
	nsccSmoothing = 0.0125 // weight of a new delay
	nsccLate      = 4      // delay in targets from which quick adapt steps in
	nsccBatch     = 8      // packets after which increases take effect

	nsccIdle = units.Microsecond // delay below which the network counts as empty
)

// NSCC is the sender of one QP under Ultra Ethernet's network-signalled congestion control: ECN and delay together tell four cases apart.
// Unmarked and short: increase in proportion to what is missing to the target, fast on an empty network. Unmarked and long: the queue is
// draining, increase a little. Marked and long: fall with the delay above target. Marked and short: a queue is building up, wait (and take
// another path). Quick adapt sets the window to what arrived in a round trip when packets were trimmed or came far too late.
type NSCC struct {
	window, largest float64 // bytes
	delay           float64 // averaged, picoseconds
	increase        float64 // collected, bytes squared
	base, target    float64 // picoseconds
	network         float64
	alpha, fair     float64
	eta, fast       float64
	mtu             float64

	adaptAt    int64 // quick adapt looks again
	fellAt     int64
	adjustedAt int64
	achieved   float64 // bytes that arrived since quick adapt looked
	received   float64 // since increases took effect
	ignored    float64 // since quick adapt acted
	toIgnore   float64
	unhindered float64 // bytes in a row that found the network empty
	speeding   bool
	cut        bool // something was trimmed or lost
}

// StartNSCC makes a QP with its first window, the largest. trimming tells that switches cut packets rather than drop them.
func StartNSCC(c *NSCCConfig, p *Path, trimming bool) NSCC {
	target := float64(c.Target)
	if target == 0 {
		target = float64(p.NetworkRTT)
		if trimming {
			target *= 0.75
		}
	}
	mtu := float64(p.MTU)
	a := p.product(p.NetworkRTT) / (nsccReferenceRate.BytesPerSecond() * nsccReferenceRTT.Seconds())
	b := target / float64(nsccReferenceRTT)
	w := max(c.Window*p.product(p.BaseRTT), mtu)
	return NSCC{
		window: w, largest: w, base: float64(p.BaseRTT), network: float64(p.NetworkRTT), target: target, mtu: mtu,
		alpha: nsccAlpha * mtu * a * b / target, fair: nsccFair * mtu * a, eta: nsccEta * mtu * a, fast: nsccFast * a,
		fellAt: math.MinInt64 / 2,
	}
}

// Window is how much may be in flight.
func (s *NSCC) Window() units.Bytes { return units.Bytes(s.window) }

// Delay is the averaged queueing delay.
func (s *NSCC) Delay() units.Duration { return units.Duration(s.delay) }

// Ack takes an acknowledgement.
func (s *NSCC) Ack(c *NSCCConfig, a *Ack) {
	bytes := float64(a.Bytes)
	s.achieved += bytes
	s.received += bytes
	s.ignored += bytes
	delay := max(float64(a.RTT)-s.base, 0)
	s.average(delay, a.Marked)
	now := a.Now.PS()
	if s.quickAdapt(c, now, a.InFlight, delay, a.Marked) {
		return
	}
	switch {
	case !a.Marked && delay >= s.target:
		s.increase += float64(s.fair * bytes)
	case !a.Marked:
		if !s.fastIncrease(bytes, delay) {
			s.increase += float64(s.alpha * bytes * (s.target - delay))
		}
	case delay >= s.target:
		s.fall(c, now)
	}
	s.bound()
	if period := now - s.adjustedAt; s.received > nsccBatch*s.mtu || float64(period) > s.network {
		s.window += s.increase / s.window
		if float64(period) >= s.network {
			s.window += s.eta
			s.adjustedAt = now
		}
		s.increase, s.received = 0, 0
		s.bound()
	}
}

func (s *NSCC) bound() { s.window = min(max(s.window, s.mtu), s.largest) }

// average smooths the delay. An unmarked packet that came late saw a queue that is draining, so it counts as a quarter of the round trip.
func (s *NSCC) average(delay float64, marked bool) {
	if !marked && delay > s.target {
		delay = s.base / 4
	}
	s.delay += float64(nsccSmoothing * (delay - s.delay))
}

func (s *NSCC) fastIncrease(bytes, delay float64) bool {
	if delay >= float64(nsccIdle) {
		s.unhindered, s.speeding = 0, false
		return false
	}
	s.unhindered += bytes
	s.speeding = s.speeding || s.unhindered > s.window
	if s.speeding {
		s.window += float64(bytes * s.fast)
	}
	return s.speeding
}

func (s *NSCC) fall(c *NSCCConfig, now int64) {
	s.speeding, s.unhindered = false, 0
	if s.delay > s.target && float64(now-s.fellAt) > s.base {
		s.window *= max(1-float64(float64(c.Gamma)*(s.delay-s.target))/s.delay, 1-float64(c.MaxFall))
		s.fellAt = now
	}
}

// quickAdapt tells that the acknowledgement has done its work.
func (s *NSCC) quickAdapt(c *NSCCConfig, now int64, inFlight units.Bytes, delay float64, marked bool) (done bool) {
	if s.ignored < s.toIgnore && marked {
		done = true // it answers what was sent before the window was set
	} else if now > s.adaptAt {
		late := s.cut || delay > nsccLate*s.target
		if s.adaptAt != 0 && late && s.achieved < s.largest/float64(uint64(1)<<c.Gate) {
			s.window = max(s.achieved, s.mtu)
			s.toIgnore, s.ignored = float64(inFlight), 0
			s.cut = false
			done = true
		}
		s.achieved = 0
		s.adaptAt = now + int64(s.base+s.target)
	}
	if done {
		s.increase, s.received = 0, 0
	}
	return done
}

// Lost is a packet that was trimmed or must be sent again: its bytes leave the window.
func (s *NSCC) Lost(c *NSCCConfig, now units.Instant, bytes, inFlight units.Bytes) {
	s.ignored += float64(bytes)
	s.average(s.network, true)
	s.cut = true
	if !s.quickAdapt(c, now.PS(), inFlight, 0, true) {
		s.window -= float64(bytes)
		s.bound()
	}
}
