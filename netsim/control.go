package netsim

import (
	"slices"
	"strings"

	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// The control laws are in netsim/cc; here is what they are told, and what they say becomes the window and rate of a QP. A QP's sender holds
// both, so the path of a packet asks no law but DCQCN, whose timers run between packets. One switch statement over a
// small number serves all: nothing is allocated, and no call goes through a table or an interface.

// Control is the congestion control of all NICs.
type Control string

// Congestion controls.
const (
	NoControl   Control = "none"   // line rate, within nic.window if that is set
	FixedWindow Control = "window" // a window of nic.window, else one bandwidth-delay product
	DCQCN       Control = "dcqcn"
	HPCC        Control = "hpcc"
	TIMELY      Control = "timely"
	Swift       Control = "swift"
	NSCC        Control = "nscc"
)

// Choices lists the congestion controls.
func (Control) Choices() []string { return cc.Names() }

// noLimit is the rate and window of a QP that has none; sums with it do not overflow.
const noLimit = 1 << 50

// control is the congestion control of a run.
type control struct {
	kind   cc.Kind
	marks  bool // marked packets are acknowledged at once
	byPort bool // telemetry is remembered by port, for packets that take many paths

	networkRTT units.Duration

	hpccConfig   cc.HPCCConfig
	timelyConfig cc.TIMELYConfig
	swiftConfig  cc.SwiftConfig
	nsccConfig   cc.NSCCConfig

	dcqcnParams []cc.Params // by endpoint
	dcqcn       []cc.DCQCN  // by QP, like all below; nil but for the law of the run
	hpcc        []cc.HPCC
	seen        []cc.Hop // of hpcc: seenEach for each QP
	seenEach    int
	timely      []cc.TIMELY
	swift       []cc.Swift
	nscc        []cc.NSCC
}

// seenPorts is how many switch ports an HPCC sender remembers when its packets take many paths: twice those of a leaf-spine network with
// 32 spines, as ports share slots by chance. Ours.
const seenPorts = 128

// buildControl makes the state that the congestion control needs.
func (n *Network) buildControl(c Config) {
	x := &n.control
	x.kind, _ = cc.Parse(string(c.NIC.Control))
	x.marks = x.kind.Needs(cc.Marks)
	x.hpccConfig, x.timelyConfig, x.swiftConfig, x.nsccConfig = c.NIC.HPCC, c.NIC.TIMELY, c.NIC.Swift, c.NIC.NSCC
	if n.choice.atHost || x.kind.Needs(cc.RTT|cc.Marks|cc.INT) {
		n.needNotes()
	}
	if n.choice.atHost {
		n.buildEntropies(c.PathParams)
	}
	switch x.kind {
	case cc.KindDCQCN:
		x.dcqcn = []cc.DCQCN{}
		x.dcqcnParams = make([]cc.Params, len(n.nics))
		for ep, p := range n.f.Endpoints {
			x.dcqcnParams[ep] = newDCQCN(c.NIC.DCQCN, n.f.Ports[p].Rate)
		}
	case cc.KindHPCC:
		n.needHops(n.mostHops())
		x.seenEach = n.hopsEach
		if c.Path != ECMP && c.Path != ECMPQPN {
			x.byPort, x.seenEach = true, seenPorts
		}
	case cc.KindNSCC:
		for ep := range n.nics {
			x.networkRTT = max(x.networkRTT, n.roundTrip(0, uint32(ep)))
		}
	}
}

// mostHops is the largest number of switches between the first NIC and any other; the networks we make look alike from everywhere.
func (n *Network) mostHops() int {
	most := 1
	for ep := range n.nics {
		most = max(most, n.hopsBetween(0, uint32(ep)))
	}
	return most
}

// hopsBetween is the number of switches on a shortest path between two endpoints.
func (n *Network) hopsBetween(a, b uint32) int {
	hops := 0
	for p := uint32(n.f.Endpoints[a]); !n.ports[n.ports[p].peer].host; hops++ {
		next := n.f.NextHops(n.switches[n.ports[n.ports[p].peer].node].node, int32(b))
		if len(next) == 0 {
			break
		}
		p = uint32(next[0])
	}
	return hops
}

// openControl makes the state of QP q, new from endpoint a to b.
func (n *Network) openControl(q, a, b uint32) {
	x := &n.control
	s := &n.snd[q]
	s.window, s.rate = noLimit, noLimit
	if n.window > 0 {
		s.window = n.window
	}
	if x.kind == cc.KindNone {
		return
	}
	path := cc.Path{Line: n.f.Ports[n.f.Endpoints[a]].Rate, MTU: units.Bytes(n.mtu)}
	if x.kind != cc.KindDCQCN && x.kind != cc.KindTIMELY { // these two need no round trip, which takes a walk through the network
		path.BaseRTT, path.Hops = n.roundTrip(a, b), n.hopsBetween(a, b)
		path.NetworkRTT = max(x.networkRTT, path.BaseRTT)
	}
	switch x.kind {
	case cc.KindWindow:
		if n.window == 0 {
			s.window = max(int64(n.productOf(a, b)), int64(n.mtu))
		}
		n.limit(q, s, units.Bytes(s.window))
	case cc.KindDCQCN:
		x.dcqcn = append(x.dcqcn, cc.Start(&x.dcqcnParams[a]))
	case cc.KindHPCC:
		x.hpcc = append(x.hpcc, cc.StartHPCC(&x.hpccConfig, &path))
		x.seen = append(x.seen, make([]cc.Hop, x.seenEach)...)
		n.obey(q, s)
	case cc.KindTIMELY:
		x.timely = append(x.timely, cc.StartTIMELY(&x.timelyConfig, &path))
		n.obey(q, s)
	case cc.KindSwift:
		x.swift = append(x.swift, cc.StartSwift(&x.swiftConfig, &path))
		n.obey(q, s)
	case cc.KindNSCC:
		x.nscc = append(x.nscc, cc.StartNSCC(&x.nsccConfig, &path, n.trim))
		n.obey(q, s)
	}
}

// obey takes over what the law of a QP says.
func (n *Network) obey(q uint32, s *sender) {
	x := &n.control
	window, rate := units.Bytes(noLimit), units.Rate(noLimit)
	switch x.kind {
	case cc.KindHPCC:
		window, rate = x.hpcc[q].Window(), x.hpcc[q].Rate()
	case cc.KindTIMELY:
		rate = x.timely[q].Rate()
	case cc.KindSwift:
		window, rate = x.swift[q].Window(), x.swift[q].Rate(noLimit)
	case cc.KindNSCC:
		window = x.nscc[q].Window()
	}
	if n.window > 0 {
		window = min(window, units.Bytes(n.window))
	}
	n.limit(q, s, window)
	if int64(rate) != s.rate {
		s.rate = int64(rate)
		n.reprice(q, s)
	}
}

// limit sets the window of a QP.
func (n *Network) limit(q uint32, s *sender, window units.Bytes) {
	s.window = max(int64(window), int64(n.mtu))
	if n.flights != nil {
		n.flights[q].window = min(s.window, n.reach*int64(n.mtu))
	}
}

// delivered is how many packets of a QP its sender knows to have arrived.
func (n *Network) delivered(q uint32, s *sender) int64 {
	if n.flights != nil {
		return int64(s.una) + int64(n.flights[q].acked.n)
	}
	return int64(s.una)
}

// inFlight is how much of a QP is in the network, as far as its sender knows.
func (n *Network) inFlight(q uint32, s *sender) units.Bytes {
	out := int64(s.nxt) - int64(s.una)
	switch n.transport {
	case tIRN:
		out -= int64(n.flights[q].acked.n)
	case tUEC:
		out = n.flights[q].inFlight
	}
	return units.Bytes(max(out, 0) * int64(n.mtu))
}

// heard is an acknowledgement that the transport has dealt with: it came as packet k, which has been given back but not been used again, with flags, and
// by it the packets known to have arrived grew from before.
func (n *Network) heard(q uint32, s *sender, k uint32, flags uint8, before int64) {
	x := &n.control
	note := &n.notes[k]
	lost := flags&kindMask == nak && n.transport != tIRN // to irn a NAK is an acknowledgement
	isMarked := flags&marked != 0
	if n.choice.atHost {
		n.entropyHeard(q, s, note.ev, fateOf(lost && n.transport == tUEC, isMarked))
	}
	if x.kind <= cc.KindDCQCN {
		return
	}
	a := cc.Ack{
		Now: units.At(n.now), RTT: units.Duration(n.now - note.sent), Marked: isMarked,
		Bytes: units.Bytes((n.delivered(q, s) - before) * int64(n.mtu)),
		Acked: s.una, Sent: s.nxt, InFlight: n.inFlight(q, s),
	}
	switch x.kind {
	case cc.KindHPCC:
		seen := x.seen[int(q)*x.seenEach:][:x.seenEach]
		x.hpcc[q].Ack(&x.hpccConfig, &a, n.hopsOf(k)[:note.hops], seen, x.byPort)
	case cc.KindTIMELY:
		x.timely[q].Ack(&x.timelyConfig, &a)
	case cc.KindSwift:
		if lost {
			x.swift[q].Lost(&x.swiftConfig, a.Now)
		} else {
			x.swift[q].Ack(&x.swiftConfig, &a)
		}
	case cc.KindNSCC:
		if lost {
			x.nscc[q].Lost(&x.nsccConfig, a.Now, units.Bytes(n.mtu), a.InFlight)
		} else {
			x.nscc[q].Ack(&x.nsccConfig, &a)
		}
	}
	n.obey(q, s)
}

// timedOut is a retransmission timeout of a QP.
func (n *Network) timedOut(q uint32, s *sender) {
	if n.choice.atHost {
		n.entropyTimedOut(q, s)
	}
	x := &n.control
	switch x.kind {
	case cc.KindSwift:
		x.swift[q].TimedOut(&x.swiftConfig, units.At(n.now))
	case cc.KindNSCC:
		x.nscc[q].Lost(&x.nsccConfig, units.At(n.now), units.Bytes(n.mtu), n.inFlight(q, s))
	default:
		return
	}
	n.obey(q, s)
}

// validateControl tells what is wrong with the congestion control.
func (c Config) validateControl(wrong func(bad bool, format string, args ...any)) {
	n, d := c.NIC, c.NIC.DCQCN
	wrong(!slices.Contains(cc.Names(), string(n.Control)), "nic control %q: must be one of %s", n.Control, strings.Join(cc.Names(), ", "))
	wrong(!slices.Contains(d.Preset.Choices(), string(d.Preset)), "nic dcqcn preset %q: must be one of %s", d.Preset, strings.Join(d.Preset.Choices(), ", "))
	wrong(!(d.G > 0 && d.G <= 1), "nic dcqcn g %v: must be above 0%% and at most 100%%", d.G)
	wrong(d.AlphaPeriod < units.Nanosecond || d.TimeReset < units.Nanosecond, "nic dcqcn alpha_period, time_reset: must be at least 1ns")
	wrong(d.ReducePeriod < 0 || d.CNPPeriod < 0, "nic dcqcn reduce_period, cnp_period: must not be negative")
	wrong(d.ByteReset < -1, "nic dcqcn byte_reset %v: must be positive, or -1 for never", d.ByteReset)
	wrong(d.Threshold < 0, "nic dcqcn threshold %d: must not be negative", d.Threshold)
	wrong(d.AIRate < 0 || d.HAIRate < 0, "nic dcqcn ai_rate, hai_rate: must not be negative")
	wrong(d.MinRate < units.Kbps, "nic dcqcn min_rate %v: must be at least 1Kbps", d.MinRate)
	share := func(name string, f units.Fraction, least bool) {
		wrong(!(f > 0 || least && f == 0) || f > 1, "nic %s %v: must be above 0%% and at most 100%%", name, f)
	}
	share("hpcc eta", n.HPCC.Eta, false)
	wrong(n.HPCC.MaxStage < -1 || n.HPCC.Flows < 1 || n.HPCC.MinRate < units.Kbps, "nic hpcc: max_stage must be at least -1, flows at least 1, min_rate at least 1Kbps")
	share("timely initial", n.TIMELY.Initial, false)
	share("timely alpha", n.TIMELY.Alpha, false)
	share("timely beta", n.TIMELY.Beta, false)
	wrong(n.TIMELY.TLow <= 0 || n.TIMELY.THigh < n.TIMELY.TLow || n.TIMELY.MinRTT <= 0, "nic timely t_low, t_high, min_rtt: must be positive, and t_high not below t_low")
	wrong(n.TIMELY.AIRate < 0 || n.TIMELY.HAIRate < 0 || n.TIMELY.HAIAfter < 1 || n.TIMELY.MinRate < units.Kbps, "nic timely: ai_rate and hai_rate must not be negative, hai_after at least 1, min_rate at least 1Kbps")
	w := n.Swift
	wrong(w.Base <= 0 || w.PerHop < 0 || w.Range < 0, "nic swift base, per_hop, range: must not be negative, and base positive")
	wrong(!(w.FlowMin > 0 && w.FlowMax > w.FlowMin), "nic swift flow_min, flow_max: must be positive, and flow_max above flow_min")
	wrong(!(w.AI > 0 && w.Initial > 0 && w.MinWnd > 0 && w.MinWnd <= w.Initial), "nic swift ai, initial, min_window: must be positive, and min_window not above initial")
	share("swift beta", w.Beta, false)
	share("swift max_fall", w.MaxFall, false)
	wrong(w.Resting < 1, "nic swift reset_after %d: must be at least 1", w.Resting)
	wrong(n.NSCC.Target < 0, "nic nscc target %v: must not be negative", n.NSCC.Target)
	wrong(!(n.NSCC.Window > 0 && n.NSCC.Window <= 1000), "nic nscc window %v: must be above 0 and at most 1000", n.NSCC.Window)
	share("nscc gamma", n.NSCC.Gamma, false)
	share("nscc max_fall", n.NSCC.MaxFall, false)
	wrong(n.NSCC.Gate < 0 || n.NSCC.Gate > 16, "nic nscc gate %d: must be 0 to 16", n.NSCC.Gate)
}
