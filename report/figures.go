package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// scale is a unit that durations are printed in.
type scale struct {
	name string
	unit units.Duration
}

var scales = []scale{
	{"s", units.Second}, {"ms", units.Millisecond}, {"us", units.Microsecond}, {"ns", units.Nanosecond}, {"ps", units.Picosecond},
}

// scaleOf is the largest unit that d reaches. From 10,000 s on seconds stay seconds: a training run's times are
// compared with each other, not with the calendar.
func scaleOf(d units.Duration) scale {
	for _, s := range scales {
		if d >= s.unit || d <= -s.unit {
			return s
		}
	}
	return scales[len(scales)-1]
}

// significant prints v with at least three significant digits and, for what is 1000 and more, all whole digits;
// zeros at the end of the fraction are dropped.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	// Rounding first keeps 9.996 from becoming "10.00": its magnitude is that of the rounded value.
	magnitude := int(math.Floor(math.Log10(math.Abs(v))))
	step := math.Pow(10, float64(2-magnitude))
	if rounded := math.Round(v*step) / step; rounded != 0 {
		magnitude = int(math.Floor(math.Log10(math.Abs(rounded)) + 1e-12))
	}
	return decimals(v, max(0, 2-magnitude))
}

// decimals prints v with n decimals, without zeros at the end.
func decimals(v float64, n int) string {
	text := strconv.FormatFloat(v, 'f', n, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// duration prints d as "412 ms", "10.2 ms", "1.28 ns".
func duration(d units.Duration) string {
	s := scaleOf(d)
	text := significant(float64(d) / float64(s.unit))
	if text == "1000" || text == "-1000" { // 999.9 us rounded up to the next unit
		s = scaleOf(d + d/1000)
		text = significant(float64(d) / float64(s.unit))
	}
	return text + " " + s.name
}

// signed prints d with its sign, "+88 ms" or "-93 ms"; nothing is "+0 ps".
func signed(d units.Duration) string {
	if d < 0 {
		return duration(d)
	}
	return "+" + duration(d)
}

// between prints two durations that are d apart in one unit, with as many decimals as it takes to see the
// difference: "412 against 315", "412.34 against 412.30".
func between(seen, expected, d units.Duration) (a, b string, s scale) {
	s = scaleOf(max(seen, expected))
	n := 0
	if d != 0 {
		// Three digits of the difference, as many as it is printed with.
		n = 2 - int(math.Floor(math.Log10(math.Abs(float64(d)/float64(s.unit)))))
	}
	largest := float64(max(seen, expected)) / float64(s.unit)
	if largest > 0 { // and three digits of the larger value, at most nine decimals
		n = min(9, max(0, n, 2-int(math.Floor(math.Log10(largest)))))
	}
	return decimals(float64(seen)/float64(s.unit), n), decimals(float64(expected)/float64(s.unit), n), s
}

// gain prints a change in the unit of the value beside it: "-93" next to "319 ms".
func gain(d units.Duration, s scale) string {
	text := significant(float64(d) / float64(s.unit))
	if d >= 0 {
		return "+" + text
	}
	return text
}

// percent prints a share; one that is not quite sure or not quite nothing is not printed as if it were.
func percent(share float64) string {
	p := math.Round(share * 100)
	if p >= 100 && share < 1 {
		p = 99
	}
	if p <= 0 && share > 0 {
		return "under 1 %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// grouped prints a count with its thousands apart: "1,234,567".
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// plural picks the form of a word for n things.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
