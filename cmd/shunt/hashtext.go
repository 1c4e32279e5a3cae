package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/report"
)

// How the report of hash is laid out for people: what was hashed, the buckets, the links, the tiers, what would be better, and what follows.

// Limits of the page; --json has all.
const (
	shownGroups  = 4
	shownLinks   = 16
	shownNotes   = 8
	histogram    = 64 // columns
	headingWidth = 9
)

// page collects text.
type page struct {
	strings.Builder
	o report.TextOptions
}

// paint puts text into a colour of ECMA-48 where colours are shown.
func (p *page) paint(code, text string) string {
	if !p.o.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	boldPaint = "1"
	redPaint  = "1;31"
)

// section begins a line with a heading, and the lines after it in the same column.
func (p *page) section(head string, lines ...string) {
	for i, l := range lines {
		if i > 0 {
			head = ""
		}
		for j, part := range folded(l, max(p.o.Width-headingWidth, report.MinWidth/2)) {
			if j > 0 {
				head = ""
			}
			pad := strings.Repeat(" ", max(1, headingWidth-len(head)))
			p.WriteString(strings.TrimRight(p.paint(boldPaint, head)+pad+part, " ") + "\n")
		}
	}
}

// folded breaks text between words into lines of at most so many columns.
func folded(text string, limit int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > limit:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// hashText writes the report.
func hashText(w io.Writer, r *ecmp.Report, o report.TextOptions) error {
	p := &page{o: o}
	p.head(r)
	p.WriteString("\n")
	p.buckets(&r.Occupancy)
	if len(r.Groups) > 0 {
		p.WriteString("\n")
		p.groups(r)
		p.tiers(r)
		p.proposals(r)
	} else {
		p.WriteString("\n")
		p.section("links", "no equal-cost links are known; --paths says how many a switch chooses among")
	}
	p.WriteString("\n")
	for i, c := range r.Conclusions {
		head := ""
		if i == 0 {
			head = "so"
		}
		p.section(head, c)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) head(r *ecmp.Report) {
	carry := ""
	if r.Bytes != nil {
		carry = ", " + roughly(float64(*r.Bytes))
	}
	p.section("flows", fmt.Sprintf("%s of %s%s", count(uint64(r.Flows)), number(r.Connections, "connection"), carry))
	hash := string(r.Algorithm)
	if r.Polynomial != "" {
		hash += ", polynomial " + r.Polynomial
	}
	if r.Seed != 0 {
		hash += fmt.Sprintf(", seed %d", r.Seed)
	}
	p.section("hash", hash+" of "+r.Fields.String())
	if r.Modelled != 0 {
		p.section("unknown", r.Modelled.String()+": not in the input, put in by rule")
	}
	for i, n := range r.Notes {
		if i == shownNotes {
			p.section("", fmt.Sprintf("and %d more notes (--json)", len(r.Notes)-i))
			break
		}
		p.section("note", n)
	}
}

func (p *page) buckets(b *ecmp.Occupancy) {
	n := float64(b.Buckets)
	t := table{head: []string{"", "seen", "perfect hash", "p"}, left: 1}
	t.add("empty", fmt.Sprintf("%s, %s", count(uint64(b.Empty)), percent(float64(b.Empty)/n)),
		fmt.Sprintf("%s +- %s", figure(b.EmptyExpected), figure(b.EmptySpread)), chanceText(b.EmptyP))
	t.add(fmt.Sprintf("flows in the first %s", count(uint64(b.HeadBuckets))), fmt.Sprintf("%s, %s", count(uint64(b.Head)), percent(float64(b.Head)/float64(max(1, b.Flows)))),
		percent(float64(b.HeadBuckets)/n), chanceText(b.HeadP))
	t.add("empty in a row at the end", count(uint64(b.Tail)), "", "")
	t.add("pairs in one bucket", figure(b.Pairs), figure(b.PairsExpected), "")
	t.add("flows alone in theirs", count(uint64(b.Alone)), figure(b.AloneExpected), "")
	t.add("chi-square", figure(b.ChiSquare), figure(n-1), chanceText(b.P))
	p.section("buckets", fmt.Sprintf("%s, %s of %s, at most %d in one", number(b.Buckets, "bucket"), number(b.Keys, "different key"), number(b.Flows, "flow"), b.Fullest))
	p.WriteString(moved(t.String(), headingWidth-2))
	width, sums := b.Columns(min(histogram, max(p.o.Width-headingWidth, 8)))
	most := 0
	for _, s := range sums {
		most = max(most, s)
	}
	p.WriteString(strings.Repeat(" ", headingWidth) + p.columns(sums, most) + "\n")
	p.section("", fmt.Sprintf("each column %s, the tallest %s", number(width, "bucket"), number(most, "flow")))
}

// Bars from empty to full, in eighths; and as well as ASCII can.
var (
	columnMarks = []rune(" ▁▂▃▄▅▆▇█")
	asciiMarks  = []rune(" .:-=+*#@")
)

func (p *page) columns(sums []int, most int) string {
	marks := columnMarks
	if p.o.ASCII {
		marks = asciiMarks
	}
	var b strings.Builder
	for _, s := range sums {
		i := 0
		if most > 0 && s > 0 {
			i = max(1, s*(len(marks)-1)/most)
		}
		b.WriteRune(marks[i])
	}
	return strings.TrimRight(b.String(), " ")
}

func (p *page) groups(r *ecmp.Report) {
	list := worthShowing(r.Groups)
	for i, g := range list {
		title := fmt.Sprintf("%s: the fullest has %sx its fair share", g.Name, figure(g.Ratio))
		if r.Bytes != nil {
			title += fmt.Sprintf(" of the bytes, %sx of the flows", figure(g.ByFlow))
		}
		if g.Perfect.Mean > 0 {
			title += fmt.Sprintf("; a perfect hash %sx (%s to %s), p %s", figure(g.Perfect.Mean), figure(g.Perfect.Low), figure(g.Perfect.High), chanceText(g.P))
		}
		title += fmt.Sprintf("; none below %sx; %d idle, %s expected", figure(g.Best), g.Idle, expected(g.IdleExpected))
		head := ""
		if i == 0 {
			head = "links"
		}
		p.section(head, title)
		p.loads(g, r.Bytes != nil)
	}
	if more := len(r.Groups) - len(list); more > 0 {
		p.section("", fmt.Sprintf("and %s of links more (--json)", number(more, "group")))
	}
}

// worthShowing are the groups with the largest excess, of tiers behind the first only the first of each: behind a hash that polarises all are alike.
func worthShowing(groups []*ecmp.Group) []*ecmp.Group {
	var list []*ecmp.Group
	seen := map[int]bool{}
	for _, g := range groups {
		if len(list) < shownGroups && (g.Tier == 0 || !seen[g.Tier]) {
			list = append(list, g)
			seen[g.Tier] = true
		}
	}
	return list
}

// Bars of the links, in columns.
const (
	shortestBar = 4
	longestBar  = 20
)

// roomy is the width from which tables are whole. Narrower ones do without the columns that the page can be read without, and begin at the margin.
const roomy = 116

// narrowed drops columns from a table and moves it: all of it where there is room, else without those columns.
func (p *page) narrowed(t *table, without ...int) string {
	if p.o.Width >= roomy {
		return moved(t.String(), headingWidth-2)
	}
	less := table{left: t.left}
	for i, row := range append([][]string{t.head}, t.rows...) {
		var kept []string
		for c, cell := range row {
			if !slices.Contains(without, c) {
				kept = append(kept, cell)
			}
		}
		if i == 0 {
			less.head = kept
		} else {
			less.add(kept...)
		}
	}
	return moved(less.String(), 0)
}

// loads prints the links of a group with a bar each.
func (p *page) loads(g *ecmp.Group, bytes bool) {
	t := table{head: []string{"", "flows", "share", "", ""}, left: 1}
	if bytes {
		t.head[3] = "bytes"
	}
	total := 0.0
	for _, l := range g.Load {
		total += l
	}
	rest := headingWidth + len("  99,999  99.99 %  999.9 MB  ")
	for _, name := range g.Links[:min(len(g.Links), shownLinks+1)] {
		rest = max(rest, headingWidth+len("  99,999  99.99 %  999.9 MB  ")+utf8.RuneCountInString(name))
	}
	longest := min(max(p.o.Width-rest, shortestBar), longestBar)
	mark := "█"
	if p.o.ASCII {
		mark = "#"
	}
	for i, name := range g.Links {
		if i == shownLinks && len(g.Links) > shownLinks+1 {
			t.add(fmt.Sprintf("and %d more", len(g.Links)-i), "", "", "", "")
			break
		}
		load := ""
		if bytes {
			load = roughly(g.Load[i])
		}
		share := 0.0
		if total > 0 {
			share = g.Load[i] / total
		}
		bar := ""
		if top := g.Load[g.Hot]; top > 0 {
			bar = strings.Repeat(mark, int(g.Load[i]/top*float64(longest)+0.5))
		}
		bar += strings.Repeat(" ", longest-len([]rune(bar)))
		t.add(name, count(uint64(g.Flows[i])), percent(share), load, bar)
	}
	for i, line := range strings.Split(strings.TrimRight(moved(t.String(), headingWidth-2), "\n"), "\n") {
		if i == g.Hot+1 && g.Ratio >= ecmp.Uneven {
			line = p.paint(redPaint, line)
		}
		p.WriteString(line + "\n")
	}
}

func (p *page) tiers(r *ecmp.Report) {
	if len(r.Tiers) < 2 {
		return
	}
	p.WriteString("\n")
	t := table{head: []string{"", "switches", "links", "idle", "by chance", "p", "fullest"}, left: 1}
	row := func(name string, x *ecmp.Tier) {
		t.add(name, count(uint64(x.Switches)), count(uint64(x.Links)), fmt.Sprintf("%s, %s", count(uint64(x.Idle)), percent(float64(x.Idle)/float64(max(1, x.Links)))),
			expected(x.Expected), chanceText(x.P), figure(x.Worst)+"x")
	}
	for i := range r.Tiers {
		row(fmt.Sprintf("tier %d", i+1), &r.Tiers[i])
	}
	for i := range r.Variants {
		row("tier 2, "+r.Variants[i].What, &r.Variants[i].Tier)
	}
	p.section("tiers", "links that no flow takes, at each choice on the way")
	p.WriteString(p.narrowed(&t, 1, 5))
}

func (p *page) proposals(r *ecmp.Report) {
	if r.Elsewhere == nil {
		return
	}
	p.WriteString("\n")
	p.section("instead", fmt.Sprintf("the fullest link against the mean, on these flows and on %s of the same ends and sizes with QPNs and ports drawn anew", number(r.Draws, "set")))
	t := table{head: []string{"", "these", "others", "5 to 95 %", "gain", ""}, left: 1}
	spread := func(x ecmp.Range) string { return figure(x.Low) + " to " + figure(x.High) }
	t.add("as it is", figure(r.Worst)+"x", figure(r.Elsewhere.Mean)+"x", spread(*r.Elsewhere), "", "")
	for _, x := range r.Proposals {
		t.add(x.What, figure(x.Here)+"x", figure(x.Elsewhere.Mean)+"x", spread(x.Elsewhere), fmt.Sprintf("%s +- %.2f", strconv.FormatFloat(x.Gain, 'f', 2, 64), x.GainError), string(x.Verdict))
	}
	t.add("spray packets", "1x", "1x", "", "", "always")
	p.WriteString(p.narrowed(&t, 3))
	head := "set"
	for _, x := range r.Proposals {
		if x.Verdict == ecmp.Proven {
			p.section(head, x.What+": "+x.How)
			head = ""
		}
	}
	if r.NeedQPs > 0 {
		p.section("", fmt.Sprintf("a perfect hash comes within a quarter of the fair share with %d QPs in place of each", r.NeedQPs))
	}
}

// moved moves every line to the right.
func moved(text string, by int) string {
	pad := strings.Repeat(" ", by)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(pad+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	return b.String()
}

// percent prints a share.
func percent(share float64) string { return figure(100*share) + " %" }

// chanceText prints a probability; one below a millionth is told as that.
func chanceText(p float64) string {
	if p < 1e-6 {
		return "< 1e-6"
	}
	if p < 1e-3 {
		return strconv.FormatFloat(p, 'g', 1, 64)
	}
	return figure(p)
}

// roughly prints bytes with three digits, in powers of ten as the findings do.
func roughly(bytes float64) string {
	for _, u := range []struct {
		name string
		of   float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if bytes >= 0.9995*u.of {
			return figure(bytes/u.of) + " " + u.name
		}
	}
	return figure(bytes) + " B"
}

// expected prints a mean; one that is next to nothing is 0.
func expected(v float64) string {
	if v < 0.01 {
		return "0"
	}
	return figure(v)
}

// number is a count with its word: "1 flow", "1,024 flows".
func number(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return count(uint64(n)) + " " + what
}
