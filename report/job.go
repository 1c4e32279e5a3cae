package report

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// run writes what was simulated and what the job in it felt.
func (t writer) run(r *Run) {
	t.paragraph(t.bold("run")+"     ", fmt.Sprintf("%s: %s, seed %d", r.Title, r.Job, r.Seed), 8)
	t.paragraph("        ", fmt.Sprintf("%s simulated, fingerprint %s", duration(r.End), r.Fingerprint), 8)
	if r.Stalled {
		t.paragraph("        ", "stalled: operations were left that nothing could finish", 8)
	}
	for _, d := range r.Deadlocks {
		t.paragraph("        ", "PFC deadlock: "+d, 8)
	}
	if r.Cut {
		t.paragraph("        ", "cut: the scenario's limit ended the run before the job was done", 8)
	}
	if s := r.Step; s != nil {
		t.paragraph(t.bold("step")+"    ", steps(s), 8)
	}
	t.paragraph(t.bold("fabric")+"  ", counters(r.Counters), 8)
	t.collectives(r.Collectives)
}

// steps is the line of the times of training steps.
func steps(s *Figures) string {
	return fmt.Sprintf("p50 %s, p99 %s, longest %s, %d %s", duration(s.P50), duration(s.P99), duration(s.Max), s.Count, plural(s.Count, "step", "steps"))
}

// counters is the line of totals. Pauses and marks are printed when they are zero too: that they did not
// happen is half of an answer.
func counters(c Counters) string {
	text := fmt.Sprintf("ECN marks %s, PFC pauses %s", grouped(c.ECNMarks), grouped(c.Pauses))
	if len(c.Drops) == 0 {
		text += ", drops 0"
	}
	for i, d := range c.Drops {
		if i == 0 {
			text += ", drops"
		} else {
			text += ","
		}
		text += fmt.Sprintf(" %s %s", d.Reason, grouped(d.Packets))
	}
	return text + fmt.Sprintf(", %s packet-hops", grouped(c.PacketHops))
}

// shownCollectives is how many lines the table has at most; the JSON has all.
const shownCollectives = 24

// collectives writes one line a collective, in the order of the job. Bandwidths are of the median call. A
// page too narrow for the table loses its last columns rather than its lines: what is left out is in the JSON.
func (t writer) collectives(list []Collective) {
	if len(list) == 0 {
		return
	}
	table := [][]string{collectiveHeads}
	for _, c := range list[:min(len(list), shownCollectives)] {
		cells := collectiveCells(c)
		cells[0] = t.o.clean(cells[0])
		table = append(table, cells)
	}
	widths := make([]int, len(table[0]))
	for _, r := range table {
		for i, cell := range r {
			widths[i] = max(widths[i], width(cell))
		}
	}
	t.WriteByte('\n')
	for i, r := range table {
		var b strings.Builder
		used := 0
		for c, cell := range r {
			if used += widths[c] + gap; used > t.o.Width && c > 2 {
				break
			}
			b.WriteString("  ")
			if c == 0 { // names to the left, figures to the right
				b.WriteString(pad(cell, widths[c]))
			} else {
				b.WriteString(strings.Repeat(" ", widths[c]-width(cell)) + cell)
			}
		}
		if i == 0 {
			t.line(t.dim(strings.TrimRight(b.String(), " ")))
		} else {
			t.line(b.String())
		}
	}
	if n := len(list) - shownCollectives; n > 0 {
		t.line(fmt.Sprintf("  and %d more (--json has all)", n))
	}
}

var collectiveHeads = []string{"collective", "busbw GB/s", "algbw GB/s", "p50", "p99", "size", "ranks", "calls"}

func collectiveCells(c Collective) []string {
	return []string{plain(c.Name), significant(c.BusBW), significant(c.AlgBW), duration(c.Time.P50), duration(c.Time.P99),
		size(c.Bytes), fmt.Sprint(c.Ranks), fmt.Sprint(c.Calls)}
}

// size prints "256 MiB": the figure and the unit apart, as everywhere on the page.
func size(b units.Bytes) string {
	text := b.String()
	i := strings.IndexAny(text, "KMGTB")
	return text[:i] + " " + text[i:]
}
