package units

// Bytes is an amount of data.
type Bytes int64

// Sizes in powers of 1024 (KiB) and 1000 (KB), as IEC 80000-13 spells them.
const (
	KB  Bytes = 1000
	MB        = 1000 * KB
	GB        = 1000 * MB
	KiB Bytes = 1024
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
)

var bytesIn = []unit{
	{"B", 1}, {"", 1}, {"KB", 1e3}, {"kB", 1e3}, {"KiB", 1 << 10}, {"MB", 1e6}, {"MiB", 1 << 20}, {"GB", 1e9}, {"GiB", 1 << 30},
	{"TB", 1e12}, {"TiB", 1 << 40}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
}

var (
	bytesDecimal = []unit{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	bytesBinary  = []unit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
)

// ParseBytes reads "4096", "4096B", "64KB", "256KiB", "2MB". A bare K, M or G is a power of 1024,
// as in the size arguments of nccl-tests.
func ParseBytes(s string) (Bytes, error) {
	v, err := parseQuantity(s, "size", "256KiB or 2MB", bytesIn)
	return Bytes(v), err
}

// String prints powers of 1024 as KiB, MiB, GiB and everything else as KB, MB, GB.
func (b Bytes) String() string {
	if b != 0 && b%1024 == 0 {
		return format(int64(b), bytesBinary)
	}
	return format(int64(b), bytesDecimal)
}

// MarshalText and UnmarshalText give the text form to YAML and JSON.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the form of ParseBytes.
func (b *Bytes) UnmarshalText(t []byte) (err error) { *b, err = ParseBytes(string(t)); return err }
