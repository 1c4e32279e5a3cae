package packet

import (
	"encoding/binary"
	"net/netip"
)

// Protocols of IP (IANA protocol numbers).
const (
	ProtocolTCP uint8 = 6
	ProtocolUDP uint8 = 17
)

// ECN is the congestion field of IP (RFC 3168 section 5).
type ECN uint8

// Values of the congestion field.
const (
	NotECT ECN = 0 // the sender takes no marks: a full queue drops
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3 // a switch marked the packet
)

// IPv4 is a view of an IPv4 packet (RFC 791).
type IPv4 []byte

// Offsets of the IPv4 header.
const (
	ip4TOS      = 1
	ip4Length   = 2
	ip4ID       = 4
	ip4Fragment = 6
	ip4TTL      = 8
	ip4Protocol = 9
	ip4Checksum = 10
	ip4Src      = 12
	ip4Dst      = 16
	ip4Len      = 20
)

// HeaderLen is the length of the header with its options.
func (p IPv4) HeaderLen() int { return int(p[0]&0x0f) * 4 }

// DSCP is the code point a port that trusts IP takes the class from (RFC 2474).
func (p IPv4) DSCP() uint8 { return p[ip4TOS] >> 2 }

// ECN is the congestion field.
func (p IPv4) ECN() ECN { return ECN(p[ip4TOS] & 3) }

// Length is the length of the packet, with its header, as it says of itself.
func (p IPv4) Length() int { return int(binary.BigEndian.Uint16(p[ip4Length:])) }

// ID is the identification.
func (p IPv4) ID() uint16 { return binary.BigEndian.Uint16(p[ip4ID:]) }

// Fragmented tells whether the packet is a part of a larger one; only the first part has the UDP header.
func (p IPv4) Fragmented() bool { return binary.BigEndian.Uint16(p[ip4Fragment:])&0x3fff != 0 }

// TTL is the number of hops left.
func (p IPv4) TTL() uint8 { return p[ip4TTL] }

// Protocol is the protocol of the payload.
func (p IPv4) Protocol() uint8 { return p[ip4Protocol] }

// Checksum is the checksum of the header.
func (p IPv4) Checksum() uint16 { return binary.BigEndian.Uint16(p[ip4Checksum:]) }

// Src is the source address.
func (p IPv4) Src() netip.Addr { return netip.AddrFrom4([4]byte(p[ip4Src:ip4Dst])) }

// Dst is the destination address.
func (p IPv4) Dst() netip.Addr { return netip.AddrFrom4([4]byte(p[ip4Dst:ip4Len])) }

// IPv6 is a view of an IPv6 packet (RFC 8200), or of the GRH of RoCE v1, which has the same layout (InfiniBand
// section 8.3).
type IPv6 []byte

// Offsets of the IPv6 header.
const (
	ip6Length = 4
	ip6Next   = 6
	ip6Hops   = 7
	ip6Src    = 8
	ip6Dst    = 24
	ip6Len    = 40
)

func (p IPv6) class() uint8 { return p[0]<<4 | p[1]>>4 }

// DSCP is the code point a port that trusts IP takes the class from.
func (p IPv6) DSCP() uint8 { return p.class() >> 2 }

// ECN is the congestion field.
func (p IPv6) ECN() ECN { return ECN(p.class() & 3) }

// FlowLabel is the flow label, which switches may hash on.
func (p IPv6) FlowLabel() uint32 { return binary.BigEndian.Uint32(p) & 0xfffff }

// Length is the length of what follows the header.
func (p IPv6) Length() int { return int(binary.BigEndian.Uint16(p[ip6Length:])) }

// NextHeader is the protocol of the payload, or of an extension header.
func (p IPv6) NextHeader() uint8 { return p[ip6Next] }

// HopLimit is the number of hops left.
func (p IPv6) HopLimit() uint8 { return p[ip6Hops] }

// Src is the source address.
func (p IPv6) Src() netip.Addr { return netip.AddrFrom16([16]byte(p[ip6Src:ip6Dst])) }

// Dst is the destination address.
func (p IPv6) Dst() netip.Addr { return netip.AddrFrom16([16]byte(p[ip6Dst:ip6Len])) }

// IPHeader is what AppendIP writes. Version 4 or 6 follows from the addresses.
type IPHeader struct {
	Src, Dst  netip.Addr
	DSCP      uint8
	ECN       ECN
	TTL       uint8  // or hop limit
	Protocol  uint8  // or next header
	ID        uint16 // IPv4 only
	FlowLabel uint32 // IPv6 only
}

// AppendIP appends an IP header for a payload of that many bytes. Both addresses must be of one family.
func AppendIP(b []byte, h IPHeader, payload int) []byte {
	tos := h.DSCP<<2 | uint8(h.ECN)&3
	src, dst := h.Src.Unmap(), h.Dst.Unmap()
	if src.Is4() && dst.Is4() {
		at := len(b)
		b = append(b, 0x45, tos)
		b = binary.BigEndian.AppendUint16(b, uint16(ip4Len+payload))
		b = binary.BigEndian.AppendUint16(b, h.ID)
		b = append(b, 0x40, 0, h.TTL, h.Protocol, 0, 0) // do not fragment, as RoCEv2 senders set it
		s, d := src.As4(), dst.As4()
		b = append(append(b, s[:]...), d[:]...)
		binary.BigEndian.PutUint16(b[at+ip4Checksum:], headerChecksum(b[at:]))
		return b
	}
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(tos)<<20|h.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(payload))
	b = append(b, h.Protocol, h.TTL)
	s, d := h.Src.As16(), h.Dst.As16()
	return append(append(b, s[:]...), d[:]...)
}

// headerChecksum is the checksum of an IPv4 header whose checksum field is zero (RFC 791 section 3.1).
func headerChecksum(header []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
