package simtap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

var wire = fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}

// tapped runs a plan of transfers and returns what the tap has of it.
func tapped(t *testing.T, f *fabric.Fabric, c netsim.Config, ops ...workload.Op) (*evidence.Inventory, *telemetry.Window) {
	t.Helper()
	var b workload.Builder
	for _, op := range ops {
		b.Add(op)
	}
	plan := b.Plan()
	c = netsim.Defaults(c)
	net, err := netsim.New(f, plan, c)
	if err != nil {
		t.Fatal(err)
	}
	tap := New(f, net, []int8{3}, c.Seed)
	for done := false; !done && !net.Stalled(); {
		if done, err = net.RunUntil(tap.Next()); err != nil {
			t.Fatal(err)
		}
		tap.Sample(net.Now())
	}
	win := tap.Finish(net.Now())
	inv := &evidence.Inventory{Simulated: true}
	hardware(inv, f, c, source(c))
	Observe(inv, f, net, c)
	return inv, win
}

func send(src, dst int, b units.Bytes) workload.Op {
	return workload.Op{Kind: workload.Send, Priority: 3, Src: fabric.GPUID(src), Dst: fabric.GPUID(dst), Bytes: b}
}

// A switch with a rule table tells how full it is and what it refused; one without is told of nothing, and never of zero.
func TestRuleTableIsTold(t *testing.T) {
	f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 4, Spines: 4, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	c := netsim.Config{Seed: 1, Path: netsim.Buckets}
	c.NIC.Transport = netsim.Place
	c.PathParams.Buckets.Refresh = 10 * units.Microsecond
	ops := []workload.Op{send(0, 4, 200_000), send(1, 5, 200_000), send(2, 6, 200_000)}
	inv, win := tapped(t, f, c, ops...)
	leaf := inv.Switches[0]
	if leaf.Name != "leaf0" || leaf.Spray == nil || leaf.Hardware != nil || leaf.Spray.PerQP.Or(-1) != 0 {
		t.Fatalf("%s, without rules: %+v, tables %v", leaf.Name, leaf.Spray, leaf.Hardware)
	}
	if len(leaf.Spray.Paths) != 4 || leaf.Spray.Buckets.Or(0) != 64 || leaf.Spray.Path("none") != nil {
		t.Errorf("leaf0 sprays over %d paths with %v buckets", len(leaf.Spray.Paths), leaf.Spray.Buckets)
	}
	var sum int64
	for _, p := range leaf.Spray.Paths {
		sum += p.Sprayed.Or(0)
		if age, ok := p.Oldest.Get(); !ok || age > 10*units.Microsecond {
			t.Errorf("%s: a state of %v was decided by, with a refresh of 10 us", p.Port, p.Oldest)
		}
	}
	if sum != 3*49 { // 200000 bytes are 49 packets of 4096
		t.Errorf("%d packets were sprayed, want 147", sum)
	}
	if inv.Switches[2].Spray != nil {
		t.Errorf("%s has no choice of ports and sprays: %+v", inv.Switches[2].Name, inv.Switches[2].Spray)
	}
	key := telemetry.Key{Series: telemetry.SwitchRules, Object: "leaf0", Priority: telemetry.AnyPriority}
	if _, ok := win.Level(key); ok {
		t.Error("a switch without rules has a series of rules")
	}

	c.PathParams.Buckets.Rules = route.RulesConfig{Limit: 5, PerQP: 2}
	inv, win = tapped(t, f, c, ops...)
	h := inv.Switches[0].Hardware[0]
	if got := []int64{h.Used.Or(-1), h.Available.Or(-1), h.Refused.Or(-1)}; !cmp.Equal(got, []int64{4, 1, 2}) {
		t.Errorf("rules used, free, refused: %v, want 4, 1, 2", got)
	}
	if s, ok := win.Level(key); !ok || s.Max != 4 {
		t.Errorf("series of rules: %v, %v", s, ok)
	}
}

// Each NIC tells the layout of its own firmware, and pairs of NICs what they met.
func TestLayoutsAndPairsAreTold(t *testing.T) {
	f := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 3, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	c := netsim.Config{Seed: 1}
	c.NIC.Transport, c.NIC.RetryCount, c.NIC.Timeout = netsim.PPCID, 1, 2
	c.NIC.PPCID.Hosts = []netsim.PPCIDHost{{Host: "host1", Layout: spray.LayoutV1}}
	inv, _ := tapped(t, f, c, send(0, 1, 8192), send(0, 2, 8192))
	for host, want := range map[string]string{"host0": "v2", "host1": "v1", "host2": "v2"} {
		if got := inv.Host(host).NICs[0].ContextID.Layout.Or(""); got != want {
			t.Errorf("%s has the layout %q, want %q", host, got, want)
		}
	}
	type pair struct {
		to     string
		sent   int64
		broken int
	}
	var got []pair
	for _, p := range inv.Pairs {
		got = append(got, pair{p.PeerHost, p.Sent.Or(-1), p.Broken.Or(-1)})
		if (p.Timeouts.Or(0) > 0) != (p.PeerHost == "host1") {
			t.Errorf("%s to %s: %v timeouts", p.Host, p.PeerHost, p.Timeouts)
		}
	}
	if diff := cmp.Diff([]pair{{"host1", 2, 1}, {"host2", 2, 0}}, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Error(diff)
	}
}

// Of a host that deals by link state, each NIC tells how old the state was; of others nothing is told.
func TestAgesAreTold(t *testing.T) {
	f := fabric.DualPlane{Rails: 1, LeavesPerRail: 2, HostsPerLeaf: 1, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	c := netsim.Config{Seed: 1}
	c.NIC.Deal = netsim.DealConfig{By: netsim.DealByLinkState, Refresh: 10 * units.Microsecond, Staleness: 50 * units.Microsecond, Late: []netsim.LateNIC{{Host: "host0", NIC: 1}}}
	var ops []workload.Op
	for i := range 20 {
		op := send(0, 1, 1_000_000)
		op.At = units.Duration(i) * 20 * units.Microsecond
		ops = append(ops, op)
	}
	inv, _ := tapped(t, f, c, ops...)
	nics := inv.Host("host0").NICs
	for i, late := range []bool{false, true} {
		if nics[i].Spray == nil {
			t.Fatalf("%s tells nothing", nics[i].Device)
		}
		oldest := nics[i].Spray.Paths[0].Oldest.Or(0)
		if late != (oldest > 20*units.Microsecond) {
			t.Errorf("%s: decided by a state of up to %v", nics[i].Device, oldest)
		}
	}
	if inv.Host("host1").NICs[0].Spray != nil {
		t.Error("host1 deals nothing, and tells of it")
	}
}
