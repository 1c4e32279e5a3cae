package spray

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Algorithm is a hash unit. All but the 64-bit ones stand for a value of SAI_HASH_ALGORITHM (saiswitch.h of the Switch Abstraction
// Interface). The one-line comments there are all that is public of most of them; what is ours is said at each.
type Algorithm string

// Algorithms.
const (
	CRC32  Algorithm = "crc32"  // SAI CRC, which names no polynomial: here Ethernet's, 32 bits wide
	CRC32C Algorithm = "crc32c" // the same with Castagnoli's polynomial
	CRC64  Algorithm = "crc64"  // of the articles alone, with the polynomial of ECMA-182; no public switch has it
	// CRC64ISO has the polynomial of ISO 3309, whose terms lie at one end: what enters last does not reach the low bits. With a PSN at the end of the
	// key it sprays nothing unless the offset is 56 or so.
	CRC64ISO Algorithm = "crc64-iso"
	CRC32Lo  Algorithm = "crc32-lo"  // SAI CRC_32LO: the lower 16 bits of CRC-32
	CRC32Hi  Algorithm = "crc32-hi"  // SAI CRC_32HI: the higher 16 bits of CRC-32
	CRCCCITT Algorithm = "crc-ccitt" // SAI CRC_CCITT: 16 bits, polynomial 0x1021; start value and bit order are not public
	CRCXOR   Algorithm = "crc-xor"   // SAI CRC_XOR: 8 bits of CRC-16 above 8 bits of XOR, as Broadcom's CRC16XOR8; which half is where is ours
	XOR      Algorithm = "xor"       // SAI XOR: the 32-bit words of the key and the seed combined; the word size is ours
	Random   Algorithm = "random"    // SAI RANDOM: what hardware does is not public; here a mixer, so that a packet keeps its bucket
)

// Choices lists the algorithms.
func (Algorithm) Choices() []string {
	return []string{
		string(CRC32), string(CRC32C), string(CRC64), string(CRC64ISO), string(CRC32Lo), string(CRC32Hi), string(CRCCCITT), string(CRCXOR),
		string(XOR), string(Random),
	}
}

// HashConfig is the hash unit of a sprayer. Its zero value is Ethernet's CRC-32.
type HashConfig struct {
	Algorithm  Algorithm `yaml:"algorithm" doc:"hash function, by the names of SAI"`
	Polynomial uint64    `yaml:"polynomial" doc:"polynomial of the CRC without its highest term, most significant bit first; unset: the usual one of the algorithm"`
	Seed       uint64    `yaml:"seed" doc:"combined with the usual start value of the hash, folded to its width"`
	Offset     int       `yaml:"offset" min:"0" max:"63" doc:"bits by which the hash is rotated right (SAI hash offset), so that tiers with one CRC use other bits of it"`
}

// Hasher computes hashes. It never changes once made, so that any number of sprayers can share one.
type Hasher struct {
	kind   hashKind
	tables *crcTables // nil when the algorithm has no CRC
	start  uint64
	low    uint // lowest bit of the value that belongs to the hash
	bits   uint // of the hash
	offset uint // by which the hash is rotated
}

// hashKind is what a state of the hash consists of.
type hashKind uint8

const (
	plainCRC hashKind = iota
	crcAndXOR
	plainXOR
	mixed
)

// hashes says how each algorithm works: its CRC, and which bits of the value are the hash.
var hashes = map[Algorithm]struct {
	kind hashKind
	crc  crcModel
	low  uint
	bits uint
}{
	CRC32: {plainCRC, crc32ISO, 0, 32}, CRC32C: {plainCRC, crc32C, 0, 32}, CRC64: {plainCRC, crc64ECMA, 0, 64}, CRC64ISO: {plainCRC, crc64ISO, 0, 64},
	CRC32Lo: {plainCRC, crc32ISO, 0, 16}, CRC32Hi: {plainCRC, crc32ISO, 16, 16}, CRCCCITT: {plainCRC, crc16CCITT, 0, 16},
	CRCXOR: {crcAndXOR, crc16BISYNC, 0, 16}, XOR: {plainXOR, crcModel{}, 0, 32}, Random: {mixed, crcModel{}, 0, 32},
}

// NewHasher makes the hash unit, or says what is wrong with its configuration.
func NewHasher(c HashConfig) (*Hasher, error) {
	if c.Algorithm == "" {
		c.Algorithm = CRC32
	}
	u, ok := hashes[c.Algorithm]
	if !ok {
		return nil, fmt.Errorf("spray: unknown hash algorithm %q; known: %s", c.Algorithm, strings.Join(c.Algorithm.Choices(), ", "))
	}
	if c.Offset < 0 || uint(c.Offset) >= u.bits {
		return nil, fmt.Errorf("spray: hash offset %d: the hash %s has bits 0 to %d", c.Offset, c.Algorithm, u.bits-1)
	}
	h := &Hasher{kind: u.kind, start: c.Seed, low: u.low, bits: u.bits, offset: uint(c.Offset)}
	if u.crc.width == 0 {
		if c.Polynomial != 0 {
			return nil, fmt.Errorf("spray: the hash %s has no polynomial", c.Algorithm)
		}
		return h, nil
	}
	if p := c.Polynomial; p != 0 {
		if u.crc.width < 64 && p>>u.crc.width != 0 || p&1 == 0 {
			return nil, fmt.Errorf("spray: polynomial %#x: one of %s has %d bits without its highest term, the last of them 1", p, c.Algorithm, u.crc.width)
		}
		u.crc.polynomial = p
	}
	h.tables = newCRC(u.crc)
	h.start = h.tables.register(u.crc, u.crc.start^narrow(c.Seed, u.crc.width))
	return h, nil
}

// narrow brings v to a width: a seed that is too wide is not cut, so that seeds which differ above still differ.
func narrow(v uint64, width uint) uint64 {
	for w := uint(32); w >= width; w /= 2 {
		v = v>>w ^ v&(1<<w-1)
	}
	return v
}

// Sum is the hash of a whole key. For XOR and Random the key counts as followed by zeros up to a whole 32-bit word.
func (h *Hasher) Sum(key []byte) uint32 { return h.result(h.feed(h.start, key)) }

// Flow is the state of the hash after the fields that all packets of a QP share. It is kept per QP; Packet goes on from there.
func (h *Hasher) Flow(f Flow) uint64 {
	var buffer [maxKey]byte
	state := h.feed(h.start, f.AppendKey(buffer[:0]))
	if h.tables != nil {
		return h.feed(state, zeros[:]) // so that Packet need not push the register along
	}
	return state
}

// zeros is the place of the PSN.
var zeros [4]byte

// Pinned is the hash of all packets of a QP under KeyFlow.
func (h *Hasher) Pinned(f Flow) uint32 {
	var buffer [maxKey]byte
	return h.Sum(f.AppendKey(buffer[:0]))
}

// Packet is the hash of one packet: state comes from Flow, n is its PSN (KeyFlowPSN) or the sprayer's counter (KeyCounter). It equals Sum over
// the key of the flow followed by n in four bytes, highest first.
func (h *Hasher) Packet(state uint64, n uint32) uint32 {
	if h.tables == nil {
		return h.result(h.word(state, n))
	}
	state ^= h.tables.feed4(n)
	if h.kind == crcAndXOR {
		state ^= xorBytes(n)
	}
	return h.result(state)
}

// feed goes on with a hash.
func (h *Hasher) feed(state uint64, key []byte) uint64 {
	if h.tables == nil {
		for ; len(key) >= 4; key = key[4:] {
			state = h.word(state, binary.BigEndian.Uint32(key))
		}
		if len(key) > 0 {
			var last [4]byte
			copy(last[:], key)
			state = h.word(state, binary.BigEndian.Uint32(last[:]))
		}
		return state
	}
	if h.kind == plainCRC {
		return h.tables.feed(state, key)
	}
	// CRC-16 needs the low 16 bits of the state alone; the XOR of all bytes lies above.
	crc, xor := state&0xffff, state>>xorAt
	crc = h.tables.feed(crc, key)
	for _, b := range key {
		xor ^= uint64(b)
	}
	return crc | xor<<xorAt
}

// xorAt is where the state of CRCXOR keeps its XOR.
const xorAt = 32

// xorBytes is the XOR of the bytes of n, where the state of CRCXOR keeps it.
func xorBytes(n uint32) uint64 {
	n ^= n >> 16
	return uint64(n>>8^n) & 0xff << xorAt
}

// word goes on with a hash that has no CRC by one word of the key.
func (h *Hasher) word(state uint64, w uint32) uint64 {
	if h.kind == plainXOR {
		return state ^ uint64(w)
	}
	return mix((state ^ uint64(w)) + 0x9e3779b97f4a7c15) // SplitMix64's increment, so that zeros move the state too
}

// result is the hash that a state stands for, as wide as a table can use.
func (h *Hasher) result(state uint64) uint32 {
	switch h.kind {
	case plainCRC:
		state = h.tables.value(state) >> h.low
	case crcAndXOR:
		state = h.tables.value(state&0xffff)&0xff<<8 | state>>xorAt
	case plainXOR:
		state = narrow(state, 32)
	default:
		state >>= 32
	}
	if h.bits < 64 {
		state &= 1<<h.bits - 1
	}
	if h.offset != 0 {
		state = state>>h.offset | state<<(h.bits-h.offset)&(^uint64(0)>>(64-h.bits))
	}
	return uint32(state)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
