package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/rules"
)

func (a *app) rulesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "test and check rules of your own",
		Long: `Rules are causes of your own, written in YAML (docs/rules.md). explain --rules FILE judges them beside Shunt's own.

They are judged by the program shunt-rules, which has to be beside shunt or in PATH:

  go install github.com/shunt-network/shunt/cmd/shunt-rules`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, verb := range []struct{ name, short string }{
		{"test", "run the tests of the rules"},
		{"check", "tell everything that is wrong in files of rules"},
	} {
		c.AddCommand(&cobra.Command{
			Use:     verb.name + " FILE...",
			Short:   verb.short,
			Example: "  shunt rules " + verb.name + " rules.yaml",
			Args:    cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return a.rulesProgram(c.Context(), append([]string{verb.name}, args...))
			},
		})
	}
	return c
}

// rulesProgram hands a command line over to the program, whose exit codes are those of shunt.
func (a *app) rulesProgram(ctx context.Context, args []string) error {
	p, err := rules.Find()
	if err != nil {
		return fail(exitUnreachable, "%w", err)
	}
	code, err := p.Run(ctx, args, a.stdin, a.stdout, a.stderr)
	switch {
	case ctx.Err() != nil:
		return outcome(exitInterrupted)
	case err != nil:
		return fail(exitInternal, "%w", err)
	case code != 0:
		return outcome(code)
	}
	return nil
}

// ownCauses reads the files of --rules as causes; none where there is no such flag.
func ownCauses(ctx context.Context, files []string) ([]diagnose.Cause, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if err := reachable(files); err != nil {
		return nil, err
	}
	p, err := rules.Find()
	if err != nil {
		return nil, fail(exitUnreachable, "--rules: %w", err)
	}
	causes, err := p.Causes(ctx, files)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	return causes, nil
}

// tried copies the outcomes of fixes that were tried in the simulator to the same findings of another result.
func tried(to, from []diagnose.Finding) {
	for i := range to {
		for _, f := range from {
			if f.Code == to[i].Code && f.Title == to[i].Title {
				to[i].Fix.Trial, to[i].Fix.Others = f.Fix.Trial, f.Fix.Others
			}
		}
	}
}
