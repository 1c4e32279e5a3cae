package spray

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/shunt-network/shunt/packet"
)

// roce is a frame of our own: one RDMA write of five bytes. Options change it.
func roce(change ...func(*packet.Packet)) []byte {
	p := packet.Packet{
		IP:      packet.IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, ECN: packet.ECT0, TTL: 64, ID: 7},
		SrcPort: 0xc123,
		BTH:     packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 0x1234, PSN: 99},
		Payload: []byte("hello"),
	}
	for _, c := range change {
		c(&p)
	}
	return packet.AppendFrame(nil, p)
}

func overIPv6(p *packet.Packet) {
	p.IP.Src, p.IP.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
}

// The ICRC of this very frame, worked out apart from this program: CRC-32 as zlib has it, over eight bytes of 0xff, the IP header
// with type of service, TTL and checksum as ones, the UDP header with its checksum as ones, the BTH with its fifth byte as ones,
// and the padded payload; least significant byte first.
var icrcOfRoCE = [4]byte{0xf6, 0xd6, 0xd2, 0xfa}

func TestWritePPCIDKeepsTheICRC(t *testing.T) {
	c := codec(t, LayoutV2)
	for name, change := range map[string]func(*packet.Packet){"IPv4": func(*packet.Packet) {}, "IPv6": overIPv6, "VLAN": func(p *packet.Packet) { p.Tagged, p.VLAN = true, 100 }} {
		data := roce(change)
		f := packet.Decode(packet.LinkEthernet, data)
		icrc := [4]byte(data[len(data)-4:])
		if name == "IPv4" && icrc != icrcOfRoCE {
			t.Errorf("ICRC % x, want % x", icrc, icrcOfRoCE)
		}
		for psn := range uint32(3000) {
			id := c.Encode(Context{Sequence: psn, Path: psn & 15})
			if err := WritePPCID(&f, id); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again := packet.Decode(packet.LinkEthernet, data)
			if got, ok := ReadPPCID(&again); !ok || got != id {
				t.Fatalf("%s: wrote %04x, read %04x", name, id, got)
			}
			if right, known := again.Check(); !right || !known {
				t.Fatalf("%s: the ICRC is wrong with %04x", name, id)
			}
		}
		if [4]byte(data[len(data)-4:]) != icrc {
			t.Errorf("%s: the ICRC changed", name)
		}
	}
}

func TestWritePPCIDRefuses(t *testing.T) {
	data := roce()
	for i := range data { // cut off anywhere, there is no whole packet; nothing may be written
		part := append([]byte(nil), data[:i]...)
		f := packet.Decode(packet.LinkEthernet, part)
		if err := WritePPCID(&f, 0x8001); !errors.Is(err, ErrNotRoCE) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	data[len(data)-6] ^= 1 // of the padded payload
	f := packet.Decode(packet.LinkEthernet, data)
	if err := WritePPCID(&f, 0x8001); !errors.Is(err, ErrICRC) {
		t.Errorf("a corrupt packet: %v", err)
	}
	if _, ok := ReadPPCID(&f); ok {
		t.Error("an id where there is none")
	}
	// A sender that fills in the checksum that UDP asks for keeps it.
	data = roce()
	f = packet.Decode(packet.LinkEthernet, data)
	sum := checksum(&f)
	data = roce(func(p *packet.Packet) { p.Checksum = sum })
	f = packet.Decode(packet.LinkEthernet, data)
	if v := StandardView(&f); v != VerdictRight {
		t.Fatalf("%04x is %s", sum, v)
	}
	if err := WritePPCID(&f, 0x8001); !errors.Is(err, ErrTaken) {
		t.Errorf("over a right checksum: %v", err)
	}
	other := packet.Decode(packet.LinkEthernet, packet.AppendOther(nil, packet.MAC{}, packet.MAC{}, packet.IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), Protocol: packet.ProtocolUDP}, 1, 53, 20))
	if err := WritePPCID(&other, 0x8001); !errors.Is(err, ErrNotRoCE) {
		t.Errorf("a DNS packet: %v", err)
	}
}

// checksum is the checksum that makes a packet right: the one of all values that verifies.
func checksum(f *packet.Frame) uint16 {
	for v := 1; v < 1<<16; v++ {
		f.UDP[6], f.UDP[7] = byte(v>>8), byte(v)
		if StandardView(f) == VerdictRight {
			f.UDP[6], f.UDP[7] = 0, 0
			return uint16(v)
		}
	}
	return 0
}

// What a device makes of it that knows UDP alone: an id is a checksum that does not verify, in all but one of 65535 values.
func TestStandardView(t *testing.T) {
	for _, v := range []struct {
		name   string
		change func(*packet.Packet)
		empty  Verdict
	}{{"IPv4", func(*packet.Packet) {}, VerdictNone}, {"IPv6", overIPv6, VerdictZero6}} {
		data := roce(v.change)
		f := packet.Decode(packet.LinkEthernet, data)
		if got := StandardView(&f); got != v.empty {
			t.Errorf("%s: %s", v.name, got)
		}
		right := 0
		for id := 1; id < 1<<16; id++ {
			if err := WritePPCID(&f, uint16(id)); err != nil && !errors.Is(err, ErrTaken) {
				t.Fatal(err)
			}
			f.UDP[6], f.UDP[7] = byte(id>>8), byte(id)
			switch StandardView(&f) {
			case VerdictRight:
				right++
				f.UDP[6], f.UDP[7] = 0, 0 // the next write would leave a right checksum alone
			case VerdictWrong:
			default:
				t.Fatalf("%s: id %04x is %s", v.name, id, StandardView(&f))
			}
		}
		if right != 1 {
			t.Errorf("%s: %d ids pass for a right checksum", v.name, right)
		}
	}
	var nothing packet.Frame
	if got := StandardView(&nothing); got != VerdictUnknown {
		t.Errorf("no packet is %s", got)
	}
}

func FuzzPPCIDFrame(f *testing.F) {
	f.Add(roce(), uint16(0x8001))
	f.Add(roce(overIPv6), uint16(1))
	f.Add(roce()[:40], uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, id uint16) {
		frame := packet.Decode(packet.LinkEthernet, data)
		_ = StandardView(&frame)
		if WritePPCID(&frame, id) == nil {
			if got, _ := ReadPPCID(&frame); got != id {
				t.Errorf("wrote %04x, read %04x", id, got)
			}
			if right, known := frame.Check(); !right || !known {
				t.Error("the ICRC is wrong")
			}
		}
	})
}

func BenchmarkWritePPCID(b *testing.B) {
	data := roce(func(p *packet.Packet) { p.Payload = make([]byte, 4096) })
	f := packet.Decode(packet.LinkEthernet, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := WritePPCID(&f, uint16(i)|0x8000); err != nil && !errors.Is(err, ErrTaken) {
			b.Fatal(err)
		}
	}
}
