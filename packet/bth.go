package packet

import "encoding/binary"

// BTH is a view of the base transport header (InfiniBand section 9.2, with the congestion bits of annex A17).
type BTH []byte

// Offsets of the base transport header.
const (
	bthFlags    = 1
	bthKey      = 2
	bthNotices  = 4
	bthQP       = 4 // the low 24 bits
	bthAckPSN   = 8
	bthLen      = 12
	psnMask     = 1<<24 - 1
	icrcLen     = 4
	cnpPadding  = 16 // reserved bytes of a congestion notification (annex A17)
	defaultPKey = 0xffff
)

// Opcode is the operation of the packet: its transport in the three high bits.
func (h BTH) Opcode() Opcode { return Opcode(h[0]) }

// Solicited tells whether the receiver should be woken.
func (h BTH) Solicited() bool { return h[bthFlags]&0x80 != 0 }

// Migration is the migration state.
func (h BTH) Migration() bool { return h[bthFlags]&0x40 != 0 }

// Pad is the number of bytes that fill the payload up to a multiple of four.
func (h BTH) Pad() int { return int(h[bthFlags] >> 4 & 3) }

// Version is the transport header version, 0 so far.
func (h BTH) Version() uint8 { return h[bthFlags] & 0x0f }

// PKey is the partition.
func (h BTH) PKey() uint16 { return binary.BigEndian.Uint16(h[bthKey:]) }

// FECN is forward explicit congestion notification.
func (h BTH) FECN() bool { return h[bthNotices]&0x80 != 0 }

// BECN is backward explicit congestion notification, set in a CNP.
func (h BTH) BECN() bool { return h[bthNotices]&0x40 != 0 }

// QP is the queue pair at the destination; the one at the source is not in the packet.
func (h BTH) QP() uint32 { return binary.BigEndian.Uint32(h[bthQP:]) & psnMask }

// AckRequest tells whether the sender wants an acknowledgement.
func (h BTH) AckRequest() bool { return h[bthAckPSN]&0x80 != 0 }

// PSN is the 24-bit packet sequence number.
func (h BTH) PSN() uint32 { return binary.BigEndian.Uint32(h[bthAckPSN:]) & psnMask }

// Distance is how far PSN a lies behind b, negative where it lies before it: sequence numbers wrap at 2^24, and half
// of them are "before" (InfiniBand section 9.7.1).
func Distance(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// Opcode is the operation of a BTH (InfiniBand table 38).
type Opcode uint8

// Transports, the three high bits of an opcode.
const (
	RC  Opcode = 0x00
	UC  Opcode = 0x20
	RD  Opcode = 0x40
	UD  Opcode = 0x60
	CNP Opcode = 0x81 // congestion notification (annex A17), an opcode of its own
	XRC Opcode = 0xa0
)

// Operations, the five low bits.
const (
	SendFirst Opcode = iota
	SendMiddle
	SendLast
	SendLastImm
	SendOnly
	SendOnlyImm
	WriteFirst
	WriteMiddle
	WriteLast
	WriteLastImm
	WriteOnly
	WriteOnlyImm
	ReadRequest
	ReadResponseFirst
	ReadResponseMiddle
	ReadResponseLast
	ReadResponseOnly
	Acknowledge
	AtomicAcknowledge
	CompareSwap
	FetchAdd
	_
	SendLastInvalidate
	SendOnlyInvalidate
)

// Transport is the transport alone: RC, UC, RD, UD or XRC.
func (o Opcode) Transport() Opcode { return o & 0xe0 }

// Operation is the operation without its transport.
func (o Opcode) Operation() Opcode { return o & 0x1f }

// Request tells whether the packet takes a PSN of its sender's own: everything but answers and notifications.
func (o Opcode) Request() bool {
	return o != CNP && o.Operation() <= SendOnlyInvalidate && (o.Operation() < ReadResponseFirst || o.Operation() > AtomicAcknowledge)
}

// BTHHeader is what AppendBTH writes.
type BTHHeader struct {
	Opcode     Opcode
	Solicited  bool
	Migration  bool
	Pad        uint8
	Version    uint8
	PKey       uint16 // 0 stands for the default partition, 0xffff
	FECN, BECN bool
	QP         uint32
	AckRequest bool
	PSN        uint32
}

// AppendBTH appends a base transport header.
func AppendBTH(b []byte, h BTHHeader) []byte {
	if h.PKey == 0 {
		h.PKey = defaultPKey
	}
	b = append(b, uint8(h.Opcode), bit(h.Solicited, 7)|bit(h.Migration, 6)|h.Pad&3<<4|h.Version&0x0f)
	b = binary.BigEndian.AppendUint16(b, h.PKey)
	b = binary.BigEndian.AppendUint32(b, uint32(bit(h.FECN, 7)|bit(h.BECN, 6))<<24|h.QP&psnMask)
	return binary.BigEndian.AppendUint32(b, uint32(bit(h.AckRequest, 7))<<24|h.PSN&psnMask)
}

func bit(on bool, at uint) uint8 {
	if on {
		return 1 << at
	}
	return 0
}
