package collect

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// docs/inputs.md has a row for every format, and no row for another.
func TestInputsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/inputs.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 { // the tables of formats have three columns
			continue
		}
		for i, name := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				rows[name] = true
			}
		}
	}
	for _, name := range formats(t) {
		if !rows[name] {
			t.Errorf("docs/inputs.md has no row for %q", name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/inputs.md has a row for %q, which is no format", name)
	}
}

// formats are the constants of type Format.
func formats(t *testing.T) []string {
	t.Helper()
	names := []string{string(NCCLLog), string(NCCLRAS), string(NCCLDiagnostics), string(PyTorchLog), string(UCXLog), string(OpenMPILog), string(SHARPLog), string(MooncakeLog), string(LauncherLog)}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Format" {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				if name, err := strconv.Unquote(lit.Value); err == nil && name != "" {
					names = append(names, name)
				}
			}
			return true
		})
	}
	if len(names) < len(kinds) {
		t.Fatalf("%d formats for %d kinds of output", len(names), len(kinds))
	}
	return names
}
