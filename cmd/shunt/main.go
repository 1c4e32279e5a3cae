// Command shunt tells why the network under an AI training job is slow, from a simulated scenario or from files of
// a real cluster.
//
// This package parses flags, wires the packages together and prints. It decides nothing about networks.
// Read main.go and root.go (the way in and out), explain.go (the main verb), simulate.go (a scenario),
// sim.go, perf.go, compare.go, sweep.go (runs without a question) with tables.go and plots.go, claims.go, hash.go with hashtext.go, codes.go, spray.go (a verb with verbs
// of its own, a file each), then terminal.go and progress.go (manners) and crash.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
)

func main() { os.Exit(shunt()) }

// shunt runs the command line of the process and returns its exit code.
func shunt() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// After the first interrupt the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env:    os.Getenv,
		output: describe(os.Stdout), errors: describe(os.Stderr),
	}
	return a.main(ctx, os.Args[1:])
}

// app is the world as the commands see it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	output, errors device // what stdout and stderr are
}
