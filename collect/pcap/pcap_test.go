package pcap

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

var a, b = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::2")

// frame is a request of A to queue pair 17 of B, in IPv6.
func frame(psn uint32, set ...func(*packet.Packet)) []byte {
	p := packet.Packet{
		IP: packet.IPHeader{Src: netip.MustParseAddr("2001:db8::1"), Dst: b, DSCP: 26, ECN: packet.ECT0, TTL: 64}, SrcPort: 0xc000,
		BTH: packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 17, PSN: psn}, Payload: make([]byte, 30),
	}
	for _, f := range set {
		f(&p)
	}
	return packet.AppendFrame(nil, p)
}

func file(t testing.TB, speed units.Rate, frames ...[]byte) []byte {
	var out bytes.Buffer
	w, err := packet.NewWriter(&out, packet.PCAPNG, packet.LinkEthernet, speed)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.Write(1_700_000_000_000_000_000+int64(i)*1000, f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func read(t testing.TB, data []byte) *evidence.Inventory {
	inv := &evidence.Inventory{}
	if err := Read(fragment.New(inv, "x.pcapng"), bytes.NewReader(data), nil); err != nil {
		t.Fatal(err)
	}
	return inv
}

func at(line int) evidence.Source { return evidence.Source{File: "x.pcapng", Line: line} }

func TestStream(t *testing.T) {
	inv := read(t, file(t, 0,
		frame(0xfffffe), frame(0xffffff), frame(0), // the numbers wrap
		frame(3, func(p *packet.Packet) { p.IP.ECN = packet.CE; p.SrcPort++ }),
		frame(1), // 2 stays missing
		frame(4, func(p *packet.Packet) { p.Checksum = 1; p.IP.DSCP = 0 }),
	))
	want := evidence.Stream{
		Src: evidence.End{Address: netip.MustParseAddr("2001:db8::1")}, Dst: evidence.End{Address: b}, QP: 17, Transport: "RC", From: at(1),
		Packets: 6, Bytes: 6 * 110, Requests: 6, MTU: 30, Ports: 2,
		Classes: []evidence.Class{{DSCP: 26, Priority: -1, Tally: evidence.Tally{Count: 5, At: at(1)}}, {DSCP: 0, Priority: -1, Tally: evidence.Tally{Count: 1, At: at(6)}}},
		Capable: 6, Marked: evidence.Tally{Count: 1, At: at(4)}, Checked: 6, Checksums: evidence.Tally{Count: 1, At: at(6)},
		Holes: evidence.Tally{Count: 1, At: at(4)}, Missing: 1, OutOfOrder: evidence.Tally{Count: 1, At: at(5)},
	}
	if diff := cmp.Diff([]evidence.Stream{want}, inv.Captures[0].Streams, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if c := inv.Captures[0]; c.Frames != 6 || c.RoCE != 6 || c.Cut != 0 || c.Span != 5*units.Microsecond {
		t.Errorf("capture %+v", c)
	}
}

// A sender that goes back repeats; what fills the hole is the first of what it repeats, and not overtaken.
func TestGoBack(t *testing.T) {
	for _, c := range []struct {
		name                   string
		numbers                []uint32
		holes, late, again, no int
	}{
		{"in order", []uint32{5, 6, 7, 8}, 0, 0, 0, 0},
		{"lost before", []uint32{5, 7, 8, 6, 7, 8, 9}, 1, 0, 3, 0},
		{"two lost before", []uint32{5, 8, 9, 6, 7, 8, 9, 10}, 1, 0, 4, 0},
		{"overtaken", []uint32{5, 7, 6, 8}, 1, 1, 0, 0},
		{"never seen", []uint32{5, 9, 10}, 1, 0, 0, 3},
		{"lost behind", []uint32{5, 6, 7, 5, 6, 7}, 0, 0, 3, 0},
		{"another queue pair of the number", []uint32{5, 6, 0x800000, 0x800001}, 0, 0, 0, 0},
	} {
		var frames [][]byte
		for _, n := range c.numbers {
			frames = append(frames, frame(n))
		}
		s := read(t, file(t, 0, frames...)).Captures[0].Streams[0]
		if s.Holes.Count != c.holes || s.OutOfOrder.Count != c.late || s.Again.Count != c.again || s.Missing != c.no {
			t.Errorf("%s: holes %d late %d again %d missing %d, want %d %d %d %d", c.name, s.Holes.Count, s.OutOfOrder.Count, s.Again.Count, s.Missing, c.holes, c.late, c.again, c.no)
		}
	}
}

// The answers to a read take the numbers behind its request, as many as the path MTU makes of it.
func TestReadTakesNumbers(t *testing.T) {
	ask := func(psn, bytes uint32) []byte {
		return frame(psn, func(p *packet.Packet) {
			p.BTH.Opcode, p.Headers, p.Payload = packet.RC|packet.ReadRequest, packet.AppendRETH(nil, 1, 1, bytes), nil
		})
	}
	s := read(t, file(t, 0, ask(10, 16384), frame(14), ask(15, 16384), frame(31), ask(32, 16384), frame(200))).Captures[0].Streams[0]
	if s.Holes.Count != 1 || s.Holes.At != at(6) {
		t.Errorf("holes %+v, want the one behind the last read: 4 and 16 answers fit 16 KiB, 168 do not", s.Holes)
	}
}

func TestPauses(t *testing.T) {
	mac := packet.MAC{2, 0, 0, 0, 0, 9}
	on, off := packet.AppendPFC(nil, mac, 8, [8]uint16{3: 1000}), packet.AppendPFC(nil, mac, 8, [8]uint16{})
	// At 100 Gb/s 1000 quanta are 5.12 us; frames are 1 us apart: held 2 us, then 1 us, then to the end.
	got := read(t, file(t, 100*units.Gbps, on, on, off, on, off, on)).Captures[0].Pauses
	want := []evidence.Pauses{{
		Sender: "02:00:00:00:00:09", Priority: 3, Frames: evidence.Tally{Count: 4, At: at(1)}, Resumes: 2, Quanta: 4000,
		Held: 8*units.Microsecond + 120*units.Nanosecond, Longest: 5*units.Microsecond + 120*units.Nanosecond, Exact: true,
		HeldLeast: 8*units.Microsecond + 120*units.Nanosecond, LongestLeast: 5*units.Microsecond + 120*units.Nanosecond,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got = read(t, file(t, 0, on)).Captures[0].Pauses; got[0].Exact || got[0].Held != 51200*units.Nanosecond || got[0].HeldLeast != 320*units.Nanosecond {
		t.Errorf("without speed: %+v", got[0])
	}
}

func TestFlowsOfOthers(t *testing.T) {
	h := packet.IPHeader{Src: a, Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, TTL: 64, Protocol: packet.ProtocolTCP}
	inv := read(t, file(t, 0, packet.AppendOther(nil, packet.MAC{}, packet.MAC{}, h, 40000, 2049, 946), frame(1)))
	if len(inv.Flows) != 2 {
		t.Fatalf("flows %+v", inv.Flows)
	}
	for i, want := range []struct {
		app   string
		bytes units.Bytes
	}{{"nfs", 1000}, {evidence.RoCE, 110}} {
		f := inv.Flows[i]
		if dscp, ok := f.DSCP.Get(); f.Application != want.app || f.Bytes != want.bytes || f.Priority != -1 || !ok || dscp != 26 || f.Timed {
			t.Errorf("flow %+v", f)
		}
	}
}

func TestStreamsAreLimited(t *testing.T) {
	f := fragment.New(&evidence.Inventory{}, "x")
	c := &capture{f: f, streams: map[streamKey]*stream{}, between: map[ends][]*stream{}, pauses: map[pauseKey]*pausing{}}
	for qp := range uint32(MaxStreams + 3) {
		c.frame(packet.Record{Number: 1, Link: packet.LinkEthernet, Data: frame(1, func(p *packet.Packet) { p.BTH.QP = qp })}, nil)
	}
	c.finish(0)
	if got := f.Inv.Captures[0]; len(got.Streams) != MaxStreams || got.Past != 3 || len(f.Inv.Unreadable) != 1 {
		t.Errorf("%d streams, %d past, %v", len(got.Streams), got.Past, f.Inv.Unreadable)
	}
}

func FuzzRead(f *testing.F) {
	mac := packet.MAC{2, 0, 0, 0, 0, 9}
	nak := frame(5, func(p *packet.Packet) {
		p.BTH.Opcode, p.Headers, p.Payload = packet.RC|packet.Acknowledge, packet.AppendAETH(nil, packet.SyndromeNAK, 1), nil
		p.IP.Src, p.IP.Dst = p.IP.Dst, p.IP.Src
	})
	f.Add(file(f, units.Gbps, frame(1), frame(3), frame(2), nak, packet.AppendPFC(nil, mac, 8, [8]uint16{3: 9}), packet.AppendPause(nil, mac, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		inv := &evidence.Inventory{}
		_ = Read(fragment.New(inv, "x"), bytes.NewReader(data), nil)
		for _, c := range inv.Captures {
			for _, s := range c.Streams {
				if s.Missing < 0 || s.OutOfOrder.Count < 0 || s.Requests+s.Answers > s.Packets {
					t.Errorf("stream %+v", s)
				}
			}
			for _, p := range c.Pauses {
				if p.Held < 0 || p.Longest < 0 {
					t.Errorf("pauses %+v", p)
				}
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var frames [][]byte
	for psn := range uint32(10000) {
		frames = append(frames, frame(psn, func(p *packet.Packet) { p.BTH.QP = psn % 64; p.BTH.PSN = psn / 64; p.Payload = make([]byte, 4096) }))
	}
	data := file(b, 0, frames...)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, data)
	}
	b.ReportMetric(float64(b.N)*float64(len(frames))/b.Elapsed().Seconds(), "packets/s")
}

// Streams of InfiniBand have local identifiers, no classes and no marks; what is lost and refused in them counts.
func TestInfiniBand(t *testing.T) {
	infini := func(src, dst uint16, op packet.Opcode, qp, psn uint32, headers ...byte) []byte {
		payload := 16
		b := packet.AppendLRH(nil, src, dst, 0, false, 12+len(headers)+payload+4)
		b = packet.AppendBTH(b, packet.BTHHeader{Opcode: op, QP: qp, PSN: psn})
		return append(append(b, headers...), make([]byte, payload+4+2)...)
	}
	var out bytes.Buffer
	w, err := packet.NewWriter(&out, packet.PCAPNG, packet.LinkInfini, 0)
	if err != nil {
		t.Fatal(err)
	}
	send := packet.RC | packet.SendOnly
	for i, f := range [][]byte{infini(4, 9, send, 17, 1), infini(4, 9, send, 17, 2), infini(4, 9, send, 17, 4), infini(9, 4, packet.RC|packet.Acknowledge, 3, 3, packet.AppendAETH(nil, 0x60, 1)...), infini(5, 9, send, 17, 1)} {
		if err := w.Write(int64(i), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	c := read(t, out.Bytes()).Captures[0]
	if c.RoCE != 5 || len(c.Streams) != 3 {
		t.Fatalf("%+v", c)
	}
	s := c.Streams[0]
	if s.Src.String() != "LID 4" || s.Dst.String() != "LID 9" || !s.Native || s.V1 || s.Missing != 1 || s.Capable != 0 || len(s.Classes) != 0 || s.LostBefore.Count != 1 {
		t.Errorf("%+v", s)
	}
	if r := c.Streams[1].Refused(evidence.RefusedSequence); r.Count != 1 {
		t.Errorf("%+v", c.Streams[1])
	}
}
