package main

import (
	"context"
	"errors"
	"strings"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/report"
)

// read explains files and folders of a cluster.
func (a *app) read(ctx context.Context, paths []string, o explainOptions) (*answer, error) {
	type outcome struct {
		d   *answer
		err error
	}
	line := a.progress("reading")
	done := aside(func() outcome {
		inv, win, err := collect.Load(paths, collect.Options{})
		if err != nil {
			return outcome{nil, unread(paths, err)}
		}
		result := diagnose.RunWith(&diagnose.View{Inv: inv, Win: win, Tested: o.tested}, o.causes)
		return outcome{&answer{report.New(result, inv, nil), inv, win, o.causes}, nil}
	})
	defer line.clear()
	select {
	case result := <-done:
		got := result()
		return got.d, got.err
	case <-ctx.Done():
		// A read that hangs (a dead network mount, a terminal as standard input) cannot be stopped, only left.
		return unfinished(), nil
	}
}

// unread is the failure where no input could be opened. Folders without a file hold no answer; files that are there
// and cannot be opened are out of reach.
func unread(paths []string, err error) error {
	var nothing *collect.NothingReadError
	switch {
	case !errors.As(err, &nothing):
		return &failure{exitInternal, err}
	case len(nothing.Tried) == 0:
		return fail(exitUndecided, "%s: there is no file to read", strings.Join(paths, ", "))
	}
	var reasons []string
	for _, u := range nothing.Tried {
		reasons = append(reasons, u.From.String()+": "+u.Why)
	}
	return fail(exitUnreachable, "%s", strings.Join(reasons, "; "))
}
