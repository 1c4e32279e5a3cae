package main

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/shunt-network/shunt/report"
)

// device is what a stream of the process is connected to.
type device struct {
	terminal bool
	width    int // columns of a terminal, 0 where it does not tell
}

func describe(f *os.File) device {
	d := device{terminal: term.IsTerminal(int(f.Fd()))}
	if d.terminal {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			d.width = w
		}
	}
	return d
}

// color tells whether stdout gets colour. The order is that of no-color.org and bixense.com/clicolors: what the
// user asked for on the command line, then NO_COLOR, then CLICOLOR_FORCE, then whether it is a terminal that
// can show it.
func (a *app) color(noColor bool) bool {
	switch {
	case noColor, a.env("NO_COLOR") != "":
		return false
	case a.env("CLICOLOR_FORCE") != "" && a.env("CLICOLOR_FORCE") != "0":
		return true
	}
	return a.output.terminal && a.env("TERM") != "dumb"
}

// layout is how text is laid out for stdout. asked is the width of the command line, 0 where it gave none.
func (a *app) layout(noColor bool, asked int) report.TextOptions {
	o := report.TextOptions{Width: asked, Color: a.color(noColor), ASCII: a.output.terminal && !a.utf8()}
	if asked == 0 {
		o.Width = a.output.width
	}
	if o.Width == 0 {
		o.Width = report.DefaultWidth
	}
	return o
}

// utf8 tells whether the locale's characters are UTF-8: the first of the three variables that is set decides
// (POSIX.1-2017, Base Definitions, 8.2).
func (a *app) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(a.env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
