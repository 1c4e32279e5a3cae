package packet

import "encoding/binary"

// MAC is a hardware address.
type MAC [6]byte

// EtherType says what an Ethernet frame carries (IEEE 802 numbers).
type EtherType uint16

// EtherTypes that matter here.
const (
	TypeIPv4       EtherType = 0x0800
	TypeVLAN       EtherType = 0x8100 // IEEE 802.1Q customer tag
	TypeQinQ       EtherType = 0x88a8 // IEEE 802.1Q service tag
	TypeIPv6       EtherType = 0x86dd
	TypeMACControl EtherType = 0x8808 // pauses (IEEE 802.3 annex 31)
	TypeRoCEv1     EtherType = 0x8915 // InfiniBand annex A16: a GRH follows
)

// Ethernet is a view of a frame from its destination address on (IEEE 802.3 section 3).
type Ethernet []byte

// Offsets of the Ethernet header.
const (
	ethDst  = 0
	ethSrc  = 6
	ethType = 12
	ethLen  = 14
)

// Dst is the destination address.
func (e Ethernet) Dst() MAC { return MAC(e[ethDst:ethSrc]) }

// Src is the source address.
func (e Ethernet) Src() MAC { return MAC(e[ethSrc:ethType]) }

// Type is the EtherType, of a VLAN tag where the frame is tagged.
func (e Ethernet) Type() EtherType { return EtherType(binary.BigEndian.Uint16(e[ethType:])) }

// VLAN is a view of a tag behind its EtherType: the control information and the next EtherType (IEEE 802.1Q clause 9).
type VLAN []byte

const vlanLen = 4

// Priority is the priority code point, the class a port that trusts tags puts the frame into.
func (v VLAN) Priority() uint8 { return v[0] >> 5 }

// DropEligible is the drop eligible indicator.
func (v VLAN) DropEligible() bool { return v[0]&0x10 != 0 }

// ID is the VLAN, 0 for a frame that is tagged for its priority alone.
func (v VLAN) ID() uint16 { return binary.BigEndian.Uint16(v) & 0x0fff }

// Type is the EtherType of what follows.
func (v VLAN) Type() EtherType { return EtherType(binary.BigEndian.Uint16(v[2:])) }

// AppendEthernet appends an Ethernet header.
func AppendEthernet(b []byte, dst, src MAC, t EtherType) []byte {
	b = append(append(b, dst[:]...), src[:]...)
	return binary.BigEndian.AppendUint16(b, uint16(t))
}

// AppendVLAN appends what follows a tag's EtherType: priority, VLAN and the next EtherType.
func AppendVLAN(b []byte, priority uint8, id uint16, t EtherType) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(priority&7)<<13|id&0x0fff)
	return binary.BigEndian.AppendUint16(b, uint16(t))
}
