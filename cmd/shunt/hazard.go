package main

import (
	"context"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/report"
)

// sameHazard takes the first finding of the first path and looks for it in the others, and on the other hosts of the
// first. The exit code is that of explain: 1 where it is found again, 3 where nothing tells.
func (a *app) sameHazard(ctx context.Context, paths []string, o explainOptions) error {
	for _, path := range paths {
		if _, is := scenarioAt(path); is {
			return fail(exitUsage, "%s is a scenario: --same-hazard looks at files of hosts", path)
		}
	}
	first, err := a.read(ctx, paths[:1], o)
	switch {
	case err != nil:
		return err
	case first.report.Interrupted:
		return outcome(exitInterrupted)
	case len(first.report.Findings) == 0:
		return fail(exitUndecided, "%s has no finding to look for elsewhere", paths[0])
	}
	f := first.report.Findings[0]
	cause, ok := first.cause(f.Code)
	if !ok {
		return fail(exitInternal, "there is no cause %s", f.Code)
	}
	h := &report.Hazards{Schema: report.HazardSchema, Code: f.Code, Title: f.Title, Where: f.Where, Rows: []report.HazardRow{}}
	inputs := []*answer{first}
	for _, x := range diagnose.Hazards(first.view(), cause) {
		if !slices.ContainsFunc(f.Where, func(object string) bool { return object == x.Host || strings.HasPrefix(object, x.Host+"/") }) && x.Host != "" {
			h.Rows = append(h.Rows, report.HazardRow{Input: paths[0], Hazard: x})
		}
	}
	for _, path := range paths[1:] {
		d, err := a.read(ctx, []string{path}, o)
		switch {
		case err != nil:
			return err
		case d.report.Interrupted:
			return outcome(exitInterrupted)
		}
		inputs = append(inputs, d)
		for _, x := range diagnose.Hazards(d.view(), cause) {
			h.Rows = append(h.Rows, report.HazardRow{Input: path, Hazard: x})
		}
	}
	if len(h.Rows) == 0 {
		return fail(exitUsage, "%s is of one host alone; name bundles of others behind it", paths[0])
	}
	if o.redact {
		redactHazards(h, inputs, paths)
	}
	if o.json {
		err = report.HazardJSON(a.stdout, h)
	} else {
		err = report.HazardText(a.stdout, h, a.layout(o.noColor, o.width))
	}
	if err != nil {
		return written(err)
	}
	switch {
	case h.Count(diagnose.Same) > 0 && o.failOn.fails(f.Severity):
		return outcome(exitFindings)
	case h.Count(diagnose.Clear)+h.Count(diagnose.Same) == 0:
		return outcome(exitUndecided)
	}
	return nil
}

// redactHazards replaces names in the table, the same by the same over all inputs.
func redactHazards(h *report.Hazards, inputs []*answer, paths []string) {
	x := report.NewRedactor(nil, nil, paths...)
	for _, d := range inputs {
		x.Know(d.inv, d.win)
	}
	h.Title = x.Text(h.Title)
	for i := range h.Where {
		h.Where[i] = x.Text(h.Where[i])
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		r.Input, r.Host, r.Why = x.Text(r.Input), x.Text(r.Host), x.Text(r.Why)
	}
}

// view is what the answer was found in.
func (d *answer) view() *diagnose.View { return &diagnose.View{Inv: d.inv, Win: d.win} }

// cause finds the cause of a code among those the answer was made with.
func (d *answer) cause(code string) (diagnose.Cause, bool) {
	for _, c := range d.own {
		if c.Code == code {
			return c, true
		}
	}
	return diagnose.CauseOf(code)
}
