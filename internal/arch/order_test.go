package arch

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
)

// maxLines is the most lines a file may have. Files have one concept; the ones that grew past this had several.
const maxLines = 800

// drawers are names that say nothing of what is inside, and so attract everything.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "types", "constants", "base", "core", "misc", "shared", "lib"}

func TestFilesAndPackages(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.dirs() {
		p := tr.packages[dir]
		documented, testsOnly := false, true
		for _, f := range p.files {
			testsOnly = testsOnly && f.test
			if !f.test && f.ast.Doc != nil && len(strings.TrimSpace(f.ast.Doc.Text())) > 0 {
				documented = true
			}
			if f.lines > maxLines {
				t.Errorf("%s has %d lines, more than %d: one concept a file, so that a reader finds it by its name", f.name, f.lines, maxLines)
			}
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: an init function: what runs because it was imported cannot be followed or left out; use a literal or pass it in", tr.where(fn.Pos()))
				}
			}
			for _, i := range f.ast.Imports {
				if i.Name != nil && i.Name.Name == "_" && i.Path.Value != `"embed"` {
					t.Errorf("%s: a blank import of %s: it is there for a side effect that nobody sees", tr.where(i.Pos()), i.Path.Value)
				}
			}
		}
		if !documented && !testsOnly {
			t.Errorf("%s has no package comment: it says what the package owns, what it leaves to whom, and in what order to read it", dir)
		}
		if name := path.Base(dir); slices.Contains(drawers, name) || slices.Contains(drawers, p.files[0].ast.Name.Name) {
			t.Errorf("%s is a drawer: name a package after the thing it owns", dir)
		}
	}
}

func TestDecisionsAreIndexed(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "decisions")
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]string{}
	for _, e := range entries {
		name := e.Name()
		if name == "README.md" {
			continue
		}
		if !regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`).MatchString(name) {
			t.Errorf("docs/decisions/%s is not called NNNN-words.md", name)
			continue
		}
		if other := numbers[name[:4]]; other != "" {
			t.Errorf("docs/decisions/%s has the number of %s: a number is given once", name, other)
		}
		numbers[name[:4]] = name
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/decisions/%s is not linked in its README: a decision that nobody finds is taken again", name)
		}
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, heading := range []string{"Status:", "## Context", "## Decision", "## Consequences", "## Rejected"} {
			if !strings.Contains(string(page), heading) {
				t.Errorf("docs/decisions/%s lacks %q", name, heading)
			}
		}
	}
	for _, link := range regexp.MustCompile(`\((\d{4}-[^)]+)\)`).FindAllStringSubmatch(string(index), -1) {
		if numbers[link[1][:4]] != link[1] {
			t.Errorf("docs/decisions/README.md links %s, which is not there", link[1])
		}
	}
}

// lostIndent is a line of plain text: not indented, no heading, no table, no item of a list.
var lostIndent = regexp.MustCompile(`^([^\s#|*\-\d>` + "`" + `]|\d+[^.\d])`)

// headings are what every page of a code has (docs/codes/README.md).
var headings = []string{"means", "detected", "looks like", "confused", "confirm", "fix"}

func TestEveryCodeHasItsPage(t *testing.T) {
	pages := map[string]bool{}
	err := fs.WalkDir(codes.Pages, ".", func(name string, d fs.DirEntry, err error) error {
		if code, ok := strings.CutSuffix(name, ".md"); ok && code != "README" {
			pages[code] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range diagnose.Causes() {
		if !regexp.MustCompile(`^[PHLIRCJSX]\d{3}$`).MatchString(c.Code) {
			t.Errorf("code %q is not a layer's letter and three digits", c.Code)
		}
		if seen[c.Code] {
			t.Errorf("code %s stands for two causes: codes are stable and never reused", c.Code)
		}
		seen[c.Code] = true
		if c.Title == "" || c.Needs == "" || c.Check == nil {
			t.Errorf("code %s lacks its title, what it needs, or its check", c.Code)
		}
		if !pages[c.Code] {
			t.Errorf("code %s has no page docs/codes/%s.md: a finding says `more: shunt codes %s`", c.Code, c.Code, c.Code)
			continue
		}
		page, err := codes.Pages.ReadFile(c.Code + ".md")
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "#") {
				titles = append(titles, strings.ToLower(line))
			}
		}
		lines := strings.Split(string(page), "\n")
		for n, line := range lines[:len(lines)-1] {
			if lostIndent.MatchString(line) && strings.HasPrefix(lines[n+1], "    ") {
				t.Errorf("docs/codes/%s.md:%d: the line is text and the next one is indented by four: a code block lost the indentation of its first line, and Markdown joins the two", c.Code, n+1)
			}
		}
		for _, h := range headings {
			if !slices.ContainsFunc(titles, func(title string) bool { return strings.Contains(title, h) }) {
				t.Errorf("docs/codes/%s.md has no heading with %q: every page answers the same questions", c.Code, h)
			}
		}
	}
	for code := range pages {
		if !seen[code] {
			t.Errorf("docs/codes/%s.md is the page of no cause", code)
		}
	}
}
