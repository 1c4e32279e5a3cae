package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/evidence"
)

// The reader of real tables gets back every figure of ours, so the two can be laid side by side.
func TestPerfReadsAsNCCLTests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	src := "topology: leaf-spine\nleaves: 1\nhosts_per_leaf: 4\nlink: {rate: 400Gbps, delay: 500ns}\n"
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	code, table, complaints := run(t, context.Background(), "perf", "all_reduce", "-b", "1M", "-e", "64M", "-f", "8", "--fabric", file)
	if code != exitOK || complaints != "" {
		t.Fatalf("exit code %d: %s", code, complaints)
	}
	f := fragment.New(&evidence.Inventory{}, "perf.txt")
	if err := nccltests.Parse(strings.NewReader(table), f); err != nil {
		t.Fatal(err)
	}
	if len(f.Inv.Calls) != 6 || len(f.Inv.Tables) != 1 || f.Inv.Tables[0].Ranks != 4 || f.Inv.Tables[0].Test != "all_reduce_perf" {
		t.Fatalf("%d calls, tables %+v", len(f.Inv.Calls), f.Inv.Tables)
	}
	for _, c := range f.Inv.Calls {
		// busbw is algbw x 2(n-1)/n (doc/PERFORMANCE.md of nccl-tests); both are rounded to two decimals.
		if math.Abs(c.BusBW-1.5*c.AlgBW) > 0.02 || c.Wrong != -1 || c.Ranks != 4 {
			t.Errorf("%+v", c)
		}
		if algbw := float64(c.Bytes) / c.Time.Seconds() / 1e9; math.Abs(algbw/c.AlgBW-1) > 0.01 {
			t.Errorf("%d bytes in %v are %v GB/s, the table says %v", c.Bytes, c.Time, algbw, c.AlgBW)
		}
	}
	if last := f.Inv.Calls[5]; last.BusBW < 45 || last.BusBW > 50 { // a NIC of 50 GB/s, less headers
		t.Errorf("busbw of the largest size is %v", last.BusBW)
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		v     float64
		width int
		want  string
	}{{0, 6, "0.00"}, {1.234, 6, "1.23"}, {999.999, 6, "1000.0"}, {123456.7, 6, "123457"}, {1234567, 6, "1.2e+06"}, {12646.2, 7, "12646.2"}, {262743.4, 7, "262743"}} {
		if got := fits(c.v, c.width); got != c.want {
			t.Errorf("fits(%v, %d) = %q, want %q", c.v, c.width, got, c.want)
		}
	}
}
