// Package arch holds no code for others: its test reads the tree and fails where a rule of its shape is broken.
// Each message gives the reason of the rule, so that whoever trips over one can judge it instead of working
// around it. The rules are told in docs/ARCHITECTURE.md.
//
// The files are read with go/parser and not through `go list`: the test cache knows only of files that the test
// itself opened, and would call a broken tree "ok (cached)".
//
// Read tree_test.go (how the tree is read), layers_test.go (who may import whom), bans_test.go (what simulators
// may not do), order_test.go (files, packages, pages).
package arch
