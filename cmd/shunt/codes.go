package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
	"github.com/shunt-network/shunt/report"
)

// codeEntry is one code in the JSON list.
type codeEntry struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Layer string `json:"layer"`
	Needs string `json:"needs"`
	// Symptom is what somebody notices first, where the cause stands in the troubleshooting table.
	Symptom string `json:"symptom,omitempty"`
	Page    string `json:"page,omitempty"` // Markdown, for a single code only
}

func entryOf(c diagnose.Cause) codeEntry {
	return codeEntry{Code: c.Code, Title: c.Title, Layer: report.LayerOf(c.Code), Needs: c.Needs, Symptom: diagnose.SymptomOf(c.Code)}
}

func (a *app) codesCommand() *cobra.Command {
	var asJSON, asTable, asNeeds, noColor bool
	var width int
	c := &cobra.Command{
		Use:   "codes [CODE]",
		Short: "list the codes of findings, or print the page of one",
		Example: `  shunt codes
  shunt codes L021
  shunt codes --table
  shunt codes --json | jq -r '.[].code'`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completions(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				return a.codePage(args[0], asJSON, noColor, width)
			case asJSON:
				list := []codeEntry{}
				for _, c := range diagnose.Causes() {
					list = append(list, entryOf(c))
				}
				return a.encode(list)
			case asTable:
				return a.symptomTable()
			case asNeeds:
				return a.codeTable()
			}
			return a.codeList()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asTable, "table", false, "print the troubleshooting table: symptom, causes, what to run first (Markdown)")
	c.Flags().BoolVar(&asNeeds, "needs", false, "print a Markdown table with layer and needed input")
	c.Flags().BoolVar(&noColor, "no-color", false, "no colour")
	c.Flags().IntVar(&width, "width", 0, "columns of the text (default: the terminal's, or 80)")
	c.MarkFlagsMutuallyExclusive("json", "table", "needs")
	return c
}

func completions() []string {
	var list []string
	for _, c := range diagnose.Causes() {
		list = append(list, c.Code+"\t"+c.Title)
	}
	return list
}

// codeList prints a code and its title a line, for reading and for grep alike: titles are short and not wrapped.
func (a *app) codeList() error {
	var b strings.Builder
	for _, c := range diagnose.Causes() {
		fmt.Fprintf(&b, "%-5s %s\n", c.Code, c.Title)
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return written(err)
}

// cell makes a text fit a cell of a Markdown table.
var cell = strings.NewReplacer("|", `\|`, "\n", " ")

// symptomTable prints what to look for by what somebody notices, made of the causes themselves.
func (a *app) symptomTable() error {
	titles := map[string]string{}
	for _, c := range diagnose.Causes() {
		titles[c.Code] = c.Title
	}
	var b strings.Builder
	b.WriteString("| symptom | causes, the likeliest first | run first |\n|---|---|---|\n")
	for _, s := range diagnose.Symptoms() {
		var causes []string
		for _, code := range s.Codes {
			causes = append(causes, code+" "+cell.Replace(titles[code]))
		}
		asks := diagnose.Asks(s.Codes[0]) // a test keeps that one of them is a command
		first := asks[slices.IndexFunc(asks, func(k diagnose.Ask) bool { return k.On <= diagnose.OnSwitch })]
		run := "`" + cell.Replace(strings.ReplaceAll(first.Command, "{netdev}", "DEV")) + "`"
		if first.Twice {
			run += ", twice under load"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell.Replace(s.Text), strings.Join(causes, "; "), run)
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return written(err)
}

func (a *app) codeTable() error {
	var b strings.Builder
	b.WriteString("| code | finding | layer | needs |\n|---|---|---|---|\n")
	for _, c := range diagnose.Causes() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Code, cell.Replace(c.Title), report.LayerOf(c.Code), cell.Replace(c.Needs))
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return written(err)
}

// codePage prints the page of one code. Letters are taken in either case.
func (a *app) codePage(code string, asJSON, noColor bool, width int) error {
	causes := diagnose.Causes()
	i := slices.IndexFunc(causes, func(c diagnose.Cause) bool { return strings.EqualFold(c.Code, code) })
	if i < 0 {
		return fail(exitUsage, "there is no code %q; shunt codes lists them", code)
	}
	page, err := codes.Pages.ReadFile(causes[i].Code + ".md")
	if err != nil {
		return fail(exitInternal, "the page of %s is missing: %w", causes[i].Code, err)
	}
	if asJSON {
		entry := entryOf(causes[i])
		entry.Page = string(page)
		return a.encode(entry)
	}
	return written(report.Page(a.stdout, string(page), a.layout(noColor, width)))
}

func (a *app) encode(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return written(e.Encode(v))
}
