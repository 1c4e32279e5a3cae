package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/claims"
)

// claimsOptions are the flags of claims.
type claimsOptions struct {
	seeds     int
	jobs      int
	keep      string
	fresh     bool
	list      bool
	json      bool
	markdown  bool
	out       string
	scenarios string
}

func (a *app) claimsCommand() *cobra.Command {
	o := claimsOptions{}
	c := &cobra.Command{
		Use:   "claims [ID...]",
		Short: "test the figures that articles 000, 001 and 003 state",
		Long: `Claims carries out an experiment for every figure that three articles state about training networks and says what came out beside what
is claimed: over how many seeds, with which interval, and whether it holds, holds in direction, does not hold, or cannot be tested here.

ID is a claim (S0.4a), a requirement (S0.4) or an article (000); without one it is all of them, which takes some minutes on two cores. With
IDs each claim is told in full. What has ended is kept, and the same command goes on from there when it was interrupted.`,
		Example: `  shunt claims
  shunt claims S0.1 --seeds 20
  shunt claims --markdown -o docs/claims.md
  shunt claims 003 --json | jq '.claims[] | select(.verdict=="does not hold") | .id'`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, c := range claims.All() {
				ids = append(ids, cobra.CompletionWithDesc(c.ID, c.Says))
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return a.claims(c.Context(), args, o) },
	}
	f := c.Flags()
	f.IntVar(&o.seeds, "seeds", 0, "seeds of every experiment that has any (default: each its own number)")
	f.IntVar(&o.jobs, "jobs", 0, "experiments at a time (default: one a core)")
	f.StringVar(&o.keep, "keep", "", "folder to keep results in, and to go on from (default: shunt/claims in the user's cache)")
	f.BoolVar(&o.fresh, "fresh", false, "use nothing that was kept")
	f.BoolVar(&o.list, "list", false, "list the claims and run nothing")
	f.BoolVar(&o.json, "json", false, "print JSON ("+claims.Schema+")")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown, the form of docs/claims.md")
	f.StringVarP(&o.out, "output", "o", "", "file to write to instead of stdout")
	f.StringVar(&o.scenarios, "scenarios", "", "write the scenarios of the experiments into this folder and run nothing")
	c.MarkFlagsMutuallyExclusive("json", "markdown", "list", "scenarios")
	return c
}

func (a *app) claims(ctx context.Context, ids []string, o claimsOptions) error {
	list, unknown := claims.Find(ids)
	width := 0
	if a.output.terminal && o.out == "" {
		width = a.output.width
	}
	switch {
	case len(unknown) > 0:
		return fail(exitUsage, "there is no claim %s; shunt claims --list lists them", strings.Join(unknown, ", "))
	case o.seeds < 0 || o.seeds > claims.MaxSeeds() || o.jobs < 0:
		return fail(exitUsage, "--seeds %d --jobs %d: write positive numbers, and at most %d seeds", o.seeds, o.jobs, claims.MaxSeeds())
	case o.scenarios != "":
		return a.writeScenarios(o.scenarios)
	case o.list:
		return a.deliver(o.out, cut(claimsList(list), width))
	}
	if o.jobs == 0 {
		o.jobs = runtime.GOMAXPROCS(0)
	}
	folder, err := o.folder()
	if err != nil {
		return &failure{exitUnreachable, err}
	}
	line := a.progress("testing claims")
	r, err := claims.Run(ctx, list, claims.Options{Seeds: o.seeds, Jobs: o.jobs, Folder: folder, Fresh: o.fresh, Progress: func(done float64) { line.update(done, 1) }})
	line.clear()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return &failure{exitUnreachable, err} // a result could not be kept
	}
	var text string
	switch {
	case o.json:
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return &failure{exitInternal, err}
		}
		text = string(b) + "\n"
	case o.markdown:
		text = r.Markdown()
	default:
		text = claimsText(r, len(ids) > 0, interrupted, width)
	}
	switch {
	case !interrupted || o.out == "":
		if err := a.deliver(o.out, text); err != nil {
			return err
		}
	default: // half a report must not take the place of a whole one
		fmt.Fprintf(a.stderr, "shunt: interrupted; %s is as it was\n", o.out)
	}
	if interrupted {
		return outcome(exitInterrupted)
	}
	for _, e := range r.Experiments {
		if len(e.Failed) > 0 {
			return fail(exitInternal, "an experiment failed: %s", e.Failed[0])
		}
	}
	return nil
}

// folder is where results are kept: by default the user's cache, and nowhere if there is none.
func (o *claimsOptions) folder() (*claims.Folder, error) {
	path := o.keep
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, nil
		}
		path = filepath.Join(cache, "shunt", "claims")
	}
	f := &claims.Folder{Path: path, Build: build()}
	if err := f.Writable(); err != nil {
		if o.keep == "" {
			return nil, nil // a cache that cannot be written is no reason not to run
		}
		return nil, err
	}
	return f, nil
}

// build is a hash of the program itself, which tells builds of one version with changes apart.
func build() string {
	path, err := os.Executable()
	if err != nil {
		return version()
	}
	f, err := os.Open(path)
	if err != nil {
		return version()
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return version()
	}
	return hex.EncodeToString(h.Sum(nil))
}

// deliver writes a result to a file, whole or not at all, or to stdout.
func (a *app) deliver(path, text string) error {
	if path == "" || path == "-" {
		_, err := io.WriteString(a.stdout, text)
		return written(err)
	}
	if err := writeFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return fail(exitUnreachable, "writing %s: %w", path, err)
	}
	return nil
}

// writeScenarios writes the scenarios out, for shunt sim and shunt explain.
func (a *app) writeScenarios(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &failure{exitUnreachable, err}
	}
	files, err := fs.Glob(claims.Scenarios, "scenarios/*.yaml")
	if err != nil {
		return &failure{exitInternal, err}
	}
	for _, name := range files {
		b, err := claims.Scenarios.ReadFile(name)
		if err != nil {
			return &failure{exitInternal, err}
		}
		path := filepath.Join(dir, filepath.Base(name))
		if err := writeFile(path, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return fail(exitUnreachable, "writing %s: %w", path, err)
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%d scenarios written to %s\n", len(files), dir)
	return written(err)
}

// claimsList is what there is to test.
func claimsList(list []claims.Claim) string {
	t := table{head: []string{"", "kind", "experiment", "figure", "claimed"}, left: 5}
	for _, c := range list {
		t.add(c.ID, string(c.Kind), c.Measure.Experiment, c.Figure, c.Says)
	}
	return t.String()
}

// claimsText is a report for reading: a line for each claim, or all there is to say of them. Lines end where the terminal does, if there is one.
func claimsText(r *claims.Report, full, interrupted bool, width int) string {
	var b strings.Builder
	prose := 110
	if width >= narrowest {
		prose = min(prose, width-6)
	}
	if full {
		for i := range r.Claims {
			o := &r.Claims[i]
			fmt.Fprintf(&b, "%s  %s: %s\n      %s\n", o.ID, o.Says, o.Figure, o.Verdict)
			if o.Measure != nil {
				t := table{head: []string{"", "measured", "held against", "experiment"}, left: 4}
				for k, f := range append([]claims.Figure{*o.Measure}, o.Beside...) {
					held := f.Claimed
					if k > 0 {
						held = ""
					}
					t.add(f.Name, f.Text(), held, f.Experiment)
				}
				b.WriteString("\n" + cut(indent(t.String(), "    "), width))
			}
			fmt.Fprintf(&b, "\n%s\n\n", indent(claims.Wrap(o.Reading, prose), "      "))
		}
		for i := range r.Experiments {
			e := &r.Experiments[i]
			fmt.Fprintf(&b, "experiment %s: %s\n\n", e.Name, strings.TrimLeft(indent(claims.Wrap(e.Method+" "+e.Repeats(), prose), "      "), " "))
		}
	} else {
		t := table{head: []string{"", "verdict", "claimed", "measured", "of"}, left: 5}
		for i := range r.Claims {
			o := &r.Claims[i]
			measured := "-"
			if o.Measure != nil {
				measured = o.Measure.Text()
			}
			t.add(o.ID, string(o.Verdict), o.Figure, measured, o.Says)
		}
		b.WriteString(cut(t.String(), width) + "\n")
	}
	var counts []string
	for _, v := range claims.Verdicts() {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	fmt.Fprintf(&b, "%d claim%s: %s\n", len(r.Claims), ifText(len(r.Claims) != 1, "s"), strings.Join(counts, ", "))
	if r.Kept > 0 {
		fmt.Fprintf(&b, "%d of %d trials were kept from before\n", r.Kept, r.Trials)
	}
	if interrupted {
		b.WriteString("interrupted: what ended is kept, and the same command goes on from there\n")
	}
	if !full {
		b.WriteString("more: shunt claims ID\n")
	}
	return b.String()
}

// narrowest is the terminal that text is still fitted to.
const narrowest = 40

// cut shortens the lines of a table that would not fit; width 0 is any.
func cut(text string, width int) string {
	if width < narrowest {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if runes := []rune(strings.TrimSuffix(line, "\n")); len(runes) > width {
			line = string(runes[:width-3]) + "...\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// indent puts a prefix in front of every line.
func indent(text, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+prefix) + "\n"
}
