package main

import (
	"context"
	"errors"
	"strings"
	"time"

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
		inv, win, err := collect.LoadContext(ctx, paths, collect.Options{})
		if inv == nil {
			return outcome{nil, unread(paths, err)}
		}
		result := diagnose.RunWith(&diagnose.View{Inv: inv, Win: win, Tested: o.tested}, o.causes)
		r := report.New(result, inv, nil)
		r.Interrupted = err != nil
		return outcome{&answer{r, inv, win, o.causes}, nil}
	})
	defer line.clear()
	select {
	case result := <-done:
		got := result()
		return got.d, got.err
	case <-ctx.Done():
	}
	select {
	case result := <-done:
		if got := result(); got.err == nil {
			return got.d, nil
		}
	case <-time.After(afterInterrupt):
	}
	// A read that hangs (a dead network mount, a terminal as standard input) cannot be stopped, only left.
	return unfinished(), nil
}

// afterInterrupt is how long is waited for what was found so far: somebody who interrupts wants an answer or an end, and
// takes a second for at once (Miller, "Response time in man-computer conversational transactions", 1968, topic 3).
const afterInterrupt = time.Second

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
