package packet

import "encoding/binary"

// Packet is a RoCEv2 frame to be written: AppendFrame fills in lengths, checksum and ICRC.
type Packet struct {
	Dst, Src MAC
	Tagged   bool
	Priority uint8 // of the tag
	VLAN     uint16
	IP       IPHeader // Protocol is UDP whatever it says
	SrcPort  uint16
	Checksum uint16 // of UDP; RoCEv2 leaves it at 0
	BTH      BTHHeader
	Headers  []byte // extended headers, as the opcode asks for
	Payload  []byte
}

// AppendFrame appends an Ethernet frame without its check sequence.
func AppendFrame(b []byte, p Packet) []byte {
	t := TypeIPv6
	if p.IP.Src.Unmap().Is4() {
		t = TypeIPv4
	}
	if p.Tagged {
		b = AppendVLAN(AppendEthernet(b, p.Dst, p.Src, TypeVLAN), p.Priority, p.VLAN, t)
	} else {
		b = AppendEthernet(b, p.Dst, p.Src, t)
	}
	ip := len(b)
	p.BTH.Pad = uint8(-len(p.Payload) & 3)
	n := bthLen + len(p.Headers) + len(p.Payload) + int(p.BTH.Pad) + icrcLen
	p.IP.Protocol = ProtocolUDP
	b = AppendIP(b, p.IP, udpLen+n)
	b = AppendUDP(b, p.SrcPort, PortRoCE, n, p.Checksum)
	b = AppendBTH(b, p.BTH)
	b = append(append(b, p.Headers...), p.Payload...)
	b = append(b, make([]byte, p.BTH.Pad)...)
	return AppendICRC(b, ip)
}

// NotificationHeaders is what follows the BTH of a CNP.
func NotificationHeaders() []byte { return make([]byte, cnpPadding) }

// AppendOther appends a frame of TCP or UDP with the ports and nothing else of note in it, for a payload of that many
// zero bytes.
func AppendOther(b []byte, dst, src MAC, h IPHeader, srcPort, dstPort uint16, payload int) []byte {
	t := TypeIPv6
	if h.Src.Unmap().Is4() {
		t = TypeIPv4
	}
	b = AppendEthernet(b, dst, src, t)
	if h.Protocol == ProtocolUDP {
		b = AppendIP(b, h, udpLen+payload)
		b = AppendUDP(b, srcPort, dstPort, payload, 0)
		return append(b, make([]byte, payload)...)
	}
	const header = 20 // of TCP without options
	b = AppendIP(b, h, header+payload)
	b = binary.BigEndian.AppendUint16(b, srcPort)
	b = binary.BigEndian.AppendUint16(b, dstPort)
	b = append(b, make([]byte, 8)...)
	b = append(b, header/4<<4, 0x10, 0xff, 0xff, 0, 0, 0, 0) // ACK
	return append(b, make([]byte, payload)...)
}
