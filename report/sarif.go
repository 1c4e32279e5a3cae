package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
)

// The part of SARIF 2.1.0 (OASIS standard, 27 March 2020; section numbers in brackets) that a report needs. Field
// order is that of the standard's examples.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // [3.14]
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // [3.19]
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct { // [3.49]
		ID               string         `json:"id"`
		ShortDescription sarifText      `json:"shortDescription"`
		Help             *sarifText     `json:"help,omitempty"`
		Properties       sarifRuleExtra `json:"properties"`
	}
	sarifRuleExtra struct {
		Tags []string `json:"tags,omitempty"`
	}
	sarifText struct { // [3.11, 3.12]
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifInvocation struct { // [3.20]
		Successful    bool                `json:"executionSuccessful"`
		ExitCodeText  string              `json:"exitCodeDescription,omitempty"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct { // [3.58]
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Rule      *sarifRuleRef   `json:"associatedRule,omitempty"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifRuleRef struct {
		ID    string `json:"id"`
		Index int    `json:"index"`
	}
	sarifResult struct { // [3.27]
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Rank         float64           `json:"rank"`
		Fingerprints sarifFingerprints `json:"partialFingerprints"`
	}
	sarifFingerprints struct {
		CodeAndObject string `json:"shuntCodeAndObject/v1"`
	}
	sarifLocation struct { // [3.28]
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct { // [3.29]
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct { // [3.33]
		Name          string `json:"name"`
		QualifiedName string `json:"fullyQualifiedName"`
		Kind          string `json:"kind"`
	}
)

// SARIF writes the report as a SARIF 2.1.0 log, for viewers of code scanning. Findings are its results, codes its
// rules; what could not be checked or read is told by notifications, so that an empty list of results is not
// mistaken for health. Rules carry their page and no helpUri: the page is in the program.
func SARIF(w io.Writer, r *Report, o Options) error {
	rules, index := r.sarifRules()
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "shunt", Version: o.Version, Rules: rules}},
		Results:    []sarifResult{},
		ColumnKind: "unicodeCodePoints",
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, r.sarifResult(f, index[f.Code]))
	}
	run.Invocations = []sarifInvocation{r.sarifInvocation(index)}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}); err != nil {
		return fmt.Errorf("report: sarif: %w", err)
	}
	return nil
}

// sarifRules lists the causes that were looked at, by code, and the place of each in the list.
func (r *Report) sarifRules() ([]sarifRule, map[string]int) {
	titles := map[string]string{}
	for _, f := range r.Findings {
		titles[f.Code] = f.Title
	}
	for _, list := range [][]diagnose.Check{r.Checked.Explained, r.Checked.RuledOut, r.Checked.Could} {
		for _, c := range list {
			titles[c.Code] = c.Title
		}
	}
	rules, index := []sarifRule{}, map[string]int{}
	for code, title := range titles {
		rule := sarifRule{ID: code, ShortDescription: sarifText{Text: plain(title)}}
		if layer := LayerOf(code); layer != "" {
			rule.Properties.Tags = []string{layer}
		}
		if page, err := codes.Pages.ReadFile(code + ".md"); err == nil {
			rule.Help = &sarifText{Text: string(page), Markdown: string(page)}
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	for i, rule := range rules {
		index[rule.ID] = i
	}
	return rules, index
}

// sarifLevels are the levels of [3.27.10] for our severities.
var sarifLevels = [...]string{diagnose.Note: "note", diagnose.Warning: "warning", diagnose.Critical: "error"}

func (r *Report) sarifResult(f diagnose.Finding, rule int) sarifResult {
	var text, marked strings.Builder
	fmt.Fprintf(&text, "%s. %s.", plain(f.Title), plain(f.Because))
	fmt.Fprintf(&marked, "**%s**\n\n%s.", escape(plain(f.Title)), escape(plain(f.Because)))
	if f.Fix.Text != "" {
		fmt.Fprintf(&text, " Fix: %s.", plain(f.Fix.Text))
		fmt.Fprintf(&marked, "\n\nFix: %s.", escape(plain(f.Fix.Text)))
	}
	result := sarifResult{
		RuleID: f.Code, RuleIndex: rule, Level: sarifLevels[f.Severity],
		Message:      sarifText{Text: text.String(), Markdown: marked.String()},
		Rank:         100 * f.Confidence, // [3.27.25] 0 to 100
		Fingerprints: sarifFingerprints{identity(f)},
	}
	at := sarifLocation{}
	if p, ok := r.placeOfFinding(f); ok {
		at.Physical = physical(p)
	}
	for _, object := range f.Where {
		at.Logical = append(at.Logical, logical(object))
	}
	if at.Physical != nil || len(at.Logical) > 0 {
		result.Locations = []sarifLocation{at}
	}
	for i, e := range f.Evidence {
		seen := e.What + ": " + e.Seen
		if e.Expected != "" {
			seen += ", expected " + e.Expected
		}
		l := sarifLocation{ID: i + 1, Message: &sarifText{Text: plain(seen)}}
		if p, ok := r.placeOf(e.From); ok {
			l.Physical = physical(p)
		} else {
			l.Logical = []sarifLogical{{Name: e.Layer, QualifiedName: strings.TrimSpace(e.Layer + " " + e.From), Kind: "series"}}
		}
		result.Related = append(result.Related, l)
	}
	return result
}

// logical names an object of the network: "fabric/leaf7/Ethernet12".
func logical(object string) sarifLogical {
	name := object[strings.LastIndexByte(object, '/')+1:]
	return sarifLogical{Name: plain(name), QualifiedName: "fabric/" + plain(object), Kind: "object"}
}

// physical names a line of a file. The URI is relative where the path is, so that a viewer finds the file in the
// checkout it shows; an absolute path becomes a file URI [3.4].
func physical(p place) *sarifPhysical {
	u := url.URL{Path: filepath.ToSlash(p.file)}
	if strings.HasPrefix(u.Path, "/") {
		u.Scheme = "file"
	}
	l := &sarifPhysical{Artifact: sarifArtifact{u.String()}}
	if p.line > 0 {
		l.Region = &sarifRegion{p.line}
	}
	return l
}

// sarifInvocation tells how far the search came.
func (r *Report) sarifInvocation(index map[string]int) sarifInvocation {
	inv := sarifInvocation{Successful: !r.Interrupted}
	switch {
	case r.Interrupted:
		inv.ExitCodeText = "interrupted: the results are what was found so far"
	case !r.Decided():
		inv.ExitCodeText = "undecided: nothing in the input tells whether the network is slow"
	}
	for _, c := range r.Checked.Could {
		text := "could not be checked: " + c.Title
		if c.Why != "" {
			text += " (" + c.Why + ")"
		}
		inv.Notifications = append(inv.Notifications, sarifNotification{Level: "note", Message: sarifText{Text: plain(text)}, Rule: &sarifRuleRef{c.Code, index[c.Code]}})
	}
	for _, u := range r.Unreadable {
		n := sarifNotification{Level: "warning", Message: sarifText{Text: plain("not used: " + u.Why)}}
		if u.From.File != "" && u.From.File != standardInput {
			n.Locations = []sarifLocation{{Physical: physical(place{u.From.File, u.From.Line})}}
		}
		inv.Notifications = append(inv.Notifications, n)
	}
	return inv
}

// plain makes foreign text safe for a viewer, as clean does for a terminal.
func plain(s string) string { return TextOptions{}.clean(s) }
