package spray

import (
	"math"

	"github.com/shunt-network/shunt/units"
)

// Article 000 makes the path id of a packet a fingerprint of the link: the bit error rate, sampled each 10 ms, hashed to 32 bits
// (S0.6). It is to be the same while the link is well and to change smoothly at a failover, where a switch port's number would
// break. A hash is neither smooth nor the same of two samples that differ by one error. So here the two things are apart: the
// identity of a path, which is given once and does not change, and its quality, which is measured and does.
//
// Only errors before correction can be sampled in 10 ms. Of 4e9 bits, which is 10 ms at 400 Gbit/s, a link at a raw rate of 1e-7
// has 400 wrong; after RS(544,514), at 1e-15, it has one in 70 hours.

// BERSample is what one sampling period counted.
type BERSample struct {
	Errors uint64
	Bits   uint64
}

// SampleBits is how many bits pass in a period at a rate.
func SampleBits(rate units.Rate, period units.Duration) uint64 {
	return uint64(float64(rate) * period.Seconds())
}

// Rate is the measured bit error rate. known is false where no error was counted: then it may be anything below about 3/Bits
// (the rule of three, at 95 %).
func (s BERSample) Rate() (rate float64, known bool) {
	if s.Errors == 0 || s.Bits == 0 {
		return 0, false
	}
	return float64(s.Errors) / float64(s.Bits), true
}

// Grades of quality: sixteen steps a decade from 1e-16 up, so that one step is 15 %, which is what 45 counted errors tell from the
// next step at one standard deviation. 0 is for no error seen.
const (
	gradesPerDecade = 16
	gradeFloor      = 16 // -log10 of the rate at grade 0
)

// Grade puts the rate on a scale of 8 bits, 0 where no error was counted.
func (s BERSample) Grade() uint8 {
	rate, known := s.Rate()
	if !known {
		return 0
	}
	g := math.Round(gradesPerDecade * (gradeFloor + math.Log10(rate)))
	return uint8(max(1, min(g, 255)))
}

// GradeRate is the rate in the middle of a grade; known is false for grade 0.
func GradeRate(g uint8) (rate float64, known bool) {
	if g == 0 {
		return 0, false
	}
	return math.Pow(10, float64(g)/gradesPerDecade-gradeFloor), true
}

// Fingerprint is 32 bits of a path: 16 of identity, 8 of quality, 8 of how often its link was exchanged.
//
//	31            16 15         8 7          0
//	+---------------+------------+------------+
//	|   identity    |  quality   |  exchanges |
//	+---------------+------------+------------+
//
// A PPCID carries bits of the identity alone, from its low end.
type Fingerprint uint32

// NewFingerprint puts a fingerprint together.
func NewFingerprint(identity uint16, quality, exchanges uint8) Fingerprint {
	return Fingerprint(uint32(identity)<<16 | uint32(quality)<<8 | uint32(exchanges))
}

// Identity is the number that the path was given, the same before and after a failover.
func (f Fingerprint) Identity() uint16 { return uint16(f >> 16) }

// Quality is the grade of the link's bit error rate.
func (f Fingerprint) Quality() uint8 { return uint8(f >> 8) }

// Exchanges counts the failovers of the path, modulo 256.
func (f Fingerprint) Exchanges() uint8 { return uint8(f) }

// LinkQuality follows a path: it takes samples and failovers in, and has the fingerprint. Quality is the rate over the last samples,
// old ones counting less.
type LinkQuality struct {
	Identity  uint16
	exchanges uint8
	errors    float64 // both decay alike, so that their quotient is the rate
	bits      float64
}

// qualityMemory is how much of the past a new sample leaves: an exponential mean over about 16 samples, which at 10 ms each are
// 160 ms. It brings the noise of a count down to a quarter. Our own choice.
const qualityMemory = 15.0 / 16

// Add takes a sample.
func (q *LinkQuality) Add(s BERSample) {
	q.errors = q.errors*qualityMemory + float64(s.Errors)
	q.bits = q.bits*qualityMemory + float64(s.Bits)
}

// Exchange notes that the path goes over another link from now on. What was measured of the old one is forgotten.
func (q *LinkQuality) Exchange() { q.exchanges, q.errors, q.bits = q.exchanges+1, 0, 0 }

// Fingerprint is the path's fingerprint now.
func (q *LinkQuality) Fingerprint() Fingerprint {
	return NewFingerprint(q.Identity, q.grade(), q.exchanges)
}

func (q *LinkQuality) grade() uint8 {
	if q.bits == 0 || q.errors < 0.5 { // less than half an error in the memory is none
		return 0
	}
	g := math.Round(gradesPerDecade * (gradeFloor + math.Log10(q.errors/q.bits)))
	return uint8(max(1, min(g, 255)))
}

// HashedSample is the fingerprint as article 000 has it: a hash of what the last period counted. The article does not tell which hash;
// any good one does the same (this is the finaliser of MurmurHash3, which maps no two counts below 2^32 to one value).
func HashedSample(s BERSample) uint32 { return scatter(uint32(s.Errors)) }

func scatter(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
