package spray

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// The vector in the appendix of the paper: key 00..0f, message 00..0e.
func TestSipHash(t *testing.T) {
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	s := newSip(TagKey{binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])})
	s.word(binary.LittleEndian.Uint64([]byte{0, 1, 2, 3, 4, 5, 6, 7}))
	if got := s.sum(binary.LittleEndian.Uint64([]byte{8, 9, 10, 11, 12, 13, 14, 0}), 15); got != 0xa129ca6149be45e5 {
		t.Errorf("%#x", got)
	}
}

func tagged() Tagged {
	return Tagged{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), QP: 0x1234, Sequence: 99, Path: 5}
}

func TestKeyedTag(t *testing.T) {
	ring := NewKeyring(TagKey{1, 2})
	in := tagged()
	id := ring.Seal(in)
	out := tagged()
	out.Path = 0
	if x, err := ring.Open(id, out); err != nil || x.Path != 5 {
		t.Fatalf("%+v, %v", x, err)
	}
	// The keys turn: the last one is still good, the one before it is not, and no epoch is 0.
	ring.Next(TagKey{3, 4})
	if _, err := ring.Open(id, out); err != nil {
		t.Errorf("after one turn: %v", err)
	}
	ring.Next(TagKey{5, 6})
	if _, err := ring.Open(id, out); !errors.Is(err, ErrEpoch) {
		t.Errorf("after two turns: %v", err)
	}
	ring.Next(TagKey{7, 8}) // the first epoch again, with another key
	failed := 0
	for psn := range uint32(64) {
		in, out := tagged(), tagged()
		in.Sequence, out.Sequence = psn, psn
		old := NewKeyring(TagKey{1, 2}).Seal(in)
		if _, err := ring.Open(old, out); errors.Is(err, ErrTag) {
			failed++
		}
	}
	if failed < 60 {
		t.Errorf("%d of 64 ids of a key of three turns ago failed", failed)
	}
	if _, err := ring.Open(0, out); !errors.Is(err, ErrAbsent) {
		t.Errorf("no id: %v", err)
	}
	if _, err := ring.Open(1, out); !errors.Is(err, ErrEpoch) {
		t.Errorf("epoch 0: %v", err)
	}
}

// A forgery that knows the layout, the epoch and all of the packet, and not the key, passes one time in 256: of 100,000 tries
// within four standard deviations of 391. A tag moved to another packet passes as rarely.
func TestBlindForgery(t *testing.T) {
	const tries = 100_000
	mean := tries / 256.0
	bound := 4 * math.Sqrt(mean)
	ring, rng := NewKeyring(TagKey{11, 12}), rand.New(rand.NewPCG(1, 1))
	guessed, moved := 0, 0
	for i := range uint32(tries) {
		p := tagged()
		p.Sequence = i
		guess := uint16(1<<14 | rng.Uint32N(64)<<8 | rng.Uint32N(256))
		if _, err := ring.Open(guess, p); err == nil {
			guessed++
		}
		p = tagged()
		p.Sequence = i
		id := ring.Seal(p)
		p.Sequence = i + 1<<20
		if _, err := ring.Open(id, p); err == nil {
			moved++
		}
	}
	for name, n := range map[string]int{"guessed": guessed, "moved": moved} {
		if math.Abs(float64(n)-mean) > bound {
			t.Errorf("%s ids passed %d times, expected %.0f +- %.0f", name, n, mean, bound)
		}
	}
	// Any field that the tag covers counts.
	for name, change := range map[string]func(*Tagged){
		"source":      func(p *Tagged) { p.Src = netip.MustParseAddr("192.0.2.3") },
		"destination": func(p *Tagged) { p.Dst = netip.MustParseAddr("2001:db8::1") },
		"QP":          func(p *Tagged) { p.QP++ },
	} {
		passed := 0
		for i := range uint32(4096) {
			p := tagged()
			p.Sequence = i
			id := ring.Seal(p)
			change(&p)
			if _, err := ring.Open(id, p); err == nil {
				passed++
			}
		}
		if passed > 48 { // 16 expected
			t.Errorf("with another %s %d of 4096 ids passed", name, passed)
		}
	}
}

func TestTagAllocatesNothing(t *testing.T) {
	ring, p := NewKeyring(TagKey{1, 2}), tagged()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := ring.Open(ring.Seal(p), p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations a packet", n)
	}
}

func BenchmarkTag(b *testing.B) {
	ring, p := NewKeyring(TagKey{1, 2}), tagged()
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		p.Sequence = i
		ring.Seal(p)
	}
}
