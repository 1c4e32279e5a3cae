package rules

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// What is known of queues, modules, GPUs, interrupts and ranks arrives in expressions, and what is not known does not.
func TestFromDevices(t *testing.T) {
	at := evidence.Source{File: "f", Line: 1}
	inv := &evidence.Inventory{}
	h := inv.Host("node1")
	dscp := evidence.NoDSCP()
	dscp[26] = 3
	h.Dev("eth1").QoS = &evidence.QoS{Trust: evidence.Known("dscp", at), PFC: evidence.Known([8]bool{3: true}, at), DSCP: evidence.Known(dscp, at), From: at}
	h.NIC("mlx5_0", 1).Module = &evidence.Module{
		Part: evidence.Known("X-1", at), Lanes: []evidence.LaneLight{{Receive: evidence.Known(-1.5, at)}, {}},
		Alarms: []evidence.Alarm{{What: "laser rx power", Level: "low alarm", Channel: 2}}, From: at,
	}
	h.NIC("mlx5_0", 1).Spray = &evidence.Spraying{Key: evidence.Known("flow+psn", at), Refresh: evidence.Known(100*units.Microsecond, at)}
	g := h.GPUAt("", 3)
	g.Throttle = []evidence.Throttled{{Reason: "HW Slowdown"}}
	g.NVLinks = []evidence.NVLink{{Index: 1, Active: evidence.Known(false, at)}}
	var cpus evidence.CPUSet
	cpus.Add(7)
	h.IRQs = []evidence.IRQ{{Number: 77, Name: "mlx5_comp3", Total: 10, PerCPU: []evidence.Count{{CPU: 7, Count: 10}}, Affinity: evidence.Known(cpus, at)}, {Number: 78}}
	s := inv.Switch("leaf1")
	s.QoS = &evidence.SwitchQoS{
		DSCPToTC: map[string]evidence.DSCPMap{"M": dscp},
		Marking:  map[string]evidence.MarkingProfile{"W": {Min: evidence.Known(units.Bytes(1000), at), ECN: evidence.Known("ecn_none", at)}},
		Buffers:  map[string]evidence.BufferProfile{"B": {XOff: evidence.Known(units.Bytes(500), at)}},
	}
	p := s.Port("Ethernet8")
	p.QoS = &evidence.PortQoS{DSCPToTC: evidence.Known("M", at), PFC: evidence.Known([8]bool{3: true}, at)}
	p.QoS.Marking[3], p.QoS.Groups[3] = evidence.Known("W", at), evidence.Known("B", at)
	s.Port("Ethernet12")
	inv.Flights = []evidence.FlightDump{{Rank: 2, Groups: []evidence.FlightGroup{{Name: "0", Ranks: []int{0, 2}, Completed: evidence.Known(int64(7), at)}}, Ops: []evidence.FlightOp{{Seq: 8, State: "started"}}}}

	text, err := json.Marshal(FromView(&diagnose.View{Inv: inv}))
	if err != nil {
		t.Fatal(err)
	}
	var c Cluster // as the program that judges rules gets it
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	host := c.Hosts[0]
	if q := host.Netdevs[0].QoS; q == nil || *q.Trust != "dscp" || !(*q.PFC)[3] || (*q.DSCP)[26] != 3 || (*q.DSCP)[0] != -1 || q.Buffers != nil || q.Cable != nil {
		t.Errorf("QoS %+v", q)
	}
	if m := host.NICs[0].Module; m == nil || *m.Part != "X-1" || m.Vendor != nil || !cmp.Equal(m.Receive, []float64{-1.5}) || !cmp.Equal(m.Alarms, []string{"laser rx power low alarm, channel 2"}) {
		t.Errorf("module %+v", m)
	}
	if x := host.NICs[0].Spray; x == nil || *x.Key != "flow+psn" || *x.Refresh != 100 || x.Buckets != nil {
		t.Errorf("spray %+v", x)
	}
	if g := host.GPUs[0]; *g.Index != 3 || g.Address != nil || g.ECC != nil || *(*g.Links)[0].Active || (*g.Links)[0].Errors != nil || !cmp.Equal(g.Throttle, []string{"HW Slowdown"}) {
		t.Errorf("GPU %+v", g)
	}
	if q := host.IRQs; *q[0].Busiest != 7 || *q[0].Share != 1 || !cmp.Equal(*q[0].CPUs, []int64{7}) || q[1].Busiest != nil || q[1].CPUs != nil {
		t.Errorf("interrupts %+v", q)
	}
	ports := c.Switches[0].Ports
	if q := (*ports[0].Queues)[3]; !*q.Pause || *q.Marks || *q.MarkMin != 1000 || q.MarkMax != nil || *q.Headroom != 500 || (*ports[0].DSCP)[26] != 3 {
		t.Errorf("queue %+v", q)
	}
	if q := (*ports[0].Queues)[0]; *q.Pause || q.Marks != nil || q.Headroom != nil || ports[1].Queues != nil || ports[1].DSCP != nil {
		t.Errorf("queue %+v, port %+v", q, ports[1])
	}
	if f := c.Flights[0]; *f.Rank != 2 || *f.Groups[0].Completed != 7 || f.Groups[0].Started != nil || f.Ops[0].Seq != 8 || f.Ops[0].Bytes != nil {
		t.Errorf("flight %+v", f)
	}
}
