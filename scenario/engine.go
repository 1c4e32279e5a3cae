package scenario

import (
	"context"
	"fmt"

	"github.com/shunt-network/shunt/collect/simtap"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/flowsim"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Engine is what carries a scenario out.
type Engine string

// Engines.
const (
	Packets Engine = "packet" // netsim: queues, pauses, marks, losses
	Flows   Engine = "flow"   // flowsim: max-min fair rates
)

// Engines lists the engines.
func Engines() []string { return []string{string(Packets), string(Flows)} }

// Errors of a job that the engine of the run does not know, or that is too large even for phases.
var (
	ErrEngine  = flowsim.ErrPackets
	ErrTooMany = flowsim.ErrTooMany
)

// RunOn is Run on a given engine. The log, where given, is told what happened.
func (s *Scenario) RunOn(ctx context.Context, e Engine, log *Log, progress func(done float64)) (*Run, error) {
	if e == Flows {
		return s.flows(ctx, progress)
	}
	return s.packets(ctx, progress, log)
}

// Transport is what the NICs of a run counted together.
type Transport struct {
	Retransmitted uint64 // packets sent again
	OutOfOrder    uint64 // packets that were not the expected one
	Timeouts      uint64 // retransmission timers that fired
	GaveUp        uint64 // QPs that reached their last retry
	CNPs          uint64 // congestion notifications sent
	DataPackets   uint64 // full packets that the payload sent would fill, repeats included
}

func transportOf(f *fabric.Fabric, net *netsim.Network, mtu units.Bytes) *Transport {
	t := &Transport{}
	var payload uint64
	for ep := range f.Endpoints {
		c := net.NIC(int32(ep))
		t.Retransmitted += c.RetransmitPackets
		t.OutOfOrder += c.OutOfSequence
		t.Timeouts += c.LocalAckTimeout
		t.GaveUp += c.RetryExceeded
		t.CNPs += c.CNPSent
		payload += c.TxDataBytes
	}
	t.DataPackets = payload / uint64(mtu)
	return t
}

// flowConfig is the configuration of the flow-level simulator that comes nearest to c. Whatever looks at packets one by one to
// choose their ports comes to equal shares.
func flowConfig(c netsim.Config) flowsim.Config {
	out := flowsim.Config{
		Seed: c.Seed, QPs: c.NIC.QPs, SplitMessages: c.NIC.Split, MTU: c.NIC.MTU, AckEvery: c.NIC.AckEvery,
		SwitchLatency: c.Switch.Latency, NICLatency: c.NIC.Latency, Path: flowsim.Split,
	}
	switch c.Path {
	case netsim.ECMP:
		out.Path = flowsim.Hash
	case netsim.ECMPQPN:
		out.Path = flowsim.HashQPN
	case netsim.Buckets:
		if !c.PathParams.Buckets.Key.PerPacket() { // a QP keeps its bucket: E-ECMP, but for the hash and the weights
			out.Path = flowsim.HashQPN
		}
	}
	for _, x := range c.Faults {
		f := flowsim.Fault{Port: x.Port, At: x.At, For: x.For, Rate: x.Rate, Detect: x.Detect, Every: x.Every}
		switch x.Kind {
		case netsim.LinkDown:
			f.Kind = flowsim.LinkDown
		case netsim.RateDegraded:
			f.Kind = flowsim.RateDegraded
		case netsim.SlowReceiver:
			f.Kind = flowsim.SlowReceiver
		default:
			continue // Run.LeftOut tells
		}
		out.Faults = append(out.Faults, f)
	}
	return out
}

// LeftOut names what the scenario asks for and the engine of the run does not know.
func (r *Run) LeftOut() []string {
	if r.Engine != Flows {
		return nil
	}
	var out []string
	if r.Config.NIC.Deal.By == netsim.DealByLinkState {
		out = append(out, "dealing by link state")
	}
	if p := r.Config.PathParams.Buckets; r.Config.Path == netsim.Buckets && p.Rules.Limit > 0 {
		out = append(out, "rule tables")
	}
	seen := map[netsim.FaultKind]bool{}
	for _, f := range r.Config.Faults {
		switch f.Kind {
		case netsim.LinkDown, netsim.RateDegraded, netsim.SlowReceiver:
		default:
			if !seen[f.Kind] {
				seen[f.Kind] = true
				out = append(out, string(f.Kind))
			}
		}
	}
	return out
}

// flows carries the scenario out flow by flow.
func (s *Scenario) flows(ctx context.Context, progress func(done float64)) (*Run, error) {
	f, err := s.build()
	if err != nil {
		return nil, err
	}
	if s.inPhases(f) {
		return s.phases(f)
	}
	plan, c, err := s.prepare(f)
	if err != nil {
		return nil, err
	}
	net, err := flowsim.New(f, plan, flowConfig(c))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	r := &Run{Seed: s.Seed, Fabric: f, Plan: plan, Config: c, Engine: Flows}
	meter := newMeter(f, net, classOf(plan), s.Seed)
	limit := units.At(int64(s.Limit))
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		until := meter.next
		if until.After(limit) {
			until = limit
		}
		if done, err = net.RunUntil(until); err != nil {
			return nil, fmt.Errorf("scenario: %w", err)
		}
		switch {
		case done:
		case net.Stalled():
			r.Summary.Stalled, done = true, true
		case !until.Before(limit):
			r.Cut, done = true, true
		default:
			meter.sample(until)
		}
		if progress != nil {
			progress(net.Done())
		}
	}
	r.Window = meter.finish(net.Now())
	r.Times = make([]netsim.OpTime, len(plan.Ops))
	for i, t := range net.Ops() {
		r.Times[i] = netsim.OpTime(t)
	}
	r.Summary.End, r.Summary.Fingerprint = net.Now(), net.Fingerprint()
	r.Inventory = simtap.Inventory(f, plan, c, r.Times)
	return r, nil
}

// classOf is the one priority that the plan's traffic has, or AnyPriority: flows of all classes share a link alike.
func classOf(plan *workload.Plan) int8 {
	class := telemetry.AnyPriority
	for i := range plan.Ops {
		if op := &plan.Ops[i]; op.Kind == workload.Send {
			if p := int8(op.Priority); class == telemetry.AnyPriority {
				class = p
			} else if class != p {
				return telemetry.AnyPriority
			}
		}
	}
	return class
}

// meter reads the byte counters of a flow-level run, at first every meterInterval and ever less often, as the tap of the packet
// simulator does.
type meter struct {
	f        *fabric.Fabric
	net      *flowsim.Network
	class    int8
	origin   string
	win      *telemetry.Window
	interval units.Duration
	next     units.Instant
	last     []uint64 // by port
	kept     []units.Instant
	at       units.Instant
}

const (
	meterInterval = 10 * units.Microsecond
	meterSamples  = 256 // then the interval doubles: a few hundred samples however long the run
)

func newMeter(f *fabric.Fabric, net *flowsim.Network, class int8, seed uint64) *meter {
	m := &meter{f: f, net: net, class: class, origin: fmt.Sprintf("simulated as flows, seed %d", seed), interval: meterInterval,
		win: telemetry.NewWindow(units.At(0), units.At(0)), last: make([]uint64, len(f.Ports)), kept: make([]units.Instant, len(f.Ports))}
	for p := range f.Ports {
		id := telemetry.SwitchSpeed
		if f.Ports[p].Endpoint >= 0 {
			id = telemetry.NICSpeed
		}
		m.win.Add(telemetry.Key{Series: id, Object: f.PortName(fabric.PortID(p)), Priority: telemetry.AnyPriority},
			telemetry.Sample{Level: float64(f.Ports[p].Rate)}, 1, m.origin, false)
		m.add(fabric.PortID(p), units.At(0), 0)
	}
	m.next = units.At(int64(m.interval))
	return m
}

// add keeps a reading of what left a port; it is what came in at the other end.
func (m *meter) add(p fabric.PortID, at units.Instant, bytes uint64) {
	out, in := telemetry.SwitchTxBytes, telemetry.SwitchRxBytes
	inClass := telemetry.AnyPriority
	if m.f.Ports[p].Endpoint >= 0 {
		out = telemetry.NICTxBytes
	}
	peer := m.f.Ports[p].Peer
	if m.f.Ports[peer].Endpoint >= 0 {
		in, inClass = telemetry.NICRxBytes, m.class
	}
	s := telemetry.Sample{At: at, Count: bytes}
	m.win.Add(telemetry.Key{Series: out, Object: m.f.PortName(p), Priority: m.class}, s, 1, m.origin, false)
	m.win.Add(telemetry.Key{Series: in, Object: m.f.PortName(peer), Priority: inClass}, s, 1, m.origin, false)
	m.last[p], m.kept[p] = bytes, at
}

// sample reads all ports; one that stands still is read again only when it moves.
func (m *meter) sample(now units.Instant) {
	for p := range m.f.Ports {
		id := fabric.PortID(p)
		if b := m.net.Bytes(id); b != m.last[p] {
			if m.kept[p].Before(m.at) {
				m.add(id, m.at, m.last[p])
			}
			m.add(id, now, b)
		}
	}
	m.at = now
	if now.PS() >= int64(m.interval)*meterSamples {
		m.interval *= 2
	}
	m.next = now.Add(m.interval)
}

func (m *meter) finish(now units.Instant) *telemetry.Window {
	m.sample(now)
	for p := range m.f.Ports {
		if m.kept[p].Before(now) {
			m.add(fabric.PortID(p), now, m.last[p])
		}
	}
	m.win.To = now
	return m.win
}
