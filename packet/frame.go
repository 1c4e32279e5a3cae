package packet

import "net/netip"

// Link is the type of the link a capture was made on (the LINKTYPE_ values of libpcap).
type Link uint16

// Links that Decode knows. Frames of other links are counted and not looked into.
const (
	LinkNull     Link = 0   // loopback of BSD
	LinkEthernet Link = 1   //
	LinkRaw      Link = 101 // IP without a link header
	LinkCooked   Link = 113 // Linux "any", version 1
	LinkERF      Link = 197 // Endace extensible record format
	LinkInfini   Link = 247 // InfiniBand
	LinkCooked2  Link = 276 // Linux "any", version 2
)

// Frame is one frame with views of what was recognised; a view that is nil is not there, or cut off.
type Frame struct {
	Ethernet Ethernet
	VLAN     VLAN // the outermost tag
	Type     EtherType
	Pause    Pause

	IPv4 IPv4
	IPv6 IPv6
	GRH  IPv6 // of RoCE v1, and of InfiniBand between subnets
	LRH  LRH  // of InfiniBand
	TCP  TCP
	UDP  UDP

	BTH BTH
	Extended
	Cut bool // the capture holds less of the packet than it says of itself

	// Tunnel says that the views of addresses and ports are of a RoCE packet inside VXLAN. What the network between the
	// tunnel's ends goes by stands in the headers around it: the tag, and what IP tells of class and congestion.
	Tunnel bool
	outer  struct {
		dscp uint8
		ecn  ECN
	}

	whole []byte // the IP packet with its ICRC, where all of it is there
}

// Decode finds the headers of a captured frame. Foreign bytes never make it fail: what is not recognised is nil.
func Decode(link Link, data []byte) (f Frame) {
	switch link {
	case LinkEthernet:
		f.ethernet(data)
	case LinkRaw:
		f.raw(data)
	case LinkCooked: // 14 bytes, then the EtherType
		if len(data) >= 16 {
			f.Type = EtherType(uint16(data[14])<<8 | uint16(data[15]))
			f.network(data[16:])
		}
	case LinkCooked2: // the EtherType comes first
		if len(data) >= 20 {
			f.Type = EtherType(uint16(data[0])<<8 | uint16(data[1]))
			f.network(data[20:])
		}
	case LinkERF:
		f.erf(data)
	case LinkInfini:
		f.infiniband(data)
	}
	return f
}

// erf takes the record header of Endace off (ERF types 1 to 22): 16 bytes, extension headers of 8 while the high bit
// of the type is set, and for Ethernet two bytes before the frame.
func (f *Frame) erf(data []byte) {
	const typeAt, headerLen, extensionLen, ethernetPad = 8, 16, 8, 2
	if len(data) < headerLen {
		return
	}
	kind, rest := data[typeAt], data[headerLen:]
	for more := kind; more&0x80 != 0; {
		if len(rest) < extensionLen {
			return
		}
		more, rest = rest[0], rest[extensionLen:]
	}
	const erfEthernet, erfInfiniband = 2, 21
	switch kind & 0x7f {
	case erfEthernet:
		if len(rest) > ethernetPad {
			f.ethernet(rest[ethernetPad:])
		}
	case erfInfiniband:
		f.infiniband(rest)
	}
}

func (f *Frame) raw(data []byte) {
	if len(data) == 0 {
		return
	}
	switch data[0] >> 4 {
	case 4:
		f.Type = TypeIPv4
	case 6:
		f.Type = TypeIPv6
	}
	f.network(data)
}

// maxTags is how many VLAN tags are taken off: two are in use (802.1ad).
const maxTags = 2

func (f *Frame) ethernet(data []byte) {
	if len(data) < ethLen {
		return
	}
	f.Ethernet = Ethernet(data)
	f.Type = f.Ethernet.Type()
	rest := data[ethLen:]
	for range maxTags {
		if f.Type != TypeVLAN && f.Type != TypeQinQ {
			break
		}
		if len(rest) < vlanLen {
			return
		}
		if f.VLAN == nil {
			f.VLAN = VLAN(rest[:vlanLen:vlanLen])
		}
		f.Type, rest = VLAN(rest).Type(), rest[vlanLen:]
	}
	f.network(rest)
}

func (f *Frame) network(b []byte) {
	switch f.Type {
	case TypeMACControl:
		if p := Pause(b); p.PFC() || p.Global() {
			f.Pause = p
		}
	case TypeIPv4:
		f.ipv4(b)
	case TypeIPv6:
		f.ipv6(b)
	case TypeRoCEv1:
		if len(b) < ip6Len {
			f.Cut = true
			return
		}
		f.GRH = IPv6(b)
		b = f.cut(b, ip6Len+f.GRH.Length())
		f.roce(b[ip6Len:])
	}
}

// cut takes off what pads a short frame, and tells whether some of the packet is missing.
func (f *Frame) cut(b []byte, length int) []byte {
	if length > len(b) {
		f.Cut = true
		return b
	}
	return b[:length]
}

func (f *Frame) ipv4(b []byte) {
	if len(b) < ip4Len || b[0]>>4 != 4 {
		f.Cut = f.Cut || len(b) < ip4Len
		return
	}
	p := IPv4(b)
	header := p.HeaderLen()
	if header < ip4Len || p.Length() < header {
		return
	}
	f.IPv4 = p
	b = f.cut(b, p.Length())
	if len(b) < header || p.Fragmented() {
		return
	}
	f.transport(p.Protocol(), b, header)
}

func (f *Frame) ipv6(b []byte) {
	if len(b) < ip6Len || b[0]>>4 != 6 {
		f.Cut = f.Cut || len(b) < ip6Len
		return
	}
	f.IPv6 = IPv6(b)
	b = f.cut(b, ip6Len+f.IPv6.Length())
	f.transport(f.IPv6.NextHeader(), b, ip6Len) // RoCEv2 has no extension headers
}

func (f *Frame) transport(protocol uint8, packet []byte, header int) {
	b := packet[header:]
	switch {
	case protocol == ProtocolTCP && len(b) >= tcpPorts:
		f.TCP = TCP(b)
	case protocol == ProtocolUDP && len(b) >= udpLen:
		f.UDP = UDP(b)
		if f.UDP.DstPort() == PortVXLAN {
			f.vxlan(b[udpLen:])
			return
		}
		if f.UDP.DstPort() != PortRoCE {
			return
		}
		if !f.Cut {
			f.whole = packet
		}
		f.roce(b[udpLen:])
	}
}

// vxlan looks for RoCE inside a tunnel (RFC 7348: a flag, 24 bits of network, an Ethernet frame). Whatever else it
// carries is left as what the network sees, a datagram between the tunnel's ends.
func (f *Frame) vxlan(b []byte) {
	const headerLen, valid = 8, 0x08
	if f.Tunnel || len(b) < headerLen+ethLen || b[0]&valid == 0 {
		return
	}
	inner := Frame{Tunnel: true}
	inner.ethernet(b[headerLen:])
	if inner.BTH == nil {
		return
	}
	_, _, inner.outer.dscp, inner.outer.ecn, _ = f.IP()
	inner.Ethernet, inner.VLAN, inner.Cut = f.Ethernet, f.VLAN, inner.Cut || f.Cut
	if f.Cut {
		inner.whole = nil
	}
	*f = inner
}

// roce reads a base transport header and what follows, with the ICRC at the end where nothing is cut off.
func (f *Frame) roce(b []byte) {
	if len(b) < bthLen {
		f.Cut = true
		return
	}
	rest := b[bthLen:]
	if !f.Cut {
		if len(rest) < icrcLen {
			return
		}
		rest = rest[:len(rest)-icrcLen]
	}
	f.BTH = BTH(b[:bthLen:bthLen])
	f.Extended, _ = DecodeExtended(f.BTH.Opcode(), rest)
}

// IP tells whether the frame is an IP packet, and its addresses, code point and congestion field. For RoCE v1 they are
// those of its GRH. In a tunnel the addresses are those of the packet inside, the others those the network goes by.
func (f *Frame) IP() (src, dst netip.Addr, dscp uint8, ecn ECN, ok bool) {
	src, dst, dscp, ecn, ok = f.ip()
	if f.Tunnel && f.BTH != nil {
		if dscp = f.outer.dscp; ecn != CE { // a mark inside was set before the tunnel (RFC 6040)
			ecn = f.outer.ecn
		}
	}
	return src, dst, dscp, ecn, ok
}

func (f *Frame) ip() (src, dst netip.Addr, dscp uint8, ecn ECN, ok bool) {
	switch {
	case f.IPv4 != nil:
		return f.IPv4.Src(), f.IPv4.Dst(), f.IPv4.DSCP(), f.IPv4.ECN(), true
	case f.IPv6 != nil:
		return f.IPv6.Src(), f.IPv6.Dst(), f.IPv6.DSCP(), f.IPv6.ECN(), true
	case f.GRH != nil:
		return f.GRH.Src(), f.GRH.Dst(), f.GRH.DSCP(), f.GRH.ECN(), true
	}
	return src, dst, 0, 0, false
}

// Check compares the ICRC of a RoCEv2 frame with what is on the wire; known is false where the frame has none or is
// cut off.
func (f *Frame) Check() (right, known bool) {
	if f.BTH == nil || f.whole == nil {
		return false, false
	}
	n := len(f.whole) - icrcLen
	sum, ok := ICRC(f.whole[:n])
	w := f.whole[n:]
	return ok && sum == uint32(w[0])|uint32(w[1])<<8|uint32(w[2])<<16|uint32(w[3])<<24, ok
}
