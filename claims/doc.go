// Package claims owns the figures that articles 000, 001 and 003 state about training networks, each as an experiment: what is claimed,
// what came out with which seeds, and by which rule the two were judged.
//
// A claim names one quantity of one experiment and the rule it is held against; several claims may share an experiment. An experiment is
// a function of a seed: scenarios in scenarios/ carried out by package scenario, as `shunt sim` does, or a computation with the code that
// the product itself uses. What no simulation can tell is listed as well, with the reason: a figure that is left out would look tested.
//
// Numbered rules, cited as (Q1) in the code:
//
//	Q1 Means and intervals are over seeds, and a seed is one independent repetition of the whole experiment.
//	Q2 A verdict follows from the estimate and the rule of the claim alone (judge.go); nothing else can change it.
//	Q3 What is kept of a run is only used again for the same experiment, version, seed and build of the program.
//
// Read claim.go (a claim), judge.go and interval.go (the verdict), experiment.go and trial.go (how a figure is made), run.go and keep.go
// (carrying out, keeping), report.go and page.go (what comes out). The claims themselves are in article000.go, article001.go and
// article003.go, the experiments in files named after their subject.
package claims
