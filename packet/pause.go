package packet

import "encoding/binary"

// Pause is a view of a MAC control frame behind its EtherType: an 802.3x pause (IEEE 802.3 annex 31B) or a priority
// pause (PFC, IEEE 802.1Qbb, now 802.3 annex 31D).
type Pause []byte

// PauseAddress is where pauses are sent; no bridge passes them on.
var PauseAddress = MAC{0x01, 0x80, 0xc2, 0, 0, 1}

const (
	opPause  = 0x0001
	opPFC    = 0x0101
	pauseLen = 4  // opcode and time
	pfcLen   = 20 // opcode, vector and eight times
	minFrame = 60 // without the check sequence (IEEE 802.3 section 4A.4.2)
)

// QuantumBits is the unit of a pause's time: 512 bits at the speed of the link.
const QuantumBits = 512

// PFC tells whether the pause is of priorities.
func (p Pause) PFC() bool { return len(p) >= pfcLen && binary.BigEndian.Uint16(p) == opPFC }

// Global tells whether the pause is of the whole link.
func (p Pause) Global() bool { return len(p) >= pauseLen && binary.BigEndian.Uint16(p) == opPause }

// Quanta is how long a global pause is, 0 to go on.
func (p Pause) Quanta() uint16 { return binary.BigEndian.Uint16(p[2:]) }

// Priority tells whether a PFC frame speaks of a priority, and for how long it pauses it, 0 to go on.
func (p Pause) Priority(i int) (quanta uint16, ok bool) {
	if i < 0 || i > 7 {
		return 0, false
	}
	return binary.BigEndian.Uint16(p[4+2*i:]), binary.BigEndian.Uint16(p[2:])>>i&1 != 0
}

// AppendPFC appends a whole PFC frame without its check sequence: for each priority in the vector, its time.
func AppendPFC(b []byte, src MAC, vector uint8, quanta [8]uint16) []byte {
	at := len(b)
	b = AppendEthernet(b, PauseAddress, src, TypeMACControl)
	b = binary.BigEndian.AppendUint16(b, opPFC)
	b = binary.BigEndian.AppendUint16(b, uint16(vector))
	for _, q := range quanta {
		b = binary.BigEndian.AppendUint16(b, q)
	}
	return append(b, make([]byte, minFrame-(len(b)-at))...)
}

// AppendPause appends a whole 802.3x pause frame without its check sequence.
func AppendPause(b []byte, src MAC, quanta uint16) []byte {
	at := len(b)
	b = AppendEthernet(b, PauseAddress, src, TypeMACControl)
	b = binary.BigEndian.AppendUint16(b, opPause)
	b = binary.BigEndian.AppendUint16(b, quanta)
	return append(b, make([]byte, minFrame-(len(b)-at))...)
}
