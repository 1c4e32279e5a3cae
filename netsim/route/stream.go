package route

import "math/rand/v2"

// Stream is the source of chance of one entity.
type Stream struct{ pcg rand.PCG }

// Seed starts the stream.
func (s *Stream) Seed(seed, entity uint64) { s.pcg.Seed(seed, entity) }

// Uint64 draws 64 bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Uint32 draws 32 bits.
func (s *Stream) Uint32() uint32 { return uint32(s.pcg.Uint64() >> 32) }

// Below draws from 0..n-1; the bias of the multiplication is under n/2^32.
func (s *Stream) Below(n uint32) uint32 { return uint32(uint64(s.Uint32()) * uint64(n) >> 32) }
