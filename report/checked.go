package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
)

// How much of a list the page shows unless it is asked for all: enough to see what to fetch next.
const (
	shownReasons    = 3
	shownUnreadable = 5
)

// checked writes what was looked at and came to nothing: what was ruled out, what could not be checked and why,
// what could not be read. Without it a short list of findings would say more than is known.
func (t writer) checked(r *Report) {
	c := r.Checked
	var parts []string
	if n := len(c.Explained); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s the slowdown", n, plural(n, "explains", "explain")))
	}
	parts = append(parts, fmt.Sprintf("%d ruled out", len(c.RuledOut)))
	could := fmt.Sprintf("%d could not be checked", len(c.Could))
	if reasons := missing(c.Could); len(reasons) > 0 && !t.o.Verbose {
		more := ""
		if n := len(reasons) - shownReasons; n > 0 {
			reasons, more = reasons[:shownReasons], fmt.Sprintf("; %d more with -v", n)
		}
		could += " (" + strings.Join(reasons, "; ") + more + ")"
	}
	parts = append(parts, could)
	t.paragraph(t.bold(fmt.Sprintf("checked %d:", c.Total()))+" ", strings.Join(parts, ", "), 2)
	if t.o.Verbose {
		t.checks("explained", c.Explained)
		t.checks("ruled out", c.RuledOut)
		t.checks("could not be checked", c.Could)
	}
	t.inputs(r.Files)
	t.unreadable(r.Unreadable)
}

// missing lists the reasons for which causes could not be checked, the most frequent first.
func missing(checks []diagnose.Check) []string {
	count := map[string]int{}
	var reasons []string
	for _, c := range checks {
		if c.Why == "" {
			continue
		}
		if count[c.Why] == 0 {
			reasons = append(reasons, c.Why)
		}
		count[c.Why]++
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return reasons
}

// checks lists causes and their reasons.
func (t writer) checks(title string, list []diagnose.Check) {
	if len(list) == 0 {
		return
	}
	t.line("  " + t.bold(title))
	for _, c := range list {
		text := c.Title
		if c.Why != "" {
			text += ": " + c.Why
		}
		t.paragraph("    "+pad(c.Code, 4)+"  ", text, 10)
	}
}

// inputs says what the files were taken for, so that a wrong guess shows.
func (t writer) inputs(files []evidence.File) {
	if len(files) == 0 {
		return
	}
	count := map[string]int{}
	var formats []string
	for _, f := range files {
		if count[f.Format] == 0 {
			formats = append(formats, f.Format)
		}
		count[f.Format]++
	}
	slices.SortStableFunc(formats, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for i, f := range formats {
		formats[i] = fmt.Sprintf("%s %d", f, count[f])
	}
	t.paragraph(t.bold("read")+" ", fmt.Sprintf("%d %s: %s", len(files), plural(len(files), "input", "inputs"), strings.Join(formats, ", ")), 2)
	if !t.o.Verbose {
		return
	}
	for _, f := range files {
		text := f.Path + ": " + f.Format
		if f.Host != "" {
			text += ", host " + f.Host
		}
		t.paragraph("    ", text, 6)
	}
}

// unreadable lists inputs, or parts of them, that could not be used.
func (t writer) unreadable(list []evidence.Unreadable) {
	if len(list) == 0 {
		return
	}
	t.line(t.bold("not used") + fmt.Sprintf(" %d %s", len(list), plural(len(list), "input or part of one:", "inputs or parts of them:")))
	for i, u := range list {
		if i == shownUnreadable && !t.o.Verbose {
			t.line(fmt.Sprintf("  and %d more (-v lists all)", len(list)-i))
			return
		}
		t.paragraph("  ", u.From.String()+": "+u.Why, 4)
	}
}
