package packet

import (
	"net/netip"
	"testing"
)

// infini is a packet of InfiniBand: a request of local identifier 4 to queue pair 17 of 9, with what a frame has behind
// it.
func infini(global bool) []byte {
	payload := make([]byte, 32)
	length := bthLen + len(payload) + icrcLen
	if global {
		length += ip6Len
	}
	b := AppendLRH(nil, 4, 9, 3, global, length)
	if global {
		b = AppendIP(b, IPHeader{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), Protocol: 27, TTL: 1}, bthLen+len(payload)+icrcLen)
	}
	b = AppendBTH(b, BTHHeader{Opcode: RC | SendOnly, QP: 17, PSN: 5})
	b = append(b, payload...)
	return append(b, make([]byte, icrcLen+vcrcLen)...)
}

func TestInfiniBand(t *testing.T) {
	for _, global := range []bool{false, true} {
		data := infini(global)
		erf := append(make([]byte, 16), data...)
		erf[8] = 21
		for link, frame := range map[Link][]byte{LinkInfini: data, LinkERF: erf} {
			f := Decode(link, frame)
			if f.BTH == nil || f.BTH.QP() != 17 || f.BTH.PSN() != 5 || f.Cut || len(f.Payload) != 32 {
				t.Fatalf("link %d, global %v: %+v", link, global, f)
			}
			if f.LRH.Src() != 4 || f.LRH.Dst() != 9 || f.LRH.Level() != 3 || f.LRH.Lane() != 0 {
				t.Errorf("LRH of %d to %d", f.LRH.Src(), f.LRH.Dst())
			}
			if src, _, _, _, ok := f.IP(); ok != global || global && src != netip.MustParseAddr("2001:db8::1") {
				t.Errorf("%v, %v", src, ok)
			}
			if _, known := f.Check(); known {
				t.Error("the ICRC of InfiniBand leaves out other fields")
			}
		}
		if f := Decode(LinkInfini, data[:20]); !f.Cut {
			t.Error("not cut")
		}
	}
	raw := infini(false)
	raw[1] &^= 3
	if f := Decode(LinkInfini, raw); f.BTH != nil {
		t.Error("a raw packet has no BTH")
	}
}

// tunnel puts a frame into VXLAN.
func tunnel(inner []byte, dscp uint8, ecn ECN) []byte {
	h := IPHeader{Src: netip.MustParseAddr("198.51.100.1"), Dst: netip.MustParseAddr("198.51.100.2"), DSCP: dscp, ECN: ecn, TTL: 64, Protocol: ProtocolUDP}
	b := AppendVLAN(AppendEthernet(nil, MAC{1}, MAC{2}, TypeVLAN), 5, 7, TypeIPv4)
	b = AppendIP(b, h, udpLen+8+len(inner))
	b = AppendUDP(b, 50000, PortVXLAN, 8+len(inner), 0)
	return append(append(b, 0x08, 0, 0, 0, 0, 0, 42, 0), inner...)
}

func TestTunnel(t *testing.T) {
	inner := AppendFrame(nil, Packet{
		IP: IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, ECN: ECT0, TTL: 64}, SrcPort: 0xc000,
		BTH: BTHHeader{Opcode: RC | SendOnly, QP: 17, PSN: 5}, Payload: make([]byte, 30),
	})
	f := Decode(LinkEthernet, tunnel(inner, 10, CE))
	src, dst, dscp, ecn, ok := f.IP()
	if !ok || !f.Tunnel || f.BTH == nil || src.String() != "192.0.2.1" || dst.String() != "192.0.2.2" || dscp != 10 || ecn != CE || f.VLAN.Priority() != 5 {
		t.Fatalf("%v -> %v, class %d, %v; %+v", src, dst, dscp, ecn, f)
	}
	if right, known := f.Check(); !right || !known {
		t.Error("the ICRC of the packet inside is not checked")
	}
	cut := tunnel(inner, 10, ECT0)
	f = Decode(LinkEthernet, cut[:len(cut)-10])
	if _, known := f.Check(); !f.Tunnel || !f.Cut || known {
		t.Errorf("a packet that is cut: %+v", f)
	}
	// Another packet inside is what the network sees.
	other := AppendOther(nil, MAC{}, MAC{}, IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), Protocol: ProtocolTCP, TTL: 64}, 1, 2, 10)
	f = Decode(LinkEthernet, tunnel(other, 10, ECT0))
	if src, _, _, _, _ := f.IP(); f.Tunnel || src.String() != "198.51.100.1" || f.UDP.DstPort() != PortVXLAN {
		t.Errorf("%v: %+v", src, f)
	}
	// Tunnels are not followed into one another.
	if f = Decode(LinkEthernet, tunnel(tunnel(inner, 1, ECT0), 2, ECT0)); f.BTH != nil {
		t.Errorf("%+v", f)
	}
}
