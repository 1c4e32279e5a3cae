package cc

import "github.com/shunt-network/shunt/units"

// HPCCConfig is what can be set of HPCC.
type HPCCConfig struct {
	Eta      units.Fraction `yaml:"eta" doc:"utilisation of the busiest link that a sender steers to"`
	MaxStage int            `yaml:"max_stage" min:"0" max:"1000" doc:"round trips of additive increase before the window is set by the utilisation again"`
	Flows    int            `yaml:"flows" min:"1" max:"1000000" doc:"flows that may share a link: the additive step is the window's spare share divided among them"`
	MinRate  units.Rate     `yaml:"min_rate" min:"1Kbps" doc:"rate below which no window falls"`
}

// HPCCDefaults are those of the paper and its artefact.
func HPCCDefaults(c HPCCConfig) HPCCConfig {
	c.Eta = or(c.Eta, 0.95)
	c.MaxStage = or(c.MaxStage, 5)
	c.Flows = or(c.Flows, 10)
	c.MinRate = or(c.MinRate, 100*units.Mbps)
	return c
}

// Hop is what one switch writes into a packet as it leaves: in-band telemetry.
type Hop struct {
	At    units.Instant
	Sent  uint64 // bytes that the port has sent
	Queue units.Bytes
	Rate  units.Rate
	Port  uint32 // 0 is no hop: the number of the port plus 1
}

// HPCC is the sender of one QP (Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, algorithm 1): every acknowledgement carries
// queue, bytes and time of each switch on the way, from which the sender knows the utilisation of the busiest link, and sets its window so that
// the link is used to Eta.
type HPCC struct {
	window    float64 // bytes
	reference float64 // the window that all acknowledgements of a round trip reckon from (W^c)
	u         float64 // utilisation, averaged over a round trip
	base      float64 // round trip in picoseconds
	largest   float64 // W_init
	step      float64 // W_AI
	least     float64
	mtu       units.Bytes
	stage     int
	started   bool
	updateAt  uint64 // the reference is set when this is acknowledged
}

// StartHPCC makes a QP that sends at line rate.
func StartHPCC(c *HPCCConfig, p *Path) HPCC {
	w := p.product(p.BaseRTT)
	return HPCC{
		window: w, reference: w, largest: w, base: float64(p.BaseRTT), mtu: p.MTU,
		step:  w * (1 - float64(c.Eta)) / float64(c.Flows),
		least: min(c.MinRate, p.Line).BytesPerSecond() * p.BaseRTT.Seconds(),
	}
}

// Window is how much may be in flight: at least a packet, the rest is pacing.
func (h *HPCC) Window() units.Bytes { return max(units.Bytes(h.window), h.mtu) }

// Rate is the window for each round trip.
func (h *HPCC) Rate() units.Rate { return max(units.Rate(h.window*8*float64(units.Second)/h.base), 1) }

// Utilisation is the estimate for the busiest link.
func (h *HPCC) Utilisation() float64 { return h.u }

// Ack takes an acknowledgement with what the switches wrote. seen is what the QP knows of switches from earlier ones: by position when its
// length is that of the path, else by port, for packets that take many paths. A hop that was not seen before tells nothing yet.
func (h *HPCC) Ack(c *HPCCConfig, a *Ack, hops, seen []Hop, byPort bool) {
	u, tau := h.measure(hops, seen, byPort)
	if !h.started { // the first round trip tells what follows
		h.started, h.updateAt = true, a.Sent
	}
	if tau == 0 {
		return
	}
	share := min(tau/h.base, 1)
	h.u = float64(h.u*(1-share)) + float64(u*share)
	wholeRound := a.Acked > h.updateAt
	if h.u >= float64(c.Eta) || h.stage >= c.MaxStage {
		h.set(h.reference*float64(c.Eta)/h.u + h.step)
		if wholeRound {
			h.stage = 0
		}
	} else {
		h.set(h.reference + h.step)
		if wholeRound {
			h.stage++
		}
	}
	if wholeRound {
		h.reference = h.window
		h.updateAt = a.Sent
	}
}

func (h *HPCC) set(w float64) { h.window = min(max(w, h.least), h.largest) }

// measure is the utilisation of the busiest hop and the time it was measured over, 0 when no hop was seen before.
func (h *HPCC) measure(hops, seen []Hop, byPort bool) (u, tau float64) {
	for i := range hops {
		hop := &hops[i]
		if hop.Port == 0 {
			break
		}
		at := i
		if byPort {
			at = int(uint64(hop.Port*0x9e3779b1) * uint64(len(seen)) >> 32)
		}
		was := &seen[at]
		if dt := hop.At.Sub(was.At); was.Port == hop.Port && dt > 0 {
			rate := hop.Rate.BytesPerSecond()
			used := float64(hop.Sent-was.Sent)/(rate*dt.Seconds()) + float64(min(hop.Queue, was.Queue))/(rate*h.base/float64(units.Second))
			if used > u || tau == 0 {
				u, tau = used, float64(dt)
			}
		}
		if hop.At.After(was.At) || was.Port != hop.Port { // acknowledgements may overtake each other
			*was = *hop
		}
	}
	return u, tau
}
