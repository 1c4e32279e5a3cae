package evidence

import (
	"fmt"
	"strconv"
)

// Source is where a value was read: a line of a file, or a path on a host, or a simulated run.
type Source struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 1-based, 0 when the file as a whole is meant
	Run  string `json:"run,omitempty"`  // "simulated, seed 7"
}

func (s Source) String() string {
	switch {
	case s.Run != "":
		return s.Run
	case s.Line > 0:
		return s.File + ":" + strconv.Itoa(s.Line)
	}
	return s.File
}

// Value is something that may be known. The zero Value is missing without a reason.
type Value[T any] struct {
	v     T
	known bool
	why   string
	From  Source
}

// Known makes a known value.
func Known[T any](v T, from Source) Value[T] { return Value[T]{v: v, known: true, From: from} }

// Missing makes a missing value with the reason: "N/A (no PMA)", "no such file", "access denied".
func Missing[T any](why string, from Source) Value[T] { return Value[T]{why: why, From: from} }

// Get returns the value and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.v, v.known }

// Is tells whether the value is known and passes the test.
func (v Value[T]) Is(test func(T) bool) bool { return v.known && test(v.v) }

// Or returns the value, or other where it is missing.
func (v Value[T]) Or(other T) T {
	if v.known {
		return v.v
	}
	return other
}

// Known tells whether the value is known.
func (v Value[T]) Known() bool { return v.known }

// Why is the reason a value is missing, "" where there is none or it is known.
func (v Value[T]) Why() string { return v.why }

func (v Value[T]) String() string {
	switch {
	case v.known:
		return fmt.Sprint(v.v)
	case v.why != "":
		return "unknown (" + v.why + ")"
	}
	return "unknown"
}

// Set tells whether the source names anything.
func (s Source) Set() bool { return s != Source{} }
