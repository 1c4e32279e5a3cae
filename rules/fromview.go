package rules

import (
	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// FromView is the evidence of a view as expressions see it.
func FromView(v *diagnose.View) *Cluster {
	inv := v.Inv
	c := &Cluster{Simulated: inv.Simulated}
	for _, h := range inv.Hosts {
		c.Hosts = append(c.Hosts, fromHost(h))
	}
	for _, s := range inv.Switches {
		out := Switch{Name: s.Name, Tier: s.Tier, Model: known(s.Model), Software: known(s.Software), Spray: fromSpray(s.Spray)}
		for _, p := range s.Ports {
			out.Ports = append(out.Ports, Port{
				Switch: s.Name, Object: s.Object(p), Name: p.Name, Peer: text(p.Peer), Uplink: p.Uplink,
				Rate: rate(p.Rate), Nominal: rate(p.Nominal), FEC: known(p.FEC),
				MTU: whole(p.MTU), State: known(p.State), DSCP: dscpOf(s, p), Queues: fromQueues(s, p),
			})
		}
		c.Switches = append(c.Switches, out)
	}
	for _, e := range inv.NCCL.Env {
		c.Variables = append(c.Variables, Variable{e.Name, e.Value, e.Host, e.From.String()})
	}
	for _, s := range inv.Settings {
		c.Settings = append(c.Settings, Setting{s.Name, s.Object, s.Value, s.From.String()})
	}
	for _, e := range inv.NCCL.Events {
		c.Events = append(c.Events, Event{
			Kind: eventKind(e.Kind), Host: e.Host, Rank: from(int64(e.Rank), 0), Device: e.Device, Status: int64(e.Status),
			Errno: e.Errno, Peer: text(e.Peer), Text: e.Text, From: e.From.String(),
		})
	}
	for _, x := range inv.Calls {
		c.Calls = append(c.Calls, Call{
			Name: x.Name, Kind: x.Kind, Algorithm: x.Algorithm, Bytes: int64(x.Bytes), Ranks: from(int64(x.Ranks), 1), Step: from(int64(x.Step), 0),
			Time: millis(x.Time), AlgBW: positive(x.AlgBW), BusBW: positive(x.BusBW), Wrong: from(x.Wrong, 0), From: x.From.String(),
		})
	}
	for _, s := range inv.Steps {
		c.Steps = append(c.Steps, Step{int64(s.Index), millis(s.Time), millis(s.Compute), millis(s.Exposed), s.From.String()})
	}
	for _, f := range inv.Flows {
		c.Flows = append(c.Flows, Flow{f.Src, f.Dst, f.Application, from(int64(f.Priority), 0), int64(f.Bytes), f.From.String()})
	}
	for _, d := range inv.Flights {
		c.Flights = append(c.Flights, fromFlight(d))
	}
	for _, s := range inv.NCCL.Versions {
		c.NCCL = append(c.NCCL, s.Version)
	}
	c.Ranks = from(int64(inv.NCCL.Ranks), 1)
	if v.Win != nil {
		c.Series = fromWindow(v.Win)
	}
	return c
}

func fromHost(h *evidence.Host) Host {
	out := Host{Name: h.Name, Memlock: known(h.Memlock), Sysctl: map[string]string{}}
	if b, ok := h.Shm.Get(); ok {
		out.Shm = new(int64(b))
	}
	for name, v := range h.Sysctl {
		if s, ok := v.Get(); ok {
			out.Sysctl[name] = s
		}
	}
	for _, n := range h.NICs {
		nic := NIC{
			Host: h.Name, Object: h.Object(n), Device: n.Device, Port: int64(n.Port), Netdev: known(n.Netdev), LinkLayer: known(n.LinkLayer),
			State: known(n.State), Physical: known(n.Physical), Rate: rate(n.Rate), Nominal: rate(n.Nominal), MTU: whole(n.ActiveMTU), MaxMTU: whole(n.MaxMTU),
			Firmware: known(n.Firmware), Board: known(n.Board), Switch: text(n.Switch), From: source(n.GIDTable, n.ActiveMTU.From, n.Rate.From, n.State.From, n.LinkLayer.From, n.Netdev.From),
			FEC: known(n.FEC.Active), NUMANode: whole(n.NUMANode), TOS: whole(n.RoCETOS), Module: fromModule(n.Module), Spray: fromSpray(n.Spray),
		}
		for _, g := range n.GIDs {
			nic.GIDs = append(nic.GIDs, GID{int64(g.Index), g.Address.String(), text(g.Version), text(g.Netdev), g.LinkLocal(), g.From.String()})
		}
		out.NICs = append(out.NICs, nic)
	}
	for _, d := range h.Netdevs {
		dev := Netdev{Host: h.Name, Name: d.Name, MTU: whole(d.MTU), State: known(d.State), Speed: rate(d.Speed), From: source(d.At, d.MTU.From, d.State.From, d.Speed.From)}
		dev.Driver, dev.Firmware, dev.FEC, dev.Channels = known(d.Driver), known(d.Firmware), known(d.FEC.Active), whole(d.Channels.Combined)
		dev.QoS, dev.Module, dev.Neighbor = fromQoS(d.QoS), fromModule(d.Module), known(d.Neighbor)
		for _, a := range d.Addresses {
			dev.Addresses = append(dev.Addresses, a.String())
		}
		if p, ok := d.Global.Get(); ok {
			dev.RxPause, dev.TxPause = new(p.Rx), new(p.Tx)
		}
		out.Netdevs = append(out.Netdevs, dev)
	}
	for _, p := range h.PCI {
		d := PCI{Host: h.Name, Address: p.Address, Name: p.Name, MaxPayload: whole(p.MaxPayload), MaxRead: whole(p.MaxRead), From: p.From.String()}
		if l, ok := p.Running.Get(); ok {
			d.Speed, d.Width = new(l.Speed), new(int64(l.Width))
		}
		if l, ok := p.Capable.Get(); ok {
			d.MaxSpeed, d.MaxWidth = new(l.Speed), new(int64(l.Width))
		}
		out.PCI = append(out.PCI, d)
	}
	for _, g := range h.GPUs {
		out.GPUs = append(out.GPUs, fromGPU(h, g))
	}
	for _, q := range h.IRQs {
		out.IRQs = append(out.IRQs, fromIRQ(h, q))
	}
	out.Balancer = known(h.Balancer)
	for name, v := range h.Versions {
		if s, ok := v.Get(); ok {
			if out.Versions == nil {
				out.Versions = map[string]string{}
			}
			out.Versions[name] = s
		}
	}
	for _, k := range h.Kernel {
		out.Kernel = append(out.Kernel, KernelLine{k.Kind, k.Device, k.Text, k.From.String()})
	}
	return out
}

// fromWindow sums up every stream.
func fromWindow(w *telemetry.Window) []Stream {
	var list []Stream
	for id := range telemetry.SeriesCount {
		for _, k := range w.Keys(id) {
			s := Stream{Series: id.String(), Object: k.Object, Priority: from(int64(k.Priority), 0)}
			if p, ok := w.Points(k); ok {
				s.From = p.Origin
			}
			if telemetry.Catalogue[id].Kind == telemetry.Gauge {
				if l, ok := w.Level(k); ok {
					s.Max, s.Last = new(l.Max), new(l.Last)
				}
			} else {
				if d, ok := w.Delta(k); ok {
					s.Growth = new(d)
				}
				if d, ok := w.Elapsed(k); ok {
					s.Seconds = new(d.Seconds())
				}
			}
			list = append(list, s)
		}
	}
	return list
}

// eventKinds are the words for evidence.EventKind.
var eventKinds = map[evidence.EventKind]string{
	evidence.CompletionError: "completion error", evidence.ModifyQPFailed: "modify QP failed", evidence.AsyncEvent: "async event", evidence.DeviceOpenFailed: "device open failed",
	evidence.NoVerbsLibrary: "no verbs library", evidence.NoDevice: "no device", evidence.RegisterFailed: "register failed", evidence.ShmFailed: "shm failed",
	evidence.ConnectFailed: "connect failed", evidence.PeerClosed: "peer closed", evidence.GIDReadFailed: "GID read failed", evidence.PluginFailed: "plugin failed",
	evidence.CollectiveMismatch: "collective mismatch", evidence.WatchdogTimeout: "watchdog timeout", evidence.SharpFailed: "SHARP failed", evidence.CudaError: "CUDA error",
}

func eventKind(k evidence.EventKind) string {
	if s := eventKinds[k]; s != "" {
		return s
	}
	return "warning"
}

func known(v evidence.Value[string]) *string {
	if s, ok := v.Get(); ok {
		return &s
	}
	return nil
}

func whole(v evidence.Value[int]) *int64 {
	if n, ok := v.Get(); ok {
		return new(int64(n))
	}
	return nil
}

func rate(v evidence.Value[units.Rate]) *int64 {
	if r, ok := v.Get(); ok {
		return new(int64(r))
	}
	return nil
}

// text is a text that is unknown where it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// from is a number that is unknown below the least it can be.
func from(n, least int64) *int64 {
	if n < least {
		return nil
	}
	return &n
}

func positive(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	return &v
}

func millis(d units.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	return new(d.Seconds() * 1000)
}

// source is the first place that names anything.
func source(list ...evidence.Source) string {
	for _, s := range list {
		if s.Set() {
			return s.String()
		}
	}
	return ""
}
