package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

// again is the share of data packets that were sent again, over all NICs.
func again(n *Network) float64 {
	var repeated, sent uint64
	for ep := range n.nics {
		c := n.NIC(int32(ep))
		repeated += c.RetransmitPackets
		sent += c.TxDataBytes / uint64(n.mtu)
	}
	return float64(repeated) / float64(sent)
}

// slowest is the end of the last operation over the end of the first: how unevenly a permutation is done.
func slowest(n *Network) units.Duration {
	var last units.Duration
	for i := range n.Ops() {
		last = max(last, took(n, i))
	}
	return last
}

// What a transport makes of packets that overtake each other without loss: go-back-N sends most of everything again, selective repeat a
// good part, placement and unordered delivery nothing. An independent model of the experiment gave 87-96 %, 22-43 %, 0 and 0.
func TestTransportsUnderSpraying(t *testing.T) {
	f := leafSpine(4, 8, 8)
	p := permutation(32, 2_000_000, 3)
	for _, c := range []struct {
		transport   Transport
		least, most float64
	}{{GoBackN, 0.5, 1}, {IRN, 0.10, 0.5}, {Place, 0, 0}, {UEC, 0, 0}} {
		cfg := plain()
		cfg.Path, cfg.NIC.Transport = Random, c.transport
		n, s := run(t, f, p, cfg)
		share := again(n)
		t.Logf("%-9s %5.1f %% sent again, slowest flow %v, late %d, distance p50 %d p99 %d max %d, %v beyond gaps, state %v a QP",
			c.transport, 100*share, slowest(n), s.Reordering.Late, s.Reordering.P50, s.Reordering.P99, s.Reordering.Max, s.Reordering.HeldPeak, s.Reordering.StateBytes())
		if share < c.least || share > c.most {
			t.Errorf("%s: %.1f %% sent again, want %.0f to %.0f", c.transport, 100*share, 100*c.least, 100*c.most)
		}
		if s.Reordering.Late == 0 || s.Reordering.P99 > s.Reordering.Max || s.Reordering.P50 > s.Reordering.P99 {
			t.Errorf("%s: reordering %+v", c.transport, s.Reordering)
		}
	}
	// By flow nothing overtakes, in any of them.
	for _, tr := range []Transport{GoBackN, IRN, Place, UEC} {
		cfg := plain()
		cfg.NIC.Transport = tr
		n, s := run(t, f, p, cfg)
		if s.Reordering != (Reordering{}) || again(n) != 0 {
			t.Errorf("%s by flow: %+v, %.1f %% sent again", tr, s.Reordering, 100*again(n))
		}
	}
}

// The repair of loss, and what it costs: at 3e-7 about 1 % of packets are lost. Go-back-N sends a round trip of packets again for each,
// the others little more than what was lost; all deliver everything.
func TestTransportsUnderLoss(t *testing.T) {
	f := leafSpine(2, 2, 2)
	for _, c := range []struct {
		transport Transport
		path      PathChoice
		least     float64 // sent again for each lost
		most      float64
	}{{GoBackN, ECMP, 40, 150}, {IRN, ECMP, 1, 1.3}, {Place, Random, 1, 1.5}, {UEC, ECMP, 1, 1.3}, {UEC, Random, 1, 1.3}} {
		cfg := plain()
		cfg.Path, cfg.NIC.Transport = c.path, c.transport
		cfg.NIC.Timeout, cfg.NIC.LossDistance = 6, 128
		cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 3e-7}}
		n, s := run(t, f, planOf(send(0, 2, 20_000_000), send(0, 2, 20_000_000)), cfg)
		lost, repeated := float64(s.Drops[DropCorrupt]), float64(n.NIC(0).RetransmitPackets)
		t.Logf("%-9s %-6s %3.0f lost, %5.0f sent again, %v, %d timeouts", c.transport, c.path, lost, repeated, took(n, 1), n.NIC(0).LocalAckTimeout)
		if s.Stalled || lost < 30 || repeated < c.least*lost || repeated > c.most*lost {
			t.Errorf("%s %s: %.0f lost, %.0f sent again", c.transport, c.path, lost, repeated)
		}
	}
}

// IRN has a bandwidth-delay product in flight and no more: alone it fills the wire, and a second flow finds a queue of that much at most.
func TestIRNWindow(t *testing.T) {
	f := leafSpine(2, 2, 1)
	cfg := plain()
	cfg.NIC.Transport = IRN
	n, _ := run(t, f, planOf(send(0, 2, 40_000_000)), cfg)
	// Round trip of a full packet over four links and of its ACK: 8 us + 4 x 83.2 ns + 4 x 1.28 ns = 8.338 us; 417 KB, 101 packets.
	if got := n.flights[0].window; got != 101*4096 {
		t.Errorf("window %d, want 101 packets", got)
	}
	alone := took(n, 0)
	if floor := pipeline(40_000_000, 4); alone != floor {
		t.Errorf("a flow alone took %v, the wire %v", alone, floor)
	}
	n, s := run(t, f, planOf(send(0, 3, 40_000_000), send(1, 3, 40_000_000), send(2, 3, 40_000_000)), cfg)
	out := f.Ports[f.Endpoints[3]].Peer
	if peak := n.Port(out).QueuePeak[3]; peak > 3*101*4160 {
		t.Errorf("three flows queued %d bytes, their windows are %d", peak, 3*101*4160)
	}
	if s.Drops != [DropReasons]uint64{} || again(n) != 0 {
		t.Errorf("drops %v, %.1f %% sent again", s.Drops, 100*again(n))
	}
}

// With few packets out a loss costs IRN the short timeout.
func TestIRNShortTimeout(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.NIC.Transport = IRN
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), For: 20 * units.Microsecond}}
	n, _ := run(t, f, planOf(send(0, 1, 3*4096)), cfg)
	if got := took(n, 0); got < 100*units.Microsecond || got > 105*units.Microsecond {
		t.Errorf("3 packets lost cost %v, want the short timeout of 100 us and a trip", got)
	}
}

// The transports with short timers of their own give up no sooner than InfiniBand: after its timeout and its retries without progress.
func TestShortTimersGiveUpLate(t *testing.T) {
	for _, tr := range []Transport{IRN, UEC} {
		f := leafSpine(1, 2, 1)
		cfg := plain()
		cfg.NIC.Transport, cfg.NIC.Timeout, cfg.NIC.RetryCount = tr, 9, 2
		cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), At: 3 * units.Microsecond}}
		n, s := run(t, f, planOf(send(0, 1, 400_000)), cfg)
		least := 3 * InfiniBandTimeout(9)
		if c := n.NIC(0); !s.Stalled || c.RetryExceeded != 1 {
			t.Errorf("%s: stalled %v, %+v", tr, s.Stalled, c)
		}
		if end := s.End.Sub(units.At(0)); end < least || end > least+400*units.Microsecond {
			t.Errorf("%s gave up at %v, three timeouts are %v", tr, end, least)
		}
	}
}

// Unordered delivery completes a message that is whole although an earlier one is not; in order completion waits.
func TestUECCompletesOutOfOrder(t *testing.T) {
	f := leafSpine(1, 2, 1)
	for _, tr := range []Transport{UEC, IRN} {
		cfg := plain()
		cfg.NIC.Transport = tr
		// The first packet is lost: it reaches the switch after 1083 ns, the next one after 1166.
		cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), For: 1100 * units.Nanosecond}}
		n, _ := run(t, f, planOf(send(0, 1, 4096), send(0, 1, 40*4096)), cfg)
		first, second := n.Ops()[0].End, n.Ops()[1].End
		if tr == UEC && !second.Before(first) {
			t.Errorf("uec: the second message ended at %v, the first at %v", second, first)
		}
		if tr == IRN && second.Before(first) {
			t.Errorf("irn: the second message ended at %v, before the first at %v", second, first)
		}
	}
}

// Acknowledgements of uec: for 4 packets of 4096 bytes, for the first of a QP and for the last of a message.
func TestUECAcks(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.NIC.Transport = UEC
	n, _ := run(t, f, planOf(send(0, 1, 101*4096)), cfg)
	// After the first packet 100 are left: 25 acknowledgements, the last of which is that of the end.
	if got := n.Port(f.Endpoints[1]).TxPackets[7]; got != 26 {
		t.Errorf("%d acknowledgements, want 26", got)
	}
}

// Without trimming SLEEK finds a loss when a window and more has come beyond it, long before the timeout.
func TestSLEEK(t *testing.T) {
	f := leafSpine(1, 2, 1)
	cfg := plain()
	cfg.NIC.Transport = UEC
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[0]), At: 20 * units.Microsecond, For: 200 * units.Nanosecond}}
	n, s := run(t, f, planOf(send(0, 1, 4_000_000)), cfg)
	c := n.NIC(0)
	// Some of what the link lost are acknowledgements.
	if c.RetransmitPackets < 10 || c.LocalAckTimeout != 0 || c.RetransmitPackets > s.Drops[DropLinkDown] {
		t.Errorf("%d lost, %d sent again, %d timeouts", s.Drops[DropLinkDown], c.RetransmitPackets, c.LocalAckTimeout)
	}
	if got, want := took(n, 0), pipeline(4_000_000, 2)+15*units.Microsecond; got > want {
		t.Errorf("took %v, want at most %v: a window and a round trip more", got, want)
	}
}

// Retransmissions of one sequence number arrive late by nature and are not overtaken packets.
func TestReorderingCountsNoRetransmissions(t *testing.T) {
	f := leafSpine(1, 2, 1)
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC} {
		cfg := plain()
		cfg.NIC.Transport, cfg.NIC.LossDistance, cfg.NIC.Timeout = tr, 16, 6
		cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 3e-7}}
		n, s := run(t, f, planOf(send(0, 1, 10_000_000)), cfg)
		if s.Reordering.Late != 0 || n.NIC(0).RetransmitPackets == 0 {
			t.Errorf("%s: %d counted late on one path, %d sent again", tr, s.Reordering.Late, n.NIC(0).RetransmitPackets)
		}
		if r := n.Reordering(1); tr != GoBackN && (r.HeldPeak == 0 || r.Span == 0 || r.StateBytes() == 0) {
			t.Errorf("%s: %+v", tr, r)
		}
	}
}

// Two paths of unequal length: of two packets that leave 83.2 ns apart, the one on the path that is 2 us longer comes 24 packets late.
func TestReorderDistanceOfUnequalPaths(t *testing.T) {
	f := leafSpine(2, 1, 2)
	leaf := f.Ports[f.Ports[f.Endpoints[0]].Peer].Node
	long := f.NextHops(leaf, 1)[1]
	f.Ports[long].Delay += 2 * units.Microsecond
	cfg := plain()
	cfg.Path, cfg.NIC.Transport = Random, Place
	_, s := run(t, f, planOf(send(0, 1, 8_000_000)), cfg)
	// All on the short path that left in the 2 us after it: between a few and 2 us / 83.2 ns = 24.04.
	if s.Reordering.Max != 24 || s.Reordering.P50 > 24 || s.Reordering.P50 < 20 {
		t.Errorf("%+v, want a distance of 24 at most", s.Reordering)
	}
}

func TestDistanceClasses(t *testing.T) {
	last := -1
	for d := uint64(0); d < 1<<20; d++ {
		c := distanceClass(d)
		if c < last || c > last+1 || d > classLimit(c) || d > 0 && c > 0 && d <= classLimit(c-1) {
			t.Fatalf("distance %d is in class %d up to %d", d, c, classLimit(c))
		}
		last = c
	}
	if c := distanceClass(1<<24 - 1); c != distances-1 {
		t.Errorf("the largest distance is in class %d of %d", c, distances)
	}
}

func TestNCCLDefaults(t *testing.T) {
	for version, want := range map[string]NCCLSettings{
		"2.13":   {14, 7, 1, true},
		"2.14.3": {18, 7, 1, true},
		"2.19.3": {18, 7, 1, true},
		"2.20.5": {18, 7, 1, false},
		"2.22":   {18, 7, 1, false},
		"2.23.4": {20, 7, 1, false},
		"2.27.3": {20, 7, 1, false},
	} {
		if got, err := NCCLDefaults(version); err != nil || got != want {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
	}
	for _, bad := range []string{"", "2", "3.1", "2.x", "2.-1", "twenty"} {
		if _, err := NCCLDefaults(bad); err == nil {
			t.Errorf("%q is taken for a version", bad)
		}
	}
	c := Defaults(Config{NIC: NICConfig{NCCL: "2.18.1", RetryCount: 3}})
	if c.NIC.Timeout != 18 || c.NIC.RetryCount != 3 || !c.NIC.Split || c.NIC.QPs != 1 {
		t.Errorf("%+v", c.NIC)
	}
	if InfiniBandTimeout(14) != 67_108_864*units.Nanosecond {
		t.Errorf("timeout 14 is %v", InfiniBandTimeout(14))
	}
}

// A trimmed packet tells its receiver what is missing: incast into a shallow lossy queue is repaired without a timeout, and every packet
// that was cut is sent again once for each time it was cut.
func TestTrimming(t *testing.T) {
	f := leafSpine(1, 9, 1)
	for _, c := range []struct {
		transport Transport
		coin      bool
	}{{UEC, false}, {UEC, true}, {Place, false}} {
		cfg := plain()
		cfg.NIC.Transport = c.transport
		cfg.Switch.Lossless, cfg.Switch.Queue = []int{}, 100*4160
		cfg.Switch.Trim = TrimConfig{On: true, Coin: c.coin}
		n, s := run(t, f, incastPlan(8, 2_000_000), cfg)
		cut := s.Drops[DropTrimmed]
		var repeated, naks, timeouts uint64
		for ep := range n.nics {
			k := n.NIC(int32(ep))
			repeated += k.RetransmitPackets
			naks += k.PacketSeqErr
			timeouts += k.LocalAckTimeout
		}
		t.Logf("%s coin %v: %d cut, %d sent again, %v", c.transport, c.coin, cut, repeated, slowest(n))
		if cut == 0 || repeated != cut || naks != cut || timeouts != 0 || n.NIC(0).TrimmedPackets != cut {
			t.Errorf("%s coin %v: %d cut, %d came so, %d asked for, %d sent again, %d timeouts", c.transport, c.coin, cut, n.NIC(0).TrimmedPackets, naks, repeated, timeouts)
		}
		for why, count := range s.Drops {
			if count > 0 && DropReason(why) != DropTrimmed {
				t.Errorf("%d dropped: %v", count, DropReason(why))
			}
		}
		if peak := n.Port(f.Ports[f.Endpoints[0]].Peer).QueuePeak[3]; peak > 100*4160 {
			t.Errorf("the queue held %d bytes, its limit is %d", peak, 100*4160)
		}
	}
}

// A full queue of a lossy class without trimming drops, and its limit holds.
func TestQueueLimit(t *testing.T) {
	cfg := plain()
	cfg.Switch.Lossless, cfg.Switch.Queue = []int{}, 50*4160
	cfg.NIC.Transport = IRN
	n, s := run(t, leafSpine(1, 9, 1), incastPlan(8, 400_000), cfg)
	if peak := n.Port(n.f.Ports[n.f.Endpoints[0]].Peer).QueuePeak[3]; s.Drops[DropBufferFull] == 0 || peak > 50*4160 || peak < 48*4160 {
		t.Errorf("drops %v, the queue peaked at %d of %d", s.Drops, peak, 50*4160)
	}
}

// A packet that has been trimmed is never trimmed again, and where its own queue is full it is dropped.
func TestTrimmedPacketsAreDropped(t *testing.T) {
	cfg := plain()
	cfg.NIC.Transport = UEC
	cfg.Switch.Lossless, cfg.Switch.Queue = []int{}, 4160
	cfg.Switch.Trim.On = true
	_, s := run(t, leafSpine(1, 33, 1), incastPlan(32, 200_000), cfg)
	if s.Drops[DropTrimmed] == 0 || s.Stalled {
		t.Errorf("drops %v, stalled %v", s.Drops, s.Stalled)
	}
}

// Marking at the enqueue looks at the queue that a packet joins, at the dequeue at the one it leaves. Of a burst the packets are marked
// while it comes, or while it drains.
func TestMarkTime(t *testing.T) {
	plan := planOf(send(1, 0, 200*4096), send(2, 0, 200*4096))
	for _, at := range (MarkTime)("").Choices() {
		cfg := plain()
		cfg.Switch.ECN = ECNConfig{KMin: 8*4160 - 1, KMax: 8 * 4160, PMax: 1, At: MarkTime(at)}
		n := start(t, leafSpine(1, 3, 1), plan, cfg)
		out := n.f.Ports[n.f.Endpoints[0]].Peer
		var marked [2]uint64
		for i, until := range []int64{200*full + 1_100_000, never} {
			if _, err := n.RunUntil(units.At(until)); err != nil {
				t.Fatal(err)
			}
			marked[i] = n.Port(out).ECNMarked[3]
		}
		late := marked[1] - marked[0] // when all had come, and half of them had left
		if marked[0] < 180 || MarkTime(at) == AtEnqueue && late > 2 || MarkTime(at) == AtDequeue && late < 180 {
			t.Errorf("%s: %d marked while the burst came, %d after", at, marked[0], late)
		}
	}
}
