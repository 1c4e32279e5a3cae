package spray

import (
	"cmp"
	"strconv"
	"strings"
)

// Firmware is a version of numbers, as `ethtool -i` and `ibstat` print it: "28.39.1002", of which what follows in brackets is the board.
// Of NVIDIA's NICs the first number is the family, one for each chip: versions of two families cannot be compared.
type Firmware struct {
	numbers [maxNumbers]uint32
	n       int
}

// maxNumbers is the most numbers of a version: Broadcom's have four ("229.2.52.0/pkg 229.2.52.0").
const maxNumbers = 4

// ParseFirmware reads the first word of a text; ok is false where it is not two to four numbers with points between.
func ParseFirmware(text string) (f Firmware, ok bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word, _, _ = strings.Cut(word, "/")
	parts := strings.Split(word, ".")
	if len(parts) < 2 || len(parts) > maxNumbers {
		return Firmware{}, false
	}
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 32)
		if err != nil || len(p) > 9 {
			return Firmware{}, false
		}
		f.numbers[i] = uint32(v)
	}
	f.n = len(parts)
	return f, true
}

// String is the version with points.
func (f Firmware) String() string {
	var parts []string
	for _, v := range f.numbers[:f.n] {
		parts = append(parts, strconv.FormatUint(uint64(v), 10))
	}
	return strings.Join(parts, ".")
}

// Compare orders versions of one family, older ones first.
func (f Firmware) Compare(other Firmware) int {
	for i := range f.numbers {
		if c := cmp.Compare(f.numbers[i], other.numbers[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Family is the first number.
func (f Firmware) Family() int { return int(f.numbers[0]) }

// families are the chips behind the families of NVIDIA (the lists of supported adapters and their firmware in NVIDIA's notes on mlxup and
// MFT, 2023 to 2025).
var families = []struct {
	family int
	model  string
}{
	{12, "ConnectX-4"}, {14, "ConnectX-4 Lx"}, {16, "ConnectX-5"}, {18, "BlueField"}, {20, "ConnectX-6"}, {22, "ConnectX-6 Dx"}, {24, "BlueField-2"},
	{26, "ConnectX-6 Lx"}, {28, "ConnectX-7"}, {32, "BlueField-3"}, {40, "ConnectX-8"},
}

// Model is the chip of the family where it is one of NVIDIA's, which have three numbers; "" otherwise.
func (f Firmware) Model() string {
	if f.n == 3 {
		for _, x := range families {
			if x.family == f.Family() {
				return x.model
			}
		}
	}
	return ""
}

// ArticleMinimum is the oldest firmware with which PPCIDs are read rightly, of ConnectX-7, as article 000 has it (S0.12). It cannot be so: 24
// is the family of BlueField-2 and ConnectX-7 has 28, so the number bounds no firmware of a ConnectX-7.
const ArticleMinimum = "24.32.2006"
