package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
)

// Schema names the JSON form. A field may be added under the same name; one that changes its meaning or goes
// away takes the next number.
const Schema = "shunt/explain/v1"

// Report is all that one `shunt explain` has to say. The order of the fields is the order of the JSON.
type Report struct {
	Schema     string                `json:"schema"`
	Findings   []diagnose.Finding    `json:"findings"` // first cause first
	Checked    diagnose.Checked      `json:"checked"`
	Unreadable []evidence.Unreadable `json:"unreadable"`
	Files      []evidence.File       `json:"files"`
	Run        *Run                  `json:"run,omitempty"` // of a simulated scenario only
	// Interrupted says that the search was stopped from outside: what is here was found, the rest is not known.
	Interrupted bool `json:"interrupted,omitempty"`
}

// New puts a diagnosis and the inputs it rests on together. run is nil for files of a real cluster. Lists that
// are empty become empty lists, never null, so that `jq '.findings | length'` needs no special case.
func New(result diagnose.Result, inv *evidence.Inventory, run *Run) *Report {
	r := &Report{Schema: Schema, Findings: listed(result.Findings), Checked: result.Checked, Run: run}
	r.Checked.Explained = listed(r.Checked.Explained)
	r.Checked.RuledOut = listed(r.Checked.RuledOut)
	r.Checked.Could = listed(r.Checked.Could)
	for i := range r.Findings {
		r.Findings[i].Where = listed(r.Findings[i].Where)
		r.Findings[i].Evidence = listed(r.Findings[i].Evidence)
	}
	if inv != nil {
		r.Files, r.Unreadable = inv.Files, inv.Unreadable
	}
	r.Files, r.Unreadable = listed(r.Files), listed(r.Unreadable)
	if run != nil {
		run.Collectives, run.Counters.Drops = listed(run.Collectives), listed(run.Counters.Drops)
	}
	return r
}

func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// JSON writes the report, indented by two spaces and ended by a newline.
func JSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // "leaf3 -> spine2" stays readable; the output is no web page
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: json: %w", err)
	}
	return nil
}

// Worst is the severity of the gravest finding; ok is false where there is none.
func (r *Report) Worst() (worst diagnose.Severity, ok bool) {
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst, len(r.Findings) > 0
}

// Decided tells whether the report answers the question at all: it has a finding, or at least one cause was
// ruled out. Where neither holds, silence would read as health.
func (r *Report) Decided() bool { return len(r.Findings) > 0 || len(r.Checked.RuledOut) > 0 }
