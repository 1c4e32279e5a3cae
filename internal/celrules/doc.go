// Package celrules owns judging rules: it compiles their expressions, evaluates them on evidence and runs their tests.
// It is the only package that has the Common Expression Language (cel.dev/cel-go), and cmd/shunt-rules the only program.
//
// The types of expressions are those of package rules, field by field, so a misspelt field is a mistake that is told with
// its place and not a rule that never fires. A field that is unknown has no value: evaluating it fails, the failure
// passes through && and || where the other side does not decide, and what is left of it makes the rule unknown. That is
// the same three-valued logic the causes of package diagnose follow by hand.
//
// Read object.go (values and types), functions.go, compile.go (files of rules to programs, and their mistakes), judge.go,
// then test.go and main.go.
package celrules
