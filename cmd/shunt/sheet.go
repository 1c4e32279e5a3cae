package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/scenario"
)

// sheetText is one table of a sweep for reading.
func sheetText(s *scenario.Sheet) string {
	var b strings.Builder
	var head []string
	for _, text := range append([]string{s.Title}, s.Section...) {
		if text != "" {
			head = append(head, text)
		}
	}
	b.WriteString(strings.Join(head, ", "))
	switch {
	case s.Seeds > 1 && s.Over == scenario.SeedP99:
		fmt.Fprintf(&b, " (p99 of %d seeds%s)", s.Seeds, ifText(s.Seeds <= 100, ": the worst"))
	case s.Seeds > 1:
		fmt.Fprintf(&b, " (%d seeds, +- half their range)", s.Seeds)
	}
	b.WriteString("\n")
	t := table{head: []string{s.Rows}, left: 1}
	for _, c := range s.Columns {
		t.head = append(t.head, c.Name)
	}
	partly := false
	for _, line := range s.Lines {
		row := []string{line.Name}
		for i, c := range line.Cells {
			text := cellText(s.Columns[i].Unit, s.Over, c)
			if c.Known && c.Without+c.Unfinished > 0 {
				partly = true
				text += " *"
			}
			row = append(row, text)
		}
		t.add(row...)
	}
	b.WriteString(t.String())
	if partly {
		b.WriteString("  * some of its runs did not end or have no such figure, and are not in it\n")
	}
	return b.String()
}

// cellText is a figure with its unit, and its spread with as many decimals as the figure itself has.
func cellText(unit string, over scenario.SeedSummary, c scenario.Cell) string {
	switch {
	case !c.Known && c.Unfinished > 0:
		return "did not end"
	case !c.Known:
		return "-"
	case over == scenario.SeedP99:
		return quantity(unit, c.P99)
	}
	text := quantity(unit, c.Mean)
	number, suffix, _ := strings.Cut(text, " ")
	half := (c.Max - c.Min) / 2
	switch {
	case unit == "us" && suffix == "s":
		half /= 1e6
	case unit == "us" && suffix == "ms":
		half /= 1e3
	case unit == "us" && suffix == "ns":
		half *= 1e3
	case unit == "share":
		half *= 100
	}
	_, decimals, _ := strings.Cut(number, ".")
	spread := strconv.FormatFloat(half, 'f', len(decimals), 64)
	if strings.Trim(spread, "0.") == "" {
		return text
	}
	return strings.TrimRight(fmt.Sprintf("%s +-%s %s", number, spread, suffix), " ")
}
