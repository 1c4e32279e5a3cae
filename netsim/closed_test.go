package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// One packet over h links takes h times its serialisation and h propagations. Of a flow the last packet is there when all have passed the first
// link and the last has crossed the others, where it may wait for a longer one in front; pipeline works that out packet by packet.
func TestUncontendedFlow(t *testing.T) {
	f := leafSpine(2, 2, 1)
	for _, c := range []struct {
		name     string
		src, dst int
		bytes    units.Bytes
	}{
		{"one byte within a leaf", 0, 1, 1},
		{"one byte between leaves", 0, 2, 1},
		{"one full packet between leaves", 0, 3, 4096},
		{"2 MB within a leaf", 0, 1, 2_000_000},
		{"2 MB between leaves", 0, 2, 2_000_000},
	} {
		links := 2
		if c.src/2 != c.dst/2 {
			links = 4
		}
		n, _ := run(t, f, planOf(send(c.src, c.dst, c.bytes)), plain())
		if got, want := took(n, 0), pipeline(c.bytes, links); got != want {
			t.Errorf("%s: %d ps, want %d", c.name, got, want)
		}
	}
}

// pipeline is when the last packet is there: packet i leaves link l once it has arrived there whole and packet i-1 has left.
func pipeline(b units.Bytes, links int) units.Duration {
	left := make([]int64, links) // when the previous packet had left each link
	var last int64
	for ; ; b -= 4096 {
		size := min(b, 4096) + 64
		at := int64(0)
		for l := range left {
			left[l] = max(at, left[l]) + int64(size)*20
			at = left[l] + 1_000_000
		}
		last = at
		if b <= 4096 {
			return units.Duration(last)
		}
	}
}

// The floor of a 2 MB flow between leaves at the sender: 488 full packets and one of 1152 bytes, three more links for the last full one,
// eight propagations, and the way back of a 64-byte ACK over 4 links is 48.9 us; our operation ends at the receiver, an ACK earlier.
func TestFloorOfReferenceFlow(t *testing.T) {
	n, _ := run(t, leafSpine(2, 2, 1), planOf(send(0, 2, 2_000_000)), plain())
	withAck := took(n, 0) + 4*(units.Microsecond+1280)
	if us := withAck.Seconds() * 1e6; us < 48.8 || us > 49.0 {
		t.Errorf("first packet to last ACK: %.2f us, want 48.9", us)
	}
}

// n senders into one port share its wire: the last byte arrives when all bytes have passed it once.
func TestIncastIsSerialised(t *testing.T) {
	f := leafSpine(1, 9, 1)
	for _, senders := range []int{2, 8} {
		var ops []workload.Op
		for i := range senders {
			ops = append(ops, send(i+1, 0, 4096*100))
		}
		n, s := run(t, f, planOf(ops...), plain())
		if s.Drops != [DropReasons]uint64{} {
			t.Errorf("%d:1 lossless incast dropped %v", senders, s.Drops)
		}
		// The first packet reaches the switch after 83.2 ns + 1 us; from then on the port to the receiver is never idle.
		want := units.Duration(full + 1_000_000 + senders*100*full + 1_000_000)
		if got := n.Now().Sub(units.At(0)); got != want {
			t.Errorf("%d:1 incast took %v, want %v", senders, got, want)
		}
	}
}

// Within a host transfers go over NVLink one after the other out of each GPU, and no packet is sent.
func TestNVLink(t *testing.T) {
	f := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 1, Spines: 1, Bundle: 1, GPUsPerHost: 3, Access: wire, Trunk: wire,
		NVLink: fabric.NVLink{Rate: 3600 * units.Gbps, Latency: 500 * units.Nanosecond}}.Build()
	n, s := run(t, f, planOf(send(0, 1, 450_000), send(0, 2, 450_000), send(1, 2, 450_000)), plain())
	one := units.Microsecond // 450 KB at 450 GB/s
	for i, want := range []units.Duration{one + 500_000, 2*one + 500_000, one + 500_000} {
		if got := took(n, i); got != want {
			t.Errorf("transfer %d took %v, want %v", i, got, want)
		}
	}
	if s.PacketHops != 0 {
		t.Errorf("%d packet-hops for transfers within a host", s.PacketHops)
	}
}

// Dependencies, earliest starts and computing: an operation starts when what it waits for is done and not before its time.
func TestPlanOrder(t *testing.T) {
	var b workload.Builder
	compute := func(gpu int, d units.Duration, after ...workload.OpID) workload.OpID {
		return b.Add(workload.Op{Kind: workload.Compute, Src: fabric.GPUID(gpu), Time: d}, after...)
	}
	a := compute(0, 10*units.Microsecond)
	second := compute(0, 5*units.Microsecond) // the GPU is busy until 10 us
	s := b.Add(send(0, 1, 1), a)
	late := send(1, 0, 1)
	late.At = 50 * units.Microsecond
	l := b.Add(late, s)
	self := b.Add(send(1, 1, 1<<30), l)
	n, _ := run(t, leafSpine(1, 2, 1), b.Plan(), plain())
	hop := units.Duration(2 * (65*20 + 1_000_000))
	for _, c := range []struct {
		op         workload.OpID
		start, end units.Duration
	}{
		{a, 0, 10 * units.Microsecond},
		{second, 0, 15 * units.Microsecond},
		{s, 10 * units.Microsecond, 10*units.Microsecond + hop},
		{l, 50 * units.Microsecond, 50*units.Microsecond + hop},
		{self, 50*units.Microsecond + hop, 50*units.Microsecond + hop},
	} {
		got := n.Ops()[c.op]
		if got.Start != units.At(int64(c.start)) || got.End != units.At(int64(c.end)) {
			t.Errorf("operation %d ran %v..%v, want %v..%v", c.op, got.Start, got.End, c.start, c.end)
		}
	}
}

// A cap on a Send holds at the source: n packets last n-1 gaps at the cap.
func TestRateCap(t *testing.T) {
	op := send(0, 1, 4096*1000)
	op.Rate = 40 * units.Gbps
	n, _ := run(t, leafSpine(1, 2, 1), planOf(op), plain())
	want := units.Duration(999*10*full + 2*(full+1_000_000))
	if got := took(n, 0); got < want || got > want+10*full {
		t.Errorf("1000 packets at a tenth of the rate took %v, want %v", got, want)
	}
}
