package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// HeatOptions is how a heat map is laid out.
type HeatOptions struct {
	TextOptions
	Top int // rows of QPs that are written out, the others are taken together; 0 is DefaultHeatRows
}

// DefaultHeatRows is how many QPs are written out when nobody says: half a screen.
const DefaultHeatRows = 24

// HeatText writes a heat map for people. Every cell is a bar whose middle is an even share and whose top is twice that; where there is room the share
// stands beside it in per cent.
func HeatText(w io.Writer, h *Heat, o HeatOptions) error {
	t := heatWriter{newWriter(w, &Report{Run: &Run{}}, o.TextOptions), h, 0, 0, 1}
	if o.Top == 0 {
		o.Top = DefaultHeatRows
	}
	qps := folded(h.QPs, o.Top)
	sums := h.Sums
	if len(sums) > maxHeatSums+1 {
		sums = folded(sums, maxHeatSums)
	}
	t.layOut(qps, sums)
	t.head()
	t.rows(qps)
	if len(sums) > 0 {
		t.WriteByte('\n')
		t.rows(sums)
		t.row(&h.All)
	}
	t.legend()
	t.buckets()
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: heat: %w", err)
	}
	return nil
}

// maxHeatSums is how many switches have a line of their own.
const maxHeatSums = 16

type heatWriter struct {
	writer
	h *Heat

	label int // columns of names
	cell  int // columns of a cell
	fold  int // paths that one cell holds
}

// Columns beside the cells: the mark, " packets" and "  fullest".
const (
	heatMark    = 2
	heatPackets = 9
	heatFullest = 9
	widestName  = 32
)

// layOut finds how wide cells can be: four columns and more for a bar and its share, less for a bar alone, and several paths in one bar where
// there are more of them than columns.
func (t *heatWriter) layOut(qps, sums []HeatRow) {
	for _, rows := range [][]HeatRow{qps, sums, {t.h.All}} {
		for i := range rows {
			t.label = max(t.label, width(t.name(&rows[i])))
		}
	}
	t.label = min(t.label, widestName, t.o.Width/2)
	room := max(t.o.Width-heatMark-t.label-2-heatPackets-heatFullest, 8)
	n := max(len(t.h.Paths), 1)
	switch {
	case room/n >= 4:
		t.cell = min(room/n, 5)
		if room/n >= 6 && longestOf(t.h.Paths) >= 5 {
			t.cell = min(room/n, longestOf(t.h.Paths)+1, 12)
		}
	case room/n >= 2:
		t.cell = 2
	default:
		t.cell = 1
		t.fold = (n + room - 1) / room
	}
}

func longestOf(names []string) int {
	n := 0
	for _, s := range names {
		n = max(n, width(s))
	}
	return n
}

func (t *heatWriter) name(r *HeatRow) string {
	if r.QPN == 0 {
		return t.o.clean(r.Name)
	}
	return t.o.clean(fmt.Sprintf("%s %#06x", r.Name, r.QPN))
}

// head says what it is, what the columns are, and begins the table.
func (t *heatWriter) head() {
	h := t.h
	t.paragraph(t.bold("spray map")+"  ", fmt.Sprintf("%s: %s QPs over %d paths, seed %d", h.Title, grouped(uint64(len(h.QPs))), len(h.Paths), h.Seed), 11)
	if len(h.QPs) == 0 {
		t.line("           no packet had a choice of paths")
		return
	}
	t.WriteByte('\n')
	cells := ""
	named := t.cell > longestOf(h.Paths)
	if t.cell >= 2 {
		for i, name := range h.Paths {
			if !named {
				name = fmt.Sprint(i)
				if width(name) >= t.cell { // two digits in a cell of two
					name = name[len(name)-1:]
				}
			}
			cells += pad(t.o.clean(name), t.cell)
		}
	} else {
		cells = pad("", t.columns())
	}
	t.line(t.dim(pad("", heatMark) + pad("QP", t.label) + "  " + cells + fmt.Sprintf("%*s%*s", heatPackets, "packets", heatFullest, "fullest")))
}

// columns is how wide all cells are together.
func (t *heatWriter) columns() int {
	return (len(t.h.Paths) + t.fold - 1) / t.fold * t.cell
}

func (t *heatWriter) rows(rows []HeatRow) {
	for i := range rows {
		t.row(&rows[i])
	}
}

// row writes one line.
func (t *heatWriter) row(r *HeatRow) {
	mark := pad("", heatMark)
	if r.Verdict == Uneven {
		mark = t.paint(amberBold, pad("!", heatMark))
	}
	name := t.name(r)
	if width(name) > t.label {
		name = string([]rune(name)[:t.label-1]) + "~"
	}
	used := 0
	var b strings.Builder
	for i := 0; i < len(r.Packets); i += t.fold {
		part := r.Packets[i:min(i+t.fold, len(r.Packets))]
		var n uint64
		for _, c := range part {
			n += c
		}
		fair := float64(r.Total) * float64(len(part)) / float64(len(r.Packets))
		bar, code := t.bar(float64(n), fair)
		b.WriteString(t.paint(code, bar))
		if t.cell >= 4 {
			share := "  -"
			if r.Total > 0 {
				share = inThree(float64(n) / float64(r.Total))
			}
			b.WriteString(pad(share, t.cell-1))
		} else {
			b.WriteString(strings.Repeat(" ", t.cell-1))
		}
		used += t.cell
	}
	b.WriteString(strings.Repeat(" ", max(0, t.columns()-used)))
	fullest := "-"
	if r.Total > 0 {
		fullest = fmt.Sprintf("%.2f x", r.Imbalance)
	}
	t.line(mark + pad(name, t.label) + "  " + b.String() + fmt.Sprintf("%*s%*s", heatPackets, grouped(r.Total), heatFullest, fullest))
}

// inThree is a share in per cent in three columns.
func inThree(share float64) string {
	switch v := 100 * share; {
	case v == 0:
		return "  0"
	case v < 0.5:
		return " <1"
	default:
		return fmt.Sprintf("%3.0f", v)
	}
}

// Bars from an eighth of twice the even share to all of it, and what stands for them where only ASCII is shown: 5 is about even.
var (
	bars      = []rune("▁▂▃▄▅▆▇█")
	asciiBars = []rune("12345678")
)

// bar is one character for n where an even share is fair, and its colour: blue for little, green for even, amber and red for much.
func (t *heatWriter) bar(n, fair float64) (text, code string) {
	if n == 0 || fair == 0 {
		return ".", dimCode
	}
	set := bars
	if t.o.ASCII {
		set = asciiBars
	}
	ratio := n / fair
	text = string(set[min(len(set)-1, max(0, int(math.Round(ratio*float64(len(set))/2))-1))])
	switch {
	case ratio >= 1.5:
		return text, "\x1b[31m"
	case ratio >= 1.15:
		return text, "\x1b[33m"
	case ratio <= 0.5:
		return text, "\x1b[34m"
	}
	return text, "\x1b[32m"
}

// folded are the first rows, and one for all others.
func folded(rows []HeatRow, first int) []HeatRow {
	if len(rows) <= first {
		return rows
	}
	return append(slices.Clone(rows[:first]), *together(rows[first:]))
}

// together sums rows up as one.
func together(rows []HeatRow) *HeatRow {
	least, most := math.Inf(1), 0.0
	sum := HeatRow{Verdict: TooFew}
	for _, r := range rows {
		for len(sum.Packets) < len(r.Packets) {
			sum.Packets = append(sum.Packets, 0)
		}
		for i, n := range r.Packets {
			sum.Packets[i] += n
		}
		sum.Total += r.Total
		least, most = min(least, r.Imbalance), max(most, r.Imbalance)
	}
	each := fmt.Sprintf("%.2f", least)
	if to := fmt.Sprintf("%.2f", most); to != each {
		each += " to " + to
	}
	sum.Name = fmt.Sprintf("%s more, %s x", grouped(uint64(len(rows))), each)
	if sum.Total > 0 {
		sum.Imbalance = float64(slices.Max(sum.Packets)) * float64(len(sum.Packets)) / float64(sum.Total)
	}
	return &sum
}

// legend says what bars and marks mean, and counts.
func (t *heatWriter) legend() {
	h := t.h
	if len(h.QPs) == 0 {
		return
	}
	t.WriteByte('\n')
	if t.cell <= longestOf(h.Paths) {
		text := strings.Join(h.Paths, ", ")
		if t.fold > 1 {
			text = fmt.Sprintf("%d in one column: %s to %s", t.fold, h.Paths[0], h.Paths[len(h.Paths)-1])
		} else if from, ok := consecutive(h.Paths); ok {
			text = fmt.Sprintf("%s to %s", from, h.Paths[len(h.Paths)-1])
		}
		t.paragraph("  paths    ", "from the left "+text, 11)
	}
	set := bars
	if t.o.ASCII {
		set = asciiBars
	}
	t.paragraph("  bars     ", fmt.Sprintf("none . little %c an even share %c twice that or more %c", set[0], set[len(set)/2-1], set[len(set)-1]), 11)
	t.paragraph("  fullest  ", "packets of the fullest path against an even share of all paths", 11)
	marked, few := 0, 0
	for i := range h.QPs {
		switch h.QPs[i].Verdict {
		case Uneven:
			marked++
		case TooFew:
			few++
		}
	}
	text := fmt.Sprintf("%s of %s QPs are more uneven than an even split by chance would be (chi-square, p < %.1g, so that a map without unevenness has a mark once in a hundred)",
		grouped(uint64(marked)), grouped(uint64(len(h.QPs))), h.Level)
	if few > 0 {
		text += fmt.Sprintf("; %s sent fewer than %d packets a path, which tells nothing", grouped(uint64(few)), leastExpected)
	}
	if h.Local > 0 {
		text += fmt.Sprintf("; %s more had no choice of paths", grouped(uint64(h.Local)))
	}
	t.paragraph("  !        ", text, 11)
}

// consecutive tells whether names are one word with numbers that run up from the first.
func consecutive(names []string) (first string, ok bool) {
	if len(names) < 3 {
		return "", false
	}
	stem := strings.TrimRight(names[0], "0123456789")
	var from int
	if _, err := fmt.Sscanf(names[0][len(stem):], "%d", &from); err != nil {
		return "", false
	}
	for i, name := range names {
		if name != fmt.Sprint(stem, from+i) {
			return "", false
		}
	}
	return names[0], true
}

// maxHeatBuckets is how many switches' buckets are drawn in text.
const maxHeatBuckets = 2

// buckets draws how the buckets of switches belonged to their paths over time, for those whose buckets moved most.
func (t *heatWriter) buckets() {
	list := t.h.moving()
	var still []string
	for _, b := range t.h.Buckets {
		if len(b.TimesPS) < 2 {
			still = append(still, b.Switch)
		}
	}
	if len(still) > 0 {
		t.WriteByte('\n')
		text := "never moved at " + strings.Join(still[:min(len(still), maxHeatSums)], ", ")
		if len(still) > maxHeatSums {
			text += fmt.Sprintf(" and %d more", len(still)-maxHeatSums)
		}
		t.paragraph(t.bold("buckets")+"    ", text, 11)
	}
	for i, b := range list {
		if i == maxHeatBuckets {
			t.WriteByte('\n')
			t.paragraph(t.bold("buckets")+"    ", fmt.Sprintf("of %d more %s moved less: --json and --plots have them", len(list)-i, plural(len(list)-i, "switch", "switches")), 11)
			return
		}
		t.WriteByte('\n')
		t.paragraph(t.bold("buckets")+"    ", fmt.Sprintf("of %s over %s, moved %d times", t.o.clean(b.Switch), duration(units.Duration(b.EndPS)), len(b.TimesPS)-1), 11)
		label := longestOf(b.Paths)
		columns := max(8, min(96, t.o.Width-heatMark-label-2-12))
		fair := b.fair()
		for p, name := range b.Paths {
			var line strings.Builder
			run, color := "", ""
			for c := range columns { // one escape sequence for a run of one colour
				bar, code := t.bar(b.mean(p, c, columns), fair)
				if code != color {
					line.WriteString(t.paint(color, run))
					run, color = "", code
				}
				run += bar
			}
			line.WriteString(t.paint(color, run))
			last := b.Buckets[len(b.Buckets)-1][p]
			t.line(pad("", heatMark) + pad(t.o.clean(name), label) + "  " + line.String() + fmt.Sprintf("%5d of %d", last, b.size()))
		}
	}
}
