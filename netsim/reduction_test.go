package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// reducePlan has all GPUs of f add up sizes one after the other, over channels groups of which each takes its share.
func reducePlan(f *fabric.Fabric, channels int, sizes ...units.Bytes) *workload.Plan {
	var b workload.Builder
	var all []fabric.GPUID
	for g := range f.GPUs {
		all = append(all, fabric.GPUID(g))
	}
	for ch := range channels {
		id := b.Group(workload.Group{Members: all, Channel: ch})
		last := make([]workload.OpID, len(all))
		for i, size := range sizes {
			for _, g := range all {
				op := workload.Op{Kind: workload.Reduce, Priority: 3, Src: g, Dst: g, Group: id, Bytes: size / units.Bytes(channels)}
				if i == 0 {
					last[g] = b.Add(op)
				} else {
					last[g] = b.Add(op, last[g])
				}
			}
		}
	}
	return b.Plan()
}

// longestOp is the end of the last operation.
func longestOp(n *Network) units.Duration {
	var last units.Duration
	for _, o := range n.Ops() {
		last = max(last, o.End.Sub(units.At(0)))
	}
	return last
}

// A reduction lasts one trip through the tree and what is left after the first chunk at the rate of the narrowest of wire, adding and slots:
// M / min(B, B_agg, S P / RTT), whatever the number of hosts.
func TestReductionClosedForm(t *testing.T) {
	const size = 8_192_000 // 8000 chunks of 1024 bytes
	wirePayload := 400e9 / 8 * 1024 / 1088
	for _, c := range []struct {
		name  string
		f     *fabric.Fabric
		links int // there and back
		r     ReductionConfig
		rate  func(rtt float64) float64
	}{
		{"wire, 8 hosts on a leaf", leafSpine(1, 8, 1), 2, ReductionConfig{}, func(float64) float64 { return wirePayload }},
		{"wire, 2 hosts on a leaf", leafSpine(1, 2, 1), 2, ReductionConfig{}, func(float64) float64 { return wirePayload }},
		{"wire, 32 hosts on 4 leaves", leafSpine(4, 8, 2), 4, ReductionConfig{}, func(float64) float64 { return wirePayload }},
		{"slots, one leaf", leafSpine(1, 8, 1), 2, ReductionConfig{Slots: 32}, func(rtt float64) float64 { return 32 * 1024 / rtt }},
		{"slots, 4 leaves", leafSpine(4, 8, 2), 4, ReductionConfig{Slots: 32}, func(rtt float64) float64 { return 32 * 1024 / rtt }},
		{"adding", leafSpine(4, 8, 2), 4, ReductionConfig{Rate: 100 * units.Gbps}, func(float64) float64 { return 100e9 / 8 }},
		{"converting", leafSpine(1, 8, 1), 2, ReductionConfig{Convert: 80 * units.Gbps}, func(float64) float64 { return 80e9 / 8 }},
	} {
		cfg := plain()
		cfg.Switch.Reduction = c.r
		n, s := run(t, c.f, reducePlan(c.f, 1, size), cfg)
		// One chunk: 1088 bytes on each link and 1 us of wire.
		rtt := float64(c.links) * (1e-6 + 1088*8/400e9)
		want := rtt + size/c.rate(rtt)
		got := longestOp(n).Seconds()
		t.Logf("%-27s %.2f us, closed form %.2f", c.name, got*1e6, want*1e6)
		if got < want*0.99 || got > want*1.02 {
			t.Errorf("%s took %.2f us, the closed form is %.2f", c.name, got*1e6, want*1e6)
		}
		hosts := uint64(len(c.f.GPUs))
		if s.Drops != [DropReasons]uint64{} || s.Reductions.Chunks != 8000*hosts || s.Reductions.Resent != 0 {
			t.Errorf("%s: drops %v, %+v", c.name, s.Drops, s.Reductions)
		}
		if rx := n.NIC(0).RxDataBytes; rx != size {
			t.Errorf("%s: %d bytes came to a host, want %d: each sends and receives the data once", c.name, rx, size)
		}
	}
}

// Against a ring a reduction in the network gains less than twice, and what a ring loses in steps.
func TestReductionAgainstRing(t *testing.T) {
	f := leafSpine(4, 8, 4)
	cfg := plain()
	cfg.Switch.Reduction.Chunk = 4096
	var ranks []fabric.GPUID
	for g := range f.GPUs {
		ranks = append(ranks, fabric.GPUID(g))
	}
	ring := func(size units.Bytes) units.Duration {
		var b workload.Builder
		b.Call(f, workload.Call{Collective: workload.AllReduce, Algorithm: workload.Ring, Ranks: ranks, Size: size, Priority: 3, Step: -1}, nil)
		n, _ := run(t, f, b.Plan(), cfg)
		return longestOp(n)
	}
	tree := func(size units.Bytes) units.Duration {
		n, _ := run(t, f, reducePlan(f, 1, size), cfg)
		return longestOp(n)
	}
	large := ring(32_000_000).Seconds() / tree(32_000_000).Seconds()
	small := ring(32_768).Seconds() / tree(32_768).Seconds()
	t.Logf("32 MB: %.2f times faster than a ring, 32 KiB: %.1f", large, small)
	if most := 2 * 31.0 / 32; large < 1.5 || large > most*1.1 { // the ring has its latency on top
		t.Errorf("32 MB gain %.2f, the bound is %.2f", large, most)
	}
	if small < 8 { // 62 steps against one trip
		t.Errorf("32 KiB gain %.1f", small)
	}
}

// Loss on any link is repaired: contributions on their way up, sums on their way down, at hosts and between switches. That every sum is right is
// checked where it arrives.
func TestReductionRecovers(t *testing.T) {
	f := leafSpine(4, 4, 2)
	n := start(t, f, reducePlan(f, 1, 1024), plain())
	root := n.reductions[0].vertices[0]
	trunk := root.down[0]
	for _, c := range []struct {
		name string
		port uint32
	}{
		{"host to leaf", uint32(f.Endpoints[3])},
		{"leaf to host", uint32(f.Ports[f.Endpoints[3]].Peer)},
		{"spine to leaf", trunk},
		{"leaf to spine", uint32(f.Ports[trunk].Peer)},
	} {
		for _, kind := range []Fault{{Kind: BitErrors, BER: 3e-6}, {Kind: LinkDown, At: 30 * units.Microsecond, For: 20 * units.Microsecond}} {
			cfg := plain()
			cfg.Switch.Reduction.Timeout = 50 * units.Microsecond
			kind.Port = c.port
			cfg.Faults = []Fault{kind}
			n, s := run(t, f, reducePlan(f, 1, 2_048_000, 1_024_500, 17), cfg)
			lost := s.Drops[DropCorrupt] + s.Drops[DropLinkDown]
			if s.Stalled || lost == 0 || s.Reductions.Resent == 0 || s.Reductions.Chunks != 16*(2000+1001+1) {
				t.Errorf("%s, %s: stalled %v, %d lost, %+v", c.name, kind.Kind, s.Stalled, lost, s.Reductions)
			}
			_ = n
		}
	}
}

// A switch that reboots forgets its slots. Chunks whose sums nobody has got yet are added up anew; hosts that miss a sum which others have got wait
// for ever, and give up.
func TestReductionSurvivesNoReboot(t *testing.T) {
	f := leafSpine(1, 4, 1)
	cfg := plain()
	cfg.Switch.Reduction.Timeout = 50 * units.Microsecond
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 6, 3
	leaf := f.Ports[f.Endpoints[0]].Peer
	cfg.Faults = []Fault{{Kind: SwitchReboot, Port: uint32(leaf), At: 40 * units.Microsecond, For: 20 * units.Microsecond}}
	n, s := run(t, f, reducePlan(f, 1, 8_192_000), cfg)
	gaveUp := uint64(0)
	for ep := range n.nics {
		gaveUp += n.NIC(int32(ep)).RetryExceeded
	}
	// All hosts are symmetric here: either all got a sum or none, so the reduction ends.
	if s.Stalled || gaveUp != 0 || s.Reductions.Resent == 0 {
		t.Errorf("symmetric: stalled %v, %d gave up, %+v", s.Stalled, gaveUp, s.Reductions)
	}
	// With one host 3 us away some sums have reached the others and not it when the switch goes.
	g := leafSpine(1, 4, 1)
	g.Ports[g.Ports[g.Endpoints[3]].Peer].Delay += 3 * units.Microsecond
	_, s = run(t, g, reducePlan(g, 1, 8_192_000), cfg)
	if !s.Stalled {
		t.Errorf("with a host that missed sums: not stalled, %+v", s.Reductions)
	}
}

// Trees of several channels have different roots, and every tree joins all members with each switch once; also in three tiers and on planes.
func TestReductionTrees(t *testing.T) {
	w := wire
	for name, f := range map[string]*fabric.Fabric{
		"two tiers":   leafSpine(4, 4, 4),
		"three tiers": fabric.FatTree{Pods: 3, LeavesPerPod: 2, SpinesPerPod: 2, CoresPerSpine: 2, HostsPerLeaf: 2, GPUsPerHost: 1, Access: w, Trunk: w}.Build(),
	} {
		n := start(t, f, reducePlan(f, 4, 1_024_000), plain())
		roots := map[uint32]bool{}
		for i := range n.reductions {
			r := &n.reductions[i]
			roots[r.vertices[0].sw] = true
			hosts, switches := 0, 0
			for _, v := range r.vertices {
				for _, p := range v.down {
					if n.ports[n.ports[p].peer].host {
						hosts++
					} else {
						switches++
					}
				}
			}
			if hosts != len(f.GPUs) || switches != len(r.vertices)-1 {
				t.Errorf("%s, tree %d: %d hosts of %d, %d switches below others of %d", name, i, hosts, len(f.GPUs), switches, len(r.vertices))
			}
		}
		if len(roots) < 2 {
			t.Errorf("%s: 4 trees have %d roots", name, len(roots))
		}
		if done, err := n.RunUntil(Forever); !done || err != nil {
			t.Fatal(name, done, err)
		}
		if _, err := n.Finish(); err != nil {
			t.Error(name, err)
		}
	}
}

// Members whose operations differ, GPUs that are no members and groups without a tree are refused.
func TestReductionPlansRefused(t *testing.T) {
	f := leafSpine(1, 3, 1)
	group := func(b *workload.Builder, members ...fabric.GPUID) workload.GroupID {
		return b.Group(workload.Group{Members: members})
	}
	add := func(b *workload.Builder, g workload.GroupID, src fabric.GPUID, size units.Bytes) {
		b.Add(workload.Op{Kind: workload.Reduce, Src: src, Dst: src, Group: g, Bytes: size})
	}
	for name, make := range map[string]func(b *workload.Builder){
		"sizes":     func(b *workload.Builder) { g := group(b, 0, 1); add(b, g, 0, 10); add(b, g, 1, 11) },
		"count":     func(b *workload.Builder) { g := group(b, 0, 1); add(b, g, 0, 10) },
		"no member": func(b *workload.Builder) { g := group(b, 0, 1); add(b, g, 2, 10) },
		"no group":  func(b *workload.Builder) { add(b, 5, 0, 10) },
		"no GPU":    func(b *workload.Builder) { group(b, 0, 99) },
		"twice":     func(b *workload.Builder) { group(b, 1, 1) },
	} {
		var b workload.Builder
		make(&b)
		if _, err := New(f, b.Plan(), plain()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// In the middle of a reduction no packet costs an allocation.
func TestReductionAllocatesNothing(t *testing.T) {
	f := leafSpine(4, 4, 2)
	cfg := plain()
	cfg.Switch.Reduction.Rate, cfg.Switch.Reduction.Convert = 300*units.Gbps, 350*units.Gbps
	n := start(t, f, reducePlan(f, 2, 400_000_000), cfg)
	at := int64(200_000_000)
	step := func() {
		at += 20_000_000
		if _, err := n.RunUntil(units.At(at)); err != nil {
			t.Fatal(err)
		}
	}
	step()
	before := n.hops
	if allocs := testing.AllocsPerRun(20, step); allocs > 0 || n.hops-before < 1000 {
		t.Errorf("%.1f allocations per 20 us, %d packet-hops in all", allocs, n.hops-before)
	}
}
