package units

import "math/bits"

// bitTime is picoseconds times bit/s of one byte: 8 bits * 10^12 ps/s.
const bitTime = 8_000_000_000_000

// Serialize is the time b bytes take on a link of rate r, rounded up to a whole picosecond. The
// product is 128 bits wide: b*8*10^12 passes int64 from 1,152,922 bytes on. It panics when r <= 0 or b < 0.
func Serialize(b Bytes, r Rate) Duration {
	d, rem := divide(b, r, 0)
	if rem > 0 {
		d++
	}
	return d
}

// Line turns packets into time on one link and carries the rounding remainder from one to the next,
// so that a long train takes exactly bytes*8/rate: rounding every packet up would lose 0.3 % at 3.2 Tbit/s.
type Line struct {
	rate   Rate
	psByte int64 // picoseconds a byte lasts when that is a whole number, else 0
	rem    uint64
}

// NewLine makes the clock of a link of rate r > 0.
func NewLine(r Rate) Line {
	if r <= 0 {
		panic("units: line rate must be positive")
	}
	l := Line{rate: r}
	if bitTime%int64(r) == 0 {
		l.psByte = bitTime / int64(r)
	}
	return l
}

// Rate is the rate of the link.
func (l *Line) Rate() Rate { return l.rate }

// Next is the time the next b bytes take.
func (l *Line) Next(b Bytes) Duration {
	if l.psByte != 0 && b < 1<<31 {
		return Duration(int64(b) * l.psByte)
	}
	d, rem := divide(b, l.rate, l.rem)
	l.rem = rem
	return d
}

// divide is floor((b*bitTime + carry) / r) and its remainder.
func divide(b Bytes, r Rate, carry uint64) (Duration, uint64) {
	if r <= 0 || b < 0 {
		panic("units: serialise needs a positive rate and a size that is not negative")
	}
	hi, lo := bits.Mul64(uint64(b), bitTime)
	lo, c := bits.Add64(lo, carry, 0)
	q, rem := bits.Div64(hi+c, lo, uint64(r))
	return Duration(q), rem
}

// Over is the rate at which b bytes passed in d; 0 when d is not positive.
func Over(b Bytes, d Duration) Rate {
	if d <= 0 {
		return 0
	}
	return Rate(float64(b) * bitTime / float64(d))
}
