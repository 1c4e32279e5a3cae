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

// layerNames are the layers that the first letters of codes stand for, bottom up.
var layerNames = []struct {
	letter byte
	name   string
}{
	{'P', "physical"}, {'H', "host and PCIe"}, {'L', "link and flow control"}, {'I', "addressing"}, {'R', "RDMA"},
	{'C', "collective library"}, {'J', "job"}, {'S', "security"}, {'X', "configuration"},
}

func layerOf(code string) string {
	for _, l := range layerNames {
		if code[0] == l.letter {
			return l.name
		}
	}
	return ""
}

// codeEntry is one code in the JSON list.
type codeEntry struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Layer string `json:"layer"`
	Needs string `json:"needs"`
	Page  string `json:"page,omitempty"` // Markdown, for a single code only
}

func entryOf(c diagnose.Cause) codeEntry {
	return codeEntry{Code: c.Code, Title: c.Title, Layer: layerOf(c.Code), Needs: c.Needs}
}

func (a *app) codesCommand() *cobra.Command {
	var asJSON, asTable, noColor bool
	var width int
	c := &cobra.Command{
		Use:   "codes [CODE]",
		Short: "list the codes of findings, or print the page of one",
		Example: `  shunt codes
  shunt codes L021
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
				return a.codeTable()
			}
			return a.codeList()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asTable, "table", false, "print a Markdown table with layer and needed input")
	c.Flags().BoolVar(&noColor, "no-color", false, "no colour")
	c.Flags().IntVar(&width, "width", 0, "columns of the text (default: the terminal's, or 80)")
	c.MarkFlagsMutuallyExclusive("json", "table")
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

func (a *app) codeTable() error {
	var b strings.Builder
	b.WriteString("| code | finding | layer | needs |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, c := range diagnose.Causes() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Code, cell.Replace(c.Title), layerOf(c.Code), cell.Replace(c.Needs))
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
