package codes_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
)

var headings = []string{
	"## What it means", "## How it is detected", "## What it looks like", "## What it is confused with", "## How to confirm it by hand", "## How to fix it",
}

// TestEveryCauseHasAPage: each code has a page with the fixed headings, in their order, none of them empty.
func TestEveryCauseHasAPage(t *testing.T) {
	pages := map[string]bool{"README.md": true}
	for _, c := range diagnose.Causes() {
		name := c.Code + ".md"
		pages[name] = true
		data, err := codes.Pages.ReadFile(name)
		if err != nil {
			t.Errorf("%s has no page: %v", c.Code, err)
			continue
		}
		text := string(data)
		if !strings.HasPrefix(text, "# "+c.Code+": ") {
			t.Errorf("%s does not begin with its code and title", name)
		}
		var seen []string
		for section := range strings.SplitSeq(text, "\n## ") {
			head, body, _ := strings.Cut(section, "\n")
			if strings.HasPrefix(head, "# ") {
				continue
			}
			seen = append(seen, "## "+head)
			if strings.TrimSpace(body) == "" {
				t.Errorf("%s: %q is empty", name, head)
			}
		}
		if !slices.Equal(seen, headings) {
			t.Errorf("%s has the headings %q, want %q", name, seen, headings)
		}
	}
	files, err := fs.Glob(codes.Pages, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f] {
			t.Errorf("%s is the page of no cause", f)
		}
	}
}
