package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sweepFile = `title: a small ring
seed: 5
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, link: {rate: 400Gbps, delay: 500ns}}
job:
  collective: {kind: alltoall, size: 8MiB, repeat: 2}
`

// A sweep that is killed while it writes goes on where it was, and comes to the very results of one that was left alone.
func TestSweepSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ring.yaml")
	if err := os.WriteFile(file, []byte(sweepFile), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(out string) []string {
		return []string{"sweep", file, "--over", "seed=1..10", "--over", "path_choice=ecmp,random", "-o", filepath.Join(dir, out), "--jobs", "2"}
	}
	log := filepath.Join(dir, "killed", "results.jsonl")
	kills := 0
	for range 20 {
		c := exec.Command(os.Args[0])
		c.Args = append([]string{"shunt"}, args("killed")...) // the test binary plays the command that its first argument names
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		before := lineCount(log)
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		alive := true
		for alive && lineCount(log) < before+4 {
			select {
			case <-ended:
				alive = false
			case <-time.After(time.Millisecond):
			}
		}
		if !alive {
			break
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		kills++
	}
	if kills == 0 {
		t.Fatal("it was over before it could be killed once")
	}
	t.Logf("killed %d times, %d lines", kills, lineCount(log))
	for _, out := range []string{"killed", "alone"} {
		if code, _, complaints := run(t, context.Background(), args(out)...); code != exitOK || complaints != "" {
			t.Fatalf("%s: exit code %d: %s", out, code, complaints)
		}
	}
	var tables [2][]byte
	for i, out := range []string{"killed", "alone"} {
		src, err := os.ReadFile(filepath.Join(dir, out, "results.csv"))
		if err != nil {
			t.Fatal(err)
		}
		tables[i] = src
	}
	if !bytes.Equal(tables[0], tables[1]) {
		t.Errorf("results differ:\n%s\n%s", tables[0], tables[1])
	}
	if n := strings.Count(string(tables[1]), "\n"); n != 21 {
		t.Errorf("%d lines of results, want 21", n)
	}
}

func lineCount(path string) int {
	src, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(src, []byte("\n"))
}

// An interrupted sweep shows what it has and says so by its exit code.
func TestInterruptedSweep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ring.yaml")
	if err := os.WriteFile(file, []byte(sweepFile), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	code, stdout, stderr := run(t, ctx, "sweep", file, "--over", "seed=1..100000", "-o", filepath.Join(dir, "out"))
	if code != exitInterrupted || !strings.Contains(stdout, " of 100,000 points have results") || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if n := lineCount(filepath.Join(dir, "out", "results.jsonl")); n < 1 || !strings.Contains(stdout, fmt.Sprintf("%d of 100,000", n-1)) {
		t.Errorf("%d lines kept: %s", n, stdout)
	}
}

// BenchmarkSweep runs a sweep of 16 runs that need nothing but a processor.
func BenchmarkSweep(b *testing.B) {
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprint("jobs-", jobs), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "ring.yaml")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(sweepFile, "8MiB", "64MiB")), 0o600); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var out bytes.Buffer
				a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, env: func(string) string { return "" }}
				if code := a.main(context.Background(), []string{"sweep", file, "--over", "seed=1..16", "--jobs", fmt.Sprint(jobs)}); code != exitOK {
					b.Fatal(out.String())
				}
			}
		})
	}
}
