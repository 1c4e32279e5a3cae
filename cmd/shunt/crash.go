package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// crash is a panic carried over from another goroutine, with the stack it happened on.
type crash struct {
	value any
	stack []byte
}

// guarded runs f; a panic in it becomes a report file and one line. The terminal of somebody whose cluster is on
// fire is no place for a stack trace.
func (a *app) guarded(args []string, f func() int) (code int) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		c, ok := value.(crash)
		if !ok {
			c = crash{value, debug.Stack()}
		}
		code = exitInternal
		path, err := c.write(args)
		if err != nil {
			fmt.Fprintf(a.stderr, "shunt: internal error: %v (the report could not be written: %v)\n", c.value, err)
			return
		}
		fmt.Fprintf(a.stderr, "shunt: internal error: %v; the report is in %s\n", c.value, path)
	}()
	return f()
}

// write leaves the report in the directory for temporary files, readable by the user alone: arguments are in it.
func (c crash) write(args []string) (path string, err error) {
	f, err := os.CreateTemp("", "shunt-crash-*.txt")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "shunt %s\narguments: %s\nerror: %v\n\n%s", version(), strings.Join(args, " "), c.value, c.stack)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return f.Name(), err
}

// aside runs f on a goroutine of its own and hands over what it returned, or its panic, so that the caller can
// go on when it is interrupted before f ends.
func aside[T any](f func() T) <-chan func() T {
	done := make(chan func() T, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				c := crash{value, debug.Stack()}
				done <- func() T { panic(c) }
			}
		}()
		v := f()
		done <- func() T { return v }
	}()
	return done
}
