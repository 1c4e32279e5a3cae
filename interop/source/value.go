package source

import (
	"math"
	"strconv"

	"github.com/shunt-network/shunt/units"
)

// Int reads a whole number from least to most. what names it in messages: "the size of a message".
func (r *Report) Int(w Word, what string, least, most int64) (int64, bool) {
	v, err := strconv.ParseInt(string(w.Text), 10, 64)
	if err != nil || v < least || v > most {
		r.Wrong(w, "%s is %s; write a whole number from %d to %d", what, Quote(w.Text), least, most)
		return 0, false
	}
	return v, true
}

// Float reads a number from least to most, which may be infinite.
func (r *Report) Float(w Word, what string, least, most float64) (float64, bool) {
	v, err := strconv.ParseFloat(string(w.Text), 64)
	if err != nil || !(v >= least && v <= most) {
		r.Wrong(w, "%s is %s; write a number%s", what, Quote(w.Text), between(least, most))
		return 0, false
	}
	return v, true
}

func between(least, most float64) string {
	switch text := strconv.FormatFloat(least, 'g', -1, 64); {
	case math.IsInf(most, 1) && math.IsInf(least, -1):
		return ""
	case math.IsInf(most, 1):
		return " of at least " + text
	default:
		return " from " + text + " to " + strconv.FormatFloat(most, 'g', -1, 64)
	}
}

// Rate reads a bit rate as ns-3's DataRate does: "100Gbps", "50Mb/s", or a bare number of bits per second.
func (r *Report) Rate(w Word, what string) (units.Rate, bool) {
	text := string(w.Text)
	if c := text[len(text)-1]; c >= '0' && c <= '9' || c == '.' {
		text += "bps"
	}
	v, err := units.ParseRate(text)
	if err != nil || v <= 0 {
		r.Wrong(w, "%s is %s; write a rate above 0 like 100Gbps, or a bare number of bit/s", what, Quote(w.Text))
		return 0, false
	}
	return v, true
}

// Duration reads a time as ns-3's Time does: "1000ns", "0.001ms", "1us", or a bare number of seconds.
func (r *Report) Duration(w Word, what string) (units.Duration, bool) {
	text := string(w.Text)
	if c := text[len(text)-1]; c >= '0' && c <= '9' || c == '.' {
		text += "s"
	}
	v, err := units.ParseDuration(text)
	if err != nil || v < 0 {
		r.Wrong(w, "%s is %s; write a time of 0 or more like 1us, 1000ns or 0.001ms", what, Quote(w.Text))
		return 0, false
	}
	return v, true
}

// Times reads a bare number of unit as a time of 0 or more.
func (r *Report) Times(w Word, what string, unit units.Duration) (units.Duration, bool) {
	most := float64(math.MaxInt64) / float64(unit) / 2
	v, ok := r.Float(w, what, 0, most)
	return units.Duration(math.Round(v * float64(unit))), ok
}
