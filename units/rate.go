package units

// Rate is a bit rate in bit/s, never in bytes.
type Rate int64

// Common rates.
const (
	Kbps Rate = 1e3
	Mbps      = 1e3 * Kbps
	Gbps      = 1e3 * Mbps
	Tbps      = 1e3 * Gbps
)

var rateIn = []unit{
	{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
	{"b/s", 1}, {"Kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12},
}

// ParseRate reads "400Gbps", "5Mb/s", "1.6Tbps".
func ParseRate(s string) (Rate, error) {
	v, err := parseQuantity(s, "rate", "400Gbps", rateIn)
	return Rate(v), err
}

func (r Rate) String() string { return format(int64(r), rateIn[:5]) }

// BytesPerSecond is the rate in bytes, for figures that the field quotes in GB/s.
func (r Rate) BytesPerSecond() float64 { return float64(r) / 8 }

// MarshalText gives the text form to YAML and JSON.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the form of ParseRate.
func (r *Rate) UnmarshalText(t []byte) (err error) { *r, err = ParseRate(string(t)); return err }
