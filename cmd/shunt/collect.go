package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/internal/gather"
)

// collectOptions are the flags of collect.
type collectOptions struct {
	path     string
	host     string
	pids     []int
	interval time.Duration
	timeout  time.Duration
}

func (a *app) collectCommand() *cobra.Command {
	var o collectOptions
	c := &cobra.Command{
		Use:   "collect",
		Short: "read this host into one file for explain",
		Long: `Collect reads what this host can tell about its network into one archive, which explain takes as it is.

It changes nothing and needs no root, though root is told more (lspci -vvv, the kernel log). Of environments it
takes variables of NCCL, UCX and the like only, and none that may hold a secret. Tools that are not installed,
and what could not be read, are listed in the archive's manifest.json.`,
		Example: `  shunt collect
  shunt collect -o node1.tar.gz --interval 30s
  shunt explain node1.tar.gz node2.tar.gz nccl.log`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.collect(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVarP(&o.path, "output", "o", "", "the archive to write (default shunt-HOST-TIME.tar.gz; - is stdout)")
	f.StringVar(&o.host, "host", "", "the name to use for this host (default: its own)")
	f.IntSliceVar(&o.pids, "pid", nil, "processes of the job: their NCCL variables and limits too")
	f.DurationVar(&o.interval, "interval", 10*time.Second, "time between the two readings of counters; 0 reads them once")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long one command may take")
	return c
}

// Limits of the times that can be asked for.
const (
	maxInterval = time.Hour
	maxTimeout  = 10 * time.Minute
)

func (a *app) collect(ctx context.Context, o collectOptions) error {
	switch {
	case o.interval < 0 || o.interval > maxInterval:
		return fail(exitUsage, "--interval %v is not between 0 and %v", o.interval, maxInterval)
	case o.timeout <= 0 || o.timeout > maxTimeout:
		return fail(exitUsage, "--timeout %v is not between 1ms and %v", o.timeout, maxTimeout)
	case strings.ContainsAny(o.host, "/\\ \t") || strings.HasPrefix(o.host, "."):
		return fail(exitUsage, "--host %q is no name of a host", o.host)
	}
	host, err := hostName(o.host)
	if err != nil {
		return fail(exitUsage, "this host does not tell its name (%w); give one with --host", err)
	}
	if o.path == "" {
		o.path = fmt.Sprintf("shunt-%s-%s.tar.gz", host, time.Now().UTC().Format("20060102T150405Z"))
	}
	line := a.progress("reading this host")
	home, _ := os.UserHomeDir() // without one there is no ~/.nccl.conf
	opt := gather.Options{
		Host: host, Root: os.DirFS("/"), Home: home, Env: os.Environ(), IsRoot: os.Geteuid() == 0, PIDs: o.pids,
		Interval: o.interval, Timeout: o.timeout, Version: moduleVersion(),
		Progress: func(what string) { line.say(what) },
	}
	var m *gather.Manifest
	write := func(w io.Writer) (err error) {
		m, err = gather.Write(ctx, w, opt)
		return err
	}
	if o.path == "-" {
		err = write(a.stdout)
	} else {
		err = writeFile(o.path, write)
	}
	line.clear()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "shunt: interrupted; nothing was written")
		return outcome(exitInterrupted)
	case err != nil && o.path == "-":
		return written(err)
	case err != nil:
		return fail(exitUnreachable, "writing %s: %w", o.path, err)
	}
	if o.path != "-" {
		_, err = fmt.Fprint(a.stdout, summary(m, o.path))
	}
	return written(err)
}

// hostName is the name to use: what was given, else the host's own, cut at its first dot as NCCL cuts it.
func hostName(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(name, ".")
	if name == "" || strings.ContainsAny(name, "/\\ \t") {
		return "", fmt.Errorf("it calls itself %q", name)
	}
	return name, nil
}

// summary says what was read and, since it decides about what can be explained, what was not.
func summary(m *gather.Manifest, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %d outputs of %s into %s\n", len(m.Files), m.Host, path)
	var missing, failed []string
	for _, x := range m.Missing {
		if x.Why == "not installed" {
			missing = append(missing, x.What)
		}
	}
	for _, f := range m.Files {
		if f.Exit != 0 {
			failed = append(failed, f.Command)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "not installed: %s\n", strings.Join(missing, ", "))
	}
	if len(failed) > 0 {
		fmt.Fprintf(&b, "failed: %s\n", strings.Join(failed, "; "))
	}
	if !m.Root {
		b.WriteString("not run as root: lspci -vvv and the kernel log may be incomplete\n")
	}
	return b.String()
}
