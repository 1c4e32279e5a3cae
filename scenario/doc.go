// Package scenario owns the file that describes a whole experiment (fabric, job, faults, seed, expectation) and the
// walk from it to findings: build, plan, simulate, tap, diagnose, and try the fixes in further runs.
//
// It is the only place that sees both the injected faults and the findings, and so the only one that may score them.
//
// Read spec.go (the file), run.go (one run), change.go (what-if), trial.go (fixes tried), score.go. Runs without a question:
// set.go (fields set by path), engine.go and phases.go (packets or flows), figures.go (a run in numbers), keep.go with
// tables.go and log.go (kept on disk), compare.go, axis.go with sweep.go, sweepfile.go and sweeptable.go, bench.go, plots.go.
package scenario
