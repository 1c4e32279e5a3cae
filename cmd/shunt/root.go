package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/rules"
)

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	return a.guarded(args, func() int {
		root := a.root()
		root.SetArgs(args)
		command, err := root.ExecuteContextC(ctx)
		code, silent := codeOf(err)
		if !silent {
			a.complain(command, code, err)
		}
		return code
	})
}

// complain prints an error: all problems of a scenario, one a line, else one line in all.
func (a *app) complain(command *cobra.Command, code int, err error) {
	var problems spec.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(a.stderr, strings.TrimRight(problems.Error(), "\n"))
		return
	}
	var mistakes *rules.MistakesError
	if errors.As(err, &mistakes) {
		fmt.Fprintln(a.stderr, mistakes.Error())
		return
	}
	hint := ""
	var f *failure
	if code == exitUsage && !errors.As(err, &f) {
		hint = fmt.Sprintf(" (see %s --help)", command.CommandPath())
	}
	// Suggestions of the library come on lines of their own; one line is easier on a log.
	fmt.Fprintf(a.stderr, "shunt: %s%s\n", strings.Join(strings.Fields(err.Error()), " "), hint)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "shunt",
		Short:         "why is the network under the training job slow",
		Long:          "Shunt tells why the network under an AI training job is slow, from a simulated scenario or from files of a real cluster.",
		Args:          cobra.NoArgs,
		SilenceErrors: true, // complain prints them
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddCommand(a.explainCommand(), a.collectCommand(), a.simCommand(), a.perfCommand(), a.compareCommand(), a.sweepCommand(), a.claimsCommand(), a.hashCommand(), a.codesCommand(), a.rulesCommand(), a.sprayCommand(), a.versionCommand())
	return root
}
