package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"testing"
)

// reproducible lists the packages in which a run must come out the same on every machine and at every
// GOMAXPROCS.
var reproducible = []string{"netsim", "netsim/...", "workload", "flowsim", "spray"}

// bans gives, for the packages above, the imports that would let something but the scenario and its seed decide.
var bans = map[string]string{
	"time":         "the clock of the machine must not reach a simulation; time is units.Instant",
	"os":           "a simulation reads nothing: its input is a value",
	"sync":         "a run is one thread; run many runs side by side instead",
	"sync/atomic":  "a run is one thread; run many runs side by side instead",
	"math/rand":    "its global source is shared by all; every entity draws from its own math/rand/v2 PCG stream",
	"crypto/rand":  "no seed brings it back",
	"maps":         "the order of its iterators differs from run to run",
	"hash/maphash": "its seed differs from process to process",
	"runtime":      "nothing of the machine may decide",
	"unsafe":       "addresses differ from run to run",
}

func TestSimulatorsAreReproducible(t *testing.T) {
	tr := load(t)
	checker := newChecker(tr)
	for _, dir := range tr.dirs() {
		if !slices.ContainsFunc(reproducible, func(p string) bool { return covers(p, dir) }) {
			continue
		}
		for _, i := range tr.packages[dir].imports(false) {
			if reason, banned := bans[i.path]; banned {
				t.Errorf("%s: %s imports %s: %s", tr.where(i.pos), dir, i.path, reason)
			}
		}
		info := checker.check(dir)
		for _, f := range tr.packages[dir].files {
			if f.test {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a goroutine: the order in which goroutines run is nobody's to say", tr.where(n.Pos()))
				case *ast.SelectStmt:
					t.Errorf("%s: a select: it picks at random among what is ready", tr.where(n.Pos()))
				case *ast.RangeStmt:
					if typ := info.TypeOf(n.X); typ != nil {
						if _, isMap := typ.Underlying().(*types.Map); isMap {
							t.Errorf("%s: a range over a map: its order differs from run to run; keep a slice beside it", tr.where(n.Pos()))
						}
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "rand" && slices.Contains(globalDraws, n.Sel.Name) {
						t.Errorf("%s: rand.%s draws from the global source: every entity draws from its own stream", tr.where(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// globalDraws are the functions of math/rand/v2 that use its global source.
var globalDraws = []string{"Int", "IntN", "Int32", "Int32N", "Int64", "Int64N", "Uint", "UintN", "Uint32", "Uint32N", "Uint64", "Uint64N", "N",
	"Float32", "Float64", "NormFloat64", "ExpFloat64", "Perm", "Shuffle"}

// checker tells the types of expressions as far as the module's own declarations tell them. The standard library
// is left empty, so the types that come from it stay unknown; maps that are declared here do not. That takes
// milliseconds where loading the library's source would take seconds.
type checker struct {
	tree     *tree
	packages map[string]*types.Package
}

func newChecker(tr *tree) *checker { return &checker{tr, map[string]*types.Package{}} }

// Import is what go/types asks for the packages that a file imports.
func (c *checker) Import(importPath string) (*types.Package, error) {
	if p := c.packages[importPath]; p != nil {
		return p, nil
	}
	if dir, ours := own(importPath); ours && c.tree.packages[dir] != nil {
		c.check(dir)
		return c.packages[importPath], nil
	}
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	c.packages[importPath] = p
	return p, nil
}

func (c *checker) check(dir string) *types.Info {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, f := range c.tree.packages[dir].files {
		if !f.test {
			files = append(files, f.ast)
		}
	}
	conf := types.Config{Importer: c, Error: func(error) {}} // what the empty library lacks is no error here
	p, _ := conf.Check(module+"/"+dir, c.tree.fset, files, info)
	c.packages[module+"/"+dir] = p
	return info
}

// The checker itself: a map that is declared here is seen through a field, a named type and an assignment.
func TestCheckerSeesMaps(t *testing.T) {
	tr := &tree{root: t.TempDir(), fset: token.NewFileSet(), packages: map[string]*pkg{}}
	for name, src := range map[string]string{
		"low/low.go": `package low
import "strings"
type Table map[string]int
type Holder struct { T Table; L []string }
var Words = strings.Fields("a b")`,
		"high/high.go": `package high
import "` + module + `/low"
func f(h low.Holder) {
	for range h.T {}
	m := h.T
	for range m {}
	for range h.L {}
	for range low.Words {}
}`,
	} {
		if err := tr.parse(name, name, []byte(src)); err != nil {
			t.Fatal(err)
		}
	}
	info, found := newChecker(tr).check("high"), 0
	ast.Inspect(tr.packages["high"].files[0].ast, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok {
			if typ := info.TypeOf(r.X); typ != nil {
				if _, isMap := typ.Underlying().(*types.Map); isMap {
					found++
				}
			}
		}
		return true
	})
	if found != 2 {
		t.Errorf("found %d of 2 ranges over maps", found)
	}
}
