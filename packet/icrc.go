package packet

import (
	"encoding/binary"
	"hash/crc32"
)

// The invariant CRC covers what no hop changes (InfiniBand section 7.8.1, annex A17): eight bytes of ones for the local
// route header that RoCE does not have, the IP header with type of service, time to live and checksum as ones (IPv6:
// traffic class, flow label and hop limit), the UDP header with its checksum as ones, the BTH with its fifth byte as
// ones, and the rest as it is. The polynomial is Ethernet's; the four bytes stand on the wire least significant first.
//
// It catches what an Ethernet check sequence cannot: bytes that went wrong inside a switch or a host, between one check
// and the next. It has no key and proves nothing about who sent a packet.

// ICRC computes the invariant CRC of an IP packet that carries RoCEv2, from its IP header to the byte before the CRC.
// ok is false where the headers are not there.
func ICRC(ip []byte) (sum uint32, ok bool) {
	if len(ip) == 0 {
		return 0, false
	}
	header := ip4Len
	switch ip[0] >> 4 {
	case 4:
		header = IPv4(ip).HeaderLen()
		ok = header >= ip4Len
	case 6:
		header, ok = ip6Len, true
	}
	if !ok || len(ip) < header+udpLen+bthLen {
		return 0, false
	}
	crc := ^uint32(0)
	for range 8 {
		crc = step(crc, 0xff)
	}
	for i, c := range ip[:header+udpLen+bthLen] {
		if masked(ip[0]>>4, header, i) {
			c = 0xff
		} else if ip[0]>>4 == 6 && i == 0 {
			c |= 0x0f // the high half of the traffic class
		}
		crc = step(crc, c)
	}
	return crc32.Update(^crc, crc32.IEEETable, ip[header+udpLen+bthLen:]), true
}

// masked tells whether a byte of the headers counts as ones.
func masked(version uint8, header, i int) bool {
	switch i {
	case header + udpChecksum, header + udpChecksum + 1, header + udpLen + bthNotices:
		return true
	}
	if version == 4 {
		return i == ip4TOS || i == ip4TTL || i == ip4Checksum || i == ip4Checksum+1
	}
	return i >= 1 && i <= 3 || i == ip6Hops
}

// step is one byte of the CRC. crc32.Update would take the headers only as a slice on the heap.
func step(crc uint32, b byte) uint32 { return crc32.IEEETable[byte(crc)^b] ^ crc>>8 }

// AppendICRC appends the invariant CRC to an IP packet that begins at ip and is otherwise whole. What is no RoCEv2
// packet stays as it is.
func AppendICRC(b []byte, ip int) []byte {
	sum, ok := ICRC(b[ip:])
	if !ok {
		return b
	}
	return binary.LittleEndian.AppendUint32(b, sum)
}
