package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/claims"
)

// An interrupt ends with 130, says what there is, and leaves a file that was asked for as it was.
func TestClaimsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	code, out, _ := run(t, ctx, "claims", "S0.8", "--keep", filepath.Join(dir, "kept"))
	if code != exitInterrupted || !strings.Contains(out, "interrupted: what ended is kept") || !strings.Contains(out, "not decided") {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, complaints := run(t, ctx, "claims", "S0.8", "--markdown", "-o", page, "--keep", filepath.Join(dir, "kept"))
	if b, err := os.ReadFile(page); code != exitInterrupted || out != "" || err != nil || string(b) != "before" || !strings.Contains(complaints, "is as it was") {
		t.Errorf("exit code %d, stdout %q, stderr %q, the page %q %v", code, out, complaints, b, err)
	}
}

// What was kept is used again, and the JSON is the same to the byte.
func TestClaimsKept(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	args := []string{"claims", "S0.7", "S0.2a", "--seeds", "3", "--json", "--keep", kept}
	code, first, complaints := run(t, t.Context(), args...)
	if code != exitOK || complaints != "" {
		t.Fatalf("exit code %d: %s", code, complaints)
	}
	files, err := filepath.Glob(filepath.Join(kept, "*.json"))
	if err != nil || len(files) != 3+3+1 { // occupancy and buckets by three seeds, and what has none
		t.Errorf("kept: %v %v", files, err)
	}
	if code, second, _ := run(t, t.Context(), args...); code != exitOK || second != first {
		t.Errorf("again: exit code %d, and another report", code)
	}
	var r claims.Report
	if err := json.Unmarshal([]byte(first), &r); err != nil || r.Schema != claims.Schema || len(r.Claims) != 3 || !r.Complete {
		t.Errorf("%v: %+v", err, r)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(files[0], "none")) // below a file nothing can be kept
	_, text, _ := run(t, t.Context(), args[:len(args)-3]...)
	if strings.Contains(text, "were kept from before") {
		t.Error("without --keep and a cache something was kept")
	}
	_, text, _ = run(t, t.Context(), "claims", "S0.7", "--seeds", "3", "--keep", kept)
	if !strings.Contains(text, "4 of 4 trials were kept from before") {
		t.Errorf("stdout:\n%s", text)
	}
}
