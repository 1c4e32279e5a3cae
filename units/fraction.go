package units

import (
	"fmt"
	"strconv"
	"strings"
)

// Fraction is a share between 0 and 1. It is written "1%" or "0.01".
type Fraction float64

// ParseFraction reads "5%" or "0.05"; a value outside 0..1 is an error.
func ParseFraction(s string) (Fraction, error) {
	text, scale := strings.TrimSpace(s), 1.0
	if t, ok := strings.CutSuffix(text, "%"); ok {
		text, scale = strings.TrimSpace(t), 0.01
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a share; write it like 5%% or 0.05", s)
	}
	if v *= scale; !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is not between 0%% and 100%%", s)
	}
	return Fraction(v), nil
}

func (f Fraction) String() string { return strconv.FormatFloat(float64(f)*100, 'g', 6, 64) + "%" }

// MarshalText gives the text form to YAML and JSON.
func (f Fraction) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the form of ParseFraction.
func (f *Fraction) UnmarshalText(t []byte) (err error) {
	*f, err = ParseFraction(string(t))
	return err
}
