package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Go-back-N repairs what bit errors destroy: every message arrives whole, at the price of all that flew behind a lost packet.
func TestGoBackNRecovers(t *testing.T) {
	f := leafSpine(2, 2, 1)
	cfg := plain()
	cfg.NIC.Timeout = 6 // 262 us
	cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 1e-7}}
	n, s := run(t, f, planOf(send(0, 2, 20_000_000)), cfg)
	// 4883 packets of 33280 bits: each is wrong with 1-(1-1e-7)^33280 = 0.33 %, 16 of them on average.
	lost := s.Drops[DropCorrupt]
	if lost < 4 || lost > 60 {
		t.Errorf("%d packets corrupt, expected 16 and a share of the repeated ones", lost)
	}
	leaf := f.Ports[f.Endpoints[0]].Peer
	if crc := n.Port(leaf).CRCErrors; crc != lost {
		t.Errorf("the receiver of the link counted %d CRC errors, %d packets were dropped for it", crc, lost)
	}
	tx, rx := n.NIC(0), n.NIC(2)
	if tx.PacketSeqErr == 0 || tx.RetransmitPackets < lost || rx.OutOfSequence == 0 {
		t.Errorf("sender %+v, receiver %+v", tx, rx)
	}
	// Behind each lost packet flew those of one round trip: 8 us / 83.2 ns = 96, and they are sent again.
	if per := tx.RetransmitPackets / lost; per < 50 || per > 150 {
		t.Errorf("%d packets sent again for each lost one, one round trip holds 96", per)
	}
}

// A NAK goes out once for each expected packet, not for each packet out of order.
func TestOneNAKForEachGap(t *testing.T) {
	f := leafSpine(2, 2, 1)
	cfg := plain()
	cfg.NIC.Timeout = 6
	cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 3e-8}}
	n, s := run(t, f, planOf(send(0, 2, 20_000_000)), cfg)
	if naks := n.NIC(0).PacketSeqErr; naks == 0 || naks > s.Drops[DropCorrupt] {
		t.Errorf("%d NAKs for %d lost packets", naks, s.Drops[DropCorrupt])
	}
}

// Spraying packets over paths overtakes: go-back-N takes that for loss, placement does not.
func TestSprayNeedsPlacement(t *testing.T) {
	f := leafSpine(4, 4, 4)
	p := permutation(16, 4_000_000, 3)
	share := map[Transport]float64{}
	for _, tr := range []Transport{GoBackN, Place} {
		cfg := plain()
		cfg.Path, cfg.NIC.Transport = Random, tr
		n, s := run(t, f, p, cfg)
		var again, sent uint64
		for ep := range f.Endpoints {
			again += n.NIC(int32(ep)).RetransmitPackets
			sent += n.NIC(int32(ep)).TxDataBytes / 4096
		}
		share[tr] = float64(again) / float64(sent)
		if tr == Place && (again != 0 || s.Drops != [DropReasons]uint64{}) {
			t.Errorf("place sent %d packets again, drops %v", again, s.Drops)
		}
		if tr == Place && n.NIC(int32(f.Ports[f.Endpoints[p.Ops[0].Dst]].Endpoint)).OutOfSequence == 0 {
			t.Error("nothing came out of order, the test tests nothing")
		}
	}
	if share[GoBackN] < 0.5 { // 87-96 % in an independent model of the same experiment
		t.Errorf("go-back-N repeated %.0f %% of what it sent under spraying", 100*share[GoBackN])
	}
}

// Place repairs loss by sending again what was lost and little else.
func TestPlaceRecovers(t *testing.T) {
	f := leafSpine(2, 2, 2)
	cfg := plain()
	cfg.Path, cfg.NIC.Transport = Random, Place
	cfg.NIC.LossDistance, cfg.NIC.Timeout = 128, 6
	cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 3e-7}}
	n, s := run(t, f, planOf(send(0, 2, 40_000_000)), cfg)
	lost := s.Drops[DropCorrupt]
	again := n.NIC(0).RetransmitPackets
	if lost < 30 || again < lost || again > lost+lost/2 {
		t.Errorf("%d lost, %d sent again", lost, again)
	}
	if s.Drops[DropOutOfOrder] != 0 {
		t.Errorf("%d packets dropped for being out of order", s.Drops[DropOutOfOrder])
	}
}

// A lost end of a message is found by the timeout alone, in both transports, even when all of it is lost.
func TestTailLoss(t *testing.T) {
	for tr, rto := range map[Transport]units.Duration{
		GoBackN: InfiniBandTimeout(6), Place: InfiniBandTimeout(6), IRN: 320 * units.Microsecond, UEC: 100 * units.Microsecond,
	} {
		f := leafSpine(1, 2, 1)
		cfg := plain()
		cfg.NIC.Transport, cfg.NIC.Timeout = tr, 6
		cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), At: 3 * units.Microsecond, For: 20 * units.Microsecond}}
		n, _ := run(t, f, planOf(send(0, 1, 400_000)), cfg)
		if got := took(n, 0); got < rto || got > 2*rto {
			t.Errorf("%s: took %v, the timeout is %v", tr, got, rto)
		}
		if c := n.NIC(0); c.LocalAckTimeout != 1 || c.RetransmitPackets == 0 {
			t.Errorf("%s: %+v", tr, c)
		}
	}
}

// A QP whose peer is gone gives up after its retries, tells the probe, and the run ends as stalled; what does not depend on it is done.
func TestRetryExceeded(t *testing.T) {
	f := leafSpine(1, 3, 1)
	cfg := plain()
	cfg.NIC.Timeout, cfg.NIC.RetryCount = 6, 3
	cfg.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Endpoints[1]), At: 3 * units.Microsecond}}
	var at units.Instant
	cfg.Probe = &Probe{RetryExceeded: func(src, dst fabric.PortID, t units.Instant) {
		if src == f.Endpoints[0] && dst == f.Endpoints[1] {
			at = t
		}
	}}
	var b workload.Builder
	lost := b.Add(send(0, 1, 400_000))
	b.Add(send(1, 2, 1000), lost)
	b.Add(send(0, 2, 400_000))
	n, s := run(t, f, b.Plan(), cfg)
	if !s.Stalled || !n.Stalled() {
		t.Error("not stalled")
	}
	ops := n.Ops()
	if !ops[0].End.Before(ops[0].Start) || !ops[1].End.Before(ops[1].Start) || ops[2].End.Before(ops[2].Start) {
		t.Errorf("operations %v", ops)
	}
	// Three retries and the wait after the last: four timeouts after the last progress, which lies before the link went down.
	rto := 4096 * units.Nanosecond << 6
	if d := at.Sub(units.At(0)); d < 4*rto || d > 4*rto+20*units.Microsecond {
		t.Errorf("gave up at %v, four timeouts are %v", d, 4*rto)
	}
	if c := n.NIC(0); c.RetryExceeded != 1 || c.LocalAckTimeout != 4 {
		t.Errorf("%+v", c)
	}
}

// Sequence numbers wrap at 2^24 without anyone noticing: every QP starts at a random one, so one that starts high enough wraps soon.
func TestPSNWraps(t *testing.T) {
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC} {
		f := leafSpine(2, 1, 2)
		cfg := plain()
		cfg.NIC.Transport, cfg.NIC.Timeout, cfg.NIC.LossDistance = tr, 6, 128
		cfg.Faults = []Fault{{Kind: BitErrors, Port: uint32(f.Endpoints[0]), BER: 1e-7}}
		n := start(t, f, planOf(send(0, 1, 8_000_000)), cfg)
		if _, err := n.RunUntil(units.At(0)); err != nil {
			t.Fatal(err)
		}
		// The first packet is out; put the rest 100 packets before the wrap by renumbering both ends and what flies.
		shift := psnMask - 100 - n.snd[0].psn0
		n.snd[0].psn0 += shift
		for i := range n.pool.packets {
			n.pool.packets[i].psn = (n.pool.packets[i].psn + shift) & psnMask
		}
		done, err := n.RunUntil(units.At(never))
		if !done || err != nil {
			t.Fatal(tr, done, err)
		}
		if _, err := n.Finish(); err != nil {
			t.Error(tr, err)
		}
		if n.NIC(0).RetransmitPackets == 0 {
			t.Errorf("%s: nothing was lost around the wrap", tr)
		}
	}
}

// Coalesced acknowledgements: one for every n packets and one at the end of the message.
func TestAckEvery(t *testing.T) {
	for every, acks := range map[int]uint64{1: 100, 4: 25, 16: 7, 1000: 1} {
		cfg := plain()
		cfg.NIC.AckEvery = every
		f := leafSpine(1, 2, 1)
		n := start(t, f, planOf(send(0, 1, 100*4096)), cfg)
		if done, err := n.RunUntil(units.At(never)); !done || err != nil {
			t.Fatal(done, err)
		}
		if got := n.Port(f.Endpoints[1]).TxPackets[3]; got != acks {
			t.Errorf("every %d: %d acknowledgements, want %d", every, got, acks)
		}
	}
}

// A window holds the sender to window per round trip.
func TestWindow(t *testing.T) {
	cfg := plain()
	cfg.NIC.Window = 4 * 4096
	n, _ := run(t, leafSpine(1, 2, 1), planOf(send(0, 1, 400*4096)), cfg)
	rtt := units.Duration(2*(full+1_000_000) + 2*(1280+1_000_000))
	if got, want := took(n, 0), 100*rtt; got < want-rtt || got > want+rtt {
		t.Errorf("100 windows took %v, want %v", got, want)
	}
}

// Messages go to the QPs of a connection in turn, or each is cut over all of them; either way every QP carries its share.
func TestQPsShareMessages(t *testing.T) {
	for _, split := range []bool{false, true} {
		cfg := plain()
		cfg.NIC.QPs, cfg.NIC.Split = 4, split
		var ops []workload.Op
		for range 8 {
			ops = append(ops, send(0, 1, 1_000_001))
		}
		n, _ := run(t, leafSpine(1, 2, 1), planOf(ops...), cfg)
		if len(n.snd) != 4 {
			t.Fatalf("%d QPs", len(n.snd))
		}
		for q := range n.snd {
			if n.snd[q].end != n.snd[0].end {
				t.Errorf("split %v: QP %d carried %d packets, QP 0 %d", split, q, n.snd[q].end, n.snd[0].end)
			}
		}
		var bytes uint64
		if bytes = n.NIC(1).RxDataBytes; bytes != 8*1_000_001 {
			t.Errorf("split %v: %d bytes arrived", split, bytes)
		}
	}
}
