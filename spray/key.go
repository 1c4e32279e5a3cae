package spray

import (
	"encoding/binary"
	"net/netip"
)

// Key is what goes into the hash of a packet.
type Key string

// Keys.
const (
	// KeyFlow is the articles' literal list: QPN, UDP ports and IP addresses. None of them changes within a QP, so a QP keeps its bucket: this
	// is weighted ECMP with the QP number hashed in (Meta's E-ECMP, SIGCOMM 2024, with weights), not spraying.
	KeyFlow Key = "flow"
	// KeyFlowPSN adds the packet sequence number of the BTH: every packet has a bucket of its own, and a retransmission has that of the original.
	KeyFlowPSN Key = "flow+psn"
	// KeyCounter adds a counter of the sprayer instead: a retransmission finds another bucket.
	KeyCounter Key = "counter"
)

// Choices lists the keys.
func (Key) Choices() []string {
	return []string{string(KeyFlow), string(KeyFlowPSN), string(KeyCounter)}
}

// PerPacket tells whether packets of one QP differ in the key.
func (k Key) PerPacket() bool { return k == KeyFlowPSN || k == KeyCounter }

// Flow is what all packets of a QP in one direction have in common.
type Flow struct {
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	QPN              uint32 // destination QP number of the BTH, 24 bits
}

// maxKey is the longest key of a flow: two IPv6 addresses, two ports and a QP number. It is a whole number of 32-bit words, as every key is.
const maxKey = 2*16 + 2*2 + 4

// AppendKey appends the fields in the order of the wire: addresses (4 bytes each for IPv4, IPv4-mapped ones too, 16 for IPv6, none when unset),
// ports, and the word of the BTH that holds the QP number, its reserved byte zero. The word with the PSN follows where the key has one. In what
// order an ASIC feeds fields to its hash is not public: this order is ours.
func (f Flow) AppendKey(key []byte) []byte {
	for _, a := range [...]netip.Addr{f.Src, f.Dst} {
		switch a = a.Unmap(); {
		case a.Is4():
			b := a.As4()
			key = append(key, b[:]...)
		case a.Is6():
			b := a.As16()
			key = append(key, b[:]...)
		}
	}
	key = binary.BigEndian.AppendUint16(key, f.SrcPort)
	key = binary.BigEndian.AppendUint16(key, f.DstPort)
	return binary.BigEndian.AppendUint32(key, f.QPN&0xffffff)
}
