package spray

import (
	"encoding/binary"
	"errors"

	"github.com/shunt-network/shunt/packet"
)

// A PPCID travels in the checksum field of UDP (article 000, section 3). Two rules meet there.
//
// The invariant CRC of RoCEv2 takes the field as ones (InfiniBand annex A17), so a receiver of RoCE sees nothing wrong with any
// value of it: WritePPCID changes the field and the ICRC stays right.
//
// UDP has other rules. Over IPv4 a checksum of 0 means none, and RoCEv2 senders write 0; every other value is a checksum that
// whoever looks may verify, and may drop the packet over (RFC 768, RFC 1122 section 4.1.3.4). Over IPv6 it is harder: a checksum
// of 0 is allowed only where it was agreed on for a tunnel (RFC 6935, RFC 6936, RFC 8200 section 8.1), so a strict device drops
// plain RoCEv2 as well, and one that was told to let 0 pass still verifies any other value. In neither is there a spare part of
// the field, as the article has it: all sixteen bits are the checksum.

// Errors of writing a PPCID.
var (
	ErrNotRoCE = errors.New("spray: no whole RoCEv2 packet with an ICRC")
	ErrICRC    = errors.New("spray: the ICRC is wrong already")
	ErrTaken   = errors.New("spray: the UDP checksum is in use")
)

const checksumAt = 6 // of the checksum in the UDP header (RFC 768)

// ReadPPCID is what stands in the checksum field of a RoCEv2 packet; ok is false where the frame is none or the field is 0.
func ReadPPCID(f *packet.Frame) (id uint16, ok bool) {
	if f.BTH == nil || f.UDP == nil {
		return 0, false
	}
	id = f.UDP.Checksum()
	return id, id != 0
}

// WritePPCID puts an id into the bytes that a frame is a view of. The packet has to be whole, with a right ICRC, and its field
// must be free; afterwards the ICRC is verified again. A right UDP checksum in the field counts as in use, an older id does not.
func WritePPCID(f *packet.Frame, id uint16) error {
	right, known := f.Check()
	switch {
	case !known:
		return ErrNotRoCE
	case !right:
		return ErrICRC
	case f.UDP.Checksum() != 0 && StandardView(f) == VerdictRight:
		return ErrTaken
	}
	was := f.UDP.Checksum()
	binary.BigEndian.PutUint16(f.UDP[checksumAt:], id)
	if right, _ := f.Check(); !right { // cannot be while the ICRC takes the field as ones
		binary.BigEndian.PutUint16(f.UDP[checksumAt:], was)
		return ErrICRC
	}
	return nil
}

// Verdict is what a device that follows the standards makes of the checksum of a UDP packet.
type Verdict uint8

// Verdicts.
const (
	VerdictUnknown Verdict = iota // not a whole UDP packet
	VerdictNone                   // IPv4 without a checksum: nothing to verify
	VerdictZero6                  // IPv6 without a checksum: dropped, unless the port was excepted (RFC 6936)
	VerdictRight                  // verifies
	VerdictWrong                  // does not verify: dropped by who looks
)

// String says the verdict in words.
func (v Verdict) String() string {
	switch v {
	case VerdictNone:
		return "no checksum"
	case VerdictZero6:
		return "no checksum, which IPv6 allows for agreed ports alone"
	case VerdictRight:
		return "right checksum"
	case VerdictWrong:
		return "wrong checksum"
	}
	return "unknown"
}

// StandardView judges a packet as a standards-following device does that knows nothing of context ids. A PPCID passes for a right
// checksum once in 65536.
func StandardView(f *packet.Frame) Verdict {
	if f.UDP == nil || f.Cut {
		return VerdictUnknown
	}
	n := f.UDP.Length()
	if n < 8 || n > len(f.UDP) {
		return VerdictUnknown
	}
	datagram := f.UDP[:n]
	var sum uint64
	switch { // the pseudo header: addresses, length, protocol (RFC 768, RFC 8200 section 8.1)
	case f.IPv4 != nil:
		if datagram.Checksum() == 0 {
			return VerdictNone
		}
		sum = ones(0, f.IPv4[12:20])
	case f.IPv6 != nil:
		if datagram.Checksum() == 0 {
			return VerdictZero6
		}
		sum = ones(0, f.IPv6[8:40])
	default:
		return VerdictUnknown
	}
	sum = ones(sum+uint64(n)+uint64(packet.ProtocolUDP), datagram)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum == 0xffff {
		return VerdictRight
	}
	return VerdictWrong
}

// ones adds the sixteen-bit words of a slice (RFC 1071); an odd last byte is the high half of a word.
func ones(sum uint64, b []byte) uint64 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
