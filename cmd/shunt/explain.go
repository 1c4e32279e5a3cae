package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/report"
	"github.com/shunt-network/shunt/telemetry"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	json, noColor, quiet, verbose bool
	failOn                        failOn
	width                         int
	seeds                         int
	seed                          uint64
	seedSet                       bool
	noTrial                       bool
	redact, ask                   bool
	incident, hazard              bool
	outputs                       outputs
	rules                         []string // files
	matrix                        string   // file of versions that were tested together
	tested                        *diagnose.Compatibility
	causes                        []diagnose.Cause // of these files
}

// failOn is the least severity that makes explain exit with 1.
type failOn struct {
	never bool
	least diagnose.Severity
}

// fails tells whether a finding of this severity counts.
func (f *failOn) fails(s diagnose.Severity) bool { return !f.never && s >= f.least }

func (f *failOn) Type() string { return "severity" }

func (f *failOn) String() string {
	if f.never {
		return "none"
	}
	return f.least.String()
}

// Set reads the value of the flag.
func (f *failOn) Set(text string) error {
	if text == "none" {
		*f = failOn{never: true}
		return nil
	}
	var s diagnose.Severity
	if s.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("write critical, warning, note or none")
	}
	*f = failOn{least: s}
	return nil
}

func (a *app) explainCommand() *cobra.Command {
	o := explainOptions{failOn: failOn{least: diagnose.Warning}}
	c := &cobra.Command{
		Use:   "explain PATH...",
		Short: "tell why the network is slow",
		Long: `Explain tells why the network under a job is slow.

PATH is a scenario (a YAML file with a fabric, or a folder that holds scenario.yaml), which is simulated; or
files and folders from a real cluster: NCCL logs, ethtool -S, ibstat, show_gids, nccl-tests output and more,
as they are, wrapped, mixed or half missing. - reads standard input.`,
		Example: `  shunt explain examples/moe-collision
  shunt explain nccl.log ethtool/ ibstat.txt
  kubectl logs job/train | shunt explain -
  shunt explain --json run/ | jq '.findings[].code'
  shunt explain -o sarif=shunt.sarif -o junit=shunt.xml run/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("explain needs a path: a scenario, files or folders, or - for standard input")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.seedSet = c.Flags().Changed("seed")
			return a.explain(c.Context(), args, o)
		},
	}
	f := c.Flags()
	f.VarP(&o.outputs, "output", "o", "form of the report and, after =, the file it goes to (else stdout): "+strings.Join(formatNames(), ", ")+"; repeatable")
	f.BoolVar(&o.ask, "ask", false, "print what to run next to settle the open doubts, as a script that only reads (as -o ask)")
	f.BoolVar(&o.incident, "incident", false, "print the record of the incident (as -o incident)")
	f.BoolVar(&o.hazard, "same-hazard", false, "look for the first finding of the first PATH in the other ones, each a host or more")
	f.BoolVar(&o.redact, "redact", false, "replace names of hosts, addresses, GIDs, serial numbers and paths, the same by the same, in every output")
	f.StringVar(&o.matrix, "matrix", "", "a file of the versions that your site has tested together (docs/compatibility.md)")
	f.StringArrayVar(&o.rules, "rules", nil, "a file of rules of your own (docs/rules.md); repeatable")
	f.BoolVar(&o.json, "json", false, "print JSON ("+report.Schema+"), as -o json")
	f.Var(&o.failOn, "fail-on", "exit with 1 on findings of this severity or worse: critical, warning, note or none")
	f.BoolVar(&o.noColor, "no-color", false, "no colour (as does NO_COLOR)")
	f.IntVar(&o.width, "width", 0, "columns of the text (default: the terminal's, or 80)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "the titles of the findings only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "everything that was checked and read")
	f.IntVar(&o.seeds, "seeds", 3, "scenarios: with how many seeds a fix is tried")
	f.BoolVar(&o.noTrial, "no-trial", false, "scenarios: do not try the fixes in the simulator")
	f.Uint64Var(&o.seed, "seed", 0, "scenarios: the seed, instead of the file's")
	c.MarkFlagsMutuallyExclusive("quiet", "verbose")
	for _, name := range []string{"output", "ask", "incident", "quiet", "verbose"} {
		c.MarkFlagsMutuallyExclusive("same-hazard", name)
	}
	for _, name := range []string{"quiet", "verbose", "width", "no-color"} { // -o json leaves them to other outputs
		c.MarkFlagsMutuallyExclusive("json", name)
	}
	if err := c.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"critical", "warning", "note", "none"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined a few lines up
	}
	if err := c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoSpace)); err != nil {
		panic(err)
	}
	return c
}

// maxSeeds limits the trials: each is a whole run for each fix.
const maxSeeds = 100

// explain answers for the paths, prints the answer and turns it into an exit code.
func (a *app) explain(ctx context.Context, paths []string, o explainOptions) error {
	if o.width != 0 && o.width < report.MinWidth {
		return fail(exitUsage, "--width %d is less than %d", o.width, report.MinWidth)
	}
	if o.seeds < 1 || o.seeds > maxSeeds {
		return fail(exitUsage, "--seeds %d is not between 1 and %d; --no-trial tries nothing", o.seeds, maxSeeds)
	}
	for _, short := range []struct {
		given bool
		name  string
	}{{o.json, "json"}, {o.ask, "ask"}, {o.incident, "incident"}} {
		if short.given {
			if err := o.outputs.Set(short.name); err != nil {
				return fail(exitUsage, "--%s: %w", short.name, err)
			}
		}
	}
	if err := reachable(paths); err != nil {
		return err
	}
	var err error
	if o.tested, err = testedVersions(o.matrix); err != nil {
		return err
	}
	if o.causes, err = ownCauses(ctx, o.rules); err != nil {
		return err
	}
	if o.hazard {
		return a.sameHazard(ctx, paths, o)
	}
	d, err := a.answer(ctx, paths, o)
	if err != nil {
		return err
	}
	r, hosts := d.report, d.hosts()
	if o.redact {
		x := d.redactor(paths)
		r = x.Redact(r)
		for i, h := range hosts {
			hosts[i] = x.Text(h)
		}
	}
	if err := a.print(r, hosts, o); err != nil {
		return err
	}
	return verdict(r, o.failOn)
}

// answer is what was found, and what it was found in.
type answer struct {
	report *report.Report
	inv    *evidence.Inventory // nil where nothing came of the search
	win    *telemetry.Window
	own    []diagnose.Cause // of the user's rules
}

// unfinished is the answer of a search that was interrupted before it found anything.
func unfinished() *answer {
	r := report.New(diagnose.Result{}, nil, nil)
	r.Interrupted = true
	return &answer{report: r}
}

// hosts lists the hosts that the input names, without their domains.
func (d *answer) hosts() []string {
	if d.inv == nil {
		return nil
	}
	var hosts []string
	names, _ := d.inv.Names()
	for _, h := range names {
		if h, _, _ = strings.Cut(h, "."); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// redactor knows the names in the answer and the paths it was asked with.
func (d *answer) redactor(paths []string) *report.Redactor {
	if d.report.Run != nil {
		paths = append(slices.Clone(paths), d.report.Run.File)
	}
	return report.NewRedactor(d.inv, d.win, paths...)
}

// answer picks the plane: a scenario is simulated, everything else is read.
func (a *app) answer(ctx context.Context, paths []string, o explainOptions) (*answer, error) {
	file, ok, err := scenarioAmong(paths)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return a.simulate(ctx, file, o)
	}
	return a.read(ctx, paths, o)
}

// verdict is the exit code of a report.
func verdict(r *report.Report, f failOn) error {
	worst, found := r.Worst()
	switch {
	case r.Interrupted:
		return outcome(exitInterrupted)
	case found && f.fails(worst):
		return outcome(exitFindings)
	case !r.Decided():
		return outcome(exitUndecided)
	}
	return nil
}

// reachable tells of every path that is missing or may not be read, before any work is done: a mistyped path is
// told of at once, and not after a minute of simulation.
func reachable(paths []string) error {
	var missing []string
	for _, path := range paths {
		if path == "-" {
			continue
		}
		info, err := os.Stat(path)
		// A pipe (<(command)) is looked at only: opening and closing it would take its writer's reader away.
		if err == nil && info.Mode()&fs.ModeNamedPipe == 0 {
			var f *os.File
			if f, err = os.Open(path); err == nil {
				f.Close()
			}
		}
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", path, err))
		}
	}
	if len(missing) > 0 {
		return fail(exitUnreachable, "%s", strings.Join(missing, "; "))
	}
	return nil
}
