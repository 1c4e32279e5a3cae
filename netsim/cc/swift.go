package cc

import (
	"math"

	"github.com/shunt-network/shunt/units"
)

// SwiftConfig is what can be set of Swift.
type SwiftConfig struct {
	Base    units.Duration `yaml:"base" min:"1ns" doc:"target round trip before hops and flows are allowed for"`
	PerHop  units.Duration `yaml:"per_hop" min:"0ns" doc:"what each switch on the way adds; unset: base/6.55"`
	Range   units.Duration `yaml:"range" min:"0ns" doc:"most that small windows add (flow scaling); unset: 5 base"`
	FlowMin float64        `yaml:"flow_min" doc:"window in packets at and below which all of it is added"`
	FlowMax float64        `yaml:"flow_max" doc:"window in packets at and above which nothing is added"`
	AI      float64        `yaml:"ai" doc:"packets a round trip that a window below target grows by"`
	Beta    units.Fraction `yaml:"beta" doc:"how strongly a window above target falls"`
	MaxFall units.Fraction `yaml:"max_fall" doc:"most that it falls at once"`
	Initial float64        `yaml:"initial" doc:"packets of the first window"`
	MinWnd  float64        `yaml:"min_window" doc:"packets below which no window falls; less than one is paced"`
	Resting int            `yaml:"reset_after" min:"1" max:"1000" doc:"timeouts in a row after which the window falls to its least"`
}

// SwiftDefaults are those of htsim's model (swift.cpp); the least window is the paper's order of magnitude.
func SwiftDefaults(c SwiftConfig) SwiftConfig {
	c.Base = or(c.Base, 20*units.Microsecond)
	c.PerHop = or(c.PerHop, units.Duration(float64(c.Base)/6.55))
	c.Range = or(c.Range, 5*c.Base)
	c.FlowMin = or(c.FlowMin, 0.1)
	c.FlowMax = or(c.FlowMax, 100)
	c.AI = or(c.AI, 1)
	c.Beta = or(c.Beta, 0.8)
	c.MaxFall = or(c.MaxFall, 0.5)
	c.Initial = or(c.Initial, 12)
	c.MinWnd = or(c.MinWnd, 0.01)
	c.Resting = or(c.Resting, 5)
	return c
}

// Swift is the sender of one QP (Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020,
// algorithm 1): a window grows by a packet a round trip below a target delay and falls in proportion to the excess above it, once
// a round trip. The target grows with the hops and, since many flows make longer queues, as the window gets small.
type Swift struct {
	window   float64 // packets
	most     float64
	fixed    float64 // target without flow scaling, picoseconds
	a, b     float64 // flow scaling is a/sqrt(window) + b
	rtt      units.Duration
	lastFall int64
	mtu      units.Bytes
	timeouts int
}

// StartSwift makes a QP with its first window.
func StartSwift(c *SwiftConfig, p *Path) Swift {
	s := Swift{window: c.Initial, mtu: p.MTU, rtt: p.BaseRTT, lastFall: math.MinInt64 / 2}
	s.fixed = float64(c.Base) + float64(float64(p.Hops)*float64(c.PerHop))
	s.a = float64(c.Range) / (1/math.Sqrt(c.FlowMin) - 1/math.Sqrt(c.FlowMax))
	s.b = -s.a / math.Sqrt(c.FlowMax)
	// No more fits into the longest target at line rate.
	s.most = max(p.product(units.Duration(s.fixed)+c.Range)/float64(p.MTU), c.Initial)
	return s
}

// Target is the round trip that the window steers to.
func (s *Swift) Target(c *SwiftConfig) units.Duration {
	scaling := s.a/math.Sqrt(s.window) + s.b
	return units.Duration(s.fixed + min(max(scaling, 0), float64(c.Range)))
}

// Window is how much may be in flight: at least a packet, the rest is pacing.
func (s *Swift) Window() units.Bytes {
	return max(units.Bytes(s.window*float64(s.mtu)), s.mtu)
}

// Rate is unlimited but for windows below one packet.
func (s *Swift) Rate(line units.Rate) units.Rate {
	if s.window >= 1 || s.rtt <= 0 {
		return line
	}
	return max(units.Rate(s.window*float64(s.mtu)*8/s.rtt.Seconds()), 1)
}

// Ack takes an acknowledgement.
func (s *Swift) Ack(c *SwiftConfig, a *Ack) {
	s.rtt = a.RTT
	s.timeouts = 0
	target := s.Target(c)
	if a.RTT < target {
		packets := float64(a.Bytes) / float64(s.mtu)
		if s.window >= 1 {
			packets /= s.window
		}
		s.window += float64(c.AI * packets)
	} else if s.mayFall(a.Now) {
		excess := float64(a.RTT-target) / float64(a.RTT)
		s.window *= max(1-float64(float64(c.Beta)*excess), 1-float64(c.MaxFall))
		s.lastFall = a.Now.PS()
	}
	s.window = min(max(s.window, c.MinWnd), s.most)
}

// mayFall tells that the last fall is a round trip ago, so that its effect could be seen.
func (s *Swift) mayFall(now units.Instant) bool { return now.PS()-s.lastFall >= int64(s.rtt) }

// Lost is a packet that must be sent again.
func (s *Swift) Lost(c *SwiftConfig, now units.Instant) {
	if !s.mayFall(now) {
		return
	}
	s.window = max(s.window*(1-float64(c.MaxFall)), c.MinWnd)
	s.lastFall = now.PS()
}

// TimedOut is a retransmission timeout.
func (s *Swift) TimedOut(c *SwiftConfig, now units.Instant) {
	if s.timeouts++; s.timeouts >= c.Resting {
		s.window, s.lastFall = c.MinWnd, now.PS()
		return
	}
	s.Lost(c, now)
}
