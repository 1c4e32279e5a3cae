package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress is one line on stderr that is written over. Where stderr is no terminal it stays silent: a log full
// of percentages helps nobody.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool
	what    string
	started time.Time
	last    time.Time
	shown   bool
}

// Between two updates of the line pass redraw; nothing is shown before quiet, so that short runs do not flicker.
const (
	redraw = 200 * time.Millisecond
	quiet  = time.Second
)

func (a *app) progress(what string) *progress {
	return &progress{w: a.stderr, live: a.errors.terminal && a.env("TERM") != "dumb", what: what, started: time.Now()}
}

// update says how much is done; total 0 means that nobody knows. It may be called from any goroutine.
func (p *progress) update(done, total float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.live || now.Sub(p.started) < quiet || now.Sub(p.last) < redraw {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(done, total, now.Sub(p.started)))
}

// say is update for work whose steps have names and whose share is not known.
func (p *progress) say(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.live || now.Sub(p.started) < quiet {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[K%s: %s", p.what, step)
}

// line is the text of the line: the share done and, from a hundredth on, the time left at the pace so far.
func (p *progress) line(done, total float64, passed time.Duration) string {
	if total <= 0 {
		return fmt.Sprintf("%s, %s", p.what, passed.Round(time.Second))
	}
	share := min(1, max(0, done/total))
	text := fmt.Sprintf("%s, %.0f %%", p.what, share*100)
	if share >= 0.01 && share < 1 {
		left := time.Duration(float64(passed) * (1 - share) / share)
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
