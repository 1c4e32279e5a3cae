package spray

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"net/netip"
)

// The keyed layout replaces sequence and time by a truncated hash under a key that both ends share. Article 000 calls the PPCID
// a fingerprint that cannot be forged (S0.16); without a key it can be copied by whoever sees one and guessed by whoever knows
// the layout. With eight bits a blind forgery passes one time in 256 and three of three pass one time in 17 million. It does not
// stop who repeats a packet of the same sequence number in the same epoch, nor a host that has the key.
//
// The hash is SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012), made for short inputs under a key of 128 bits.

// Errors of reading an id with a tag.
var (
	ErrEpoch = errors.New("spray: context id of an epoch that has no key")
	ErrTag   = errors.New("spray: context id with a wrong tag")
)

// TagKey is a key of one epoch.
type TagKey struct{ K0, K1 uint64 }

// Keyring holds the keys of epochs 1 to 3; epoch 0 is never used, so that no id is 0. Three are enough: the one in use, the one
// before it whose packets may still be under way, and the one that comes.
type Keyring struct {
	codec Codec
	keys  [4]TagKey
	have  [4]bool
	now   uint32
}

// NewKeyring makes a ring with the key of the first epoch.
func NewKeyring(key TagKey) *Keyring {
	c, err := NewCodec(LayoutKeyed)
	if err != nil {
		panic(err) // the layout stands in the table
	}
	k := &Keyring{codec: c, now: 1}
	k.keys[1], k.have[1] = key, true
	return k
}

// Next makes a key that of the next epoch, which is used from now on. The key before it stays valid; older ones are forgotten.
func (k *Keyring) Next(key TagKey) {
	last := k.now
	k.now = k.now%3 + 1
	k.keys[k.now], k.have[k.now] = key, true
	for e := uint32(1); e <= 3; e++ {
		k.have[e] = k.have[e] && (e == k.now || e == last)
	}
}

// Tagged is what the tag covers: the packet's ends, its queue pair, its number and the path it was given.
type Tagged struct {
	Src, Dst     netip.Addr
	QP, Sequence uint32
	Path         uint32
}

// Seal makes the id of a packet. Its path is cut to the bits of the layout.
func (k *Keyring) Seal(t Tagged) uint16 {
	c := &k.codec
	t.Path &= 1<<c.at[PartPath].bits - 1
	return c.Encode(Context{Path: t.Path, Epoch: k.now, Tag: tag(k.keys[k.now], k.now, &t)})
}

// Open reads the id of a packet and verifies its tag. The path is what the id says, and not what t does.
func (k *Keyring) Open(id uint16, t Tagged) (Context, error) {
	x, err := k.codec.Decode(id)
	if err != nil {
		return Context{}, err
	}
	if !k.have[x.Epoch] {
		return Context{}, ErrEpoch
	}
	t.Path = x.Path
	if tag(k.keys[x.Epoch], x.Epoch, &t)&(1<<k.codec.at[PartTag].bits-1) != x.Tag {
		return Context{}, ErrTag
	}
	return x, nil
}

// tag hashes five words and a length, so that no input is the beginning of another.
func tag(key TagKey, epoch uint32, t *Tagged) uint32 {
	s := newSip(key)
	src, dst := t.Src.As16(), t.Dst.As16()
	s.word(binary.LittleEndian.Uint64(src[:8]))
	s.word(binary.LittleEndian.Uint64(src[8:]))
	s.word(binary.LittleEndian.Uint64(dst[:8]))
	s.word(binary.LittleEndian.Uint64(dst[8:]))
	s.word(uint64(t.QP)<<32 | uint64(t.Sequence))
	return uint32(s.sum(uint64(epoch)<<8|uint64(t.Path), 42))
}

// sip is the state of SipHash-2-4.
type sip struct{ v0, v1, v2, v3 uint64 }

func newSip(k TagKey) sip { // the constants are the paper's: "somepseudorandomlygeneratedbytes"
	return sip{k.K0 ^ 0x736f6d6570736575, k.K1 ^ 0x646f72616e646f6d, k.K0 ^ 0x6c7967656e657261, k.K1 ^ 0x7465646279746573}
}

func (s *sip) round() {
	s.v0 += s.v1
	s.v2 += s.v3
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v1
	s.v0 += s.v3
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

// word takes eight bytes in, least significant first.
func (s *sip) word(m uint64) {
	s.v3 ^= m
	s.round()
	s.round()
	s.v0 ^= m
}

// sum ends the hash with the bytes that are left, fewer than eight, and the length of it all.
func (s *sip) sum(rest uint64, length uint8) uint64 {
	s.word(rest | uint64(length)<<56)
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}
