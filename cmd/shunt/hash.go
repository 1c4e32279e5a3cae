package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/ecmp/source"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/report"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
)

// hashOptions are the flags of hash.
type hashOptions struct {
	algorithm, polynomial, fields string
	seed                          uint64
	offset, buckets, paths, tiers int
	qps                           int
	behind                        string
	set                           []string
	plot                          string
	json, noColor, noProposals    bool
	width                         int
}

func (a *app) hashCommand() *cobra.Command {
	o := hashOptions{}
	c := &cobra.Command{
		Use:   "hash PATH...",
		Short: "what ECMP hashing does to the flows of a job",
		Long: `Hash works out how a switch's hash deals flows over buckets and equal-cost links, what a perfect hash would do to them, and which
other fields, polynomial, seed or number of QPs would do better on flows that were not looked at.

PATH is a scenario (the QPs its job opens, over its fabric), a capture (pcap, pcapng), NCCL logs with NCCL_DEBUG=INFO, the output of ss -tunap
or ss -tin, or CSV with the header src,dst,proto,sport,dport[,qpn][,bytes][,conn]; - is standard input. What an input does not tell is named and put in by rule.

A scenario is hashed as the simulator does unless --algorithm says otherwise. Without a fabric, --paths says over how many equal-cost
paths a switch chooses, and --tiers how many switches one behind the other do.

The exit code is 1 where buckets are filled in a way that chance does not explain, tiers are polarised or a link has 1.5 times its fair share
or more, and 3 where there is no flow.`,
		Example: `  shunt hash examples/moe-collision
  shunt hash flows.csv --paths 8 --fields src-ip,dst-ip --algorithm xor
  shunt hash nccl.log --paths 4 --tiers 2 --qps 4
  ss -tin | shunt hash - --paths 16 --json | jq .groups`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("hash needs a path: a scenario, a capture, an NCCL log, the output of ss, CSV, or - for standard input")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, f := range []struct {
				name  string
				value int
			}{{"paths", o.paths}, {"tiers", o.tiers}, {"qps", o.qps}} { // 0 is what the library takes for unset
				if c.Flags().Changed(f.name) && f.value < 1 {
					return fail(exitUsage, "--%s %d: write a positive number", f.name, f.value)
				}
			}
			return a.hash(c.Context(), args, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.algorithm, "algorithm", "", "the hash: "+strings.Join(ecmp.Algorithms(), ", ")+" (default: simulator for a scenario, crc32 for others)")
	f.StringVar(&o.polynomial, "polynomial", "", "polynomial of a CRC without its highest term, like 0x04c11db7 (default: the usual one)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the hash")
	f.IntVar(&o.offset, "offset", 0, "lowest bit of the hash that is used")
	f.StringVar(&o.fields, "fields", "", "what is hashed: "+strings.Join(ecmp.FieldNames(), ", ")+", or SONiC's names, joined by commas (default: 5-tuple, and qpn where a scenario says ecmp-qpn)")
	f.IntVar(&o.buckets, "buckets", ecmp.DefaultBuckets, "buckets of the table")
	f.IntVar(&o.paths, "paths", 0, "equal-cost paths (default: those of the scenario's fabric)")
	f.IntVar(&o.tiers, "tiers", 1, "switches one behind the other that choose among --paths")
	f.StringVar(&o.behind, "behind", "", "the hash of all switches behind the first choice, where it is another: an algorithm with seed and offset, like crc32c,seed=1,offset=8")
	f.IntVar(&o.qps, "qps", 0, "NCCL logs: QPs of a connection, where the log does not say")
	f.StringArrayVar(&o.set, "set", nil, "scenarios: set a field, path=value (any number of times)")
	f.BoolVar(&o.noProposals, "no-proposals", false, "do not look for something better")
	f.StringVar(&o.plot, "plot", "", "draw the flows by bucket into a file, .svg or .png")
	f.BoolVar(&o.json, "json", false, "print JSON ("+ecmp.Schema+")")
	f.BoolVar(&o.noColor, "no-color", false, "no colour (as does NO_COLOR)")
	f.IntVar(&o.width, "width", 0, "columns of the text (default: the terminal's, or 80)")
	c.MarkFlagsMutuallyExclusive("json", "width")
	c.MarkFlagsMutuallyExclusive("json", "no-color")
	if err := c.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(ecmp.Algorithms(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined a few lines up
	}
	if err := c.RegisterFlagCompletionFunc("fields", cobra.FixedCompletions(ecmp.FieldNames(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)); err != nil {
		panic(err)
	}
	return c
}

// config is the hash that the flags describe.
func (o *hashOptions) config(fields ecmp.Fields, algorithm spray.Algorithm) (ecmp.Config, error) {
	c := ecmp.Config{Fields: fields, Hash: spray.HashConfig{Algorithm: algorithm, Seed: o.seed, Offset: o.offset}}
	if o.algorithm != "" {
		c.Hash.Algorithm = spray.Algorithm(o.algorithm)
	}
	if o.polynomial != "" {
		p, err := strconv.ParseUint(o.polynomial, 0, 64)
		if err != nil {
			return c, fail(exitUsage, "--polynomial %s: write a number like 0x04c11db7", o.polynomial)
		}
		c.Hash.Polynomial = p
	}
	if o.behind != "" {
		h, err := secondHash(o.behind)
		if err != nil {
			return c, fail(exitUsage, "--behind %s: %w", o.behind, err)
		}
		c.Tiers = []spray.HashConfig{h}
	}
	if o.fields != "" {
		f, err := ecmp.ParseFields(o.fields)
		if err != nil {
			return c, fail(exitUsage, "--fields: %w", err)
		}
		c.Fields = f
	}
	return c, nil
}

// secondHash reads the value of --behind.
func secondHash(text string) (h spray.HashConfig, err error) {
	for i, part := range strings.Split(text, ",") {
		name, value, is := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case i == 0 && !is:
			h.Algorithm = spray.Algorithm(name)
		case name == "seed":
			h.Seed, err = strconv.ParseUint(value, 0, 64)
		case name == "offset":
			h.Offset, err = strconv.Atoi(value)
		case name == "polynomial":
			h.Polynomial, err = strconv.ParseUint(value, 0, 64)
		default:
			return h, fmt.Errorf("%q is none of seed, offset and polynomial", part)
		}
		if err != nil {
			return h, fmt.Errorf("%s is no number", part)
		}
	}
	return h, nil
}

// hash analyses the flows of the paths, prints the report and turns it into an exit code.
func (a *app) hash(ctx context.Context, paths []string, o hashOptions) error {
	if o.width != 0 && o.width < report.MinWidth {
		return fail(exitUsage, "--width %d is less than %d", o.width, report.MinWidth)
	}
	var picture plotFlag
	if err := picture.Set(strings.TrimPrefix(strings.ToLower(filepath.Ext(o.plot)), ".")); o.plot != "" && err != nil {
		return fail(exitUsage, "--plot %s: write a name that ends in .svg or .png", o.plot)
	}
	if err := reachable(paths); err != nil {
		return err
	}
	fields, algorithm := ecmp.FiveTuple, spray.CRC32
	file, simulated, err := scenarioAmong(paths)
	if err != nil {
		return err
	}
	if simulated {
		algorithm = ecmp.Simulator
	}
	c, err := o.config(fields, algorithm) // before any work is done
	if err != nil {
		return err
	}
	input := strings.Join(paths, ", ")
	var set *ecmp.Set
	if simulated {
		var choice netsim.PathChoice
		set, choice, err = a.scenarioFlows(ctx, file, o)
		if choice == netsim.ECMPQPN && o.fields == "" {
			c.Fields |= ecmp.QPN
		}
	} else {
		set, err = a.fileFlows(paths, o)
	}
	if err != nil {
		return hashFailure(err)
	}
	line := a.progress("trying other hashes")
	r, err := ecmp.Analyse(ctx, set, ecmp.Options{Config: c, Buckets: o.buckets, Paths: o.paths, Tiers: o.tiers, Propose: !o.noProposals,
		Progress: func(done float64) { line.update(done, 1) }})
	line.clear()
	if errors.Is(err, ecmp.ErrNoFlows) {
		err = fmt.Errorf("%w in %s", err, strings.Join(append([]string{input}, set.Notes...), "; "))
	}
	if err != nil {
		return hashFailure(err)
	}
	r.Input = input
	if o.plot != "" { // first, so that whoever reads stdout to its end finds it complete
		src, err := bucketPlot(r, picture.Format)
		if err != nil {
			return &failure{exitInternal, err}
		}
		if err := scenario.WriteFile(o.plot, src); err != nil {
			return failed(err)
		}
	}
	if o.json {
		err = a.encode(r)
	} else {
		err = written(hashText(a.stdout, r, a.layout(o.noColor, o.width)))
	}
	switch {
	case err != nil:
		return err
	case r.Found():
		return outcome(exitFindings)
	}
	return nil
}

// hashFailure gives an error its exit code.
func hashFailure(err error) error {
	var f *failure
	var done outcome
	var problems spec.Problems
	var nothing *collect.NothingReadError
	switch {
	case errors.As(err, &f), errors.As(err, &done):
		return err
	case errors.Is(err, context.Canceled):
		return outcome(exitInterrupted)
	case errors.Is(err, ecmp.ErrNoFlows):
		return &failure{exitUndecided, err}
	case errors.As(err, &problems):
		return &failure{exitUsage, err}
	case errors.As(err, &nothing):
		return &failure{exitUnreachable, err}
	}
	return &failure{exitUsage, err} // what is left are values of flags that do not go together
}

// scenarioFlows lists the QPs of a scenario's job.
func (a *app) scenarioFlows(ctx context.Context, file string, o hashOptions) (*ecmp.Set, netsim.PathChoice, error) {
	set, err := settings(o.set)
	if err != nil {
		return nil, "", err
	}
	src, err := scenario.ReadSource(file)
	if err != nil {
		return nil, "", failed(err)
	}
	s, err := src.With(set...)
	if err != nil {
		return nil, "", failed(err)
	}
	f, plan, c, err := s.Prepare()
	if err != nil {
		return nil, "", failed(err)
	}
	line := a.progress("opening connections")
	defer line.clear()
	flows, err := source.Scenario(ctx, f, plan, c, func(done float64) { line.update(done, 1) })
	return flows, c.Path, err
}

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 4096

// fileFlows lists the flows of files of a cluster.
func (a *app) fileFlows(given []string, o hashOptions) (*ecmp.Set, error) {
	paths := given
	if len(o.set) > 0 {
		return nil, fail(exitUsage, "--set is for a scenario")
	}
	for i, path := range given {
		file, info := os.Stdin, os.FileInfo(nil)
		if path != "-" {
			var err error
			if file, err = os.Open(path); err != nil {
				return nil, fail(exitUnreachable, "%w", err)
			}
			defer file.Close()
			if info, err = file.Stat(); err == nil && info.IsDir() {
				continue
			}
		}
		in := bufio.NewReaderSize(file, headBytes)
		if path == "-" {
			in = bufio.NewReaderSize(a.stdin, headBytes)
		}
		head, _ := in.Peek(headBytes)
		capture, table := packet.IsCapture(head), source.StartsCSV(head)
		if (capture || table) && len(paths) > 1 {
			return nil, fail(exitUsage, "%s is a capture or CSV; hash takes one and nothing beside it", path)
		}
		switch {
		case capture:
			return source.Capture(in)
		case table:
			return source.CSV(shown(path), in)
		case path == "-":
			kept, err := keepInput(in)
			if err != nil {
				return nil, err
			}
			defer os.Remove(kept)
			paths = slices.Clone(paths) // the caller names them as they were given
			paths[i] = kept
		}
	}
	inv, _, err := collect.Load(paths, collect.Options{Connections: true})
	switch {
	case err != nil:
		return nil, unread(paths, err)
	case len(inv.NCCL.Connections) > 0:
		return source.NCCL(inv, source.NCCLOptions{QPs: o.qps}), nil
	case len(inv.Sockets) > 0:
		return source.Sockets(inv), nil
	case len(inv.Captures) > 0:
		return nil, fail(exitUsage, "name the capture itself, unpacked, and not its folder or archive")
	}
	names := make([]string, len(given))
	for i, path := range given {
		names[i] = shown(path)
	}
	return nil, fmt.Errorf("%w in %s; hash reads a scenario, a capture, an NCCL log with connections over the network (NCCL_DEBUG=INFO), the output of ss, and CSV", ecmp.ErrNoFlows, strings.Join(names, ", "))
}

// shown is a path for messages.
func shown(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// keepInput writes standard input to a file, for readers that need to look twice.
func keepInput(in io.Reader) (path string, err error) {
	f, err := os.CreateTemp("", "shunt-*")
	if err != nil {
		return "", fail(exitUnreachable, "%w", err)
	}
	if _, err = io.Copy(f, io.LimitReader(in, collect.MaxFileBytes)); err == nil {
		err = f.Close()
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fail(exitUnreachable, "standard input: %w", err)
	}
	return f.Name(), nil
}
