package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// Limits that keep a record within the thirty lines somebody reads.
const (
	incidentEvidence = 4
	incidentNot      = 2
	incidentCommands = 2
	incidentOthers   = 3
)

// Incident writes the record of an incident, in Markdown: what was noticed, how it was searched for and what was ruled
// out on the way, the cause, its evidence, the fix, and what to look at on every other host. It is about the first
// finding; what only people know is left open by name.
func Incident(w io.Writer, r *Report, o Options) error {
	b := bufio.NewWriter(w)
	item := func(key, text string) {
		if text != "" {
			fmt.Fprintf(b, "- **%s:** %s\n", key, text)
		}
	}
	if len(r.Findings) == 0 {
		b.WriteString("# Incident: no cause found\n\n")
		item("when, who noticed, impact", "(to be filled in)")
		item("outcome", escape(r.headline())+". "+r.counted())
		r.incidentSearch(b, "")
		r.incidentInputs(item)
		return flushed(b)
	}
	f := r.Findings[0]
	fmt.Fprintf(b, "# Incident: %s\n\n", escape(plain(f.Title)))
	item("when, who noticed", "(to be filled in)")
	item("symptom", escape(plain(symptom(f))))
	item("cost", escape(plain(cost(f))))
	item("cause", fmt.Sprintf("%s, %s (%s), %s: %s", f.Code, escape(LayerOf(f.Code)), f.Severity, escape(plain(strings.Join(f.Where, ", "))), escape(plain(f.Because))))
	r.incidentSearch(b, f.Code)
	b.WriteString("- **evidence:**\n")
	for i, e := range f.Evidence {
		if i == incidentEvidence {
			fmt.Fprintf(b, "  - and %d more\n", len(f.Evidence)-i)
			break
		}
		text := e.What + ": " + e.Seen
		if e.Expected != "" {
			text += ", expected " + e.Expected
		}
		if e.From != "" {
			text += " (" + e.From + ")"
		}
		b.WriteString("  - " + escape(plain(text)) + "\n")
	}
	item("looked like, but is not", escape(plain(strings.Join(f.Not[:min(len(f.Not), incidentNot)], "; "))))
	item("fix", escape(plain(f.Fix.Text)))
	for i, c := range f.Fix.Commands {
		if i == incidentCommands {
			break
		}
		b.WriteString("  - " + code(plain(c)) + "\n")
	}
	item("fix tried", escape(trial(f.Fix.Trial)))
	r.incidentElsewhere(b, f, o)
	item("still open", escape(plain(strings.Join(nonEmpty(f.Settle, prefixed("wrong if ", f.WrongIf)), "; "))))
	var others []string
	for i, g := range r.Findings[1:] {
		if i == incidentOthers {
			others = append(others, fmt.Sprintf("and %d more", len(r.Findings)-1-i))
			break
		}
		others = append(others, g.Code+" "+g.Title)
	}
	item("also found", escape(plain(strings.Join(others, "; "))))
	r.incidentInputs(item)
	return flushed(b)
}

func flushed(b *bufio.Writer) error {
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: incident: %w", err)
	}
	return nil
}

// symptom is what was noticed: the effects among the evidence, the last first, since that is what people see; else what
// the cause is known to look like.
func symptom(f diagnose.Finding) string {
	for i := len(f.Evidence) - 1; i >= 0; i-- {
		if e := f.Evidence[i]; e.Role == "effect" {
			return e.What + ": " + e.Seen
		}
	}
	if s := diagnose.SymptomOf(f.Code); s != "" {
		return s + " (as this cause is known to look; what was noticed is to be filled in)"
	}
	return "(to be filled in)"
}

// incidentSearch is the path of the search, from the physical layer up.
func (r *Report) incidentSearch(b *bufio.Writer, code string) {
	b.WriteString("- **search, bottom up:**\n")
	for _, layer := range layers {
		var parts []string
		for _, list := range []struct {
			word   string
			checks []diagnose.Check
		}{{"found", r.Checked.Explained}, {"ruled out", r.Checked.RuledOut}, {"could not be checked", r.Checked.Could}} {
			var codes []string
			for _, c := range list.checks {
				if strings.HasPrefix(c.Code, string(layer.letter)) {
					name := c.Code
					if c.Code == code {
						name = "**" + name + "**"
					}
					codes = append(codes, name)
				}
			}
			if len(codes) > 0 {
				parts = append(parts, list.word+" "+strings.Join(codes, " "))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(b, "  - %s: %s\n", layer.name, strings.Join(parts, "; "))
		}
	}
}

// incidentElsewhere says how to find the same hazard on every other host.
func (r *Report) incidentElsewhere(b *bufio.Writer, f diagnose.Finding, o Options) {
	if r.Run != nil {
		return // the other hosts of a simulation are in it
	}
	text := "shunt collect on each other host, then `shunt explain --same-hazard THIS BUNDLES...`"
	if len(o.Hosts) > 1 {
		var others []string
		for _, h := range o.Hosts {
			if !strings.HasPrefix(strings.Join(f.Where, " ")+" ", h+"/") && !strings.HasPrefix(strings.Join(f.Where, " ")+" ", h+" ") {
				others = append(others, h)
			}
		}
		if n := len(others); n > 0 {
			text += fmt.Sprintf("; %d other %s of the job: %s", n, plural(n, "host", "hosts"), escape(plain(strings.Join(others[:min(n, 8)], ", "))))
		}
	}
	fmt.Fprintf(b, "- **elsewhere:** %s\n", text)
	for _, a := range diagnose.Asks(f.Code) {
		if a.On <= diagnose.OnSwitch {
			fmt.Fprintf(b, "  - by hand: %s\n", code(strings.ReplaceAll(a.Command, "{netdev}", "DEV")))
			break
		}
	}
}

// incidentInputs says what the record rests on.
func (r *Report) incidentInputs(item func(key, text string)) {
	text := fmt.Sprintf("%d %s", len(r.Files), plural(len(r.Files), "input", "inputs"))
	if r.Run != nil {
		text = fmt.Sprintf("simulated run %s, seed %d", escape(plain(r.Run.Title)), r.Run.Seed)
	}
	if n := len(r.Unreadable); n > 0 {
		text += fmt.Sprintf(", %d not used", n)
	}
	item("rests on", text+". "+r.counted())
}

// code is text as Markdown shows commands; one that holds a backtick has a longer fence (CommonMark 0.31, 6.1).
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
