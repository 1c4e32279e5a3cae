package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/report"
)

// output is one form of the report and where it goes.
type output struct {
	format report.Format
	path   string // "" is stdout
}

// outputs are the values of -o. Without one that goes to stdout, stdout has the text: a report file must not silence
// the terminal.
type outputs struct {
	list  []output
	given []string
}

func (o *outputs) Type() string { return "format[=path]" }

func (o *outputs) String() string { return strings.Join(o.given, ",") }

// Set reads one value of the flag: a format, or a format and a path.
func (o *outputs) Set(text string) error {
	name, path, to := strings.Cut(text, "=")
	f, ok := report.FormatOf(name)
	switch {
	case !ok:
		return fmt.Errorf("there is no format %q; write %s", name, oneOf(formatNames()))
	case to && path == "":
		return fmt.Errorf("a path is missing after %s=", name)
	case path == "-":
		path = ""
	}
	for _, other := range o.list {
		switch {
		case other.path != path:
		case path == "":
			return fmt.Errorf("both %s and %s would go to stdout; give one a path: %s=FILE", other.format.Name, name, name)
		default:
			return fmt.Errorf("both %s and %s would be written to %s", other.format.Name, name, path)
		}
	}
	o.list = append(o.list, output{f, path})
	o.given = append(o.given, text)
	return nil
}

func formatNames() []string {
	var names []string
	for _, f := range slices.Concat(report.Formats, report.Notes) {
		names = append(names, f.Name)
	}
	return names
}

// oneOf joins words for a message: "a, b or c".
func oneOf(words []string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// toStdout is the form that goes to stdout.
func (o *outputs) toStdout() report.Format {
	for _, out := range o.list {
		if out.path == "" {
			return out.format
		}
	}
	return report.Formats[0]
}

// print writes the report in every form that was asked for: the files first, so that whoever reads stdout to its end
// finds them complete.
func (a *app) print(r *report.Report, hosts []string, o explainOptions) error {
	opt := report.Options{Version: moduleVersion(), Fails: o.failOn.fails, Hosts: hosts}
	for _, out := range o.outputs.list {
		if out.path == "" {
			continue
		}
		err := writeFile(out.path, func(w io.Writer) error { return out.format.Write(w, r, opt) })
		if err != nil {
			return fail(exitUnreachable, "writing %s: %w", out.path, err)
		}
	}
	opt.Text = a.layout(o.noColor, o.width)
	opt.Text.Quiet, opt.Text.Verbose = o.quiet, o.verbose
	return written(o.outputs.toStdout().Write(a.stdout, r, opt))
}

// writeFile writes a file whole or not at all: into a file beside it that takes its name when it is complete, so that
// nobody ever reads half a report and an interrupted run leaves the last one as it was. What is there and is no
// regular file (/dev/stderr, a pipe) is written to as it is.
func writeFile(path string, write func(io.Writer) error) (err error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real // a link keeps pointing at what it points at
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return fmt.Errorf("it is a folder")
		}
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return write(f)
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".shunt-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	mode := os.FileMode(0o644) // as a redirection of the shell with the usual umask
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil { // before the rename: a name must not lead to bytes a crash can take
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}
