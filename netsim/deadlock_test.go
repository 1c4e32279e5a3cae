package netsim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// ring is a ring of switches with one host each. With five of them, the way two switches on leads clockwise only.
func ringOf(t testing.TB, switches int) *fabric.Fabric {
	t.Helper()
	var g fabric.Graph
	for i := range switches {
		g.Nodes = append(g.Nodes, fabric.Node{Name: fmt.Sprintf("host%d", i), Role: fabric.Host, Rail: -1})
	}
	for i := range switches {
		g.Nodes = append(g.Nodes, fabric.Node{Name: fmt.Sprintf("ring%d", i), Role: fabric.Leaf, Rail: -1})
	}
	for i := range switches {
		g.Links = append(g.Links, fabric.Link{A: fabric.NodeID(i), B: fabric.NodeID(switches + i), Wire: wire})
	}
	for i := range switches {
		g.Links = append(g.Links, fabric.Link{A: fabric.NodeID(switches + i), B: fabric.NodeID(switches + (i+1)%switches), Wire: wire})
	}
	f := g.Build(func(link int, text string) { t.Fatalf("link %d: %s", link, text) })
	if f == nil {
		t.Fatal("no fabric")
	}
	return f
}

// aroundPlan has every host send to the host two switches on, several messages each.
func aroundPlan(hosts int, bytes units.Bytes) *workload.Plan {
	var ops []workload.Op
	for i := range hosts {
		ops = append(ops, send(i, (i+2)%hosts, bytes))
	}
	return planOf(ops...)
}

// clockwise lists the ports of the ring that lead to the next switch, in order of the ring.
func clockwise(f *fabric.Fabric) []fabric.PortID {
	var out []fabric.PortID
	sw := f.Switches()
	for i := range sw {
		out = append(out, f.Between(sw[i], sw[(i+1)%len(sw)])[0])
	}
	return out
}

func ringConfig() Config {
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON = 20*4160, 4160
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 6, 2
	return cfg
}

// In a ring each link carries its own host's traffic and that of the one before: twice what it can. The queues fill, every switch pauses
// the one before it, and nothing moves any more: the run stalls, and the cycle is named.
func TestRingDeadlocks(t *testing.T) {
	f := ringOf(t, 5)
	n, s := run(t, f, aroundPlan(5, 20_000_000), ringConfig())
	if !s.Stalled || len(s.Deadlocks) != 1 {
		t.Fatalf("stalled %v, deadlocks %+v", s.Stalled, s.Deadlocks)
	}
	d := s.Deadlocks[0]
	got, want := slices.Clone(d.Ports), clockwise(f)
	slices.Sort(got)
	slices.Sort(want)
	if d.Priority != 3 || !slices.Equal(got, want) {
		t.Errorf("priority %d, cycle %v, want %v", d.Priority, d.Ports, clockwise(f))
	}
	for i, p := range d.Ports { // each waits for the next: its peer is the switch that the next port leaves
		next := d.Ports[(i+1)%len(d.Ports)]
		if f.Ports[f.Ports[p].Peer].Node != f.Ports[next].Node {
			t.Errorf("%s waits for %s, which is not on the switch behind it", f.PortName(p), f.PortName(next))
		}
	}
	for _, p := range d.Ports {
		if before := n.pauses[class(uint32(p), 3)].rxSince; units.At(before).After(d.Since) {
			t.Errorf("%s was paused at %d, after the deadlock at %v", f.PortName(p), before, d.Since)
		}
	}
	if s.Drops[DropHeadroomFull] != 0 {
		t.Errorf("%d packets overran a headroom", s.Drops[DropHeadroomFull])
	}
}

// The same ring is not deadlocked while it moves, a ring with little traffic never is, and neither is a Clos network under incast with all
// senders paused.
func TestNoDeadlock(t *testing.T) {
	f := ringOf(t, 5)
	n := start(t, f, aroundPlan(5, 20_000_000), ringConfig())
	if _, err := n.RunUntil(units.At(2_500_000)); err != nil {
		t.Fatal(err)
	}
	if d := n.Deadlocks(); len(d) != 0 {
		t.Errorf("before anything is full: %+v", d)
	}
	var ops []workload.Op
	for i := range 5 {
		op := send(i, (i+2)%5, 4_000_000)
		op.Rate = 150 * units.Gbps // two of them fit a link
		ops = append(ops, op)
	}
	if _, s := run(t, f, planOf(ops...), ringConfig()); s.Stalled || len(s.Deadlocks) != 0 {
		t.Errorf("at little load: stalled %v, %+v", s.Stalled, s.Deadlocks)
	}
	clos := leafSpine(2, 8, 2)
	n = start(t, clos, incastPlan(15, 4_000_000), ringConfig())
	paused := 0
	for at := int64(0); ; at += 1_000_000 {
		done, err := n.RunUntil(units.At(at))
		if err != nil {
			t.Fatal(err)
		}
		queues, _ := n.pausedQueues()
		paused = max(paused, len(queues))
		if d := n.Deadlocks(); len(d) != 0 {
			t.Fatalf("at %d: %+v", at, d)
		}
		if done {
			break
		}
	}
	if paused < 2 {
		t.Errorf("at most %d queues of switches were paused, the test tests little", paused)
	}
}

// Pauses that run out break no deadlock, because they are repeated: the run ends as stalled all the same.
func TestDeadlockWithQuanta(t *testing.T) {
	cfg := ringConfig()
	cfg.Switch.PauseQuanta = 10_000 // 12.8 us
	f := ringOf(t, 5)
	n, s := run(t, f, aroundPlan(5, 20_000_000), cfg)
	if !s.Stalled || len(s.Deadlocks) != 1 || !n.Stalled() {
		t.Fatalf("stalled %v, deadlocks %+v", s.Stalled, s.Deadlocks)
	}
	p := n.Port(s.Deadlocks[0].Ports[0])
	// Repeated every 6.4 us until the last QP gave up after three timeouts of 262 us.
	if want := uint64(3 * 262 * 10 / 64); p.PauseRx[3] < want*9/10 {
		t.Errorf("%d pause frames, want %d or more", p.PauseRx[3], want)
	}
}

// The watchdog breaks the deadlock: it drops, or sends on into headrooms that are full, and the transport repairs it. Storms begin and end.
func TestWatchdogBreaksDeadlock(t *testing.T) {
	for _, action := range []StormAction{StormDrop, StormForward} {
		cfg := ringConfig()
		cfg.NIC.RetryCount = 7
		cfg.Switch.Watchdog = WatchdogConfig{On: true, Poll: 20 * units.Microsecond, Detection: 60 * units.Microsecond, Restoration: 40 * units.Microsecond, Action: action}
		f := ringOf(t, 5)
		begun, ended := 0, 0
		cfg.Probe = &Probe{Storm: func(_ fabric.PortID, prio uint8, begins bool, _ units.Instant) {
			if prio != 3 {
				t.Errorf("a storm of priority %d", prio)
			}
			if begins {
				begun++
			} else {
				ended++
			}
		}}
		n, s := run(t, f, aroundPlan(5, 4_000_000), cfg)
		var storms, over uint64
		for p := range f.Ports {
			c := n.Port(fabric.PortID(p))
			storms += c.Storms[3]
			over += c.StormsOver[3]
		}
		t.Logf("%s: done at %v, %d storms, %d over, drops %v", action, s.End, storms, over, s.Drops)
		if s.Stalled || storms == 0 || action == StormDrop && over == 0 || int(storms) != begun || int(over) != ended {
			t.Errorf("%s: stalled %v, %d storms (%d told), %d over (%d told)", action, s.Stalled, storms, begun, over, ended)
		}
		if lost := s.Drops[DropWatchdog]; (lost > 0) != (action == StormDrop) {
			t.Errorf("%s: the watchdog dropped %d packets", action, lost)
		}
	}
}

// A host that takes nothing holds its switch port paused: a storm after the detection time and no sooner, of that port alone; when the host is
// well again the storm ends.
func TestWatchdogOnSlowHost(t *testing.T) {
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON = 20*4160, 4160
	cfg.NIC.Timeout = 8
	cfg.Switch.Watchdog = WatchdogConfig{On: true, Poll: 50 * units.Microsecond, Detection: 200 * units.Microsecond, Restoration: 100 * units.Microsecond}
	f := leafSpine(1, 3, 1)
	bad := f.Ports[f.Endpoints[1]].Peer
	cfg.Faults = []Fault{{Kind: SlowReceiver, Port: uint32(f.Endpoints[1]), For: units.Millisecond, Rate: units.Mbps}}
	var at []units.Instant
	cfg.Probe = &Probe{Storm: func(p fabric.PortID, _ uint8, _ bool, t0 units.Instant) {
		if p != bad {
			t.Errorf("a storm at %s", f.PortName(p))
		}
		at = append(at, t0)
	}}
	n, s := run(t, f, planOf(send(0, 1, 2_000_000), send(0, 2, 2_000_000)), cfg)
	if len(at) != 2 || s.Drops[DropWatchdog] == 0 || s.Stalled {
		t.Fatalf("storms told at %v, drops %v", at, s.Drops)
	}
	// The host's 128 KiB are full after 3 us of line rate; the storm is found at the first look after 200 us of pause.
	if begin := at[0]; begin.Before(units.At(int64(200*units.Microsecond))) || begin.After(units.At(int64(260*units.Microsecond))) {
		t.Errorf("found at %v, want 200 to 260 us", begin)
	}
	if end := at[1].Sub(units.At(int64(units.Millisecond))); end < 100*units.Microsecond || end > 200*units.Microsecond {
		t.Errorf("over %v after the host was well, want 100 to 200 us", end)
	}
	// What goes elsewhere was held up by the paused NIC for the time of the detection.
	if took(n, 1) > 500*units.Microsecond {
		t.Errorf("the transfer to the good host took %v", took(n, 1))
	}
}

// With quanta a transfer goes as without, repeated pauses and all; the time paused is the same within the difference of counting.
func TestQuantaMatchOnOff(t *testing.T) {
	f := leafSpine(2, 8, 2)
	times := map[int]units.Duration{}
	for _, quanta := range []int{0, 65535, 500} {
		cfg := plain()
		cfg.Switch.XOFF, cfg.Switch.XON = 8*4160, 4160
		cfg.Switch.PauseQuanta = quanta
		n, s := run(t, f, incastPlan(15, 2_000_000), cfg)
		if s.Drops != [DropReasons]uint64{} {
			t.Errorf("quanta %d: drops %v", quanta, s.Drops)
		}
		times[quanta] = n.Now().Sub(units.At(0))
		if p := n.Port(f.Endpoints[1]); quanta == 500 && p.PauseRx[3] < 100 { // 600 us paused most of the time, repeated every 320 ns
			t.Errorf("%d pause frames with quanta of 640 ns", p.PauseRx[3])
		}
	}
	for quanta, took := range times {
		if r := took.Seconds() / times[0].Seconds(); r < 0.99 || r > 1.01 {
			t.Errorf("quanta %d: took %v, on and off %v", quanta, took, times[0])
		}
	}
}

// A pause that nobody repeats runs out after its quanta.
func TestPauseRunsOut(t *testing.T) {
	cfg := plain()
	cfg.Switch.PauseQuanta = 1000 // 1000 x 512 bits at 400 Gbit/s are 1.28 us
	f := leafSpine(1, 2, 1)
	n := start(t, f, planOf(send(0, 1, 4_000_000)), cfg)
	if _, err := n.RunUntil(units.At(10_000_000)); err != nil {
		t.Fatal(err)
	}
	leaf := uint32(f.Ports[f.Endpoints[0]].Peer)
	n.sendPause(leaf, 3|pauseOn) // one frame, without the state that would repeat it
	if done, err := n.RunUntil(units.At(never)); !done || err != nil {
		t.Fatal(done, err)
	}
	if c := n.Port(f.Endpoints[0]); c.PauseRx[3] != 1 || c.PauseRxTime[3] != 1_280_000 {
		t.Errorf("%d pause frames, paused for %d ps, want one and 1280000", c.PauseRx[3], c.PauseRxTime[3])
	}
	if _, err := n.Finish(); err != nil {
		t.Error(err)
	}
}
