package main

import (
	"errors"
	"fmt"
)

// Exit codes. They are part of the interface: scripts and CI jobs branch on them.
const (
	exitOK          = 0   // nothing at or over --fail-on
	exitFindings    = 1   // findings at or over --fail-on
	exitUsage       = 2   // the command line or a scenario is wrong
	exitUndecided   = 3   // the input does not tell: never reported as 0
	exitUnreachable = 4   // a source is missing or may not be read
	exitInternal    = 5   // a fault of this program
	exitInterrupted = 130 // SIGINT (128 + 2, as shells have it); what was found so far was printed
)

// failure is an error with the exit code it leads to.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// outcome is an exit code without an error: all there is to say was printed.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// codeOf is the exit code of an error and whether it still has to be printed. Errors of the command line library
// carry no code and are about usage.
func codeOf(err error) (code int, silent bool) {
	var f *failure
	var o outcome
	switch {
	case err == nil:
		return exitOK, true
	case errors.As(err, &o):
		return int(o), true
	case errors.As(err, &f):
		return f.code, false
	}
	return exitUsage, false
}
