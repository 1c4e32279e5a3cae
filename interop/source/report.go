package source

import (
	"fmt"
	"strconv"

	"github.com/shunt-network/shunt/internal/spec"
)

// Place is where something stands in a file, both from 1; the zero Place is the file as a whole.
type Place struct{ Line, Col int }

// At is p, so that whatever embeds a Place can be reported at it.
func (p Place) At() Place { return p }

// Report collects what is wrong with one file, and what is right but worth knowing: a setting without a
// counterpart, a default that was filled in, a meaning that differs.
type Report struct {
	File     string
	Problems spec.Problems
	Notes    spec.Problems

	more int // problems past spec.MaxProblems
}

// Located is anything that has a place.
type Located interface{ At() Place }

// Wrong adds a problem: what is wrong; what would be right.
func (r *Report) Wrong(at Located, format string, args ...any) {
	if r.Full() {
		r.more++
		return
	}
	r.Problems = append(r.Problems, r.problem(at, format, args...))
}

// Note adds something worth knowing. Beyond spec.MaxProblems notes are dropped: they repeat each other by then.
func (r *Report) Note(at Located, format string, args ...any) {
	if len(r.Notes) < spec.MaxProblems {
		r.Notes = append(r.Notes, r.problem(at, format, args...))
	}
}

func (r *Report) problem(at Located, format string, args ...any) spec.Problem {
	p := at.At()
	return spec.Problem{File: r.File, Line: p.Line, Col: p.Col, Text: fmt.Sprintf(format, args...)}
}

// Full tells that no more problems are kept, so that a reader may stop.
func (r *Report) Full() bool { return len(r.Problems) >= spec.MaxProblems }

// OK tells that nothing is wrong so far.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Err is everything wrong as a spec.Problems, nil when nothing is.
func (r *Report) Err() error {
	ps := r.Problems
	if r.more > 0 {
		ps = append(ps[:len(ps):len(ps)], spec.Problem{File: r.File, Text: fmt.Sprintf("and %d more problems, not shown", r.more)})
	}
	return ps.Err()
}

// Quote is a piece of a file as a message shows it: in quotes, on one line, and cut where it is long.
func Quote[T string | []byte](text T) string {
	const most = 40 // a word; a whole line would hide the message
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}
