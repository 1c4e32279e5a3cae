package flowsim

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// The fabric of most tests: 16 hosts on 4 leaves, every link 400 Gbit/s and 1 us.
var wire = fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}

func leafSpine(leaves, hosts, spines int) *fabric.Fabric {
	return fabric.LeafSpine{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
}

func planFor(t testing.TB, f *fabric.Fabric, s workload.Spec, seed uint64) *workload.Plan {
	t.Helper()
	p := s.Plan(f, seed, func(path, text string) { t.Errorf("%s: %s", path, text) })
	if p == nil {
		t.FailNow()
	}
	return p
}

func collective(kind workload.Collective, algo workload.Algorithm, size units.Bytes) workload.Spec {
	return workload.Spec{Job: workload.Job{Collective: &workload.CollectiveJob{Kind: kind, Algorithm: algo, Size: size}}}
}

func pattern(kind workload.PatternKind, size units.Bytes) workload.Spec {
	return workload.Spec{Job: workload.Job{Pattern: &workload.PatternJob{Kind: kind, Size: size}}}
}

// carry carries a plan out to its end.
func carry(t testing.TB, f *fabric.Fabric, p *workload.Plan, c Config) *Network {
	t.Helper()
	n, err := New(f, p, c)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := n.RunUntil(units.At(1 << 60)); err != nil || !done {
		t.Fatalf("done %v, error %v, stalled %v, at %v", done, err, n.Stalled(), n.Now())
	}
	return n
}

// packets carries it out packet by packet, without congestion control.
func packets(t testing.TB, f *fabric.Fabric, p *workload.Plan, c netsim.Config) *netsim.Network {
	t.Helper()
	c.NIC.Control = "none"
	n, err := netsim.New(f, p, c)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := n.RunUntil(units.At(1 << 60)); err != nil || !done {
		t.Fatalf("done %v, error %v", done, err)
	}
	if _, err := n.Finish(); err != nil {
		t.Fatal(err)
	}
	return n
}

// degraded is the fabric with one uplink at a quarter of its rate.
func degraded(t testing.TB) *fabric.Fabric {
	spec := fabric.Spec{Topology: fabric.TopologyLeafSpine, Leaves: 4, HostsPerLeaf: 4, Spines: 4, Link: wire,
		Links: []fabric.Override{{Between: [2]string{"leaf1", "spine2"}, Rate: 100 * units.Gbps}}}
	f := spec.Build(func(path, text string) { t.Errorf("%s: %s", path, text) })
	if f == nil {
		t.FailNow()
	}
	return f
}

// Both simulators carry out the same plan, and how long it takes differs by no more than docs/models/flow-level.md says. The
// packets have no congestion control: what DCQCN gives away is not a matter of flows.
func TestAgreesWithPackets(t *testing.T) {
	sound := leafSpine(4, 4, 4)
	oneGPU := leafSpine(1, 2, 1)
	for _, c := range []struct {
		name        string
		f           *fabric.Fabric
		spec        workload.Spec
		split       bool
		least, most float64 // flow time over packet time
	}{
		{"one flow each way", oneGPU, pattern(workload.Shift, 2*units.MB), false, 0.999, 1.001},
		{"permutation", sound, pattern(workload.Permutation, 2*units.MB), false, 0.99, 1.01},
		{"permutation, sprayed", sound, pattern(workload.Permutation, 2*units.MB), true, 0.91, 1},
		{"incast", sound, pattern(workload.Incast, 2*units.MB), false, 0.99, 1.01},
		{"ring", sound, collective(workload.AllReduce, workload.Ring, 64*units.MiB), false, 0.999, 1.001},
		{"ring, small", sound, collective(workload.AllReduce, workload.Ring, 64*units.KiB), false, 0.99, 1.01},
		{"all_gather", sound, collective(workload.AllGather, "", 16*units.MiB), false, 0.999, 1.001},
		{"tree", sound, collective(workload.AllReduce, workload.Tree, 16*units.MiB), false, 0.98, 1.1},
		{"alltoall", sound, collective(workload.AllToAll, "", 16*units.MiB), false, 0.99, 1.01},
		{"alltoall, sprayed", sound, collective(workload.AllToAll, "", 16*units.MiB), true, 0.99, 1.01},
		{"ring, degraded link", degraded(t), collective(workload.AllReduce, workload.Ring, 16*units.MiB), false, 0.99, 1.01},
		{"alltoall, degraded link", degraded(t), collective(workload.AllToAll, "", 16*units.MiB), false, 0.99, 1.01},
	} {
		for seed := range uint64(3) {
			p := planFor(t, c.f, c.spec, seed)
			fc, pc := Config{Seed: seed}, netsim.Config{Seed: seed}
			if c.split {
				fc.Path, pc.Path, pc.NIC.Transport = Split, netsim.Random, netsim.Place
			}
			a, b := carry(t, c.f, p, fc), packets(t, c.f, p, pc)
			ratio := float64(a.Now().PS()) / float64(b.Now().PS())
			t.Logf("%-24s seed %d: flows %v, packets %v, ratio %.4f", c.name, seed, a.Now(), b.Now(), ratio)
			if ratio < c.least || ratio > c.most {
				t.Errorf("%s, seed %d: flows take %v, packets %v: ratio %.4f, want %v to %v", c.name, seed, a.Now(), b.Now(), ratio, c.least, c.most)
			}
		}
	}
}

// Every port carries the bytes that packets put on it, acknowledgements included: the flows take the very paths (W3).
func TestPathsAreThoseOfPackets(t *testing.T) {
	two := fabric.DualPlane{Rails: 2, LeavesPerRail: 2, HostsPerLeaf: 2, Spines: 2, Bundle: 2, GPUsPerHost: 2, Access: wire, Trunk: wire}.Build()
	tree := fabric.KAry(4, 1)
	tree.Access, tree.Trunk = wire, wire
	for _, c := range []struct {
		name string
		f    *fabric.Fabric
		fc   Config
		pc   netsim.Config
	}{
		{"ecmp", leafSpine(4, 4, 4), Config{Seed: 5}, netsim.Config{Seed: 5}},
		{"ecmp-qpn", leafSpine(4, 4, 4), Config{Seed: 6, Path: HashQPN, QPs: 4, SplitMessages: true}, netsim.Config{Seed: 6, Path: netsim.ECMPQPN, NIC: netsim.NICConfig{QPs: 4, Split: true}}},
		{"two planes, parallel links", two, Config{Seed: 7}, netsim.Config{Seed: 7}},
		{"fat-tree", tree.Build(), Config{Seed: 8}, netsim.Config{Seed: 8}},
	} {
		p := planFor(t, c.f, collective(workload.AllToAll, "", 4*units.MiB), 1)
		a, b := carry(t, c.f, p, c.fc), packets(t, c.f, p, c.pc)
		busy := 0
		for i := range c.f.Ports {
			var want uint64
			for _, v := range b.Port(fabric.PortID(i)).TxBytes {
				want += v
			}
			got := a.Bytes(fabric.PortID(i))
			// What flies when the last message is there, and packets of less than the MTU, whose acknowledgements are as long.
			if off := math.Abs(float64(got) - float64(want)); off > 0.004*float64(want)+2*4160 {
				t.Errorf("%s: %s carried %d bytes as flows and %d as packets", c.name, c.f.PortName(fabric.PortID(i)), got, want)
			}
			if want > 100_000 {
				busy++
			}
		}
		if busy < len(c.f.Endpoints)*2 {
			t.Errorf("%s: only %d ports carried anything", c.name, busy)
		}
	}
}

// A link that goes down holds its flows up until the switches know, and as long as they are told nothing.
func TestLinkDown(t *testing.T) {
	f := leafSpine(2, 2, 2)
	p := planFor(t, f, pattern(workload.Shift, 10*units.MB), 1)
	sound := carry(t, f, p, Config{Seed: 1})
	uplinks := f.Between(f.Ports[f.Ports[f.Endpoints[0]].Peer].Node, f.Ports[f.Ports[f.Endpoints[0]].Peer].Node+2)
	if len(uplinks) != 1 {
		t.Fatalf("uplinks %v", uplinks)
	}
	used := sound.Bytes(uplinks[0]) > 0
	if !used {
		t.Fatal("no flow takes this uplink with this seed: choose another")
	}
	at := 50 * units.Microsecond
	for _, path := range []PathChoice{Hash, Split} {
		base := carry(t, f, p, Config{Seed: 1, Path: path})
		fault := Fault{Kind: LinkDown, Port: uint32(uplinks[0]), At: at, Detect: 100 * units.Microsecond}
		n := carry(t, f, p, Config{Seed: 1, Path: path, Faults: []Fault{fault}})
		// Until it is detected its flows stand; then all four share what is left, one uplink: twice the time at the most.
		waited := n.Now().Sub(base.Now())
		if waited < 20*units.Microsecond || waited > 700*units.Microsecond {
			t.Errorf("path choice %d: a link down for good costs %v", path, waited)
		}
		var carried uint64
		for _, ep := range f.Endpoints {
			carried += n.Bytes(ep)
		}
		var want uint64
		for _, ep := range f.Endpoints {
			want += base.Bytes(ep)
		}
		if diff := math.Abs(float64(carried) - float64(want)); diff > 1000 {
			t.Errorf("path choice %d: %d bytes left the NICs, want %d", path, carried, want)
		}
	}
}

// A fault with an end and one that comes back change rates at their times and at no other.
func TestRateFaults(t *testing.T) {
	f := leafSpine(1, 2, 1)
	p := planFor(t, f, pattern(workload.Shift, 10*units.MB), 1)
	base := carry(t, f, p, Config{}).Now().PS() // about 205 us
	half := Fault{Kind: RateDegraded, Port: uint32(f.Endpoints[0]), At: 50 * units.Microsecond, For: 40 * units.Microsecond, Rate: 200 * units.Gbps}
	slow := Fault{Kind: SlowReceiver, Port: uint32(f.Endpoints[1]), At: 50 * units.Microsecond, For: 40 * units.Microsecond, Rate: 200 * units.Gbps}
	again := half
	again.Every = 80 * units.Microsecond // at 50, 130 and 210 us
	for _, c := range []struct {
		fault Fault
		cost  units.Duration // half of the time the rate is halved
	}{{half, 20 * units.Microsecond}, {slow, 20 * units.Microsecond}, {again, 60 * units.Microsecond}} {
		n := carry(t, f, p, Config{Faults: []Fault{c.fault}})
		got := units.Duration(n.Now().PS() - base)
		if off := got - c.cost; off < -units.Microsecond || off > units.Microsecond*2 {
			t.Errorf("fault %+v costs %v, want %v", c.fault, got, c.cost)
		}
	}
}
