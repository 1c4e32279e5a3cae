package units

// Duration is a span of time in picoseconds.
type Duration int64

// Durations.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
)

var durationIn = []unit{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"µs", 1e6}}

// ParseDuration reads "1.5us", "600ns", "2ms".
func ParseDuration(s string) (Duration, error) {
	v, err := parseQuantity(s, "time", "1.5us or 600ns", durationIn)
	return Duration(v), err
}

func (d Duration) String() string { return format(int64(d), durationIn[:5]) }

// Seconds is the span in seconds, for rates and for printing.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// MarshalText gives the text form to YAML and JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the form of ParseDuration.
func (d *Duration) UnmarshalText(t []byte) (err error) {
	*d, err = ParseDuration(string(t))
	return err
}

// Instant is a point in time: picoseconds since the start of a run or of a window. It is a struct so
// that adding two instants does not compile.
type Instant struct{ ps int64 }

// At makes an instant from picoseconds since the start.
func At(ps int64) Instant { return Instant{ps} }

// PS is the instant as picoseconds since the start.
func (t Instant) PS() int64 { return t.ps }

// Add is the instant d later.
func (t Instant) Add(d Duration) Instant { return Instant{t.ps + int64(d)} }

// Sub is the time from u to t.
func (t Instant) Sub(u Instant) Duration { return Duration(t.ps - u.ps) }

// Before tells whether t lies before u.
func (t Instant) Before(u Instant) bool { return t.ps < u.ps }

// After tells whether t lies after u.
func (t Instant) After(u Instant) bool { return t.ps > u.ps }

func (t Instant) String() string { return Duration(t.ps).String() }

// MarshalText gives the text form to JSON.
func (t Instant) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
