// Package rules owns rules that users write: the file they stand in, the evidence as an expression sees it, and the way
// to the program that judges them.
//
// A rule is a cause like those of package diagnose, written in YAML with expressions of Google's Common Expression
// Language. It takes the same view and gives the same findings, so a report does not tell them apart but by their code.
// The language is a large dependency, twice the rest of shunt, so this package does not have it: it writes the evidence
// out and calls shunt-rules, a program of its own (docs/decisions).
//
// What is unknown has no value: an expression that needs it fails, and the rule could not be checked. It is never zero,
// false or "".
//
// Read file.go (a file of rules), cluster.go and fromview.go (what expressions see), template.go (texts with values in
// them), answer.go (what comes back) and program.go (the call).
package rules
