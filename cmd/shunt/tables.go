package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shunt-network/shunt/units"
)

// table lays out columns for reading: the first left columns are text and flush left, the others figures and flush right.
type table struct {
	head []string
	left int
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	width := make([]int, len(t.head))
	for i, h := range t.head {
		width[i] = utf8.RuneCountInString(h)
		for _, r := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	var b strings.Builder
	for _, r := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if i < t.left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// us prints a time given in microseconds: "412 ms", "10.2 us".
func us(v float64) string {
	for _, u := range []struct {
		name string
		us   float64
	}{{"s", 1e6}, {"ms", 1e3}, {"us", 1}} {
		if math.Abs(v) >= 0.9995*u.us {
			return figure(v/u.us) + " " + u.name
		}
	}
	if v == 0 {
		return "0"
	}
	return figure(v*1e3) + " ns"
}

// figure prints a number with three significant digits and no exponent.
func figure(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// count prints a number with its thousands apart.
func count(n uint64) string {
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

// size prints bytes as the scenario writes them.
func size(b int64) string { return fmt.Sprint(units.Bytes(b)) }
