package netsim

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A gray port loses its share of packets and counts nothing: what it has sent and what the far end received differ, and that is all there is.
func TestSilentDrop(t *testing.T) {
	f := leafSpine(1, 2, 1)
	leaf := f.Ports[f.Endpoints[1]].Peer
	cfg := plain()
	cfg.NIC.Transport, cfg.NIC.Timeout = IRN, 6
	cfg.Faults = []Fault{{Kind: SilentDrop, Port: uint32(leaf), Loss: 0.01}}
	n, s := run(t, f, planOf(send(0, 1, 40_960_000)), cfg)
	// 10000 packets and those repeated, 1 % of them: 100, with a deviation of 10.
	lost := float64(s.Drops[DropSilent])
	if math.Abs(lost-100) > 50 {
		t.Errorf("%.0f packets lost, want about 100", lost)
	}
	tx, rx := n.Port(leaf), n.Port(f.Endpoints[1])
	if rx.CRCErrors != 0 || tx.Drops[DropBufferFull] != 0 || tx.LinkDowns != 0 {
		t.Errorf("something was counted: %+v", rx)
	}
	if gap := tx.TxPackets[3] - rx.RxPackets[3]; gap != s.Drops[DropSilent] {
		t.Errorf("sent less received is %d packets, %d were lost", gap, s.Drops[DropSilent])
	}
}

// A gray port that hits some flows leaves the others alone.
func TestSilentDropOfFlows(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.NIC.Timeout, cfg.NIC.QPs, cfg.NIC.RetryCount = 6, 64, 1
	cfg.Faults = []Fault{{Kind: SilentDrop, Port: uint32(f.Endpoints[0]), Loss: 1, Flows: 0.25}}
	var ops []workload.Op
	for range 64 {
		ops = append(ops, send(0, 1, 40_960))
	}
	n, s := run(t, f, planOf(ops...), cfg)
	stuck := 0
	for _, o := range n.Ops() {
		if o.End.Before(o.Start) {
			stuck++
		}
	}
	// Of 64 flows a quarter, 16, with a deviation of 3.5.
	if stuck < 4 || stuck > 30 || !s.Stalled {
		t.Errorf("%d of 64 flows are black-holed, want about 16", stuck)
	}
	if c := n.NIC(0); c.RetryExceeded != uint64(stuck) {
		t.Errorf("%d QPs gave up, %d are stuck", c.RetryExceeded, stuck)
	}
}

// A link that is dead one way loses all that goes there and nothing of what comes back; with BFD the switches leave it after three intervals,
// without they never do.
func TestOneWayDown(t *testing.T) {
	f := leafSpine(2, 2, 2)
	leaf := f.Ports[f.Ports[f.Endpoints[0]].Peer].Node
	dead := f.NextHops(leaf, 2)[0]
	for _, bfd := range []units.Duration{0, 20 * units.Microsecond} {
		cfg := plain()
		cfg.Path, cfg.NIC.Transport, cfg.NIC.Timeout, cfg.NIC.RetryCount = Random, UEC, 6, 2
		cfg.Switch.BFD = BFDConfig{Interval: bfd, Reroute: 5 * units.Microsecond}
		cfg.Faults = []Fault{{Kind: OneWayDown, Port: uint32(dead), At: 10 * units.Microsecond}}
		var last units.Instant
		cfg.Probe = &Probe{Drop: func(p fabric.PortID, why DropReason, at units.Instant) {
			if why == DropLinkDown {
				last = at
				if p != dead {
					t.Errorf("lost at %s", f.PortName(p))
				}
			}
		}}
		n, s := run(t, f, planOf(send(0, 2, 10_000_000), send(2, 0, 10_000_000)), cfg)
		if s.Stalled || s.Drops[DropLinkDown] == 0 {
			t.Errorf("bfd %v: stalled %v, drops %v", bfd, s.Stalled, s.Drops)
		}
		if c := n.Port(dead); c.LinkDowns != 0 || n.Port(f.Ports[dead].Peer).LinkDowns != 0 {
			t.Errorf("a link-down was counted")
		}
		known := last.Sub(units.At(int64(10 * units.Microsecond)))
		if bfd > 0 && (known > 3*bfd+6*units.Microsecond || known < 2*bfd) {
			t.Errorf("with BFD of 3 x %v packets were lost until %v after it broke", bfd, known)
		}
		if bfd == 0 && known < 150*units.Microsecond {
			t.Errorf("without BFD nothing was lost after %v", known)
		}
	}
}

// A pause that is lost on a dead direction ends, so that nothing hangs for ever; the pauses that still hold when it heals are repeated.
func TestOneWayDownLosesPauses(t *testing.T) {
	for _, quanta := range []int{0, 2000} {
		f := leafSpine(1, 9, 1)
		cfg := plain()
		cfg.Switch.XOFF, cfg.Switch.XON, cfg.Switch.PauseQuanta = 8*4160, 4160, quanta
		cfg.NIC.Timeout = 6
		cfg.Faults = []Fault{{Kind: OneWayDown, Port: uint32(f.Ports[f.Endpoints[1]].Peer), At: 20 * units.Microsecond, For: 40 * units.Microsecond}}
		n, s := run(t, f, incastPlan(8, 1_000_000), cfg)
		if s.Stalled {
			t.Errorf("quanta %d: stalled", quanta)
		}
		// A NIC that hears no pause overruns the headroom of its port and of no other.
		for p := range f.Ports {
			lost := n.Port(fabric.PortID(p)).Drops[DropHeadroomFull]
			if concerned := fabric.PortID(p) == f.Ports[f.Endpoints[1]].Peer; (lost > 0) != concerned {
				t.Errorf("quanta %d: %s overran its headroom %d times", quanta, f.PortName(fabric.PortID(p)), lost)
			}
		}
	}
}

// A switch that reboots loses all its links and what it holds, and comes back; packets go another way meanwhile.
func TestSwitchReboot(t *testing.T) {
	f := leafSpine(2, 2, 2)
	spine := f.Switches()[2]
	if f.Nodes[spine].Role != fabric.Spine {
		t.Fatal(f.Nodes[spine])
	}
	cfg := plain()
	cfg.Path, cfg.NIC.Transport, cfg.NIC.Timeout = Random, UEC, 6
	cfg.Faults = []Fault{{Kind: SwitchReboot, Port: uint32(f.Nodes[spine].FirstPort), At: 20 * units.Microsecond, For: 100 * units.Microsecond,
		Detect: 10 * units.Microsecond, Recover: 30 * units.Microsecond}}
	n := start(t, f, planOf(send(0, 2, 20_000_000), send(1, 3, 20_000_000)), cfg)
	first := f.Nodes[spine].FirstPort
	sent := func() (b uint64) {
		for i := range f.Nodes[spine].NumPorts {
			b += n.Port(first + fabric.PortID(i)).RxBytes[3]
		}
		return b
	}
	var at [5]uint64
	for i, us := range []int64{20, 35, 148, 155, 200} {
		if _, err := n.RunUntil(units.At(us * 1_000_000)); err != nil {
			t.Fatal(err)
		}
		at[i] = sent()
	}
	if at[0] == 0 || at[1] != at[0] || at[2] != at[1] || at[4] <= at[3] {
		t.Errorf("the spine had received %v bytes at 20, 35, 148, 155 and 200 us; it is away from 20 to 120, and avoided from 30 to 150", at)
	}
	for i := range f.Nodes[spine].NumPorts {
		p := first + fabric.PortID(i)
		if n.Port(p).LinkDowns != 1 || n.Port(f.Ports[p].Peer).LinkDowns != 1 {
			t.Errorf("%s or its peer counted no link-down", f.PortName(p))
		}
	}
	if done, err := n.RunUntil(units.At(never)); !done || err != nil {
		t.Fatal(done, err)
	}
	if _, err := n.Finish(); err != nil {
		t.Error(err)
	}
}

// A NIC that is reset loses its QPs: its own fail at once, those of its peers after their retries. Connections opened afterwards work.
func TestNICReset(t *testing.T) {
	f := leafSpine(1, 3, 1)
	cfg := plain()
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 6, 2
	cfg.Faults = []Fault{{Kind: NICReset, Port: uint32(f.Endpoints[0]), At: 10 * units.Microsecond, For: 20 * units.Microsecond}}
	late := send(0, 1, 100_000)
	late.At, late.Channel = 100*units.Microsecond, 7
	n, s := run(t, f, planOf(send(0, 1, 4_000_000), send(0, 1, 1000), send(2, 0, 4_000_000), late, send(2, 1, 4_000_000)), cfg)
	ended := func(i int) bool { return !n.Ops()[i].End.Before(n.Ops()[i].Start) }
	for i, want := range []bool{false, false, false, true, true} {
		if ended(i) != want {
			t.Errorf("operation %d ended: %v, want %v", i, ended(i), want)
		}
	}
	own, peer := n.NIC(0), n.NIC(2)
	if own.FlushErrors != 2 || own.RetryExceeded != 0 || peer.RetryExceeded != 1 || peer.FlushErrors != 0 || !s.Stalled {
		t.Errorf("reset NIC %+v\npeer %+v", own, peer)
	}
	if n.Port(f.Endpoints[0]).LinkDowns != 1 {
		t.Error("no link-down")
	}
}

// A link that flaps faster than it is noticed is never left, one that stays down long enough is; and it is used again only after the time to
// recover.
func TestDetectionOfFlaps(t *testing.T) {
	f := leafSpine(2, 1, 2)
	leaf := f.Ports[f.Ports[f.Endpoints[0]].Peer].Node
	link := f.NextHops(leaf, 1)[0]
	for _, c := range []struct {
		down, detect units.Duration
		left         bool
	}{{5 * units.Microsecond, 20 * units.Microsecond, false}, {40 * units.Microsecond, 20 * units.Microsecond, true}} {
		cfg := plain()
		cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(link), At: 10 * units.Microsecond, For: c.down, Every: 200 * units.Microsecond,
			Detect: c.detect, Recover: 50 * units.Microsecond}}
		cfg.NIC.Transport, cfg.Path = UEC, Random
		n := start(t, f, planOf(send(0, 1, 20_000_000)), cfg)
		uses := func(at units.Duration) int {
			if _, err := n.RunUntil(units.At(int64(at))); err != nil {
				t.Fatal(err)
			}
			return len(n.routes.Ports(leaf, 1))
		}
		want := 2
		if c.left {
			want = 1
		}
		if got := uses(35 * units.Microsecond); got != want {
			t.Errorf("down for %v, noticed after %v: %d ports in use at 35 us", c.down, c.detect, got)
		}
		if got := uses(90 * units.Microsecond); got != want {
			t.Errorf("down for %v: %d ports in use at 90 us, before the time to recover is over", c.down, got)
		}
		if got := uses(110 * units.Microsecond); got != 2 {
			t.Errorf("down for %v: %d ports in use after the recovery", c.down, got)
		}
	}
}

// A degraded link is left when somebody notices, and only then.
func TestDegradedLinkIsLeft(t *testing.T) {
	f := leafSpine(2, 1, 2)
	leaf := f.Ports[f.Ports[f.Endpoints[0]].Peer].Node
	link := f.NextHops(leaf, 1)[0]
	for _, detect := range []units.Duration{0, 20 * units.Microsecond} {
		cfg := plain()
		cfg.Faults = []Fault{{Kind: RateDegraded, Port: uint32(link), Rate: 50 * units.Gbps, Detect: detect}}
		cfg.NIC.Transport, cfg.Path = Place, Random
		n, _ := run(t, f, planOf(send(0, 1, 20_000_000)), cfg)
		if left := took(n, 0) < 500*units.Microsecond; left != (detect > 0) { // half of it at 50 Gbit/s takes 1.6 ms
			t.Errorf("noticed after %v: took %v", detect, took(n, 0))
		}
	}
}
