package spray

import (
	"fmt"
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// The time in a PPCID (S0.5) is not the time of day: it is the ticks of 10 ns since the sender last updated its link state, so
// that no two clocks need agree. Two limits follow, which article 000 does not tell.
//
// Width. An update each 200 ms lets the count run to 20 million, which takes 25 bits. A layout has 2 to 8.
//
// Order. A count that starts again at each update cannot order a packet from before one against a packet from after it, and
// counts of two senders start at different times, so they cannot be compared at all. Within one sender and one update, what the
// few bits tell depends on which they are: the low bits order packets that lie close together, the high bits packets that lie
// far apart, and a hash orders none; it can only tell that two times differ.

// Tick is the step of the count (article 000, section 4).
const Tick = 10 * units.Nanosecond

// Ticks is the count of a packet sent that long after the last update.
func Ticks(since units.Duration) uint32 {
	if since < 0 {
		return 0
	}
	return uint32(since / Tick)
}

// TickBits is how many bits hold the count up to the next update.
func TickBits(refresh units.Duration) int {
	return bits.Len32(Ticks(refresh))
}

// TimeReading is which bits of the count a layout keeps.
type TimeReading string

// Readings of the count.
const (
	TimeLow  TimeReading = "low"  // the lowest bits
	TimeHigh TimeReading = "high" // the highest, of as many as the refresh period needs
	TimeHash TimeReading = "hash" // all of them, hashed (article 000)
)

// Choices lists the readings.
func (TimeReading) Choices() []string {
	return []string{string(TimeLow), string(TimeHigh), string(TimeHash)}
}

// TimeLimits is what a number of bits can tell of the count.
type TimeLimits struct {
	Reading TimeReading `json:"reading"`
	Bits    int         `json:"bits"`
	Needed  int         `json:"needed_bits"` // for the whole count
	// Alike is how many counts of a refresh period share each value.
	Alike float64 `json:"alike"`
	// From and To bound how far apart two packets of one sender may be, within one refresh, so that the bits tell which came
	// first. Both are 0 where they never do.
	From units.Duration `json:"from"`
	To   units.Duration `json:"to"`
}

// LimitsOfTime tells what bits of the count are good for with a refresh period.
func LimitsOfTime(r TimeReading, n int, refresh units.Duration) (TimeLimits, error) {
	need := TickBits(refresh)
	if n < 1 || n > ppcidBits || refresh < Tick {
		return TimeLimits{}, fmt.Errorf("spray: %d bits of a count over %s: 1 to %d bits, and at least %s", n, refresh, ppcidBits, Tick)
	}
	n = min(n, need)
	l := TimeLimits{Reading: r, Bits: n, Needed: need, Alike: float64(Ticks(refresh)) / float64(uint32(1)<<n)}
	switch r {
	case TimeLow: // as sequence numbers: half of what they count
		l.From, l.To = Tick, Tick*(1<<n)/2-Tick
	case TimeHigh: // packets in one step are alike
		l.From, l.To = Tick<<(need-n), refresh
	case TimeHash:
	default:
		return TimeLimits{}, fmt.Errorf("spray: no reading %q of the time; there are %v", r, r.Choices())
	}
	return l, nil
}

// Before tells, of two counts of one sender within one refresh, whether a was first by the bits that are kept; known is false
// where they do not tell.
func (r TimeReading) Before(a, b uint32, n, need int) (first, known bool) {
	switch r {
	case TimeLow:
		d := int32((a-b)<<(32-n)) >> (32 - n)
		return d < 0, d != 0
	case TimeHigh:
		a, b = a>>(need-n), b>>(need-n)
		return a < b, a != b
	}
	return false, false
}
