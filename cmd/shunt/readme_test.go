package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the output shown in README.md")

// What the README shows is what the command prints: a run is deterministic, so the text is too. -update rewrites it.
func TestReadmeShowsTheTruth(t *testing.T) {
	const file, mark, fence = "../../README.md", "<!-- output of: shunt explain examples/moe-collision -->\n```text\n", "```\n"
	if testing.Short() {
		t.Skip("simulates the example with its trials")
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), mark)
	shown, tail, ended := strings.Cut(rest, fence)
	if !ok || !ended {
		t.Fatalf("README.md has no block after %q", mark)
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, env: func(string) string { return "" }}
	code := a.main(context.Background(), []string{"explain", "--no-color", "--width", "80", "../../examples/moe-collision"})
	if code != exitFindings || stderr.Len() > 0 {
		t.Fatalf("exit %d, %s", code, &stderr)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+mark+stdout.String()+fence+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != stdout.String() {
		t.Errorf("README.md shows\n%s\nand the command prints\n%s", shown, &stdout)
	}
}
