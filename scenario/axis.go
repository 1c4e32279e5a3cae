package scenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"
)

// Axis is one field of a scenario and the values it takes in a sweep: a list, or a range from..to with a step. Or it is a name of its own,
// and its values are names that stand for settings of several fields (SweepPlan).
type Axis struct {
	Path   string
	Values []string // of a list

	sets [][]Setting // by value, of an axis of names

	from, to, step float64 // of a range
	unit           string  // that its numbers carry
}

// MaxValues bounds the values of one axis.
const MaxValues = 1_000_000

// ParseAxis reads "switch.ecn.kmin=100KB,400KB" or "seed=1..10" or "switch.ecn.kmin=100KB..800KB/100KB". A comma within brackets or
// quotes belongs to its value.
func ParseAxis(text string) (Axis, error) {
	s, err := ParseSetting(text)
	if err != nil {
		return Axis{}, err
	}
	a := Axis{Path: s.Path}
	if ok, err := a.asRange(s.Value); ok || err != nil {
		return a, err
	}
	a.Values = items(s.Value)
	for _, v := range a.Values {
		if v == "" {
			return Axis{}, fmt.Errorf("%q has an empty value; write %s=a,b,c or %s=1..10", text, a.Path, a.Path)
		}
	}
	return a, nil
}

// items splits at commas outside of brackets and quotes.
func items(text string) []string {
	var out []string
	depth, quote, from := 0, rune(0), 0
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

// asRange reads from..to or from..to/step; ok is false where the text is no range.
func (a *Axis) asRange(text string) (ok bool, err error) {
	low, rest, found := strings.Cut(text, "..")
	if !found || strings.ContainsAny(text, ",[]{}\"'") {
		return false, nil
	}
	high, by, hasStep := strings.Cut(rest, "/")
	from, unit, okFrom := number(low)
	to, unitTo, okTo := number(high)
	step, unitStep := 1.0, unitTo
	okStep := true
	if hasStep {
		step, unitStep, okStep = number(by)
	}
	wrong := func(why string) (bool, error) {
		return false, fmt.Errorf("%q is no range: %s; write 1..10, or 100KB..800KB/100KB", text, why)
	}
	switch {
	case !okFrom || !okTo || !okStep:
		return wrong("its ends and step are numbers with or without a unit")
	case unit != "" && unit != unitTo || unitStep != unitTo:
		return wrong("its numbers have different units")
	case to < from || step <= 0:
		return wrong("it runs backwards")
	case (to-from)/step >= MaxValues:
		return wrong(fmt.Sprintf("it has more than %d values", MaxValues))
	}
	a.from, a.to, a.step, a.unit = from, to, step, unitTo
	return true, nil
}

// number reads a number and the unit behind it, which is of letters, or a percent sign.
func number(text string) (v float64, unit string, ok bool) {
	text = strings.TrimSpace(text)
	i := 0
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.' || text[i] == '-' && i == 0) {
		i++
	}
	v, err := strconv.ParseFloat(text[:i], 64)
	unit = strings.TrimSpace(text[i:])
	for _, c := range unit {
		if !unicode.IsLetter(c) && c != '%' {
			return 0, "", false
		}
	}
	return v, unit, err == nil
}

// Count is how many values the axis has.
func (a *Axis) Count() int {
	if a.Values != nil {
		return len(a.Values)
	}
	return int(math.Floor((a.to-a.from)/a.step+1e-9)) + 1
}

// At is value i.
func (a *Axis) At(i int) string {
	if a.Values != nil {
		return a.Values[i]
	}
	// Rounding to the twelfth digit takes away what a step of 0.1 adds up to.
	v := a.from + float64(i)*a.step
	return strconv.FormatFloat(roundTo(v, 12), 'f', -1, 64) + a.unit
}

// Settings are the fields that value i sets.
func (a *Axis) Settings(i int) []Setting {
	if a.sets != nil {
		return a.sets[i]
	}
	return []Setting{{a.Path, a.At(i)}}
}

func roundTo(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}

// String is the text that ParseAxis reads; of an axis of names, all that it stands for.
func (a *Axis) String() string {
	if a.sets != nil {
		var list []string
		for i, name := range a.Values {
			text := name
			for _, x := range a.sets[i] {
				text += "; " + x.String()
			}
			list = append(list, "{"+text+"}")
		}
		return a.Path + "=" + strings.Join(list, ",")
	}
	if a.Values != nil {
		return a.Path + "=" + strings.Join(a.Values, ",")
	}
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return a.Path + "=" + f(a.from) + a.unit + ".." + f(a.to) + a.unit + "/" + f(a.step) + a.unit
}

// MaxRuns bounds the runs of a sweep: at a tenth of a second each this is a day.
const MaxRuns = 1_000_000

// points lists, for each run, the number of the value of each axis: the whole grid with the last axis fastest, or random runs that differ
// where there are as many to be had.
func points(axes []Axis, random int, seed uint64) ([][]int32, error) {
	total := 1
	for i := range axes {
		if total *= axes[i].Count(); total > MaxRuns && random == 0 {
			return nil, fmt.Errorf("the grid has more than %d points; take fewer values, or --random N of them", MaxRuns)
		}
		total = min(total, MaxRuns+1)
	}
	if random > MaxRuns {
		return nil, fmt.Errorf("%d runs are more than %d", random, MaxRuns)
	}
	if random > 0 && random < total {
		r := rand.New(rand.NewPCG(seed, hashOf("sweep")))
		seen := map[string]bool{} // only looked up
		var out [][]int32
		for len(out) < random {
			p := make([]int32, len(axes))
			for i := range axes {
				p[i] = int32(r.IntN(axes[i].Count()))
			}
			if key := fmt.Sprint(p); !seen[key] {
				seen[key] = true
				out = append(out, p)
			}
		}
		return out, nil
	}
	out := make([][]int32, 0, total)
	at := make([]int32, len(axes))
	for range total {
		out = append(out, append([]int32(nil), at...))
		for i := len(axes) - 1; i >= 0; i-- {
			if at[i]++; int(at[i]) < axes[i].Count() {
				break
			}
			at[i] = 0
		}
	}
	return out, nil
}
