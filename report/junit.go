package report

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// The JUnit XML that CI systems read (the schema of Jenkins' xunit plugin, junit-10.xsd, which they share). A test
// case is a cause, a suite is a layer: what was ruled out passes, what was found fails, what could not be checked is
// skipped with the reason.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Err      *junitText  `xml:"system-err"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Skipped *junitSkipped `xml:"skipped"`
		Failure *junitFailure `xml:"failure"`
		Error   *junitFailure `xml:"error"`
		Out     *junitText    `xml:"system-out"`
	}
	junitText struct { // with its lines kept as they are
		Text string `xml:",cdata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
)

// JUnit writes the report as test results, one test case a cause that was looked at. The text of a failure is the
// finding as the terminal shows it. A finding below the severity that fails is told in the output of a passing case.
func JUnit(w io.Writer, r *Report, o Options) error {
	all := junitSuites{Name: "shunt explain"}
	for _, layer := range layers {
		s := r.junitSuite(layer.name, string(layer.letter), o)
		if s.Tests > 0 {
			all.Suites = append(all.Suites, s)
		}
	}
	if s, ok := r.junitInput(); ok {
		all.Suites = append(all.Suites, s)
	}
	for _, s := range all.Suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	b := bufio.NewWriter(w)
	b.WriteString(xml.Header)
	e := xml.NewEncoder(b)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("report: junit: %w", err)
	}
	b.WriteByte('\n')
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: junit: %w", err)
	}
	return nil
}

// junitSuite is the test cases of one layer.
func (r *Report) junitSuite(name, letter string, o Options) junitSuite {
	s := junitSuite{Name: name}
	add := func(c diagnose.Check, fill func(*junitCase)) {
		if !strings.HasPrefix(c.Code, letter) {
			return
		}
		t := junitCase{Name: plain(c.Code + " " + c.Title), Class: "shunt." + strings.ReplaceAll(name, " ", "-")}
		fill(&t)
		s.Cases = append(s.Cases, t)
		s.Tests++
		if t.Failure != nil {
			s.Failures++
		}
		if t.Skipped != nil {
			s.Skipped++
		}
	}
	for _, c := range r.Checked.Explained {
		add(c, func(t *junitCase) { r.junitFound(t, c.Code, o) })
	}
	for _, c := range r.Checked.RuledOut {
		add(c, func(t *junitCase) {
			if c.Why != "" {
				t.Out = &junitText{plain(c.Why)}
			}
		})
	}
	for _, c := range r.Checked.Could {
		add(c, func(t *junitCase) { t.Skipped = &junitSkipped{plain("could not be checked: " + c.Why)} })
	}
	slices.SortStableFunc(s.Cases, func(a, b junitCase) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// junitFound fills in a cause that was found: its findings, or the finding that explains it.
func (r *Report) junitFound(t *junitCase, code string, o Options) {
	var text bytes.Buffer
	worst, title := diagnose.Note, ""
	o.Text.Color, o.Text.Quiet = false, false
	page := newWriter(&text, r, o.Text)
	for _, f := range r.Findings {
		if f.Code == code {
			if title != "" {
				page.WriteByte('\n')
			}
			page.finding(f)
			if title == "" || f.Severity > worst {
				worst, title = f.Severity, f.Title
			}
		}
	}
	if title == "" {
		for _, f := range r.Findings {
			for _, c := range f.Consequences {
				if c.Code == code {
					page.paragraph("", fmt.Sprintf("%s: explained by %s, %s", c.Title, f.Code, f.Title), 2)
					if title == "" || f.Severity > worst {
						worst, title = f.Severity, c.Title
					}
				}
			}
		}
	}
	page.Flush() // into memory
	if o.fails(worst) {
		t.Failure = &junitFailure{Message: plain(title), Type: worst.String(), Text: text.String()}
	} else {
		t.Out = &junitText{text.String()}
	}
}

// junitInput is a suite about the input itself, where something about it has to be told: what could not be used, and a
// report that decides nothing, which must not look like one that passed.
func (r *Report) junitInput() (junitSuite, bool) {
	s := junitSuite{Name: "input"}
	c := junitCase{Name: "the input tells whether the network is slow", Class: "shunt.input"}
	var list strings.Builder
	for _, u := range r.Unreadable {
		fmt.Fprintf(&list, "not used: %s: %s\n", plain(u.From.String()), plain(u.Why))
	}
	if list.Len() > 0 {
		s.Err = &junitText{list.String()}
	}
	switch {
	case r.Interrupted:
		c.Error = &junitFailure{Message: "interrupted: the results are what was found so far", Type: "interrupted"}
		s.Errors++
	case !r.Decided():
		c.Error = &junitFailure{Message: "undecided: nothing in the input tells whether the network is slow", Type: "undecided"}
		s.Errors++
	case s.Err == nil:
		return s, false
	}
	s.Cases, s.Tests = []junitCase{c}, 1
	return s, true
}
