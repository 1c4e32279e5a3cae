package packet

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

var (
	macA, macB = MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 2}
	ip4A, ip4B = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	ip6A, ip6B = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
)

func write(src, dst netip.Addr) Packet {
	return Packet{
		Dst: macB, Src: macA, Tagged: true, Priority: 3, VLAN: 100,
		IP: IPHeader{Src: src, Dst: dst, DSCP: 26, ECN: ECT0, TTL: 64, ID: 7, FlowLabel: 0x12345}, SrcPort: 0xc123,
		BTH:     BTHHeader{Opcode: RC | WriteOnly, Solicited: true, QP: 0x1234, AckRequest: true, PSN: 0xfffffe},
		Headers: AppendRETH(nil, 0x7f0011223344, 0x5566, 5), Payload: []byte("shunt"),
	}
}

// What AppendFrame writes, Decode reads, in both versions of IP.
func TestFrameReadsBack(t *testing.T) {
	for _, p := range []Packet{write(ip4A, ip4B), write(ip6A, ip6B)} {
		f := Decode(LinkEthernet, AppendFrame(nil, p))
		src, dst, dscp, ecn, ok := f.IP()
		if !ok || src != p.IP.Src || dst != p.IP.Dst || dscp != 26 || ecn != ECT0 {
			t.Errorf("IP is %v %v %d %d %v", src, dst, dscp, ecn, ok)
		}
		if f.Ethernet.Dst() != macB || f.Ethernet.Src() != macA || f.VLAN.Priority() != 3 || f.VLAN.ID() != 100 {
			t.Errorf("Ethernet is % x", []byte(f.Ethernet[:18]))
		}
		if f.UDP.SrcPort() != 0xc123 || f.UDP.DstPort() != PortRoCE || f.UDP.Checksum() != 0 {
			t.Errorf("UDP is % x", []byte(f.UDP[:8]))
		}
		h := f.BTH
		got := BTHHeader{h.Opcode(), h.Solicited(), h.Migration(), uint8(h.Pad()), h.Version(), h.PKey(), h.FECN(), h.BECN(), h.QP(), h.AckRequest(), h.PSN()}
		want := p.BTH
		want.Pad, want.PKey = 3, 0xffff
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("BTH:\n%s", diff)
		}
		if f.RETH.Address() != 0x7f0011223344 || f.RETH.Key() != 0x5566 || f.RETH.Length() != 5 || string(f.Payload) != "shunt\x00\x00\x00" {
			t.Errorf("RETH % x, payload %q", []byte(f.RETH), f.Payload)
		}
		if right, known := f.Check(); !right || !known {
			t.Errorf("ICRC: %v %v", right, known)
		}
	}
}

// reference is the ICRC bit by bit, from the words of the standard and with no table.
func reference(ip []byte, header int) uint32 {
	b := append(bytes.Repeat([]byte{0xff}, 8), ip...)
	p := b[8:]
	if p[0]>>4 == 4 {
		p[1], p[8], p[10], p[11] = 0xff, 0xff, 0xff, 0xff
	} else {
		p[0] |= 0x0f
		p[1], p[2], p[3], p[7] = 0xff, 0xff, 0xff, 0xff
	}
	p[header+6], p[header+7], p[header+12] = 0xff, 0xff, 0xff
	crc := ^uint32(0)
	for _, c := range b {
		for i := range 8 {
			low := crc&1 ^ uint32(c>>i)&1
			crc >>= 1
			if low != 0 {
				crc ^= 0xedb88320
			}
		}
	}
	return ^crc
}

func TestICRCAgainstReference(t *testing.T) {
	for header, p := range map[int]Packet{20: write(ip4A, ip4B), 40: write(ip6A, ip6B)} {
		ip := AppendFrame(nil, p)[18:]
		sum, ok := ICRC(ip[:len(ip)-4])
		if want := reference(ip[:len(ip)-4], header); !ok || sum != want {
			t.Errorf("ICRC %08x %v, reference %08x", sum, ok, want)
		}
	}
}

// A hop may change DSCP, ECN, TTL and the UDP checksum; any other byte is covered.
func TestICRCCoversWhatNoHopChanges(t *testing.T) {
	for _, p := range []Packet{write(ip4A, ip4B), write(ip6A, ip6B)} {
		frame := AppendFrame(nil, p)
		changed := p
		changed.IP.DSCP, changed.IP.ECN, changed.IP.TTL, changed.Checksum = 0, CE, 3, 0xaca2
		changed.IP.FlowLabel = 9
		changed.BTH.FECN = true
		again := AppendFrame(nil, changed)
		if !bytes.Equal(frame[len(frame)-4:], again[len(again)-4:]) {
			t.Error("the ICRC changed with what a hop may change")
		}
		for i := 20; i < 100 && i < len(frame)-4; i++ {
			bad := bytes.Clone(frame)
			bad[i] ^= 1
			f := Decode(LinkEthernet, bad)
			if right, known := f.Check(); known && right && !mayChange(p, i-18) {
				t.Errorf("byte %d is not covered", i)
			}
		}
	}
}

func mayChange(p Packet, i int) bool {
	if p.IP.Src.Is4() {
		return i == 1 || i == 8 || i == 10 || i == 11 || i == 26 || i == 27 || i == 32
	}
	return i <= 3 || i == 7 || i == 46 || i == 47 || i == 52
}

func TestAnswers(t *testing.T) {
	p := write(ip4A, ip4B)
	p.BTH.Opcode, p.Payload = RC|Acknowledge, nil
	for _, c := range []struct {
		syndrome uint8
		nak      bool
		code     NAKCode
		late     bool
	}{{SyndromeACK, false, 0x1f, false}, {SyndromeNAK | uint8(NAKSequence), true, NAKSequence, false}, {SyndromeNAK | uint8(NAKAccess), true, NAKAccess, false}, {SyndromeNotReady | 14, false, 14, true}} {
		p.Headers = AppendAETH(nil, c.syndrome, 0x010203)
		f := Decode(LinkEthernet, AppendFrame(nil, p))
		code, nak := f.AETH.NAK()
		timer, late := f.AETH.NotReady()
		if nak != c.nak || nak && code != c.code || late != c.late || late && timer != 14 || f.AETH.MSN() != 0x010203 {
			t.Errorf("syndrome %02x: %v %v %v %v", c.syndrome, code, nak, timer, late)
		}
	}
}

func TestNotification(t *testing.T) {
	p := write(ip4A, ip4B)
	p.BTH = BTHHeader{Opcode: CNP, BECN: true, QP: 9}
	p.Headers, p.Payload = NotificationHeaders(), nil
	f := Decode(LinkEthernet, AppendFrame(nil, p))
	if f.BTH.Opcode() != CNP || !f.BTH.BECN() || f.BTH.FECN() || f.BTH.QP() != 9 || f.BTH.Opcode().Request() {
		t.Errorf("CNP is % x", []byte(f.BTH))
	}
}

func TestPauses(t *testing.T) {
	f := Decode(LinkEthernet, AppendPFC(nil, macA, 1<<3|1<<4, [8]uint16{3: 0xffff}))
	if q, ok := f.Pause.Priority(3); !f.Pause.PFC() || !ok || q != 0xffff {
		t.Errorf("priority 3: %d %v", q, ok)
	}
	if q, ok := f.Pause.Priority(4); !ok || q != 0 {
		t.Errorf("priority 4: %d %v", q, ok)
	}
	if _, ok := f.Pause.Priority(5); ok {
		t.Error("priority 5 is not in the vector")
	}
	if f = Decode(LinkEthernet, AppendPause(nil, macA, 77)); !f.Pause.Global() || f.Pause.PFC() || f.Pause.Quanta() != 77 {
		t.Errorf("pause is % x", []byte(f.Pause))
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b uint32
		want int32
	}{{5, 3, 2}, {3, 5, -2}, {0, 0xffffff, 1}, {0xffffff, 0, -1}, {0x7fffff, 0, 0x7fffff}, {0x800000, 0, -0x800000}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%x, %x) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestCapturesReadBack(t *testing.T) {
	frames := [][]byte{AppendFrame(nil, write(ip4A, ip4B)), AppendPause(nil, macA, 1), AppendFrame(nil, write(ip6A, ip6B))}
	for _, format := range []Format{PCAP, PCAPNG} {
		var file bytes.Buffer
		w, err := NewWriter(&file, format, LinkEthernet, 400*units.Gbps)
		if err != nil {
			t.Fatal(err)
		}
		const start = 1_700_000_000_123_456_789
		for i, f := range frames {
			if err := w.Write(start+int64(i), f, len(f)+i); err != nil {
				t.Fatal(err)
			}
		}
		r, err := NewReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range frames {
			rec, err := r.Next()
			if err != nil || !bytes.Equal(rec.Data, f) || rec.Number != i+1 || rec.Time != start+int64(i) || rec.Length != len(f)+i || rec.Link != LinkEthernet {
				t.Fatalf("format %d, frame %d: %+v %v", format, i, rec, err)
			}
			if format == PCAPNG && rec.Speed != 400*units.Gbps {
				t.Errorf("speed %v", rec.Speed)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		r, err = NewReader(bytes.NewReader(file.Bytes()[:file.Len()-3]))
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off: %v", err)
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	frame := AppendFrame(nil, write(ip4A, ip4B))
	sink := false
	if n := testing.AllocsPerRun(100, func() {
		f := Decode(LinkEthernet, frame)
		sink, _ = f.Check()
	}); n != 0 || !sink {
		t.Errorf("%v allocations a frame", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint16(LinkEthernet), AppendFrame(nil, write(ip4A, ip4B)))
	f.Add(uint16(LinkEthernet), AppendFrame(nil, write(ip6A, ip6B)))
	f.Add(uint16(LinkEthernet), AppendPFC(nil, macA, 8, [8]uint16{3: 9}))
	f.Add(uint16(LinkRaw), AppendFrame(nil, write(ip4A, ip4B))[18:])
	f.Add(uint16(LinkERF), append(make([]byte, 18), AppendPause(nil, macA, 1)...))
	f.Fuzz(func(t *testing.T, link uint16, data []byte) {
		fr := Decode(Link(link), data)
		fr.Check()
		fr.IP()
		if fr.BTH != nil {
			_ = fr.BTH.PSN() + fr.BTH.QP()
			if fr.AETH != nil {
				fr.AETH.MSN()
			}
			if len(fr.Payload) > len(data) {
				t.Error("a payload longer than the frame")
			}
		}
		if fr.Pause != nil && fr.Pause.PFC() {
			for i := range 8 {
				fr.Pause.Priority(i)
			}
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, format := range []Format{PCAP, PCAPNG} {
		var file bytes.Buffer
		w, err := NewWriter(&file, format, LinkEthernet, units.Gbps)
		if err != nil {
			f.Fatal(err)
		}
		frame := AppendFrame(nil, write(ip4A, ip4B))
		if err := w.Write(1e18, frame, len(frame)); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		for n := 0; err == nil; n++ {
			var rec Record
			if rec, err = r.Next(); err == nil && (len(rec.Data) > len(data) || rec.Length < len(rec.Data)) {
				t.Fatalf("frame %d: %d bytes of %d", n, len(rec.Data), rec.Length)
			}
			if n > len(data) {
				t.Fatal("more frames than bytes")
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	p := write(ip4A, ip4B)
	p.Payload = make([]byte, 4096)
	frame := AppendFrame(nil, p)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		f := Decode(LinkEthernet, frame)
		if right, _ := f.Check(); !right {
			b.Fatal("wrong ICRC")
		}
	}
}
