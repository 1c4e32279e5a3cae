package claims

import (
	"fmt"
	"strings"
)

// Command is what makes the page.
const Command = "shunt claims --markdown -o docs/claims.md"

// Markdown writes a report as a page: docs/claims.md is made by it.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(`# The articles' figures, tested

Every figure of articles 000, 001 and 003 that says something of a network, as an experiment: what is claimed, what came out, and by which
rule the two were judged. Made by

    ` + Command + `

and kept as data in [claims.json](claims.json) by ` + "`shunt claims --json -o docs/claims.json`" + `. One claim: ` + "`shunt claims S0.4a`" + `.

`)
	fmt.Fprintf(&b, "Intervals: %s. Experiments without seeds are exact: they draw nothing. A verdict follows from the numbers by these rules alone:\n\n", r.Interval)
	b.WriteString(`- **holds**: the interval reaches into the claimed range, or the mean misses it by no more than a quarter of the claimed effect (a tenth of a
  figure that has no direction), and no effect is outside the interval; of a bound, the whole interval is within it
- **direction holds**: it does not, but the whole interval lies on the claimed side of no effect
- **does not hold**: neither
- **not decided**: nothing was measured, or the interval has both the claimed figure and no effect in it
- **cannot be tested here**: it needs hardware, is defined nowhere, or says too little to be repeated

`)
	if !r.Complete {
		b.WriteString("**Not complete:** the run was interrupted or an experiment failed; what is missing is not decided.\n\n")
	}
	b.WriteString("|")
	for _, v := range Verdicts() {
		fmt.Fprintf(&b, " %s |", v)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(Verdicts())) + "\n|")
	for _, v := range Verdicts() {
		fmt.Fprintf(&b, " %d |", r.Count(v))
	}
	b.WriteString("\n")
	for _, a := range []Article{"000", "001", "003"} {
		r.article(&b, a)
	}
	b.WriteString("\n## The experiments\n")
	for i := range r.Experiments {
		e := &r.Experiments[i]
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s\n", e.Name, wrap(e.Method), e.Repeats())
	}
	b.WriteString("\n## Figures that claim nothing\n\nRead, and not listed above, because there is nothing in them that could be true or false of a network:\n\n")
	for _, n := range notClaims {
		b.WriteString("- " + strings.ReplaceAll(wrap(n), "\n", "\n  ") + "\n")
	}
	return b.String()
}

// Repeats says with which seeds an experiment was run.
func (e *Repeated) Repeats() string {
	text := "Exact, no seeds."
	switch {
	case len(e.Seeds) == 0 && !e.Exact:
		text = "No seed ended."
	case !e.Exact:
		text = fmt.Sprintf("Seeds %s.", ranges(e.Seeds))
	}
	if len(e.Files) > 0 {
		var links []string
		for _, f := range e.Files {
			links = append(links, fmt.Sprintf("[%s](../claims/scenarios/%s)", f, f))
		}
		text += " Scenarios: " + strings.Join(links, ", ") + "."
	}
	for _, f := range e.Failed {
		text += "\n\nFailed: " + f
	}
	return text
}

// article writes the table of an article and a paragraph for each claim.
func (r *Report) article(b *strings.Builder, a Article) {
	first := true
	for i := range r.Claims {
		o := &r.Claims[i]
		if o.Article != a {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n## Article %s\n\n| | claimed | measured | verdict |\n|---|---|---|---|\n", a)
			first = false
		}
		measured := "-"
		if o.Measure != nil {
			measured = o.Measure.Name + ": " + o.Measure.Text()
		}
		fmt.Fprintf(b, "| [%s](#%s) | %s: %s | %s | %s |\n", o.ID, anchor(o.ID), o.Says, o.Figure, measured, o.Verdict)
	}
	for i := range r.Claims {
		if o := &r.Claims[i]; o.Article == a {
			fmt.Fprintf(b, "\n#### %s\n\n", o.ID)
			o.paragraph(b)
		}
	}
}

// paragraph writes what there is to say of one claim.
func (o *Outcome) paragraph(b *strings.Builder) {
	kind := ""
	if o.Kind != NoTest {
		kind = fmt.Sprintf(" (%s)", o.Kind)
	}
	fmt.Fprintf(b, "%s\n", wrap(fmt.Sprintf("*%s: %s.* **%s**%s. %s", upperFirst(o.Says), o.Figure, upperFirst(string(o.Verdict)), kind, o.Reading)))
	if o.Measure == nil {
		return
	}
	b.WriteString("\n| | measured | held against | experiment |\n|---|---|---|---|\n")
	row := func(f *Figure) {
		held := f.Claimed
		if held == "" {
			held = "shown beside"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Name, f.Text(), held, f.Experiment)
	}
	row(o.Measure)
	for i := range o.Beside {
		row(&o.Beside[i])
	}
}

// anchor is the name under which Markdown viewers know a heading.
func anchor(id string) string {
	return strings.ToLower(strings.ReplaceAll(id, ".", ""))
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// ranges writes seeds: "1 to 10", "1, 3".
func ranges(seeds []uint64) string {
	n := uint64(len(seeds))
	if n > 2 && seeds[n-1]-seeds[0] == n-1 {
		return fmt.Sprintf("%d to %d", seeds[0], seeds[n-1])
	}
	var list []string
	for _, s := range seeds {
		list = append(list, fmt.Sprint(s))
	}
	return strings.Join(list, ", ")
}

// width is where lines of the page end.
const width = 140

func wrap(text string) string { return Wrap(text, width) }

// Wrap breaks a paragraph into lines of at most width bytes.
func Wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		if i > 0 {
			if n+1+len(w) > width {
				b.WriteByte('\n')
				n = 0
			} else {
				b.WriteByte(' ')
				n++
			}
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}
