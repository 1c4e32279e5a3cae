package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong in a file. Line and Col count from 1; both are 0 when the problem has no place.
type Problem struct {
	File      string
	Line, Col int
	Text      string // "what is wrong; what would be right"
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Text)
}

// Problems is everything wrong in one or more files. As an error it prints one problem a line, by position.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps.Sorted() {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Err is ps as an error, nil when there is none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Sorted is a copy of ps by file, line and column; problems of one place keep their order.
func (ps Problems) Sorted() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return out
}
