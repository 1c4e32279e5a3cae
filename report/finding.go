package report

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
	"github.com/shunt-network/shunt/units"
)

// finding writes one finding: what and how bad, what it costs, the chain of evidence, why, what speaks against
// it, what to do.
func (t writer) finding(f diagnose.Finding) {
	t.title(f)
	if t.o.Quiet {
		return
	}
	t.paragraph("  "+t.bold("cost")+"    ", cost(f), 10)
	if f.Cost != nil && f.Cost.How != "" && t.o.Verbose {
		t.paragraph("          ", "worked out as: "+f.Cost.How, 10)
	}
	if len(f.Evidence) > 0 {
		t.WriteByte('\n')
		t.evidence(f.Evidence)
	}
	t.WriteByte('\n')
	if t.o.Verbose && len(f.Where) > 0 {
		t.keyword("where:", strings.Join(f.Where, ", "))
	}
	t.keyword("because:", f.Because)
	for i, n := range f.Not {
		word := "not:"
		if i > 0 {
			word = ""
		}
		t.keyword(word, n)
	}
	if f.WrongIf != "" {
		t.keyword("wrong if:", f.WrongIf)
	}
	for i, c := range f.Consequences {
		word := "explains:"
		if i > 0 {
			word = ""
		}
		t.keyword(word, "["+c.Code+"] "+c.Title)
	}
	t.fix(f.Fix)
	if f.Settle != "" {
		t.keyword("settle:", f.Settle)
	}
	if paged(f.Code) {
		t.keyword("more:", "shunt codes "+f.Code)
	}
}

// paged tells whether a code has a page; those of the user's own rules have none.
func paged(code string) bool {
	_, err := fs.Stat(codes.Pages, code+".md")
	return err == nil
}

// title writes severity, code and title; what does not fit on the line goes on two columns in.
func (t writer) title(f diagnose.Finding) {
	head := fmt.Sprintf("%s[%s]:", f.Severity, f.Code)
	for i, l := range wrapFrom(t.o.clean(f.Title), t.o.Width-len(head)-1, t.o.Width-2) {
		if i == 0 {
			t.line(t.severity(f.Severity, head) + " " + t.bold(l))
		} else {
			t.line("  " + t.bold(l))
		}
	}
}

// cost is the line under the title: "+88 ms a step (412 against 315), 93 % sure, from 10.2 ms on". Where the
// cost is not known, the line says so.
func cost(f diagnose.Finding) string {
	text := "not known from this input; the cause is " + percent(f.Confidence) + " sure"
	if c := f.Cost; c != nil {
		text = signed(c.Extra) + " " + article(c.Of)
		if c.Seen != 0 && c.Expected != 0 {
			seen, expected, s := between(c.Seen, c.Expected, c.Extra)
			if s == scaleOf(c.Extra) {
				text += fmt.Sprintf(" (%s against %s)", seen, expected)
			} else {
				text += fmt.Sprintf(" (%s against %s %s)", seen, expected, s.name)
			}
		}
		text += ", " + percent(f.Confidence) + " sure"
	}
	if at, ok := onset(f.Evidence); ok {
		text += ", from " + duration(units.Duration(at.PS())) + " on"
	}
	return text
}

// article makes "a step", "an alltoall".
func article(of string) string {
	switch {
	case of == "":
		return "in all"
	case strings.ContainsRune("aeio", rune(of[0])):
		return "an " + of
	}
	return "a " + of
}

// onset is the first time that the evidence names; the list is in order of onset.
func onset(evidence []diagnose.Evidence) (units.Instant, bool) {
	for _, e := range evidence {
		if e.At != nil {
			return *e.At, true
		}
	}
	return units.Instant{}, false
}

// fix writes what to change, the outcome of trying it in the simulator, and the commands, which are never
// wrapped: they are there to be copied.
func (t writer) fix(f diagnose.Fix) {
	if trial := trial(f.Trial); f.Text != "" || trial != "" || len(f.Commands) > 0 {
		t.tried("fix:", f.Text, trial)
	}
	for _, c := range f.Commands {
		t.line(strings.Repeat(" ", fixColumn+2) + t.o.clean(c))
	}
	for _, o := range f.Others {
		t.tried("or:", o.Text, trial(o.Trial))
	}
}

// fixColumn is where the text of a change begins.
const fixColumn = 11

// tried writes a change and what trying it came to: beside a text of one line where there is room, else on a line of its own.
func (t writer) tried(keyword, text, trial string) {
	lines := wrap(t.o.clean(text), t.o.Width-fixColumn)
	if trial != "" && len(lines) == 1 && fixColumn+width(lines[0])+3+len(trial) <= t.o.Width {
		lines[0] = pad(lines[0], min(46, t.o.Width-fixColumn-3-len(trial))) + "   " + trial
		trial = ""
	}
	for i, l := range lines {
		if i == 0 {
			t.line("  " + t.bold(keyword) + strings.Repeat(" ", fixColumn-2-len(keyword)) + l)
		} else {
			t.line(strings.Repeat(" ", fixColumn) + l)
		}
	}
	if trial != "" {
		t.paragraph(strings.Repeat(" ", fixColumn), trial, fixColumn)
	}
}

// alternative is another change for the same trouble, with what trying it came to.
func alternative(o diagnose.Alternative) string {
	return strings.TrimSuffix(o.Text+"; "+trial(o.Trial), "; ")
}

// trial is the outcome of the fix in the simulator: "simulated: 319 ms, was 412 (-93 +- 6, 3 seeds)", means over the seeds. A change that is no larger
// than its own spread is called what it is.
func trial(r *diagnose.Trial) string {
	if r == nil {
		return ""
	}
	change := r.After - r.Before
	s := scaleOf(r.After)
	text := "simulated"
	if r.Metric != "" && r.Metric != "step" {
		text += " " + r.Metric
	}
	if r.Stalled {
		text += ": " + duration(r.After)
		if r.Seeds > 1 {
			text += " (+- " + strconv.FormatFloat(float64(r.Spread)/float64(s.unit), 'g', 2, 64) + fmt.Sprintf(", %d seeds)", r.Seeds)
		}
		return text + "; without it the job never ends"
	}
	text += ": " + duration(r.After) + ", was " + significant(float64(r.Before)/float64(s.unit)) + " (" + gain(change, s)
	if r.Seeds > 1 {
		// The spread is known to no more than two digits over a few seeds.
		text += " +- " + strconv.FormatFloat(float64(r.Spread)/float64(s.unit), 'g', 2, 64) + fmt.Sprintf(", %d seeds", r.Seeds)
	} else {
		text += ", one seed"
	}
	if change >= 0 || -change <= r.Spread {
		text += ": no sure gain"
	}
	return text + ")"
}
