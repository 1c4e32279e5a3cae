package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unit is one suffix a quantity may be written with; factor is in the quantity's base unit.
type unit struct {
	suffix string
	factor float64
}

// parseQuantity reads a number followed by one of the units. kind names the quantity in errors,
// example shows a right form.
func parseQuantity(s, kind, example string, table []unit) (int64, error) {
	text := strings.TrimSpace(s)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || strings.IndexByte("+-.eE_", text[end]) >= 0) {
		// An exponent sign or digit must follow an 'e', otherwise the letter starts the unit ("1Ebps").
		if c := text[end]; (c == 'e' || c == 'E') && (end+1 >= len(text) || strings.IndexByte("0123456789+-", text[end+1]) < 0) {
			break
		}
		end++
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(text[:end], "_", ""), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a %s; write it like %s", s, kind, example)
	}
	suffix := strings.TrimSpace(text[end:])
	for _, u := range table {
		if suffix != u.suffix {
			continue
		}
		scaled := value * u.factor
		if math.IsNaN(scaled) || math.Abs(scaled) >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is too large for a %s", s, kind)
		}
		return int64(math.Round(scaled)), nil
	}
	if suffix == "" {
		return 0, fmt.Errorf("%q has no unit; write a %s like %s", s, kind, example)
	}
	known := make([]string, 0, len(table))
	for _, u := range table {
		if u.suffix != "" {
			known = append(known, u.suffix)
		}
	}
	return 0, fmt.Errorf("%q: unknown unit %q for a %s; known: %s", s, suffix, kind, strings.Join(known, ", "))
}

// format prints v in the largest unit of the table (ascending factors) that keeps it exact within
// four decimals, so that what is printed parses back to the same value where it was round.
func format(v int64, table []unit) string {
	if v == 0 {
		return "0" + table[0].suffix
	}
	best := table[0]
	for _, u := range table {
		if math.Abs(float64(v)) >= u.factor {
			best = u
		}
	}
	text := strconv.FormatFloat(float64(v)/best.factor, 'f', 4, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	return text + best.suffix
}
