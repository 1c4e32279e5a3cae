package nccltests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) *evidence.Inventory {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return inv
}

func show(calls []evidence.Call) (out []string) {
	for _, c := range calls {
		half := "out"
		if c.InPlace {
			half = "in"
		}
		out = append(out, fmt.Sprintf("%d %s %v %v %v %s wrong=%d ranks=%d table=%d line=%d", c.Bytes, half, c.Time, c.AlgBW, c.BusBW, c.Kind, c.Wrong, c.Ranks, c.Table, c.From.Line))
	}
	return out
}

func TestLayouts(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"with root", `# nccl-tests version 2.16.4 nccl-headers=22602 nccl-library=22602
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   2045 on  node1 device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   2046 on  node1 device  1 [0000:0a:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1   5480.2  195.93  367.37      0   5478.9  195.98  367.46    N/A
  2147483648     536870912     float     sum      -1  1.2e+06    1.79    3.36      3  1.2e+06    1.79    3.36      0
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 185.3
`, []string{
			"1073741824 out 5.4802ms 195.93 367.37 all_reduce wrong=0 ranks=2 table=0 line=12",
			"1073741824 in 5.4789ms 195.98 367.46 all_reduce wrong=-1 ranks=2 table=0 line=12",
			"2147483648 out 1.2s 1.79 3.36 all_reduce wrong=3 ranks=2 table=0 line=13",
			"2147483648 in 1.2s 1.79 3.36 all_reduce wrong=0 ranks=2 table=0 line=13",
		}},
		{"2018", `# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#                                                     out-of-place                    in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float     sum    40.56    0.00    0.00  0e+00    39.06    0.00    0.01  2e-07
`, []string{"8 out 40.56us 0 0  wrong=-1 ranks=0 table=0 line=5", "8 in 39.06us 0 0.01  wrong=-1 ranks=0 table=0 line=5"}},
		{"no operation in the rows", `#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     8388608       2097152     float                      350.1   23.96   22.46      0    351.0   23.90   22.41      0
`, []string{"8388608 out 350.1us 23.96 22.46  wrong=0 ranks=0 table=0 line=2", "8388608 in 351us 23.9 22.41  wrong=0 ranks=0 table=0 line=2"}},
		{"head cut off", `  1073741824     268435456     float     sum      -1   5480.2  195.93  367.37      0   5478.9  195.98  367.46      0
`, []string{"1073741824 out 5.4802ms 195.93 367.37  wrong=0 ranks=0 table=0 line=1", "1073741824 in 5.4789ms 195.98 367.46  wrong=0 ranks=0 table=0 line=1"}},
		{"with quantiles", `#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong     min     max     p99
     8388608       2097152     float     sum      -1    350.1   23.96   22.46      0    351.0   23.90   22.41      0   340.0   360.0   359.0
`, []string{"8388608 out 350.1us 23.96 22.46  wrong=0 ranks=0 table=0 line=2", "8388608 in 351us 23.9 22.41  wrong=0 ranks=0 table=0 line=2"}},
		{"broken off in the row", `#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     8388608       2097152     float     sum      -1    350.1   23.96   22.46      0
    16777216       4194304     float     sum      -1    350.1
`, []string{"8388608 out 350.1us 23.96 22.46  wrong=0 ranks=0 table=0 line=2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv := read(t, tc.text)
			if diff := cmp.Diff(tc.want, show(inv.Calls)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Two runs in one file are two tables; a foot alone is one without rows.
func TestTables(t *testing.T) {
	const run = `# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)
#   Rank  0 Pid  20109 on node1 device  0 [0x1a] Tesla V100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    40.56    0.00    0.00      0    39.06    0.00    0.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 9.84
`
	inv := read(t, "# Collective test starting: alltoall_perf\n"+run+"\n"+run+"# Avg bus bandwidth    : 3.5\n")
	var got []string
	for _, tb := range inv.Tables {
		got = append(got, fmt.Sprint(tb.Index, " ", tb.Test, " ", tb.Ranks, " ", tb.AvgBusBW, " ", tb.OutOfBounds))
	}
	want := []string{"0 alltoall_perf 1 9.84 0", "1 alltoall_perf 1 9.84 0", "2 alltoall_perf 1 3.5 unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(inv.Calls); n != 4 || inv.Calls[3].Table != 1 || inv.Calls[3].Name != "alltoall_perf" || inv.Calls[3].Step != -1 {
		t.Errorf("%d calls, last %+v", n, inv.Calls[n-1])
	}
}

func TestTestOf(t *testing.T) {
	for command, want := range map[string]string{
		"mpirun -np 16 ./build/all_reduce_perf -b 8 -e 8G": "all_reduce_perf",
		"/opt/x/sendrecv_perf":                             "sendrecv_perf",
		"./linux_perf record":                              "",
		"":                                                 "",
	} {
		if got := TestOf(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// JSON and text say the same.
func TestRead(t *testing.T) {
	inv := &evidence.Inventory{}
	err := Read(fragment.New(inv, "f"), []byte(`{"nccl_version":"2.28.9","config":{"nthreads":1,"minimum_bytes":8,"devices":[{"rank":0,"hostname":"node1"},{"rank":1,"hostname":"node2"}]},
"results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":100.5,"alg_bw":10.4,"bus_bw":10.4,"nwrong":0},"in_place":{"cpu_time":99,"alg_bw":10.6,"bus_bw":10.6,"nwrong":null},"actual_iterations":20,"experiment_name":"all_reduce_perf"},
{"size":8,"out_of_place":null,"in_place":{"time":-1,"alg_bw":0,"bus_bw":0}}],
"out_of_bounds":{"count":0,"okay":true},"average_bus_bandwidth":{"bandwidth":10.5,"okay":"unchecked"}}`), 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range inv.Calls {
		got = append(got, fmt.Sprint(c.Name, " ", c.Kind, " ", int64(c.Bytes), " ", c.Ranks, " ", c.Wrong, " ", c.Time, " ", c.AlgBW, " ", c.BusBW, " ", c.InPlace, " ", c.From.Line))
	}
	want := []string{"all_reduce_perf all_reduce 1048576 2 0 100.5us 10.4 10.4 false 3", "all_reduce_perf all_reduce 1048576 2 -1 99us 10.6 10.6 true 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tb := inv.Tables[0]; tb.AvgBusBW.Or(0) != 10.5 || tb.OutOfBounds.Or(-1) != 0 || tb.MinBytes.Or(0) != 8 || len(tb.Hosts) != 2 || tb.Ranks != 2 {
		t.Errorf("%+v", tb)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n 8 2 float sum -1 1 2 3 N/A 4 5 6 7\n# Avg bus bandwidth : nan\n# Out of bounds values : x")
	f.Add("1 2 3 4 5 6 7 8 9 10 11\n# Rank 0\n# Collective test starting:")
	f.Fuzz(func(t *testing.T, text string) {
		inv := read(t, text)
		for _, c := range inv.Calls {
			if c.Bytes < 0 || c.Time < 0 || c.AlgBW < 0 || c.BusBW < 0 || c.Table >= len(inv.Tables) {
				t.Fatalf("%+v", c)
			}
		}
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}

// What a run was of: its smallest size and its hosts, each once; the next run's own.
func TestHeadOfTable(t *testing.T) {
	inv := read(t, `# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 8589934592 step: 2(factor)
#  Rank  0 Group  0 Pid   2045 on  node1.example.net device  0 [0000:07:00] NVIDIA H100
#  Rank  1 Group  0 Pid   2046 on  node1.example.net device  1 [0000:0a:00] NVIDIA H100
#  Rank  2 Group  0 Pid   2047 on  node2.example.net device  0 [0000:07:00] NVIDIA H100
# Avg bus bandwidth    : 9.84
# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)
# Avg bus bandwidth    : 1
`)
	if len(inv.Tables) != 2 {
		t.Fatalf("%d tables", len(inv.Tables))
	}
	a, b := inv.Tables[0], inv.Tables[1]
	if a.MinBytes.Or(0) != 1<<30 || fmt.Sprint(a.Hosts) != "[node1 node2]" || a.Ranks != 3 || b.MinBytes.Or(0) != 8 || len(b.Hosts) != 0 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"config":{"minimum_bytes":-1},"results":[{"size":-1,"out_of_place":{"time":1e99,"alg_bw":-1}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = Read(fragment.New(&evidence.Inventory{}, "f"), text, 1) // an error is one of the answers
	})
}
