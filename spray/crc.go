package spray

// CRC units as an ASIC has them: any polynomial, any start value. The parameters are those of the Rocksoft model (Williams, A painless
// guide to CRC error detection algorithms, 1993), which the catalogue of parametrised CRCs lists with a check value each.

// crcModel is one CRC: the polynomial without its highest term, most significant bit first; start value and final mask in the same order.
type crcModel struct {
	width        uint
	polynomial   uint64
	start, final uint64
	reflected    bool // bytes enter least significant bit first, and the result is mirrored
}

var (
	crc32ISO    = crcModel{32, 0x04c11db7, 0xffffffff, 0xffffffff, true} // Ethernet's (IEEE 802.3, 3.2.9), RoCE's ICRC
	crc32C      = crcModel{32, 0x1edc6f41, 0xffffffff, 0xffffffff, true} // Castagnoli's, of iSCSI (RFC 3720)
	crc64ECMA   = crcModel{64, 0x42f0e1eba9ea3693, ^uint64(0), ^uint64(0), true}
	crc64ISO    = crcModel{64, 0x1b, ^uint64(0), ^uint64(0), true} // ISO 3309
	crc16CCITT  = crcModel{16, 0x1021, 0xffff, 0, false}           // the variant known as CCITT-FALSE or IBM-3740
	crc16BISYNC = crcModel{16, 0x8005, 0, 0, true}                 // BISYNC's, known as ARC
)

// crcTables holds a CRC in table form. The register is kept at the low end of 64 bits when reflected and at the high end otherwise, so
// that one loop serves every width. after[k][b] is what byte b leaves in an empty register that k zero bytes follow.
type crcTables struct {
	after     [4][256]uint64
	shift     uint // from the register to the value, when not reflected
	reflected bool
	final     uint64
}

func newCRC(m crcModel) *crcTables {
	t := &crcTables{reflected: m.reflected, final: m.final, shift: 64 - m.width}
	polynomial := t.register(m, m.polynomial)
	for b := range uint64(256) {
		r := b
		if !m.reflected {
			r <<= 56
		}
		for range 8 {
			switch {
			case m.reflected && r&1 != 0:
				r = r>>1 ^ polynomial
			case m.reflected:
				r >>= 1
			case r>>63 != 0:
				r = r<<1 ^ polynomial
			default:
				r <<= 1
			}
		}
		t.after[0][b] = r
	}
	for k := 1; k < len(t.after); k++ {
		for b := range t.after[k] {
			t.after[k][b] = t.step(t.after[k-1][b], 0)
		}
	}
	return t
}

// register turns a value written most significant bit first into the form of the register.
func (t *crcTables) register(m crcModel, v uint64) uint64 {
	if !m.reflected {
		return v << t.shift
	}
	var mirrored uint64
	for i := range m.width {
		mirrored |= v >> i & 1 << (m.width - 1 - i)
	}
	return mirrored
}

// step feeds one byte.
func (t *crcTables) step(r uint64, b byte) uint64 {
	if t.reflected {
		return t.after[0][byte(r)^b] ^ r>>8
	}
	return t.after[0][byte(r>>56)^b] ^ r<<8
}

// feed feeds bytes.
func (t *crcTables) feed(r uint64, p []byte) uint64 {
	for _, b := range p {
		r = t.step(r, b)
	}
	return r
}

// feed4 is what four bytes, highest first, leave in an empty register. A CRC is linear: the register after more bytes is the register
// after as many zeros, combined with what the bytes alone leave.
func (t *crcTables) feed4(n uint32) uint64 {
	return t.after[3][n>>24] ^ t.after[2][n>>16&0xff] ^ t.after[1][n>>8&0xff] ^ t.after[0][n&0xff]
}

// value is the CRC that the register stands for.
func (t *crcTables) value(r uint64) uint64 {
	if !t.reflected {
		r >>= t.shift
	}
	return r ^ t.final
}
