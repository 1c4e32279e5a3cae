package packet

import "encoding/binary"

// Ports of UDP (IANA).
const (
	PortRoCE  uint16 = 4791
	PortSFlow uint16 = 6343
	PortVXLAN uint16 = 4789
)

// UDP is a view of a datagram (RFC 768).
type UDP []byte

const (
	udpDst      = 2
	udpLength   = 4
	udpChecksum = 6
	udpLen      = 8
)

// SrcPort is the source port, which RoCEv2 senders choose for a queue pair so that paths differ.
func (u UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(u) }

// DstPort is the destination port.
func (u UDP) DstPort() uint16 { return binary.BigEndian.Uint16(u[udpDst:]) }

// Length is the length of the datagram with its header, as it says of itself.
func (u UDP) Length() int { return int(binary.BigEndian.Uint16(u[udpLength:])) }

// Checksum is the checksum, which RoCEv2 senders leave at 0: the ICRC stands in for it.
func (u UDP) Checksum() uint16 { return binary.BigEndian.Uint16(u[udpChecksum:]) }

// Payload is what the datagram carries, as far as it is there.
func (u UDP) Payload() []byte { return u[udpLen:] }

// AppendUDP appends a UDP header with the checksum as given, 0 for none.
func AppendUDP(b []byte, src, dst uint16, payload int, checksum uint16) []byte {
	b = binary.BigEndian.AppendUint16(b, src)
	b = binary.BigEndian.AppendUint16(b, dst)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen+payload))
	return binary.BigEndian.AppendUint16(b, checksum)
}

// TCP is a view of the start of a segment (RFC 9293): its ports.
type TCP []byte

const tcpPorts = 4

// SrcPort is the source port.
func (t TCP) SrcPort() uint16 { return binary.BigEndian.Uint16(t) }

// DstPort is the destination port.
func (t TCP) DstPort() uint16 { return binary.BigEndian.Uint16(t[2:]) }
