package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/internal/celrules"
	"github.com/shunt-network/shunt/report"
)

// The test binary plays the commands when a script calls them.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shunt":       func() { os.Exit(shunt()) },
		"shunt-rules": func() { os.Exit(celrules.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TERM", "xterm")
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator)) // where the commands are
			env.Setenv("SHUNT", filepath.Join(bin, "shunt"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" { // permissions do not stop root
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "nuls": nuls},
	})
}

// exits N COMMAND... runs a command that has to end with exit code N. Its output is there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %q is no exit code", args[0])
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// nuls FILE writes a file of bytes that are no text, which an archive of text cannot hold.
func nuls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nuls FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte{0x7f, 'E', 'L', 'F', 0, 0, 1, 0xff}, 512), 0o600))
}

// run calls the command line without a process of its own.
func run(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &complaints, env: func(string) string { return "" }}
	code = a.main(ctx, args)
	return code, out.String(), complaints.String()
}

func TestVerdict(t *testing.T) {
	of := func(list ...diagnose.Severity) *report.Report {
		r := &report.Report{}
		for _, s := range list {
			r.Findings = append(r.Findings, diagnose.Finding{Severity: s})
		}
		return r
	}
	ruledOut := of()
	ruledOut.Checked.RuledOut = []diagnose.Check{{Code: "P001"}}
	stopped := of(diagnose.Critical)
	stopped.Interrupted = true
	for _, c := range []struct {
		name string
		r    *report.Report
		on   string
		want int
	}{
		{"healthy", ruledOut, "warning", exitOK},
		{"nothing known", of(), "warning", exitUndecided},
		{"nothing known, never", of(), "none", exitUndecided},
		{"a note", of(diagnose.Note), "warning", exitOK},
		{"a note that counts", of(diagnose.Note), "note", exitFindings},
		{"the worst counts", of(diagnose.Note, diagnose.Critical), "critical", exitFindings},
		{"below", of(diagnose.Warning), "critical", exitOK},
		{"never", of(diagnose.Critical), "none", exitOK},
		{"interrupted", stopped, "none", exitInterrupted},
	} {
		var f failOn
		if err := f.Set(c.on); err != nil {
			t.Fatal(err)
		}
		if got, _ := codeOf(verdict(c.r, f)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}

// A reader that never ends is left when the user interrupts, and the exit code says so.
func TestInterrupt(t *testing.T) {
	never, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	code, stdout, stderr := run(t, ctx, "explain", fmt.Sprintf("/dev/fd/%d", never.Fd()))
	hold.Close() // ends the reader that was left
	never.Close()
	if code != exitInterrupted || !strings.Contains(stdout, "interrupted") || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// A simulation ends with the context, whatever it was doing.
func TestInterruptedSimulation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.yaml")
	// Far more than can be simulated in the time that passes before the interrupt.
	long := "title: long\nfabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, link: {rate: 400Gbps, delay: 500ns}}\n" +
		"job:\n  collective: {kind: alltoall, size: 1GiB, repeat: 100}\n"
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	code, stdout, stderr := run(t, ctx, "explain", file)
	if code != exitInterrupted || stdout != "interrupted before anything was found\n" || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestCrash(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, f := range map[string]func() int{
		"here":  func() int { panic("port 7 has no peer") },
		"aside": func() int { return (<-aside(func() int { panic("port 7 has no peer") }))() },
	} {
		var complaints bytes.Buffer
		a := &app{stderr: &complaints}
		if code := a.guarded([]string{"explain", "x"}, f); code != exitInternal {
			t.Errorf("%s: exit code %d", name, code)
		}
		said := complaints.String()
		if strings.Count(said, "\n") != 1 || strings.Contains(said, "goroutine") {
			t.Errorf("%s: more than one line: %q", name, said)
		}
		_, path, _ := strings.Cut(strings.TrimSpace(said), "the report is in ")
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"port 7 has no peer", "arguments: explain x", "main_test.go"} {
			if !strings.Contains(string(written), want) {
				t.Errorf("%s: the report lacks %q:\n%s", name, want, written)
			}
		}
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		name     string
		env      map[string]string
		terminal bool
		flag     bool
		want     bool
	}{
		{"terminal", nil, true, false, true},
		{"pipe", nil, false, false, false},
		{"flag", map[string]string{"CLICOLOR_FORCE": "1"}, true, true, false},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, false, false},
		{"NO_COLOR empty", map[string]string{"NO_COLOR": ""}, true, false, true},
		{"forced", map[string]string{"CLICOLOR_FORCE": "1"}, false, false, true},
		{"forced to 0", map[string]string{"CLICOLOR_FORCE": "0"}, false, false, false},
		{"dumb", map[string]string{"TERM": "dumb"}, true, false, false},
	} {
		a := &app{env: func(k string) string { return c.env[k] }, output: device{terminal: c.terminal}}
		if got := a.color(c.flag); got != c.want {
			t.Errorf("%s: colour %v", c.name, got)
		}
	}
}

func TestLayout(t *testing.T) {
	env := map[string]string{"LANG": "C.UTF-8"}
	a := &app{env: func(k string) string { return env[k] }, output: device{terminal: true, width: 123}}
	if o := a.layout(false, 0); o.Width != 123 || o.ASCII {
		t.Errorf("on a terminal: %+v", o)
	}
	if o := a.layout(false, 60); o.Width != 60 {
		t.Errorf("--width 60: %+v", o)
	}
	env["LC_ALL"] = "C"
	if o := a.layout(false, 0); !o.ASCII {
		t.Errorf("LC_ALL=C: %+v", o)
	}
	a.output = device{}
	if o := a.layout(false, 0); o.Width != report.DefaultWidth || o.ASCII || o.Color {
		t.Errorf("a pipe: %+v", o)
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, live: false, what: "simulating"}
	p.update(1, 2)
	p.clear()
	if b.Len() > 0 {
		t.Errorf("no terminal, but %q", b.String())
	}
	p.live = true // started long ago, so the line is due
	p.update(1, 4)
	p.update(2, 4) // too soon after the first
	p.clear()
	if got := b.String(); strings.Count(got, "simulating, 25 %") != 1 || strings.Contains(got, "50 %") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("wrote %q", got)
	}
	for _, c := range []struct {
		done, total float64
		want        string
	}{
		{0, 0, "x, 30s"}, {0.001, 1, "x, 0 %"}, {1, 4, "x, 25 %, 1m30s left"}, {5, 4, "x, 100 %"}, {-1, 4, "x, 0 %"},
	} {
		if got := (&progress{what: "x"}).line(c.done, c.total, 30*time.Second); got != c.want {
			t.Errorf("line(%v, %v) = %q, want %q", c.done, c.total, got, c.want)
		}
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct{ n, percent, want int }{{1, 50, 0}, {1, 99, 0}, {2, 50, 0}, {3, 50, 1}, {8, 50, 3}, {8, 99, 7}, {100, 99, 98}, {101, 99, 99}} {
		if got := rank(c.n, c.percent); got != c.want {
			t.Errorf("rank(%d, %d) = %d, want %d", c.n, c.percent, got, c.want)
		}
	}
}
