package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// HazardSchema names the JSON form of Hazards.
const HazardSchema = "shunt/hazard/v1"

// Hazards is where else something that was found exists.
type Hazards struct {
	Schema string      `json:"schema"`
	Code   string      `json:"code"`
	Title  string      `json:"title"` // of the finding
	Where  []string    `json:"where"` // of the finding
	Rows   []HazardRow `json:"rows"`
}

// HazardRow is one host, or an input that names no host.
type HazardRow struct {
	Input string `json:"input"`
	diagnose.Hazard
}

// Count is how many rows have an outcome.
func (h *Hazards) Count(o diagnose.Outcome) (n int) {
	for _, r := range h.Rows {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

// HazardJSON writes the table for scripts.
func HazardJSON(w io.Writer, h *Hazards) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(h); err != nil {
		return fmt.Errorf("report: hazard: %w", err)
	}
	return nil
}

// HazardText writes the table for people: a line a host, with the reason below where it does not fit beside it.
func HazardText(w io.Writer, h *Hazards, o TextOptions) error {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	t := writer{Writer: bufio.NewWriter(w), o: o}
	t.paragraph(t.bold("hazard["+h.Code+"]:")+" ", h.Title, 2)
	t.WriteByte('\n')
	table := [][]string{{"host", "result", "input"}}
	for _, r := range h.Rows {
		host := r.Host
		if host == "" {
			host = "(not named)"
		}
		table = append(table, []string{o.clean(host), r.Outcome.String(), o.clean(r.Input)})
	}
	var widths [3]int
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	for i, row := range table {
		line := "  " + pad(row[0], widths[0]) + "  " + pad(row[1], widths[1]) + "  " + row[2]
		if i == 0 {
			t.line(t.dim(strings.TrimRight(line, " ")))
			continue
		}
		r := h.Rows[i-1]
		mark := diagnose.Note
		if r.Outcome == diagnose.Same {
			mark = diagnose.Critical
		}
		t.line("  " + pad(row[0], widths[0]) + "  " + t.severity(mark, pad(row[1], widths[1])) + "  " + row[2])
		t.paragraph("      ", r.Why, 6)
	}
	n := len(h.Rows)
	t.WriteByte('\n')
	t.line(fmt.Sprintf("%d %s: %d same, %d clear, %d cannot tell", n, plural(n, "host", "hosts"), h.Count(diagnose.Same), h.Count(diagnose.Clear), h.Count(diagnose.CannotTell)))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: hazard: %w", err)
	}
	return nil
}
