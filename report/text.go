package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// TextOptions is how the text is laid out. The zero value is right for a pipe.
type TextOptions struct {
	Width   int  // columns; 0 is DefaultWidth
	Color   bool // severity and headings in colour as well
	ASCII   bool // the terminal shows ASCII only: other characters of foreign text become '?'
	Verbose bool // all that was checked, where each observation was read, how each cost was worked out
	Quiet   bool // the titles of the findings alone
}

// DefaultWidth is the width of a page that goes to no terminal, MinWidth the least that is laid out: below it
// lines are left to the terminal.
const (
	DefaultWidth = 80
	MinWidth     = 40
)

// writer collects the page. An error of the writer below shows at the end, by Flush.
type writer struct {
	*bufio.Writer
	o         TextOptions
	simulated bool // the report is of a simulated run
}

func newWriter(w io.Writer, r *Report, o TextOptions) writer {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	o.Width = max(o.Width, MinWidth)
	return writer{bufio.NewWriter(w), o, r.Run != nil}
}

// Text writes the report for people: the findings, what the simulated job felt, what was checked.
func Text(w io.Writer, r *Report, o TextOptions) error {
	t := newWriter(w, r, o)
	for i, f := range r.Findings {
		if i == shownFindings && !o.Quiet && !o.Verbose {
			t.more(r.Findings[i:])
			break
		}
		if i > 0 && !o.Quiet {
			t.WriteByte('\n')
		}
		t.finding(f)
	}
	switch {
	case len(r.Findings) > 0, r.Interrupted && !r.Decided():
	case !r.Decided():
		t.line("undecided: nothing in the input tells whether the network is slow")
	default:
		t.line("no findings")
	}
	if !o.Quiet && (r.Decided() || !r.Interrupted) {
		if r.Run != nil {
			t.WriteByte('\n')
			t.run(r.Run)
		}
		t.WriteByte('\n')
		t.checked(r)
	}
	switch {
	case r.Interrupted && !r.Decided():
		t.line("interrupted before anything was found")
	case r.Interrupted:
		t.line("interrupted: this is what was found so far")
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: text: %w", err)
	}
	return nil
}

// shownFindings is how many findings are written in full: about as many as somebody reads before acting on the first.
const shownFindings = 8

// more writes the titles of the findings that are not written in full.
func (t writer) more(list []diagnose.Finding) {
	t.WriteByte('\n')
	t.line(fmt.Sprintf("and %d more, in full with -v:", len(list)))
	for _, f := range list {
		t.title(f)
	}
}

// line writes one line, without blanks at its end.
func (t writer) line(s string) {
	t.WriteString(strings.TrimRight(s, " "))
	t.WriteByte('\n')
}

// paragraph writes first and then text, wrapped; the lines after the first are indented by indent columns.
func (t writer) paragraph(first, text string, indent int) {
	rest := max(t.o.Width-indent, MinWidth/2)
	for i, l := range wrapFrom(t.o.clean(text), max(t.o.Width-visible(first), MinWidth/2), rest) {
		if i == 0 {
			t.line(first + l)
		} else {
			t.line(strings.Repeat(" ", indent) + l)
		}
	}
}

// keyword begins a line of a finding: "  because: " with the text in a common column.
func (t writer) keyword(word, text string) {
	const column = 11
	t.paragraph("  "+t.bold(word)+strings.Repeat(" ", max(1, column-2-len(word))), text, column)
}

// The ANSI SGR codes in use (ECMA-48, 8.3.117): eight colours and two weights, which every theme maps to
// something readable.
const (
	reset     = "\x1b[0m"
	boldCode  = "\x1b[1m"
	dimCode   = "\x1b[2m"
	redBold   = "\x1b[1;31m"
	amberBold = "\x1b[1;33m"
	cyanBold  = "\x1b[1;36m"
)

func (t writer) paint(code, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return code + s + reset
}

// visible is the width of s without what paint added.
func visible(s string) int {
	n := width(s)
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return n
		}
		end := strings.IndexByte(s[i:], 'm')
		n -= end + 1
		s = s[i+end+1:]
	}
}

func (t writer) bold(s string) string { return t.paint(boldCode, s) }
func (t writer) dim(s string) string  { return t.paint(dimCode, s) }

func (t writer) severity(s diagnose.Severity, text string) string {
	return t.paint([...]string{diagnose.Note: cyanBold, diagnose.Warning: amberBold, diagnose.Critical: redBold}[s], text)
}
