package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A link that goes down loses what is on it, until the switches know of it; then everything goes round it, also from the far leaf,
// where the dead link is not its own.
func TestLinkDownReroutes(t *testing.T) {
	f := leafSpine(2, 4, 2)
	dead := f.NextHops(f.Ports[f.Ports[f.Endpoints[0]].Peer].Node, 4)[0] // leaf0 -> spine0
	cfg := plain()
	cfg.NIC.Timeout = 6
	cfg.Path = Random
	cfg.NIC.Transport = Place
	cfg.NIC.LossDistance = 256
	at, detect := 20*units.Microsecond, 50*units.Microsecond
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(dead), At: at, Detect: detect}}
	var last units.Instant
	downs := 0
	cfg.Probe = &Probe{
		Drop: func(_ fabric.PortID, why DropReason, t units.Instant) {
			if why == DropLinkDown {
				last = t
			}
		},
		Link: func(_ fabric.PortID, up bool, _ units.Instant) {
			if !up {
				downs++
			}
		},
	}
	var ops []workload.Op
	for i := range 4 {
		ops = append(ops, send(i, 4+i, 5_000_000), send(4+i, i, 5_000_000))
	}
	n, s := run(t, f, planOf(ops...), cfg)
	if s.Stalled || s.Drops[DropLinkDown] == 0 || downs != 2 {
		t.Fatalf("stalled %v, drops %v, %d ends went down", s.Stalled, s.Drops, downs)
	}
	if limit := units.At(int64(at + detect)); last.After(limit) {
		t.Errorf("a packet was lost on the dead link at %v, after it was known at %v", last, limit)
	}
	if c := n.Port(dead); c.LinkDowns != 1 || n.Port(f.Ports[dead].Peer).LinkDowns != 1 {
		t.Errorf("%d link downs", c.LinkDowns)
	}
	// The far leaf spread four flows of 50 GB/s over both spines for 70 us, 7 MB each way, and then avoided the spine behind the dead link;
	// without that it would have sent half of all, 10 MB and what was repeated.
	towards := f.Between(f.Ports[f.Ports[f.Endpoints[4]].Peer].Node, f.Ports[f.Ports[dead].Peer].Node)[0]
	if sent := n.Port(towards).TxBytes[3]; sent > 7_500_000 {
		t.Errorf("the far leaf sent %d bytes towards the spine behind the dead link", sent)
	}
}

// A link that flaps comes back each time, and the run ends although the flapping does not.
func TestFlap(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.NIC.Timeout = 4 // 65.5 us
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), At: 10 * units.Microsecond, For: 5 * units.Microsecond, Every: 500 * units.Microsecond}}
	n, s := run(t, f, planOf(send(0, 1, 50_000_000)), cfg)
	if s.Stalled {
		t.Fatal("stalled")
	}
	// 50 MB take 1.02 ms at line rate and two or three outages cost a timeout each.
	if downs := n.Port(f.Endpoints[1]).LinkDowns; downs < 3 || downs > 4 {
		t.Errorf("%d downs", downs)
	}
}

// A direction at half its rate takes twice the time, the other is as before, and the rate comes back.
func TestRateDegraded(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.Faults = []Fault{{Kind: RateDegraded, Port: uint32(f.Endpoints[0]), Rate: 200 * units.Gbps}}
	slow, _ := run(t, f, planOf(send(0, 1, 10_000_000), send(1, 0, 10_000_000)), cfg)
	whole, _ := run(t, f, planOf(send(0, 1, 10_000_000), send(1, 0, 10_000_000)), plain())
	if r := took(slow, 0).Seconds() / took(whole, 0).Seconds(); r < 1.95 || r > 2.05 {
		t.Errorf("at half the rate it took %.3f times as long", r)
	}
	if r := took(slow, 1).Seconds() / took(whole, 1).Seconds(); r < 0.95 || r > 1.05 {
		t.Errorf("the other direction took %.3f times as long", r)
	}
	cfg.Faults[0].For = 100 * units.Microsecond
	healed, _ := run(t, f, planOf(send(0, 1, 10_000_000)), cfg)
	if got, want := took(healed, 0)-took(whole, 0), 50*units.Microsecond; got < want-5*units.Microsecond || got > want+5*units.Microsecond {
		t.Errorf("half the rate for 100 us cost %v, want %v", got, want)
	}
}

// Where no way is left the packet is dropped for that reason.
func TestNoRoute(t *testing.T) {
	f := leafSpine(2, 1, 1)
	up := f.NextHops(f.Ports[f.Ports[f.Endpoints[0]].Peer].Node, 1)[0]
	cfg := plain()
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 4, 1
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(up), At: units.Microsecond}}
	_, s := run(t, f, planOf(send(0, 1, 100_000)), cfg)
	if !s.Stalled || s.Drops[DropNoRoute] == 0 {
		t.Errorf("stalled %v, drops %v", s.Stalled, s.Drops)
	}
}

func TestConfigurationErrors(t *testing.T) {
	f := leafSpine(1, 2, 1)
	good := planOf(send(0, 1, 1))
	for name, change := range map[string]func(c *Config, p *workload.Plan){
		"path":       func(c *Config, _ *workload.Plan) { c.Path = "left" },
		"weights":    func(c *Config, _ *workload.Plan) { c.Switch.Weights = []int{1} },
		"kmax below": func(c *Config, _ *workload.Plan) { c.Switch.ECN = ECNConfig{KMin: 2, KMax: 1} },
		"buffer":     func(c *Config, _ *workload.Plan) { c.Switch.Buffer = 1000 },
		"fault port": func(c *Config, _ *workload.Plan) { c.Faults = []Fault{{Kind: LinkDown, Port: 99}} },
		"slow switch": func(c *Config, _ *workload.Plan) {
			c.Faults = []Fault{{Kind: SlowReceiver, Port: uint32(f.Ports[0].Peer), Rate: 1}}
		},
		"flap no end":    func(c *Config, _ *workload.Plan) { c.Faults = []Fault{{Kind: LinkDown, Every: 5}} },
		"fault kind":     func(c *Config, _ *workload.Plan) { c.Faults = []Fault{{Kind: "gremlins"}} },
		"retry count":    func(c *Config, _ *workload.Plan) { c.NIC.RetryCount = 8 },
		"xon over xoff":  func(c *Config, _ *workload.Plan) { c.Switch.XOFF, c.Switch.XON = 10, 20 },
		"unknown gpu":    func(_ *Config, p *workload.Plan) { p.Ops[0].Dst = 7 },
		"priority":       func(_ *Config, p *workload.Plan) { p.Ops[0].Priority = 8 },
		"negative bytes": func(_ *Config, p *workload.Plan) { p.Ops[0].Bytes = -1 },
	} {
		c, p := plain(), planOf(send(0, 1, 1))
		change(&c, p)
		if _, err := New(f, p, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := plain()
	c.MaxEvents = 2
	n := start(t, f, good, c)
	if _, err := n.RunUntil(units.At(never)); err == nil {
		t.Error("more events than the limit: no error")
	}
}

// On two planes the QPs of a connection use both, so a message set takes half the time, and a dead plane is not gone round.
func TestDualPlane(t *testing.T) {
	f := fabric.DualPlane{Rails: 1, LeavesPerRail: 2, HostsPerLeaf: 2, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	var ops []workload.Op
	for range 16 {
		ops = append(ops, send(0, 3, 1_000_000))
	}
	n, _ := run(t, f, planOf(ops...), plain())
	gpu := f.GPUs[0]
	for plane, nic := range gpu.NICs {
		if got := n.NIC(f.Ports[nic].Endpoint).TxDataBytes; got != 8_000_000 {
			t.Errorf("plane %d carried %d bytes, half is 8000000", plane, got)
		}
	}
	if got, floor := n.Now().PS(), int64(8_000_000*20*4160/4096); got < floor || got > floor+10_000_000 {
		t.Errorf("took %d ps, half the bytes at the rate of one port take %d", got, floor)
	}
	cfg := plain()
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 4, 1
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(gpu.NICs[1])}}
	_, s := run(t, f, planOf(ops...), cfg)
	if !s.Stalled {
		t.Error("a NIC does not move its QPs to another plane")
	}
}

// Three tiers: between pods there are six links, and a permutation over a fat tree is done without loss.
func TestFatTree(t *testing.T) {
	tree := fabric.KAry(4, 1)
	tree.Access, tree.Trunk = wire, wire
	f := tree.Build()
	n, _ := run(t, f, planOf(send(0, len(f.GPUs)-1, 2_000_000)), plain())
	if got, want := took(n, 0), pipeline(2_000_000, 6); got != want {
		t.Errorf("2 MB between pods took %d ps, want %d", got, want)
	}
	_, s := run(t, f, permutation(len(f.GPUs), 500_000, 9), Config{Seed: 2})
	if s.Drops != [DropReasons]uint64{} {
		t.Errorf("drops %v", s.Drops)
	}
}
