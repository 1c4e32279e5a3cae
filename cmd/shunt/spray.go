package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) sprayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "spray",
		Short: "work out what packet spraying asks of switches, NICs and firewalls",
		Long: `Spray answers questions about spraying packets over paths before it is turned on: whether its rules fit into the switches, whether
the NICs of a fleet read one another's context ids, what an id of 16 bits can order, what makes a good path id, what a decision costs
in hardware and in software, and which rule lets the packets through a firewall; and draws which QP's packets took which path in a scenario.`,
		Example: `  shunt spray rules --hosts 128
  shunt spray fleet cluster/
  shunt spray ppcid
  shunt spray allow --for nftables
  shunt spray map examples/spray-shootout --set path_choice=reps`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.sprayRulesCommand(), a.sprayFleetCommand(), a.sprayPPCIDCommand(), a.sprayFingerprintCommand(), a.sprayCostCommand(), a.sprayAllowCommand(), a.sprayMapCommand())
	return c
}

// choiceFlag is a flag that takes one of a few words.
type choiceFlag[T ~string] struct {
	value *T
	among []string
	kind  string
}

// Choices lists the words.
func (f *choiceFlag[T]) Choices() []string { return f.among }

func (f *choiceFlag[T]) Type() string   { return f.kind }
func (f *choiceFlag[T]) String() string { return string(*f.value) }

// Set reads the value of the flag.
func (f *choiceFlag[T]) Set(text string) error {
	if !slices.Contains(f.among, text) {
		return fmt.Errorf("write one of %s", strings.Join(f.among, ", "))
	}
	*f.value = T(text)
	return nil
}

// choice adds such a flag. Its default is the value it has.
func choice[T ~string](c *cobra.Command, value *T, among []string, name, kind, usage string) {
	c.Flags().Var(&choiceFlag[T]{value, among, kind}, name, usage+": "+strings.Join(among, ", "))
}

// say prints a text whose end is the end of a line.
func (a *app) say(text string) error {
	_, err := fmt.Fprint(a.stdout, text)
	return written(err)
}

// noted prints notes below a table, each with an indent and wrapped.
func (a *app) noted(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("\n" + wrapped(n, "  ", a.columns()) + "\n")
	}
	return b.String()
}

// widestProse is where text that is read, and not looked up, is wrapped at the latest.
const widestProse = 100

// columns is how wide prose is.
func (a *app) columns() int { return min(widestProse, a.layout(true, 0).Width) }

// wrapped breaks a text at spaces; each line begins with the indent.
func wrapped(text, indent string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			b.WriteString(indent)
			column = len(indent)
		case column+1+len(word) > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
