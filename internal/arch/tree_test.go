package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the import path of the root; its longer form with a slash begins every import of our own.
const module = "github.com/shunt-network/shunt"

// tree is every Go file of the module, parsed.
type tree struct {
	root     string
	fset     *token.FileSet
	packages map[string]*pkg // by folder below the root, "cmd/shunt"
}

// pkg is one folder with Go files.
type pkg struct {
	dir   string
	files []file
}

type file struct {
	name  string // below the root
	test  bool
	lines int
	ast   *ast.File
}

// load parses the module. Folders that the go command ignores, and modules of their own inside the tree, are
// left out.
func load(t *testing.T) *tree {
	t.Helper()
	tr := &tree{root: filepath.Join("..", ".."), fset: token.NewFileSet(), packages: map[string]*pkg{}}
	err := filepath.WalkDir(tr.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name == tr.root {
				return nil
			}
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if base == "testdata" || base == "vendor" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || nested == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(base) != ".go" {
			return nil
		}
		return tr.add(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.packages) < 5 {
		t.Fatalf("only %d packages found under %s: the test does not look where it should", len(tr.packages), tr.root)
	}
	return tr
}

func (tr *tree) add(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(tr.root, name)
	if err != nil {
		return err
	}
	return tr.parse(name, filepath.ToSlash(rel), src)
}

func (tr *tree) parse(name, rel string, src []byte) error {
	parsed, err := parser.ParseFile(tr.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(rel)
	if tr.packages[dir] == nil {
		tr.packages[dir] = &pkg{dir: dir}
	}
	p := tr.packages[dir]
	p.files = append(p.files, file{name: rel, test: strings.HasSuffix(name, "_test.go"), lines: strings.Count(string(src), "\n"), ast: parsed})
	return nil
}

// dirs lists the packages in order, so that messages come in the same order each time.
func (tr *tree) dirs() []string {
	var dirs []string
	for d := range tr.packages {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	return dirs
}

// where is the place of a node for messages, below the root.
func (tr *tree) where(pos token.Pos) string {
	p := tr.fset.Position(pos)
	rel, err := filepath.Rel(tr.root, p.Filename)
	if err != nil {
		rel = p.Filename
	}
	return filepath.ToSlash(rel) + ":" + strconv.Itoa(p.Line)
}

// imported is one import of a file.
type imported struct {
	path string
	pos  token.Pos
}

// imports lists what the files of a package import; those of its tests only when asked.
func (p *pkg) imports(tests bool) []imported {
	var list []imported
	for _, f := range p.files {
		if f.test && !tests {
			continue
		}
		for _, spec := range f.ast.Imports {
			text, err := strconv.Unquote(spec.Path.Value)
			if err == nil {
				list = append(list, imported{text, spec.Pos()})
			}
		}
	}
	return list
}

// own turns an import path into the folder of a package of this module.
func own(importPath string) (dir string, ok bool) { return strings.CutPrefix(importPath, module+"/") }
