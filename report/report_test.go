package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func at(d units.Duration) *units.Instant {
	t := units.At(int64(d))
	return &t
}

// simulated is a report of a run with every field of a finding in use.
func simulated() *Report {
	return New(diagnose.Result{
		Findings: []diagnose.Finding{{
			Code:       "L021",
			Title:      "flows of the all-to-all hash onto one uplink: leaf3 -> spine2 carries 2.3x its fair share",
			Severity:   diagnose.Critical,
			Confidence: 0.93,
			Where:      []string{"leaf3/Ethernet48"},
			Cost: &diagnose.Cost{Of: "step", Extra: 97 * units.Millisecond, Seen: 412 * units.Millisecond, Expected: 315 * units.Millisecond,
				How: "time the busiest uplink needs for its bytes, less the time of an even share"},
			Because: "per-flow hashing put 6 of 14 large flows on one link",
			Evidence: []diagnose.Evidence{
				{Layer: "switch", What: "share of leaf3 Ethernet48, 7 siblings", Seen: "94 %", Expected: "41 %", At: at(10200 * units.Microsecond), Role: "cause", From: "switch_tx_bytes_total"},
				{Layer: "NIC", What: "CNPs to the 16 NICs below leaf3", Seen: "93 %", Expected: "1.6 %", At: at(10300 * units.Microsecond), From: "nic_cnp_handled_total"},
				{Layer: "collective", What: "all_to_all busbw; all_reduce unchanged", Seen: "171 GB/s", Expected: "338 GB/s", At: at(10600 * units.Microsecond)},
				{Layer: "step", What: "exposed communication", Seen: "138 ms", Expected: "50 ms", At: at(10800 * units.Microsecond), Role: "effect"},
			},
			Not:     []string{"a slow receiver (no PFC pause from hosts)", "a bad cable (0 CRC)"},
			WrongIf: "the queue rose before the all-to-all began",
			Fix: diagnose.Fix{Text: "hash on the destination QPN, or spray", Commands: []string{"config hash set ecmp --fields DST_QPN"}, Trial: &diagnose.Trial{Metric: "step", Before: 412 * units.Millisecond, After: 319 * units.Millisecond, Spread: 6 * units.Millisecond, Seeds: 3},
				Others: []diagnose.Alternative{{Text: "16 QPs a connection", Trial: &diagnose.Trial{Metric: "step", Before: 412 * units.Millisecond, After: 409 * units.Millisecond, Spread: 7 * units.Millisecond, Seeds: 3}}}},
			Settle:       "the bytes of all eight uplinks of leaf3 over one step",
			Consequences: []diagnose.Consequence{{Code: "L020", Title: "ECN marks on leaf3/Ethernet48 only"}},
		}},
		Checked: diagnose.Checked{
			Explained: []diagnose.Check{{Code: "L021", Title: "uneven uplinks"}, {Code: "L020", Title: "ECN marks"}},
			RuledOut:  []diagnose.Check{{Code: "P001", Title: "errors on the wire", Why: "0 CRC errors on 64 ports"}},
			Could:     []diagnose.Check{{Code: "H010", Title: "PCIe width", Why: "no lspci"}, {Code: "H011", Title: "ACS", Why: "no lspci"}, {Code: "L030", Title: "buffers", Why: "spine29: no counters"}},
		},
	}, &evidence.Inventory{Simulated: true}, &Run{
		Title: "moe collision", Job: "64 GPUs on 8 hosts, 12 switches", Seed: 7, Fingerprint: "00c0ffee00c0ffee", End: 3296 * units.Millisecond,
		Step: &Figures{Count: 8, Min: 405 * units.Millisecond, P50: 412 * units.Millisecond, P99: 418 * units.Millisecond, Max: 418 * units.Millisecond},
		Collectives: []Collective{
			{Name: "ep alltoall", Kind: "alltoall", Calls: 64, Bytes: 64 * units.MiB, Ranks: 16, Time: Figures{Count: 64, P50: 367900 * units.Nanosecond, P99: 401 * units.Microsecond}, AlgBW: 182.4, BusBW: 171},
			{Name: "dp all_reduce", Kind: "all_reduce", Calls: 8, Bytes: units.GiB, Ranks: 64, Time: Figures{Count: 8, P50: 6 * units.Millisecond, P99: 6100 * units.Microsecond}, AlgBW: 178.9, BusBW: 352.3},
		},
		Counters: Counters{PacketHops: 12345678, ECNMarks: 4321, Pauses: 0, Events: 20000000, Drops: []Drop{{Reason: "corrupt", Packets: 12}}},
	})
}

// files is a report of files: no times, places instead, a path too long for the table, hostile text.
func files() *Report {
	long := "/srv/collected/2026-11-30/rack-07/training-run-with-a-long-name/node1/nccl.log:1204"
	return New(diagnose.Result{
		Findings: []diagnose.Finding{
			{Code: "I001", Title: "node1 uses GID index 0 (fe80::ff:fe00:1), which is not routed", Severity: diagnose.Warning, Confidence: 0.999,
				Because:  "a link-local GID does not leave its subnet",
				Evidence: []diagnose.Evidence{{Layer: "RDMA", What: "GID of mlx5_0", Seen: "fe80::ff:fe00:1", Expected: "::ffff:192.0.2.1", From: long}},
				Fix:      diagnose.Fix{Text: "set NCCL_IB_GID_INDEX to the RoCE v2 entry", Commands: []string{"export NCCL_IB_GID_INDEX=3"}}},
			{Code: "C002", Title: "evil \x1b[2J title \u202e reversed", Severity: diagnose.Note, Confidence: 0.004,
				Because:  "a log can hold anything",
				Evidence: []diagnose.Evidence{{Layer: "collective", What: "line", Seen: "\x1b]0;owned\x07", From: "a.log:1"}}},
		},
		Checked: diagnose.Checked{RuledOut: []diagnose.Check{{Code: "P001", Title: "errors on the wire"}}},
	}, &evidence.Inventory{
		Files: []evidence.File{{Path: "a.log", Format: "NCCL log", Host: "node1"}, {Path: "b.txt", Format: "ethtool -S"}, {Path: "c.txt", Format: "ethtool -S"}},
		Unreadable: []evidence.Unreadable{
			{From: evidence.Source{File: "d.bin"}, Why: "not text"}, {From: evidence.Source{File: "e.log", Line: 3}, Why: "cut short"}, {From: evidence.Source{File: "f"}, Why: "empty"},
			{From: evidence.Source{File: "g"}, Why: "empty"}, {From: evidence.Source{File: "h"}, Why: "empty"}, {From: evidence.Source{File: "i"}, Why: "empty"},
		},
	}, nil)
}

// many is more findings than a page shows in full.
func many() *Report {
	var r diagnose.Result
	for i := range shownFindings + 2 {
		r.Findings = append(r.Findings, diagnose.Finding{Code: "P003", Title: fmt.Sprintf("node%d/mlx5_0 went down 3 times", i), Severity: diagnose.Warning, Confidence: 0.9, Because: "the counter grew"})
	}
	return New(r, nil, nil)
}

func healthy() *Report {
	return New(diagnose.Result{Checked: diagnose.Checked{RuledOut: []diagnose.Check{{Code: "P001", Title: "errors on the wire", Why: "0 CRC errors"}},
		Could: []diagnose.Check{{Code: "L030", Title: "buffers", Why: "no switch counters"}}}}, &evidence.Inventory{}, nil)
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		r *Report
		o TextOptions
	}{
		"simulated":         {simulated(), TextOptions{Width: 100}},
		"simulated-80":      {simulated(), TextOptions{}},
		"simulated-narrow":  {simulated(), TextOptions{Width: 44}},
		"simulated-verbose": {simulated(), TextOptions{Width: 100, Verbose: true}},
		"simulated-color":   {simulated(), TextOptions{Width: 80, Color: true}},
		"simulated-quiet":   {simulated(), TextOptions{Quiet: true}},
		"files":             {files(), TextOptions{ASCII: true}},
		"files-wide":        {files(), TextOptions{Width: 200}},
		"many":              {many(), TextOptions{}},
		"healthy":           {healthy(), TextOptions{}},
		"healthy-verbose":   {healthy(), TextOptions{Verbose: true}},
		"interrupted":       {&Report{Interrupted: true}, TextOptions{}},
		"undecided":         {New(diagnose.Result{}, nil, nil), TextOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, c.r, c.o); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", b.Bytes())
		})
	}
}

func TestJSON(t *testing.T) {
	for name, r := range map[string]*Report{"simulated": simulated(), "files": files(), "healthy": healthy()} {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) || !bytes.HasSuffix(b.Bytes(), []byte("}\n")) || bytes.Contains(b.Bytes(), []byte(": null")) {
			t.Errorf("%s: not JSON, no newline at its end, or a null in it", name)
		}
		golden(t, name+".json", b.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (run with -update to accept)\n%s", path, diff)
	}
}

// A page never steers the terminal, never ends a line in blanks, and keeps to its width but for single words
// that are longer.
func TestPageIsSafeAtAnyWidth(t *testing.T) {
	command := regexp.MustCompile(`^ {13}\S`) // lines to copy are never wrapped
	for w := MinWidth; w <= 160; w++ {
		for _, r := range []*Report{simulated(), files(), healthy()} {
			var b bytes.Buffer
			if err := Text(&b, r, TextOptions{Width: w, Verbose: w%2 == 0}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsAny(line, "\x1b\x07\u202e") || line != strings.TrimRight(line, " ") {
					t.Fatalf("width %d: unsafe or padded line %q", w, line)
				}
				words := strings.Fields(line)
				if len([]rune(line)) > w && len(words) > 2 && !command.MatchString(line) {
					t.Errorf("width %d: %d columns in %q", w, len([]rune(line)), line)
				}
			}
		}
	}
}

func TestColorChangesNothingElse(t *testing.T) {
	var plain, color bytes.Buffer
	if err := Text(&plain, simulated(), TextOptions{Width: 72}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&color, simulated(), TextOptions{Width: 72, Color: true}); err != nil {
		t.Fatal(err)
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(color.String(), ""); got != plain.String() {
		t.Error(cmp.Diff(plain.String(), got))
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{duration(412 * units.Millisecond), "412 ms"},
		{duration(10200 * units.Microsecond), "10.2 ms"},
		{duration(1280), "1.28 ns"},
		{duration(999960 * units.Nanosecond), "1 ms"},
		{duration(0), "0 ps"},
		{duration(-93 * units.Millisecond), "-93 ms"},
		{duration(12345 * units.Second), "12345 s"},
		{significant(9.996), "10"},
		{significant(338.04), "338"},
		{significant(0.012345), "0.0123"},
		{significant(0), "0"},
		{percent(0.999), "99 %"},
		{percent(1), "100 %"},
		{percent(0.004), "under 1 %"},
		{percent(0), "0 %"},
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1234567), "1,234,567"},
		{size(64 * units.MiB), "64 MiB"},
		{size(0), "0 B"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for _, c := range []struct {
		seen, expected units.Duration
		a, b           string
	}{
		{412 * units.Millisecond, 315 * units.Millisecond, "412", "315"},
		{412340 * units.Microsecond, 412300 * units.Microsecond, "412.34", "412.3"},
		{14010 * units.Microsecond, 7290 * units.Microsecond, "14.01", "7.29"},
		{5 * units.Microsecond, 5 * units.Microsecond, "5", "5"},
	} {
		if a, b, _ := between(c.seen, c.expected, c.seen-c.expected); a != c.a || b != c.b {
			t.Errorf("between(%v, %v) = %q, %q; want %q, %q", c.seen, c.expected, a, b, c.a, c.b)
		}
	}
}

func TestTrial(t *testing.T) {
	ms := units.Millisecond
	for _, c := range []struct {
		trial diagnose.Trial
		want  string
	}{
		{diagnose.Trial{Metric: "step", Before: 412 * ms, After: 319 * ms, Spread: 6 * ms, Seeds: 3}, "simulated: 319 ms, was 412 (-93 +- 6, 3 seeds)"},
		{diagnose.Trial{Metric: "all_reduce", Before: 412 * ms, After: 319 * ms, Seeds: 1}, "simulated all_reduce: 319 ms, was 412 (-93, one seed)"},
		{diagnose.Trial{Metric: "step", Before: 412 * ms, After: 409 * ms, Spread: 6 * ms, Seeds: 3}, "simulated: 409 ms, was 412 (-3 +- 6, 3 seeds: no sure gain)"},
		{diagnose.Trial{Metric: "alltoall", After: 3 * ms, Spread: 20 * units.Microsecond, Seeds: 3, Stalled: true}, "simulated alltoall: 3 ms (+- 0.02, 3 seeds); without it the job never ends"},
		{diagnose.Trial{Metric: "step", After: 319 * ms, Seeds: 1, Stalled: true}, "simulated: 319 ms; without it the job never ends"},
		{diagnose.Trial{Metric: "step", Before: 412 * ms, After: 420 * ms, Spread: 1 * ms, Seeds: 3}, "simulated: 420 ms, was 412 (+8 +- 1, 3 seeds: no sure gain)"},
	} {
		if got := trial(&c.trial); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := trial(nil); got != "" {
		t.Errorf("a fix that was not tried says %q", got)
	}
}

func TestPage(t *testing.T) {
	const page = "# L021: uneven uplinks\n\nFlows hash onto\none link, and the others idle: this sentence is longer than the page is wide.\n\n- one item that is long enough to be wrapped to the next line\n- two\n\n```\nkeep   this\n```\n\n| a | b |\n|---|---|\n"
	var b bytes.Buffer
	if err := Page(&b, page, TextOptions{Width: 40}); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.txt", b.Bytes())
}
