package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// completeChoices lets the shell complete the flags of a command, and of those below it, whose values are one of a few words.
func completeChoices(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		v, ok := f.Value.(interface{ Choices() []string })
		if !ok {
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.Choices(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // none of them has a completion of its own
		}
	})
	for _, sub := range c.Commands() {
		completeChoices(sub)
	}
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
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"explain", "Find out why:", []*cobra.Command{a.explainCommand(), a.collectCommand(), a.codesCommand(), a.rulesCommand()}},
		{"simulate", "Simulate:", []*cobra.Command{a.simCommand(), a.perfCommand(), a.compareCommand(), a.sweepCommand()}},
		{"paths", "Paths through the network:", []*cobra.Command{a.hashCommand(), a.sprayCommand(), a.claimsCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.versionCommand())
	completeChoices(root)
	return root
}
