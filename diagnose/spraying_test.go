package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

var plantSource = evidence.Source{File: "plant"}

func planted[T any](v T) evidence.Value[T] { return evidence.Known(v, plantSource) }

// sprayed is a healthy plant whose leaves deal packets into 64 buckets over their 4 uplinks, with room for 100 more rules, and whose NICs
// write a context id of one layout; every host has two queue pairs to every other, and none of them ever waited.
func sprayed() *plant {
	p := healthy()
	for l := range 2 {
		sw := p.inv.Switches[l]
		sw.Spray = &evidence.Spraying{Key: planted("flow+psn"), Buckets: planted(64), Refresh: planted(50 * units.Microsecond), Feedback: planted(false), PerQP: planted(1), From: plantSource}
		for u := range 4 {
			sw.Spray.Paths = append(sw.Spray.Paths, evidence.SprayPath{Port: fmt.Sprintf("Ethernet%d", 32+8*u), Buckets: planted(16), Score: planted(200)})
		}
		*sw.HardwareTable("acl_entry", "ROCE") = evidence.HardwareTable{Name: "acl_entry", Table: "ROCE", Used: planted(int64(32)), Available: planted(int64(100)), Refused: planted(int64(0)), From: plantSource}
	}
	for a := range 8 {
		n := p.inv.Host(host(a)).NIC("mlx5_0", 1)
		n.ContextID = evidence.ContextID{On: planted(true), Layout: planted("v1"), From: plantSource}
		n.Firmware = planted("28.41.1000 (MT_0000000838)")
		for b := range 8 {
			if a != b {
				p.inv.Pairs = append(p.inv.Pairs, evidence.PairCount{Host: host(a), Device: "mlx5_0", PeerHost: host(b), PeerDevice: "mlx5_0", QPs: 2, Sent: planted(int64(1000)), Timeouts: planted(int64(0)), SeqErrors: planted(int64(0)), Broken: planted(0), From: plantSource})
			}
		}
	}
	return p
}

func host(i int) string { return fmt.Sprintf("host%d", i) }

// table sets what the rule table of a leaf holds.
func (p *plant) table(leaf int, used, free, refused int64) *plant {
	h := p.inv.Switches[leaf].HardwareTable("acl_entry", "ROCE")
	h.Used, h.Available, h.Refused = planted(used), planted(free), planted(refused)
	return p
}

// dead lets the pairs that bad holds for time out.
func (p *plant) dead(bad func(a, b string) bool) *plant {
	for i := range p.inv.Pairs {
		if c := &p.inv.Pairs[i]; bad(c.Host, c.PeerHost) {
			c.Timeouts, c.Broken = planted(int64(7)), planted(1)
		}
	}
	return p
}

// layout gives hosts another layout.
func (p *plant) layout(name string, hosts ...int) *plant {
	for _, h := range hosts {
		p.inv.Host(host(h)).NIC("mlx5_0", 1).ContextID.Layout = planted(name)
	}
	return p
}

// bump lets a counter of a port grow by as much in each of the plant's ten samples as steps says.
func (p *plant) bump(id telemetry.SeriesID, object string, steps ...uint64) *plant {
	if pts, ok := p.win.Points(key(id, object, plantPriority)); ok {
		pts.Samples = nil
	}
	scale, total := 1.0, uint64(0)
	if telemetry.Catalogue[id].Unit == "seconds" {
		scale = 1e-12
	}
	for i := range 11 {
		if i > 0 && i <= len(steps) {
			total += steps[i-1]
		}
		p.win.Add(key(id, object, plantPriority), telemetry.Sample{At: units.At(int64(i) * int64(100*units.Microsecond)), Count: total}, scale, "plant", false)
	}
	return p
}

// standing lets the queue of a port of leaf0 stand at so many bytes in each of the plant's samples; its siblings are empty.
func (p *plant) standing(object string, levels ...float64) *plant {
	for u := range 4 {
		name := fmt.Sprintf("leaf0/Ethernet%d", 32+8*u)
		for i := range 11 {
			s := telemetry.Sample{At: units.At(int64(i) * int64(100*units.Microsecond))}
			if name == object && i < len(levels) {
				s.Level = levels[i]
			}
			p.win.Add(key(telemetry.SwitchQueueBytes, name, plantPriority), s, 1, "plant", false)
		}
	}
	return p
}

// twoNICs gives every host a second NIC, over which it sprays, and lets the first host send 7:3.
func twoNICs() *plant {
	p := sprayed()
	for h := range 8 {
		for i := range 2 {
			n := p.inv.Host(host(h)).NIC(fmt.Sprintf("mlx5_%d", i), 1)
			n.Nominal, n.Rate = planted(400*units.Gbps), planted(400*units.Gbps)
			n.Spray = &evidence.Spraying{Refresh: planted(50 * units.Microsecond), From: plantSource, Paths: []evidence.SprayPath{{Port: n.Device, Oldest: planted(50 * units.Microsecond)}}}
			p.set(telemetry.NICTxBytes, p.inv.Host(host(h)).Object(n), 5_000_000)
		}
	}
	return p.set(telemetry.NICTxBytes, "host0/mlx5_0", 7_000_000).set(telemetry.NICTxBytes, "host0/mlx5_1", 3_000_000)
}

// late makes the link state of a host's NICs old.
func (p *plant) late(h int, age units.Duration) *plant {
	for _, n := range p.inv.Host(host(h)).NICs {
		n.Spray.Paths[0].Oldest = planted(age)
	}
	return p
}

// interrupts puts the interrupts of a host's two NICs, which are on node 0, on processors; node 0 has 0-3, node 1 has 4-7.
func (p *plant) interrupts(h, first, second int) *plant {
	x := p.inv.Host(host(h))
	near, _ := evidence.ParseCPUList("0-3")
	far, _ := evidence.ParseCPUList("4-7")
	x.NUMA = []evidence.NUMANode{{ID: 0, CPUs: planted(near)}, {ID: 1, CPUs: planted(far)}}
	x.IRQs = nil
	for i, cpu := range []int{first, second} {
		x.NICs[i].NUMANode = planted(0)
		x.IRQs = append(x.IRQs, evidence.IRQ{Device: x.NICs[i].Device, Total: 1_000_000, PerCPU: []evidence.Count{{CPU: cpu, Count: 1_000_000}}, From: plantSource})
	}
	return p
}

func TestSprayCauses(t *testing.T) {
	ms := uint64(units.Millisecond)
	never := func(string, string) bool { return false }
	to := func(h string) func(a, b string) bool { return func(a, b string) bool { return a == h || b == h } }
	unlike := func(odd ...string) func(a, b string) bool {
		return func(a, b string) bool { return slices.Contains(odd, a) != slices.Contains(odd, b) }
	}
	marks := func(p *plant, steps ...uint64) *plant {
		return p.bump(telemetry.SwitchECNMarked, "leaf0/Ethernet40", steps...)
	}
	for _, c := range []struct {
		name  string
		cause Cause
		make  func() *plant
		where string // object the finding must name first; "" when it must be ruled out
		title string // what the title must say
		not   State  // where it is "": the state it must have, RuledOut when not set
	}{
		{"rules refused", causeRuleTable, func() *plant { return sprayed().table(1, 24, 0, 8) }, "leaf1", "room for 24 spraying rules and needs 32: 8 queue pairs", 0},
		{"more queue pairs than rules", causeRuleTable, func() *plant {
			p := sprayed().table(0, 20, 0, 0)
			p.inv.Switches[0].Hardware[0].Refused = evidence.Missing[int64]("not in the log", plantSource)
			return p
		}, "leaf0", "room for 20 spraying rules and needs 32: 12", 0},
		{"look-alike: full, and every queue pair has its rule", causeRuleTable, func() *plant { return sprayed().table(0, 32, 0, 0) }, "leaf0", "is full: 32 of 32 entries", 0},
		{"look-alike: uneven uplinks, and room", causeRuleTable, func() *plant {
			return sprayed().set(telemetry.SwitchTxBytes, "leaf0/Ethernet40", 30_000_000)
		}, "", "", 0},
		{"look-alike: another table is full", causeRuleTable, func() *plant {
			p := sprayed()
			p.inv.Switches[0].Hardware = append(p.inv.Switches[0].Hardware, evidence.HardwareTable{Name: "fdb_entry", Used: planted(int64(10)), Available: planted(int64(0))})
			return p
		}, "", "", 0},
		{"tables not read", causeRuleTable, func() *plant {
			p := sprayed()
			p.inv.Switches[0].Hardware, p.inv.Switches[1].Hardware = nil, []evidence.HardwareTable{{Name: "acl_entry", Used: planted(int64(4))}}
			return p
		}, "", "", CannotCheck},

		{"one uplink paused and fed", causeSprayedPause, func() *plant { return sprayed().set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/4) }, "leaf0/Ethernet40", "stood for 25 % of the time and kept 100 % of its share", 0},
		{"look-alike: all uplinks paused", causeSprayedPause, func() *plant {
			p := sprayed()
			for _, e := range []string{"32", "40", "48", "56"} {
				p.set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet"+e, ms/4)
			}
			return p
		}, "", "", 0},
		{"look-alike: the path is left out", causeSprayedPause, func() *plant {
			p := sprayed().set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/4)
			p.inv.Switches[0].Spray.Path("Ethernet40").Buckets = planted(2)
			return p
		}, "", "", 0},
		{"look-alike: its bytes shrink", causeSprayedPause, func() *plant {
			return sprayed().set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/4).set(telemetry.SwitchTxBytes, "leaf0/Ethernet40", 1_000_000)
		}, "", "", 0},
		{"look-alike: pauses are fed back", causeSprayedPause, func() *plant {
			p := sprayed().set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/4)
			p.inv.Switches[0].Spray.Feedback = planted(true)
			return p
		}, "", "", 0},
		{"one uplink paused often, and the time is not counted", causeSprayedPause, func() *plant {
			p := sprayed().set(telemetry.SwitchPFCRx, "leaf1/Ethernet56", 5000)
			for _, port := range p.view().ports() {
				if pts, ok := p.win.Points(key(telemetry.SwitchPFCRxTime, port.object, plantPriority)); ok {
					pts.Samples = nil
				}
			}
			return p
		}, "leaf1/Ethernet56", "received 5000 pauses and kept 100 % of its share", 0},
		{"pauses not read", causeSprayedPause, func() *plant {
			p := sprayed()
			for _, port := range p.view().ports() {
				if pts, ok := p.win.Points(key(telemetry.SwitchPFCRx, port.object, plantPriority)); ok {
					pts.Samples = nil
				}
			}
			for _, port := range p.view().ports() {
				if pts, ok := p.win.Points(key(telemetry.SwitchPFCRxTime, port.object, plantPriority)); ok {
					pts.Samples = nil
				}
			}
			return p
		}, "", "", CannotCheck},

		{"one path marked alone for two refreshes", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50, 0, 0, 0, 50, 50, 0)
			p.inv.Switches[0].Spray.Refresh = planted(200 * units.Microsecond)
			return p
		}, "leaf0", "only every 200 us: one path stayed congested alone for up to 203 us", 0},
		{"look-alike: it lasts over many refreshes", causeSlowRefresh, func() *plant { return marks(sprayed(), 0, 0, 50, 50, 50, 50, 50, 50, 50, 50) }, "", "", 0},
		{"look-alike: all paths are marked", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50).bump(telemetry.SwitchECNMarked, "leaf0/Ethernet48", 0, 0, 50, 50)
			p.inv.Switches[0].Spray.Refresh = planted(200 * units.Microsecond)
			return p
		}, "", "", 0},
		{"look-alike: a short time of a long window", causeSlowRefresh, func() *plant {
			p := sprayed()
			pts, _ := p.win.Points(key(telemetry.SwitchECNMarked, "leaf0/Ethernet40", plantPriority))
			pts.Samples = []telemetry.Sample{{At: units.At(0)}, {At: units.At(int64(500 * units.Microsecond))}, {At: units.At(int64(530 * units.Microsecond)), Count: 80}, {At: units.At(int64(units.Millisecond)), Count: 80}}
			return p
		}, "", "", 0},
		{"not refreshed once", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50, 50, 50, 0, 0, 0, 0)
			p.inv.Switches[0].Spray.Refresh = planted(200 * units.Millisecond)
			return p
		}, "leaf0", "only every 200 ms", 0},
		{"a queue that stands, and nothing marks", causeSlowRefresh, func() *plant {
			p := sprayed().standing("leaf0/Ethernet40", 0, 0, 300e3, 300e3, 0, 0, 0, 300e3, 300e3)
			p.inv.Switches[0].Spray.Refresh = planted(200 * units.Microsecond)
			return p
		}, "leaf0", "only every 200 us", 0},
		{"look-alike: the path is paused by what is behind it", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50, 0, 0, 0, 50, 50, 0).set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/4)
			p.inv.Switches[0].Spray.Refresh = planted(200 * units.Microsecond)
			return p
		}, "", "", 0},
		{"look-alike: flows are pinned, and nothing is sprayed", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50, 0, 0, 0, 50, 50, 0)
			for _, s := range p.inv.Switches[:2] {
				s.Spray.Key, s.Spray.Refresh = planted("flow"), planted(200*units.Microsecond)
			}
			return p
		}, "", "", CannotCheck},
		{"refresh not known", causeSlowRefresh, func() *plant {
			p := marks(sprayed(), 0, 0, 50, 50)
			p.inv.Switches[0].Spray.Refresh, p.inv.Switches[1].Spray.Refresh = evidence.Value[units.Duration]{}, evidence.Value[units.Duration]{}
			return p
		}, "", "", CannotCheck},

		{"layouts differ", causeContextLayouts, func() *plant { return sprayed().layout("v2", 2, 3).dead(unlike("host2", "host3")) }, "host2/mlx5_0", "only pairs of unlike layout lose packets: 12 pairs", 0},
		{"layouts not known, firmware differs", causeContextLayouts, func() *plant {
			p := sprayed().dead(unlike("host2", "host3"))
			for h := range 8 {
				n := p.inv.Host(host(h)).NIC("mlx5_0", 1)
				n.ContextID.Layout = evidence.Value[string]{}
				if h == 2 || h == 3 {
					n.Firmware = planted("24.30.1000")
				}
			}
			return p
		}, "host2/mlx5_0", "only pairs of unlike firmware lose packets", 0},
		{"look-alike: a host that nobody reaches", causeContextLayouts, func() *plant { return sprayed().layout("v2", 2, 3).dead(to("host2")) }, "", "", 0},
		{"look-alike: they differ and work", causeContextLayouts, func() *plant { return sprayed().layout("v2", 2, 3).dead(never) }, "", "", 0},
		{"look-alike: one layout", causeContextLayouts, func() *plant { return sprayed().dead(to("host2")) }, "", "", 0},
		{"no context id", causeContextLayouts, func() *plant {
			p := sprayed().layout("v2", 2, 3).dead(unlike("host2", "host3"))
			for h := range 8 {
				p.inv.Host(host(h)).NIC("mlx5_0", 1).ContextID.On = planted(false)
			}
			return p
		}, "", "", NotApplicable},
		{"nothing of pairs", causeContextLayouts, func() *plant {
			p := sprayed().layout("v2", 2, 3)
			p.inv.Pairs = nil
			return p
		}, "", "", CannotCheck},

		{"checksums dropped at one host", causeChecksumDropped, func() *plant {
			p := sprayed().dead(to("host5"))
			p.inv.Flows = append(p.inv.Flows, evidence.Flow{Src: "host5", Dst: "host1", Application: "backup", Bytes: units.MB, Timed: true, End: units.At(int64(units.Millisecond)), From: plantSource})
			return p
		}, "host5", "does not pass to and from host5: 7 pairs time out", 0},
		{"checksums dropped between two hosts", causeChecksumDropped, func() *plant {
			return sprayed().dead(func(a, b string) bool { return to("host5")(a, b) && to("host1")(a, b) })
		}, "host1 <-> host5", "between host1 and host5 times out", 0},
		{"look-alike: layouts differ", causeChecksumDropped, func() *plant { return sprayed().layout("v2", 2, 3).dead(unlike("host2", "host3")) }, "", "", 0},
		{"look-alike: ports drop packets", causeChecksumDropped, func() *plant {
			return sprayed().dead(to("host5")).set(telemetry.SwitchDropped, "spine1/Ethernet0", 12)
		}, "", "", 0},
		{"look-alike: ping is lost too", causeChecksumDropped, func() *plant {
			p := sprayed().dead(to("host5"))
			p.inv.MTUProbes = []evidence.MTUProbe{{Host: "host5", Target: "host1", Sent: planted(3), Received: planted(0), From: plantSource}}
			return p
		}, "", "", 0},
		{"look-alike: nothing times out", causeChecksumDropped, sprayed, "", "", 0},
		{"what the checksum is, is not known", causeChecksumDropped, func() *plant {
			p := sprayed().dead(to("host5"))
			for h := range 8 {
				p.inv.Host(host(h)).NIC("mlx5_0", 1).ContextID = evidence.ContextID{}
			}
			return p
		}, "", "", CannotCheck},

		{"stale link state", causeStaleLinkState, func() *plant { return twoNICs().late(0, 900*units.Microsecond) }, "host0", "host0 spreads 7:3 over mlx5_0 and mlx5_1", 0},
		{"stale by far interrupts", causeStaleLinkState, func() *plant { return twoNICs().interrupts(0, 1, 5) }, "host0", "spreads 7:3", 0},
		{"stale by a shared core", causeStaleLinkState, func() *plant { return twoNICs().interrupts(0, 1, 1) }, "host0", "spreads 7:3", 0},
		{"look-alike: late, and even", causeStaleLinkState, func() *plant {
			return twoNICs().late(3, 900*units.Microsecond).set(telemetry.NICTxBytes, "host0/mlx5_0", 5_000_000).set(telemetry.NICTxBytes, "host0/mlx5_1", 5_000_000)
		}, "", "", 0},
		{"look-alike: one NIC is slower", causeStaleLinkState, func() *plant {
			p := twoNICs().late(0, 900*units.Microsecond)
			p.inv.Host("host0").NIC("mlx5_1", 1).Rate = planted(200 * units.Gbps)
			return p
		}, "", "", 0},
		{"look-alike: one NIC is paused", causeStaleLinkState, func() *plant {
			return twoNICs().late(0, 900*units.Microsecond).set(telemetry.NICRxPauseTime, "host0/mlx5_1", ms/5)
		}, "", "", 0},
		{"look-alike: the plane carries less everywhere", causeStaleLinkState, func() *plant {
			p := twoNICs().late(0, 900*units.Microsecond)
			for h := range 8 {
				p.set(telemetry.NICTxBytes, host(h)+"/mlx5_0", 7_000_000).set(telemetry.NICTxBytes, host(h)+"/mlx5_1", 3_000_000)
			}
			return p
		}, "", "", 0},
		{"neither ages nor interrupts", causeStaleLinkState, func() *plant {
			p := twoNICs()
			for _, n := range p.inv.Host("host0").NICs {
				n.Spray.Paths = nil
			}
			return p
		}, "", "", CannotCheck},
	} {
		t.Run(c.cause.Code+" "+c.name, func(t *testing.T) {
			v := check(t, c.cause, c.make())
			if c.where == "" {
				if len(v.Findings) > 0 || v.State != c.not || v.Why == "" {
					t.Fatalf("state %d (%s), findings %+v; want state %d", v.State, v.Why, v.Findings, c.not)
				}
				return
			}
			if len(v.Findings) != 1 {
				t.Fatalf("%d findings (state %d: %s), want one", len(v.Findings), v.State, v.Why)
			}
			f := v.Findings[0]
			if f.Where[0] != c.where || !strings.Contains(f.Title, c.title) {
				t.Errorf("names %q first, want %q; title %q, want %q", f.Where[0], c.where, f.Title, c.title)
			}
			if !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Role == "cause" }) {
				t.Errorf("no row of evidence is the cause: %+v", f.Evidence)
			}
			for _, e := range f.Evidence {
				if e.From == "" || e.Seen == "" || e.What == "" {
					t.Errorf("row without source or value: %+v", e)
				}
			}
			if f.Because == "" || f.WrongIf == "" || f.Settle == "" || f.Fix.Text == "" || strings.Contains(fmt.Sprintf("%+v", f), "%!") {
				t.Errorf("incomplete: %+v", f)
			}
		})
	}
}

// How sure it is that checksums are what is dropped rests on what else passes.
func TestChecksumDroppedIsAsSureAsWhatPasses(t *testing.T) {
	bad := func(a, b string) bool { return a == "host5" || b == "host5" }
	p := sprayed().dead(bad)
	f := check(t, causeChecksumDropped, p).Findings[0]
	if f.Confidence != possible || f.Severity != Warning || !strings.Contains(f.Settle, "ping") {
		t.Errorf("nothing else was seen: %v, %v, settle %q", f.Confidence, f.Severity, f.Settle)
	}
	// A sample that was never answered proves nothing.
	p.inv.Flows = append(p.inv.Flows, evidence.Flow{Src: "host5", Dst: "host1", Application: "backup", Bytes: units.MB, Timed: true, From: plantSource})
	if f := check(t, causeChecksumDropped, p).Findings[0]; f.Confidence != possible {
		t.Errorf("one sample: %v", f.Confidence)
	}
	p.inv.NetTests = []evidence.NetTest{{Tool: "iperf3", Test: "tcp", Host: "host1", Peer: "host5", From: plantSource}}
	if f := check(t, causeChecksumDropped, p).Findings[0]; f.Confidence != named || f.Severity != Critical || len(f.Not) == 0 {
		t.Errorf("TCP passes: %v, %v, not %q", f.Confidence, f.Severity, f.Not)
	}
}

// A fabric that sprays as it should has no finding, and every one of the causes can say so.
func TestHealthySprayingHasNoFinding(t *testing.T) {
	p := twoNICs().set(telemetry.NICTxBytes, "host0/mlx5_0", 5_000_000).set(telemetry.NICTxBytes, "host0/mlx5_1", 5_000_000)
	r := run(p.view(), sprayCauses)
	for _, f := range r.Findings {
		t.Errorf("%s: %s", f.Code, f.Title)
	}
	if len(r.Checked.Could) > 0 || len(r.Checked.RuledOut) != len(sprayCauses) {
		t.Errorf("could not check %+v, ruled out %d of %d", r.Checked.Could, len(r.Checked.RuledOut), len(sprayCauses))
	}
}

// Without any input no pitfall of spraying rules itself out; a simulated fabric that does not spray has none of them.
func TestNothingKnownOfSpraying(t *testing.T) {
	for _, c := range sprayCauses {
		if v := check(t, c, newPlant()); v.State != CannotCheck || v.Why == "" || len(v.Findings) > 0 {
			t.Errorf("%s: state %d, %q; want that it cannot be checked, and why", c.Code, v.State, v.Why)
		}
		p := healthy()
		p.inv.Simulated = true
		if v := check(t, c, p); v.State != NotApplicable || len(v.Findings) > 0 {
			t.Errorf("%s: state %d, %q on a simulated fabric that does not spray", c.Code, v.State, v.Why)
		}
	}
}

// From files: the firmware of ibstat, and the library's log for the pairs that time out.
func TestLayoutsByFirmwareAndLog(t *testing.T) {
	v := emptyView()
	v.Inv.NCCL.HasLog = true
	firmware := map[string]string{"node1": "28.41.1000", "node2": "28.41.1000", "node3": "24.30.1000", "node4": "24.30.1000"}
	for _, h := range []string{"node1", "node2", "node3", "node4"} {
		v.Inv.Host(h).NIC("mlx5_0", 1).Firmware = evidence.Known(firmware[h], evidence.Source{File: h + "/ibstat", Line: 4})
	}
	fail := func(host, peer string) {
		v.Inv.NCCL.Events = append(v.Inv.NCCL.Events, evidence.Event{Kind: evidence.CompletionError, Status: wcRetryExceeded, Host: host, Peer: peer, From: evidence.Source{File: host + ".log", Line: 80}})
	}
	fail("node1", "node3")
	if got := causeContextLayouts.Check(v); got.State != CannotCheck || len(got.Findings) > 0 {
		t.Errorf("one pair: state %d, %s, %+v", got.State, got.Why, got.Findings)
	}
	fail("node4", "node2")
	got := causeContextLayouts.Check(v)
	if len(got.Findings) != 1 || got.Findings[0].Confidence != possible || got.Findings[0].Fix.Try != nil {
		t.Fatalf("two unlike pairs: %+v", got)
	}
	if f := got.Findings[0]; !strings.Contains(f.Title, "unlike firmware") || f.Evidence[0].From != "node1.log:80" {
		t.Errorf("%s, from %s", f.Title, f.Evidence[0].From)
	}
	fail("node1", "node2")
	if got := causeContextLayouts.Check(v); got.State != RuledOut || len(got.Findings) > 0 {
		t.Errorf("a pair that agrees fails too: %+v", got)
	}
}

func TestRoomFor(t *testing.T) {
	for needed, want := range map[int64]int64{0: 2, 1: 2, 32: 64, 20000: 32768, 16384: 32768, 16383: 16384} {
		if got := roomFor(needed); got != want {
			t.Errorf("room for %d: %d, want %d", needed, got, want)
		}
	}
}
