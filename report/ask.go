package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// askHead is the part of the script that is the same every time.
//
//go:embed ask.sh
var askHead string

// Script writes what to run next as one script of bash: what would settle the doubts that the report leaves. It only
// reads, and gathers what it reads in a folder that explain takes as it is. It is the same for every host, so that it can
// be pasted into any number of them; what a host lacks is noted in its place.
func Script(w io.Writer, r *Report, o Options) error {
	open := diagnose.Open(r.Findings, r.Checked)
	b := bufio.NewWriter(w)
	b.WriteString("#!/usr/bin/env bash\n")
	switch {
	case r.Run != nil:
		b.WriteString("# Nothing to run: the report is of a simulated run, of which everything is known.\n")
		open = nil
	case len(open) == 0:
		b.WriteString("# Nothing to run: the report leaves no doubt that more input would settle.\n")
	default:
		b.WriteString("# What to run next. It only reads: no setting is changed, no counter reset, nothing sent.\n# Afterwards: shunt explain shunt-ask\n")
		t := writer{Writer: b, o: TextOptions{Width: 100}}
		hosts := o.Hosts
		if len(hosts) == 0 {
			hosts = []string{"every host of the job"}
		}
		t.note("Run it on: " + strings.Join(hosts, ", ") + askWhere(open))
		t.doubts(r)
		t.notRun(open)
	}
	if slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On <= diagnose.OnSwitch }) {
		b.WriteString("\n" + askHead)
		askSection(b, open, diagnose.OnHost, "On the host")
		askSection(b, open, diagnose.InJob, "On the host, and once more inside the container of the job, where it may differ")
		askSwitches(b, open)
		b.WriteString("\necho \"read into $out\"\n")
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: script: %w", err)
	}
	return nil
}

// note writes a comment, wrapped.
func (t writer) note(text string) {
	for i, l := range wrapFrom(t.o.clean(text), t.o.Width-2, t.o.Width-4) {
		if i > 0 {
			l = "  " + l
		}
		t.line("# " + l)
	}
}

// askWhere says where the script has to run besides the hosts.
func askWhere(open []diagnose.OpenAsk) string {
	text := ""
	if slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On == diagnose.InJob }) {
		text += "; inside the job's container too, where there is one"
	}
	if slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On == diagnose.OnSwitch }) {
		text += "; on their SONiC switches"
	}
	if slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.Root }) {
		text += ". As root it tells more"
	}
	return text + "."
}

// doubts lists what is open about each finding; those tests that make traffic are left to a person.
func (t writer) doubts(r *Report) {
	first := true
	for _, f := range r.Findings {
		if f.Settle == "" {
			continue
		}
		if first {
			t.line("#")
			t.line("# What would settle a finding; tests that send traffic are not part of the script:")
			first = false
		}
		t.note(f.Code + " (" + f.Title + "): " + f.Settle)
	}
}

// notRun lists what cannot be run now: variables for the next run, and what the job left.
func (t writer) notRun(open []diagnose.OpenAsk) {
	for _, kind := range []struct {
		on   diagnose.Place
		text string
	}{{diagnose.NextRun, "For the next run of the job, in its environment:"}, {diagnose.FromJob, "From the last run of the job:"}} {
		first := true
		for _, a := range open {
			if a.On != kind.on {
				continue
			}
			if first {
				t.line("#")
				t.line("# " + kind.text)
				first = false
			}
			t.line("#   " + a.Command + "   (" + strings.Join(a.For, " ") + ")")
		}
	}
}

func askSection(b *bufio.Writer, open []diagnose.OpenAsk, on diagnose.Place, title string) {
	first := true
	for _, a := range open {
		if a.On == on && !a.Twice {
			if first {
				fmt.Fprintf(b, "\n# %s.\n", title)
				first = false
			}
			b.WriteString(askLine(a, "", ""))
		}
	}
	if !slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On == on && a.Twice }) {
		return
	}
	b.WriteString("\n# Counters, twice: what they grow by under load is what counts.\n")
	b.WriteString(twice(open, on, ""))
}

// twice reads the counters of one place, waits, and reads them again.
func twice(open []diagnose.OpenAsk, on diagnose.Place, indent string) string {
	var s strings.Builder
	for i, folder := range []string{"before/", "after_${pause}s/"} {
		if i > 0 {
			s.WriteString(indent + "sleep \"$pause\"\n")
		}
		for _, a := range open {
			if a.On == on && a.Twice {
				s.WriteString(askLine(a, folder, indent))
			}
		}
	}
	return s.String()
}

// askLine is the line of one command. A command for each device is a loop over them.
func askLine(a diagnose.OpenAsk, folder, indent string) string {
	if strings.Contains(a.Command, "{netdev}") { // the names come from the kernel; quoting them costs nothing
		command := strings.ReplaceAll(a.Command, "{netdev}", "$(printf %q \"$dev\")")
		return fmt.Sprintf("%sfor dev in $netdevs; do ask \"%s%s_$dev\" \"%s\" || true; done\n", indent, folder, a.Name, command)
	}
	return fmt.Sprintf("%sask %s %s || true\n", indent, fileWord(folder+a.Name), singleQuoted(a.Command))
}

// fileWord quotes the name of a file where it holds a variable.
func fileWord(name string) string {
	if strings.Contains(name, "$") {
		return `"` + name + `"`
	}
	return name
}

// singleQuoted is a word of the shell that is taken literally (POSIX.1-2017, Shell Command Language, 2.2.2).
func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func askSwitches(b *bufio.Writer, open []diagnose.OpenAsk) {
	if !slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On == diagnose.OnSwitch }) {
		return
	}
	b.WriteString("\n# On a switch that runs SONiC.\nif [ -e /etc/sonic ]; then\n")
	for _, a := range open {
		if a.On == diagnose.OnSwitch && !a.Twice {
			b.WriteString(askLine(a, "", "  "))
		}
	}
	if slices.ContainsFunc(open, func(a diagnose.OpenAsk) bool { return a.On == diagnose.OnSwitch && a.Twice }) {
		b.WriteString(twice(open, diagnose.OnSwitch, "  "))
	}
	b.WriteString("fi\n")
}
