package celrules

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/rules"
)

// Limits on expressions. Rules are written by the users themselves; the limits keep a slip from taking the machine.
const (
	// maxCost is what one evaluation may cost, in the language's own unit, about one a step: all pairs of a thousand
	// ports are a million.
	maxCost = 10_000_000
	// maxExpression is the length of an expression, in characters.
	maxExpression = 10_000
)

// subjects are the types of what rules are judged for.
var subjects = map[rules.Subject]string{
	rules.OfHost: "Host", rules.OfNIC: "NIC", rules.OfNetdev: "Netdev", rules.OfPCI: "PCI", rules.OfSwitch: "Switch", rules.OfPort: "Port",
	rules.OfVariable: "Variable", rules.OfSetting: "Setting", rules.OfEvent: "Event", rules.OfCall: "Call", rules.OfFlow: "Flow",
	rules.OfGPU: "GPU", rules.OfIRQ: "IRQ", rules.OfFlight: "Flight",
}

// Set is files of rules, compiled.
type Set struct {
	rules    []compiled
	provider *provider
	streams  *streams
}

// compiled is one rule.
type compiled struct {
	*rules.Rule
	file  *rules.File
	index int
	when  cel.Program
	texts map[string][]piece // by the text as written
}

// piece is a part of a text: a literal, or a program whose value stands there.
type piece struct {
	literal string
	program cel.Program
}

// Compile reads files of rules. The error is spec.Problems: every mistake of every file, with its place.
func Compile(files ...*rules.File) (*Set, error) {
	p, err := newProvider()
	if err != nil {
		return nil, fmt.Errorf("celrules: %w", err)
	}
	s := &Set{provider: p, streams: &streams{}}
	base, err := cel.NewEnv(append([]cel.EnvOption{
		cel.CustomTypeAdapter(p), cel.CustomTypeProvider(p),
		cel.Variable("cluster", cel.ObjectType(prefix+"Cluster")),
		cel.ParserExpressionSizeLimit(maxExpression),
		ext.Strings(), ext.Math(), ext.Lists(),
	}, s.streams.functions()...)...)
	if err != nil {
		return nil, fmt.Errorf("celrules: %w", err)
	}
	envs := map[rules.Subject]*cel.Env{rules.OfCluster: base}
	for subject, name := range subjects {
		if envs[subject], err = base.Extend(cel.Variable(string(subject), cel.ObjectType(prefix+name))); err != nil {
			return nil, fmt.Errorf("celrules: %w", err)
		}
	}
	var problems spec.Problems
	seen := map[string]string{}
	for _, f := range files {
		for i := range f.Rules {
			r := &f.Rules[i]
			c := compiled{Rule: r, file: f, index: i, texts: map[string][]piece{}}
			if path := fmt.Sprintf("rules[%d].for", i); r.For == "" && f.Has(path) { // told of already; nothing else in it could be judged
				continue
			}
			env := envs[r.Subject()]
			c.when = expression(env, f, fmt.Sprintf("rules[%d].when", i), r.When, place{}, types.BoolType, &problems)
			for _, t := range r.Texts(i) {
				c.texts[t.Text] = text(env, f, t, &problems)
			}
			if other, again := seen[r.Code]; again && other != f.Name() { // within a file it is told of already
				problems = append(problems, f.Problem(fmt.Sprintf("rules[%d].code", i), fmt.Sprintf("%s is a code of %s too; give each rule its own", r.Code, other), 0, 0))
			}
			seen[r.Code] = f.Name()
			s.rules = append(s.rules, c)
		}
	}
	return s, problems.Err()
}

// place is where an expression begins inside the text of its field; the zero place is its beginning.
type place struct{ line, col int }

// text compiles the expressions of a text.
func text(env *cel.Env, f *rules.File, t rules.Text, problems *spec.Problems) []piece {
	pieces, at, err := rules.Pieces(t.Text)
	if err != nil {
		p := placeIn(t.Text, at)
		*problems = append(*problems, f.Problem(t.Path, err.Error(), p.line+1, p.col+1))
		return nil
	}
	var list []piece
	for _, x := range pieces {
		if x.Expression == "" {
			list = append(list, piece{literal: x.Literal})
		} else {
			list = append(list, piece{program: expression(env, f, t.Path, x.Expression, placeIn(t.Text, x.At), nil, problems)})
		}
	}
	return list
}

// placeIn is line and column of a byte of a text, from 0.
func placeIn(text string, at int) place {
	before := text[:at]
	return place{strings.Count(before, "\n"), at - (strings.LastIndexByte(before, '\n') + 1)}
}

// expression compiles one expression; want is the type it has to have, nil for any. It is nil where there are problems.
func expression(env *cel.Env, f *rules.File, path, source string, from place, want *types.Type, problems *spec.Problems) cel.Program {
	report := func(line, col int, message string) { // line from 1 and col from 0, as the language counts
		l, c := from.line+line, col+1
		if line == 1 {
			c += from.col
		}
		*problems = append(*problems, f.Problem(path, message, l, c))
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			report(max(e.Location.Line(), 1), max(e.Location.Column(), 0), tidy(e.Message))
		}
		return nil
	}
	if want != nil && !checked.OutputType().IsExactType(want) && !checked.OutputType().IsExactType(types.DynType) {
		report(1, 0, fmt.Sprintf("the expression gives %s; write one that is true or false", checked.OutputType()))
		return nil
	}
	wrong := false
	info := checked.NativeRep().SourceInfo()
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) == 0 {
			return
		}
		call := e.AsCall()
		if call.FunctionName() != "objects" && !isMeasure(call.FunctionName()) {
			return
		}
		first := call.Args()[0]
		if first.Kind() != ast.LiteralKind {
			return
		}
		if name, ok := first.AsLiteral().(types.String); ok {
			if m := mistakeIn(call.FunctionName(), string(name)); m != "" {
				at := info.GetStartLocation(first.ID())
				report(at.Line(), at.Column(), m)
				wrong = true
			}
		}
	}))
	if wrong {
		return nil
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost))
	if err != nil {
		report(1, 0, err.Error())
		return nil
	}
	return program
}

func isMeasure(name string) bool {
	for _, m := range measures {
		if m.name == name {
			return true
		}
	}
	return false
}

// tidy makes a message of the language one for people who do not know its inside.
func tidy(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	message = strings.ReplaceAll(message, prefix, "")
	if syntax, ok := strings.CutPrefix(message, "Syntax error: "); ok { // the list of all that would be right helps nobody
		syntax, _, _ = strings.Cut(syntax, " expecting ")
		message = "not an expression: " + strings.ReplaceAll(syntax, "'<EOF>'", "the end")
	}
	return strings.Join(strings.Fields(message), " ")
}
