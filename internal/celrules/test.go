package celrules

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/rules"
)

// Test runs the tests of every rule and writes how each went. failed counts those that did not go as expected; a rule
// without tests is named.
func (s *Set) Test(w io.Writer) (failed int, err error) {
	tests, untested := 0, []string{}
	for i := range s.rules {
		r := &s.rules[i]
		if len(r.Tests) == 0 {
			untested = append(untested, r.Code)
		}
		for j := range r.Tests {
			tests++
			t := &r.Tests[j]
			wrong := s.try(r, t)
			word := "ok  "
			if wrong != "" {
				failed++
				word = "FAIL"
			}
			if _, err := fmt.Fprintf(w, "%s  %s  %s\n", word, r.Code, t.Name); err != nil {
				return failed, err
			}
			if wrong != "" {
				if _, err := fmt.Fprintf(w, "      %s\n", r.file.Problem(fmt.Sprintf("rules[%d].tests[%d].expect", r.index, j), wrong, 0, 0)); err != nil {
					return failed, err
				}
			}
		}
	}
	if len(untested) > 0 {
		if _, err := fmt.Fprintf(w, "no tests: %s\n", strings.Join(untested, ", ")); err != nil {
			return failed, err
		}
	}
	_, err = fmt.Fprintf(w, "%s, %s, %d failed\n", counted(len(s.rules), "rule"), counted(tests, "test"), failed)
	return failed, err
}

// counted is a number of things.
func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// try runs one test; what it returns is what went wrong, "" where nothing did.
func (s *Set) try(r *compiled, t *rules.Test) string {
	cluster := t.Given
	if len(t.Files) > 0 {
		var paths []string
		for _, p := range t.Files {
			if !filepath.IsAbs(p) {
				p = filepath.Join(filepath.Dir(r.file.Name()), p)
			}
			paths = append(paths, p)
		}
		inv, win, err := collect.Load(paths, collect.Options{})
		if err != nil {
			return strings.Join(strings.Fields(err.Error()), " ")
		}
		cluster = *rules.FromView(&diagnose.View{Inv: inv, Win: win})
	}
	cluster.Complete()
	s.streams.use(&cluster)
	v := s.judge(r, &cluster)
	if v.Outcome != t.Expect {
		detail := v.Why
		if len(v.Findings) > 0 {
			detail = v.Findings[0].Title
		}
		return fmt.Sprintf("expected %s, got %s (%s)", t.Expect, v.Outcome, detail)
	}
	if len(t.Where) > 0 {
		var where []string
		for _, f := range v.Findings {
			where = append(where, f.Where...)
		}
		if !slices.Equal(where, t.Where) {
			return fmt.Sprintf("expected it at %s, got %s", strings.Join(t.Where, ", "), strings.Join(where, ", "))
		}
	}
	said := v.Why
	if len(v.Findings) > 0 {
		said = v.Findings[0].Title
	}
	if !strings.Contains(said, t.Says) {
		return fmt.Sprintf("expected it to say %q, got %q", t.Says, said)
	}
	return ""
}
