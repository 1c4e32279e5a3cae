package packet

import "encoding/binary"

// LRH is a view of the local route header, which begins a frame of InfiniBand (InfiniBand section 7.7).
type LRH []byte

const (
	lrhLen  = 8
	vcrcLen = 2 // the variant CRC behind the ICRC, which each link makes anew
)

// What follows the local route header.
const (
	lrhTransport = 2 // BTH
	lrhGlobal    = 3 // GRH, then BTH
)

// Lane is the virtual lane.
func (h LRH) Lane() uint8 { return h[0] >> 4 }

// Level is the service level, which chooses the lane at each link.
func (h LRH) Level() uint8 { return h[1] >> 4 }

func (h LRH) next() uint8 { return h[1] & 3 }

// Dst is the local identifier of the port it goes to.
func (h LRH) Dst() uint16 { return binary.BigEndian.Uint16(h[2:]) }

// Src is the local identifier of the port it comes from.
func (h LRH) Src() uint16 { return binary.BigEndian.Uint16(h[6:]) }

// Length is the length from the first byte of the header to the last of the ICRC.
func (h LRH) Length() int { return int(binary.BigEndian.Uint16(h[4:])&0x07ff) * 4 }

// AppendLRH appends a local route header, with a global one behind it or not, of a packet of that many bytes together
// with its ICRC.
func AppendLRH(b []byte, src, dst uint16, level uint8, global bool, length int) []byte {
	next := byte(lrhTransport)
	if global {
		next = lrhGlobal
	}
	b = append(b, 0, level<<4|next)
	b = binary.BigEndian.AppendUint16(b, dst)
	b = binary.BigEndian.AppendUint16(b, uint16((lrhLen+length)/4))
	return binary.BigEndian.AppendUint16(b, src)
}

// infiniband finds the headers of a frame of InfiniBand. Raw packets have no transport that is known here.
func (f *Frame) infiniband(data []byte) {
	if len(data) < lrhLen {
		f.Cut = true
		return
	}
	h := LRH(data[:lrhLen:lrhLen])
	if h.Length() < lrhLen || h.next() < lrhTransport {
		return
	}
	f.LRH = h
	rest := f.cut(data, h.Length())[lrhLen:]
	if h.next() == lrhGlobal {
		if len(rest) < ip6Len {
			f.Cut = true
			return
		}
		f.GRH = IPv6(rest)
		rest = rest[ip6Len:]
	}
	f.roce(rest)
}
