package cc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// Some processors add to a product in one step and round once, where others round twice; a Go compiler may use that, but not across an
// explicit conversion (Go specification, "Floating-point operators"). So that every machine gets the same bits, no product is added to
// anything without a conversion around it, also across assignments.
func TestProductsAreRounded(t *testing.T) {
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") || name.Name() == "dcqcn.go" { // integers alone
			continue
		}
		f, err := parser.ParseFile(fset, name.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range unrounded(f) {
			t.Errorf("%s: a product meets a sum without a conversion: write float64(a*b)", fset.Position(at))
		}
	}
}

// unrounded finds sums that have a product as an operand, in one expression or through a variable.
func unrounded(f *ast.File) (at []token.Pos) {
	isProduct := func(e ast.Expr) bool {
		for {
			p, ok := e.(*ast.ParenExpr)
			if !ok {
				break
			}
			e = p.X
		}
		b, ok := e.(*ast.BinaryExpr)
		return ok && b.Op == token.MUL
	}
	products := map[string]bool{} // variables that were last given a bare product
	bare := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return isProduct(e) || ok && products[id.Name]
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.ADD || n.Op == token.SUB) && (bare(n.X) || bare(n.Y)) {
				at = append(at, n.Pos())
			}
		case *ast.AssignStmt:
			switch n.Tok {
			case token.ADD_ASSIGN, token.SUB_ASSIGN:
				if bare(n.Rhs[0]) {
					at = append(at, n.Pos())
				}
			case token.ASSIGN, token.DEFINE, token.MUL_ASSIGN:
				for i, l := range n.Lhs {
					if id, ok := l.(*ast.Ident); ok && i < len(n.Rhs) {
						products[id.Name] = isProduct(n.Rhs[i]) || n.Tok == token.MUL_ASSIGN
					}
				}
			}
		}
		return true
	})
	return at
}

// The check itself.
func TestUnrounded(t *testing.T) {
	for src, want := range map[string]int{
		"x := a*b + c":                    1,
		"x := c - (a*b)":                  1,
		"x += a*b":                        1,
		"p := a*b; x := p + c":            1,
		"p *= b; x := c - p":              1,
		"x := float64(a*b) + c":           0,
		"x += float64(a*b)":               0,
		"p := a*b; p = q; x := p + c":     0,
		"x := a*b / c + d":                0,
		"x := a * (b + c)":                0,
		"x := a*b/c + float64(d*e) - a*b": 1,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() { "+src+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(unrounded(f)); got != want {
			t.Errorf("%s: %d found, want %d", src, got, want)
		}
	}
}
