package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// incastPlan sends bytes from hosts 1..senders to host 0.
func incastPlan(senders int, bytes units.Bytes) *workload.Plan {
	var ops []workload.Op
	for i := range senders {
		ops = append(ops, send(i+1, 0, bytes))
	}
	return planOf(ops...)
}

// With the computed headroom a lossless class drops nothing, whatever the XOFF point and the length of the wire (N3), and what
// the headroom holds at most is close to its bound: the bound is not idle reserve.
func TestHeadroomSuffices(t *testing.T) {
	for _, c := range []struct {
		name  string
		delay units.Duration
		xoff  units.Bytes
		lat   units.Duration
	}{
		{"1 us, dynamic threshold", units.Microsecond, 0, 0},
		{"1 us, xoff at 8 packets", units.Microsecond, 8 * 4160, 0},
		{"10 us, xoff at 8 packets", 10 * units.Microsecond, 8 * 4160, 0},
		{"1 us, switch latency 2 us", units.Microsecond, 8 * 4160, 2 * units.Microsecond},
	} {
		w := fabric.Wire{Rate: 400 * units.Gbps, Delay: c.delay}
		f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 8, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
		cfg := plain()
		cfg.Switch.XOFF, cfg.Switch.Latency = c.xoff, c.lat
		cfg.Switch.XON = 4160
		var most int64
		n := start(t, f, incastPlan(15, 4_000_000), cfg)
		for at := units.Duration(0); ; at += units.Microsecond {
			done, err := n.RunUntil(units.At(int64(at)))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n.ingress {
				if !n.ports[i/Priorities].host {
					most = max(most, int64(n.ingress[i].headroom))
				}
			}
			if done {
				break
			}
		}
		s, err := n.Finish()
		if err != nil {
			t.Error(err)
		}
		if s.Drops != [DropReasons]uint64{} {
			t.Errorf("%s: dropped %v", c.name, s.Drops)
		}
		room := HeadroomFor(w.Rate, w.Delay, c.lat, 4096)
		if most > int64(room) || most < int64(room)/2 {
			t.Errorf("%s: the headroom held %d bytes at most, its bound is %d", c.name, most, room)
		}
		if pauses := n.Port(f.Endpoints[1]).PauseRx[3]; pauses == 0 {
			t.Errorf("%s: no NIC was paused", c.name)
		}
	}
}

// A headroom that is too small loses packets for that reason and no other.
func TestHeadroomTooSmall(t *testing.T) {
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON, cfg.Switch.Headroom = 8*4160, 4160, 4160
	_, s := run(t, leafSpine(1, 9, 1), incastPlan(8, 1_000_000), cfg)
	if s.Drops[DropHeadroomFull] == 0 {
		t.Error("a headroom of one packet dropped nothing")
	}
	for why, n := range s.Drops {
		if n > 0 && DropReason(why) != DropHeadroomFull && DropReason(why) != DropOutOfOrder && DropReason(why) != DropStale {
			t.Errorf("%d packets dropped: %v", n, DropReason(why))
		}
	}
}

// N2: from the moment a pause begins until it ends, at most the packet on the wire leaves.
func TestNothingLeavesWhilePaused(t *testing.T) {
	f := leafSpine(1, 9, 1)
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON = 8*4160, 4160
	at := map[fabric.PortID]uint64{}
	var n *Network
	pauses := 0
	cfg.Probe = &Probe{Pause: func(p fabric.PortID, prio uint8, on bool, _ units.Instant) {
		sent := n.Port(p).TxPackets[prio]
		if on {
			at[p] = sent
			pauses++
		} else if sent != at[p] { // the packet on the wire was counted when it began
			t.Errorf("%s sent %d packets of class %d while paused", f.PortName(p), sent-at[p], prio)
		}
	}}
	n = start(t, f, incastPlan(8, 1_000_000), cfg)
	if done, err := n.RunUntil(units.At(never)); !done || err != nil {
		t.Fatal(done, err)
	}
	if pauses == 0 {
		t.Error("nothing was paused")
	}
}

// Time paused and time holding paused are the same span seen from the two ends, one link apart; an open pause counts.
func TestPauseTimes(t *testing.T) {
	f := leafSpine(1, 9, 1)
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON = 8*4160, 4160
	n := start(t, f, incastPlan(8, 1_000_000), cfg)
	open := false
	for at := int64(0); ; at += 500_000 {
		done, err := n.RunUntil(units.At(at))
		if err != nil {
			t.Fatal(err)
		}
		nic := f.Endpoints[1]
		rx, tx := n.Port(nic).PauseRxTime[3], n.Port(f.Ports[nic].Peer).PauseTxTime[3]
		if gap := int64(tx) - int64(rx); gap < -1_200_000 || gap > 1_200_000 {
			t.Fatalf("at %d: paused for %d ps, held paused for %d", at, rx, tx)
		}
		if n.ports[nic].paused>>3&1 != 0 {
			open = true
			before := rx
			n.now += 1000
			if after := n.Port(nic).PauseRxTime[3]; after != before+1000 {
				t.Fatalf("an open pause grew by %d in 1000 ps", after-before)
			}
			n.now -= 1000
		}
		if done {
			break
		}
	}
	if !open {
		t.Error("no pause was seen open")
	}
}

// A lossy class has no pause; its queue stays below alpha times the free buffer and the rest is dropped.
func TestLossyClassDrops(t *testing.T) {
	cfg := plain()
	cfg.Switch.Lossless = []int{}
	cfg.Switch.Buffer = 900_000
	cfg.Switch.Alpha = 0.5
	cfg.NIC.Timeout = 4
	n, s := run(t, leafSpine(1, 9, 1), incastPlan(8, 400_000), cfg)
	if s.Drops[DropBufferFull] == 0 || s.Drops[DropHeadroomFull] != 0 {
		t.Errorf("drops %v", s.Drops)
	}
	out := n.f.Ports[n.f.Endpoints[0]].Peer
	c := n.Port(out)
	// A packet of s bytes is let in while q+s <= (B-q)/2, so the queue ends between (B-2s)/3 and (B+s)/3.
	if peak := c.QueuePeak[3]; peak > (900_000+4160)/3 || peak < (900_000-2*4160)/3 {
		t.Errorf("queue peaked at %d bytes, the threshold settles at 300000", peak)
	}
	for ep := range n.f.Endpoints {
		if c := n.Port(n.f.Endpoints[ep]); c.PauseRx[3] != 0 {
			t.Error("a lossy class was paused")
		}
	}
}

// A host that drains slowly pauses its switch, and the pause reaches the senders; nothing is lost and the rate is the host's.
func TestSlowReceiver(t *testing.T) {
	f := leafSpine(2, 2, 2)
	cfg := plain()
	cfg.Switch.XOFF, cfg.Switch.XON = 32*4160, 4160
	cfg.Faults = []Fault{{Kind: SlowReceiver, Port: uint32(f.Endpoints[0]), Rate: 40 * units.Gbps}}
	n, s := run(t, f, planOf(send(2, 0, 10_000_000), send(3, 1, 1_000_000)), cfg)
	if s.Drops != [DropReasons]uint64{} {
		t.Errorf("drops %v", s.Drops)
	}
	if got, want := took(n, 0).Seconds(), 10_000_000*8/40e9*4160/4096; got < want || got > want*1.02 {
		t.Errorf("10 MB through a 40 Gbit/s host took %.6f s, want %.6f", got, want)
	}
	nic := n.Port(f.Endpoints[0])
	if nic.PauseTx[3] == 0 || n.Port(f.Endpoints[2]).PauseRx[3] == 0 {
		t.Error("the pause did not start at the slow host and reach the sender")
	}
	cfg.Faults[0].For = 100 * units.Microsecond
	healed, _ := run(t, f, n.plan, cfg)
	if got := took(healed, 0); got > 400*units.Microsecond {
		t.Errorf("with the fault over after 100 us it took %v", got)
	}
}
