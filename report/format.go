package report

import (
	"io"
	"slices"

	"github.com/shunt-network/shunt/diagnose"
)

// Options is what the forms of a report need to know besides the report. The zero value is right for a pipe.
type Options struct {
	Text TextOptions
	// Fails tells whether a finding of this severity fails a check, as JUnit has it. Nil: warnings and worse do.
	Fails   func(diagnose.Severity) bool
	Version string   // of the program, for formats that name their tool; "" is left out
	Hosts   []string // of the job, for what names where to look
}

func (o Options) fails(s diagnose.Severity) bool {
	if o.Fails == nil {
		return s >= diagnose.Warning
	}
	return o.Fails(s)
}

// Format is one form a report can take. Each is written from the same Report, so none can say what another does not.
type Format struct {
	Name  string
	Write func(io.Writer, *Report, Options) error
}

// Formats lists every form, the one for people first.
var Formats = []Format{
	{"text", func(w io.Writer, r *Report, o Options) error { return Text(w, r, o.Text) }},
	{"json", func(w io.Writer, r *Report, _ Options) error { return JSON(w, r) }},
	{"sarif", SARIF},
	{"junit", JUnit},
	{"html", HTML},
	{"markdown", Markdown},
}

// Notes lists what is made of a report and is not the report: what to do next.
var Notes = []Format{
	{"ask", Script},
	{"incident", Incident},
}

// FormatOf finds a form by its name.
func FormatOf(name string) (Format, bool) {
	for _, list := range [][]Format{Formats, Notes} {
		if i := slices.IndexFunc(list, func(f Format) bool { return f.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Format{}, false
}
