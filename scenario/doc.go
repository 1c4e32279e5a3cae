// Package scenario owns the file that describes a whole experiment (fabric, job, faults, seed, expectation) and the
// walk from it to findings: build, plan, simulate, tap, diagnose, and try the fixes in further runs.
//
// It is the only place that sees both the injected faults and the findings, and so the only one that may score them.
//
// Read spec.go (the file), run.go (one run), change.go (what-if), trial.go (fixes tried), score.go.
package scenario
