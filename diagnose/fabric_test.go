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

// plant is a small two-tier fabric of 400G links whose counters a test fills in: 2 leaves with 4 hosts each, 4 spines,
// sampled every 100 us for 1 ms. Uplinks are leafL/Ethernet(32+8s), host ports leafL/Ethernet(8h).
type plant struct {
	inv *evidence.Inventory
	win *telemetry.Window
}

const plantPriority = 3

func newPlant() *plant {
	p := &plant{&evidence.Inventory{}, telemetry.NewWindow(units.At(0), units.At(int64(units.Millisecond)))}
	from := evidence.Source{File: "plant"}
	rate := evidence.Known(400*units.Gbps, from)
	for l := range 2 {
		s := &evidence.Switch{Name: fmt.Sprintf("leaf%d", l), Tier: "leaf"}
		for h := range 4 {
			host := fmt.Sprintf("host%d", 4*l+h)
			s.Ports = append(s.Ports, evidence.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 8*h), Peer: host + "/mlx5_0", Nominal: rate})
			n := p.inv.Host(host).NIC("mlx5_0", 1)
			n.Nominal, n.Switch = rate, fmt.Sprintf("leaf%d/Ethernet%d", l, 8*h)
		}
		for sp := range 4 {
			s.Ports = append(s.Ports, evidence.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 32+8*sp), Peer: fmt.Sprintf("spine%d/Ethernet%d", sp, 8*l), Uplink: true, Nominal: rate})
		}
		p.inv.Switches = append(p.inv.Switches, s)
	}
	for sp := range 4 {
		s := &evidence.Switch{Name: fmt.Sprintf("spine%d", sp), Tier: "spine"}
		for l := range 2 {
			s.Ports = append(s.Ports, evidence.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 8*l), Peer: fmt.Sprintf("leaf%d/Ethernet%d", l, 32+8*sp), Nominal: rate})
		}
		p.inv.Switches = append(p.inv.Switches, s)
	}
	return p
}

// grow lets a counter grow evenly to total, in the unit of the raw counter; picoseconds for pause times.
func (p *plant) grow(id telemetry.SeriesID, object string, total uint64) *plant {
	scale := 1.0
	if telemetry.Catalogue[id].Unit == "seconds" {
		scale = 1e-12
	}
	for i := range uint64(11) {
		p.win.Add(key(id, object, plantPriority), telemetry.Sample{At: units.At(int64(i) * int64(100*units.Microsecond)), Count: total * i / 10}, scale, "plant", false)
	}
	return p
}

func (p *plant) level(id telemetry.SeriesID, object string, v float64) *plant {
	p.win.Add(key(id, object, plantPriority), telemetry.Sample{At: units.At(int64(units.Millisecond)), Level: v}, 1, "plant", false)
	return p
}

// all fills one counter of every switch port, or of every NIC, with the same growth.
func (p *plant) all(id telemetry.SeriesID, total uint64) *plant {
	v := p.view()
	if telemetry.Catalogue[id].Scope == telemetry.NICPort {
		for _, n := range v.nics() {
			p.grow(id, n.object, total)
		}
		return p
	}
	for _, port := range v.ports() {
		p.grow(id, port.object, total)
	}
	return p
}

func (p *plant) view() *View { return &View{Inv: p.inv, Win: p.win} }

// set replaces what a stream holds.
func (p *plant) set(id telemetry.SeriesID, object string, total uint64) *plant {
	if pts, ok := p.win.Points(key(id, object, plantPriority)); ok {
		pts.Samples = nil
	}
	return p.grow(id, object, total)
}

// healthy is a plant in which every port carried 10 MB, nothing was marked, paused or damaged.
func healthy() *plant {
	p := newPlant()
	for _, id := range []telemetry.SeriesID{telemetry.SwitchTxBytes} {
		p.all(id, 10_000_000)
	}
	for _, id := range []telemetry.SeriesID{telemetry.SwitchECNMarked, telemetry.SwitchPFCTx, telemetry.SwitchPFCRx, telemetry.SwitchPFCRxTime, telemetry.SwitchRxErrors, telemetry.SwitchDropped,
		telemetry.NICTxPause, telemetry.NICTxPauseTime, telemetry.NICRxPauseTime, telemetry.NICCNPHandled, telemetry.NICRxCRCErrors, telemetry.NICOutOfSequence, telemetry.NICPacketSeqErr, telemetry.NICLocalAckTimeout} {
		p.all(id, 0)
	}
	for _, port := range p.view().ports() {
		p.level(telemetry.SwitchQueuePeak, port.object, 8320)
		p.level(telemetry.SwitchSpeed, port.object, 400e9)
	}
	from, end := evidence.Source{File: "sflow"}, units.At(int64(units.Millisecond))
	p.inv.Flows = []evidence.Flow{
		{Src: "host0", Dst: "host4", Application: evidence.RoCE, Priority: 3, Bytes: 10 * units.MB, Timed: true, End: end, From: from},
		{Src: "host9", Dst: "host1", Application: "backup", Priority: 0, Bytes: 10 * units.MB, Timed: true, End: end, From: from},
	}
	return p
}

func check(t *testing.T, c Cause, p *plant) Verdict {
	t.Helper()
	return c.Check(p.view())
}

func TestHealthyPlantHasNoFinding(t *testing.T) {
	r := run(healthy().view(), fabricCauses)
	for _, f := range r.Findings {
		t.Errorf("%s: %s", f.Code, f.Title)
	}
	if len(r.Checked.Could) > 0 {
		t.Errorf("with every counter there, could not check: %+v", r.Checked.Could)
	}
	if got := len(r.Checked.RuledOut); got != len(fabricCauses) {
		t.Errorf("%d of %d causes ruled out", got, len(fabricCauses))
	}
}

// Without any counter no cause of the fabric may claim to have ruled itself out.
func TestNothingKnownIsNothingRuledOut(t *testing.T) {
	for _, p := range []*plant{newPlant(), {&evidence.Inventory{}, telemetry.NewWindow(units.At(0), units.At(1))}} {
		for _, c := range fabricCauses {
			if v := check(t, c, p); v.State != CannotCheck || len(v.Findings) > 0 || v.Why == "" {
				t.Errorf("%s: state %d, %d findings, %q; want that it cannot be checked, and why", c.Code, v.State, len(v.Findings), v.Why)
			}
		}
	}
}

func TestFabricCauses(t *testing.T) {
	ms := uint64(units.Millisecond)
	for _, c := range []struct {
		name  string
		cause Cause
		make  func() *plant
		where string // object the finding must name first; "" when there must be none
	}{
		{"collision", collisionCause, func() *plant {
			p := healthy().set(telemetry.SwitchTxBytes, "leaf0/Ethernet40", 30_000_000).set(telemetry.SwitchECNMarked, "leaf0/Ethernet40", 500)
			return p
		}, "leaf0/Ethernet40"},
		{"collision on the way down", collisionCause, func() *plant {
			return healthy().set(telemetry.SwitchTxBytes, "spine2/Ethernet8", 35_000_000).set(telemetry.SwitchECNMarked, "spine2/Ethernet8", 500)
		}, "spine2/Ethernet8"},
		{"collision look-alike: uneven bytes but no queue", collisionCause, func() *plant {
			return healthy().set(telemetry.SwitchTxBytes, "leaf0/Ethernet40", 30_000_000)
		}, ""},
		{"collision look-alike: a queue but even bytes", collisionCause, func() *plant {
			return healthy().set(telemetry.SwitchECNMarked, "leaf0/Ethernet40", 500)
		}, ""},
		{"incast", incastCause, func() *plant {
			return healthy().set(telemetry.SwitchTxBytes, "leaf1/Ethernet8", 50_000_000).set(telemetry.SwitchECNMarked, "leaf1/Ethernet8", 900)
		}, "host5/mlx5_0"},
		{"incast look-alike: the host pauses", incastCause, func() *plant {
			return healthy().set(telemetry.SwitchTxBytes, "leaf1/Ethernet8", 50_000_000).set(telemetry.SwitchECNMarked, "leaf1/Ethernet8", 900).set(telemetry.NICTxPause, "host5/mlx5_0", 40)
		}, ""},
		{"slow receiver", slowReceiverCause, func() *plant {
			return healthy().set(telemetry.NICTxPause, "host6/mlx5_0", 300).set(telemetry.NICTxPauseTime, "host6/mlx5_0", ms/4)
		}, "host6/mlx5_0"},
		{"slow receiver look-alike: paused by the switch", slowReceiverCause, func() *plant {
			return healthy().set(telemetry.NICRxPauseTime, "host6/mlx5_0", ms/4)
		}, ""},
		{"pause spread", pauseSpreadCause, func() *plant {
			p := healthy().set(telemetry.SwitchPFCRxTime, "spine1/Ethernet8", ms/5).set(telemetry.SwitchPFCRxTime, "leaf0/Ethernet40", ms/10)
			p.level(telemetry.SwitchQueuePeak, "spine1/Ethernet8", 400_000).level(telemetry.SwitchQueuePeak, "leaf1/Ethernet16", 900_000)
			return p
		}, "leaf1/Ethernet16"},
		{"pause spread look-alike: only the hosts are paused", pauseSpreadCause, func() *plant {
			return healthy().set(telemetry.NICRxPauseTime, "host0/mlx5_0", ms/5).set(telemetry.SwitchPFCTx, "leaf0/Ethernet0", 50)
		}, ""},
		{"ECN too low", ecnLowCause, func() *plant {
			p := healthy()
			for _, port := range p.view().ports() {
				p.set(telemetry.SwitchTxBytes, port.object, 15_000_000) // 50 MB is line rate for 1 ms
				p.set(telemetry.SwitchECNMarked, port.object, 40)
			}
			return p.allSet(telemetry.NICCNPHandled, 20)
		}, "leaf0/Ethernet0"},
		{"ECN too low look-alike: a full link", ecnLowCause, func() *plant {
			p := healthy().allSet(telemetry.NICCNPHandled, 20)
			return p.set(telemetry.SwitchTxBytes, "leaf0/Ethernet0", 48_000_000).set(telemetry.SwitchECNMarked, "leaf0/Ethernet0", 400)
		}, ""},
		{"ECN too high", ecnHighCause, func() *plant {
			return healthy().set(telemetry.SwitchPFCTx, "leaf1/Ethernet32", 200).set(telemetry.SwitchPFCRxTime, "spine0/Ethernet8", ms/10)
		}, "leaf1"},
		{"ECN too high look-alike: marks as well", ecnHighCause, func() *plant {
			return healthy().set(telemetry.SwitchPFCTx, "leaf1/Ethernet32", 20).set(telemetry.SwitchPFCRxTime, "spine0/Ethernet8", ms/10).set(telemetry.SwitchECNMarked, "leaf1/Ethernet8", 800)
		}, ""},
		{"degraded link", degradedCause, func() *plant {
			return healthy().level(telemetry.SwitchSpeed, "leaf1/Ethernet48", 200e9)
		}, "leaf1/Ethernet48"},
		{"degraded look-alike: the link is down and reports no speed", degradedCause, func() *plant {
			return healthy().level(telemetry.SwitchSpeed, "leaf1/Ethernet48", 0)
		}, ""},
		{"bit errors", bitErrorCause, func() *plant {
			return healthy().set(telemetry.SwitchRxErrors, "spine3/Ethernet0", 120).set(telemetry.NICPacketSeqErr, "host2/mlx5_0", 90)
		}, "spine3/Ethernet0"},
		{"bit errors look-alike: drops for lack of buffer", bitErrorCause, func() *plant {
			return healthy().set(telemetry.SwitchDropped, "spine3/Ethernet0", 120).set(telemetry.NICPacketSeqErr, "host2/mlx5_0", 90)
		}, ""},
		{"overtaking taken for loss", reorderingCause, func() *plant {
			return healthy().allSet(telemetry.NICOutOfSequence, 300).allSet(telemetry.NICPacketSeqErr, 40).set(telemetry.NICOutOfSequence, "host3/mlx5_0", 900)
		}, "host3/mlx5_0"},
		{"overtaking look-alike: packets were dropped", reorderingCause, func() *plant {
			return healthy().allSet(telemetry.NICOutOfSequence, 300).allSet(telemetry.NICPacketSeqErr, 40).set(telemetry.SwitchDropped, "spine1/Ethernet0", 12)
		}, ""},
		{"overtaking look-alike: NICs that place out of order send no NAKs", reorderingCause, func() *plant {
			return healthy().allSet(telemetry.NICOutOfSequence, 300)
		}, ""},
		{"backup in RoCE's priority", backgroundCause, func() *plant {
			p := healthy()
			p.inv.Flows[1].Priority = 3
			return p
		}, "backup"},
		{"backup look-alike: a trickle", backgroundCause, func() *plant {
			p := healthy()
			p.inv.Flows[1].Priority, p.inv.Flows[1].Bytes = 3, 10*units.KB
			return p
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := check(t, c.cause, c.make())
			if c.where == "" {
				if len(v.Findings) > 0 || v.State != RuledOut {
					t.Fatalf("state %d, findings %v; want it ruled out", v.State, v.Findings)
				}
				return
			}
			if len(v.Findings) != 1 {
				t.Fatalf("%d findings (%s), want one", len(v.Findings), v.Why)
			}
			f := v.Findings[0]
			if f.Where[0] != c.where {
				t.Errorf("names %q first, want %q: %s", f.Where[0], c.where, f.Title)
			}
			if len(f.Evidence) == 0 || !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Role == "cause" }) {
				t.Errorf("no row of evidence is the cause: %+v", f.Evidence)
			}
			for _, e := range f.Evidence {
				if e.From == "" || e.Seen == "" {
					t.Errorf("row without source or value: %+v", e)
				}
			}
			if f.Because == "" || f.WrongIf == "" || f.Fix.Text == "" || strings.Contains(f.Title, "%!") {
				t.Errorf("incomplete: %+v", f)
			}
		})
	}
}

// allSet sets one counter of every NIC.
func (p *plant) allSet(id telemetry.SeriesID, total uint64) *plant {
	for _, n := range p.view().nics() {
		p.set(id, n.object, total)
	}
	return p
}

// A lifetime total is no evidence: one sample of a large counter is neither a finding nor a reason to rule out.
func TestLifetimeTotalsAreNotJudged(t *testing.T) {
	p := newPlant()
	p.win.Add(key(telemetry.NICRxCRCErrors, "host0/mlx5_0", 0), telemetry.Sample{Count: 1 << 40}, 1, "ethtool.txt:9", true)
	v := bitErrorCause.Check(p.view())
	if v.State != CannotCheck || len(v.Findings) > 0 || !strings.Contains(v.Why, "second sample") {
		t.Errorf("%+v", v)
	}
}
