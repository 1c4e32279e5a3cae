// Package nccltests owns reading the tables of nccl-tests: every layout since the first, whole or cut, with NCCL's
// own lines between the rows (which the caller has taken out before).
//
// busbw and algbw are kept as printed. The average in the foot is over all sizes that were run, so it compares
// with another run only when both ran the same sizes.
package nccltests

import (
	"bytes"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxCalls limits the rows that are kept of all inputs: a sweep has some thirty sizes, so this is a thousand runs.
const MaxCalls = 1 << 16

// Table reads tables (src/common.cu, writeResultHeader and writeBenchmarkLine):
//
//	# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) ...
//	#  Rank  0 Group  0 Pid   2045 on  node1 device  0 [0000:07:00] NVIDIA H100 80GB HBM3
//	#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//	#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
//	  1073741824     268435456     float     sum      -1   5480.2  195.93  367.37      0   5478.9  195.98  367.46    N/A
//	# Out of bounds values : 0 OK
//	# Avg bus bandwidth    : 123.4
//
// Older ones have no root, and "error" with values such as 0e+00 in place of "#wrong". Columns are told by the head
// of the table; a table whose head was cut off is read by the number of its columns.
type Table struct {
	f       *fragment.Fragment
	test    string
	ranks   int
	columns []string
	open    bool // a table has begun and its foot has not come
	least   evidence.Value[units.Bytes]
	hosts   []string
	firsts  []evidence.FirstRank // since the last table
	fresh   bool                 // no table since the first of them
	at      int                  // index into Inv.Tables of the open table
}

// New makes a reader for one input.
func New(f *fragment.Fragment) *Table { return &Table{f: f} }

// Parse reads an output of nccl-tests.
func Parse(r io.Reader, f *fragment.Fragment) error {
	t := New(f)
	return lines.Each(r, func(line []byte, n int) { t.Line(line, n) })
}

// Starts tells whether a line is one only nccl-tests prints.
func Starts(line []byte) bool {
	if len(line) < 8 || line[0] != '#' {
		return false
	}
	t := bytes.TrimLeft(line, "# ")
	for _, p := range starts {
		if bytes.HasPrefix(t, p) {
			return true
		}
	}
	return header(line) != nil
}

var starts = [][]byte{
	[]byte("nThread "), []byte("nccl-tests version"), []byte("Collective test starting"), []byte("Out of bounds values"), []byte("Avg bus bandwidth"), []byte("Using devices"),
}

// header splits the head of the columns, nil where the line is none.
func header(line []byte) []string {
	f := strings.Fields(strings.TrimLeft(string(line), "#"))
	if len(f) < 8 || f[0] != "size" || f[1] != "count" {
		return nil
	}
	return f
}

// Line reads one line; false means that it is not of a table.
func (t *Table) Line(line []byte, n int) bool {
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return true
	}
	if trimmed[0] != '#' {
		return t.row(trimmed, n)
	}
	text := string(bytes.TrimLeft(trimmed, "# "))
	switch {
	case strings.HasPrefix(text, "nThread "), strings.HasPrefix(text, "nccl-tests version"):
		t.open = false
		t.columns, t.ranks, t.hosts = nil, 0, nil
		if !t.fresh { // heads of processes that run side by side come one after the other
			t.firsts, t.fresh = nil, true
		}
		if _, rest, ok := strings.Cut(text, "minBytes "); ok {
			if v, ok := leading(rest); ok && v >= 0 {
				t.least = evidence.Known(units.Bytes(v), t.f.At(n))
			}
		}
		if strings.HasPrefix(text, "nccl-tests version") {
			t.test = ""
		}
	case strings.HasPrefix(text, "Collective test starting"):
		_, name, _ := strings.Cut(text, ":")
		t.test, t.open = strings.TrimSpace(name), false
	case strings.HasPrefix(text, "Rank "):
		t.ranks++
		t.host(text, n)
	case header(line) != nil:
		t.columns, t.open = header(line), false
		t.begin(n)
	case strings.HasPrefix(text, "Out of bounds values"):
		t.begin(n)
		if v, ok := leading(afterColon(text)); ok {
			t.table().OutOfBounds = evidence.Known(v, t.f.At(n))
		}
	case strings.HasPrefix(text, "Avg bus bandwidth"):
		t.begin(n)
		if v, err := strconv.ParseFloat(strings.TrimSpace(afterColon(text)), 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			t.table().AvgBusBW = evidence.Known(v, t.f.At(n))
		}
		t.open = false
	}
	return true
}

// Command tells the reader the command line that stands in the same input: it names the test.
func (t *Table) Command(line string) {
	if name := TestOf(line); name != "" {
		t.test = name
	}
}

// TestOf finds the name of a test in a command line, "" where there is none.
func TestOf(command string) string {
	for word := range strings.FieldsSeq(command) {
		if base := path.Base(word); strings.HasSuffix(base, "_perf") && kinds[base] != "" {
			return base
		}
	}
	return ""
}

// kinds are the programs of nccl-tests and the collective each runs.
var kinds = map[string]string{
	"all_reduce_perf": "all_reduce", "all_gather_perf": "all_gather", "reduce_scatter_perf": "reduce_scatter", "alltoall_perf": "alltoall",
	"broadcast_perf": "broadcast", "reduce_perf": "reduce", "sendrecv_perf": "sendrecv", "gather_perf": "gather", "scatter_perf": "scatter",
	"hypercube_perf": "hypercube", "alltoallv_perf": "alltoallv",
}

// KindOf is the collective a test runs, "" for one that is not known.
func KindOf(test string) string { return kinds[test] }

// begin makes the entry of a table, once.
func (t *Table) begin(n int) {
	if t.open {
		return
	}
	t.open, t.fresh, t.at = true, false, len(t.f.Inv.Tables)
	t.f.Inv.Tables = append(t.f.Inv.Tables, evidence.Table{Index: t.at, Test: t.test, Ranks: t.ranks, MinBytes: t.least, Hosts: t.hosts, Firsts: t.firsts, From: t.f.At(n)})
	t.least = evidence.Value[units.Bytes]{}
}

// maxFirsts is how many ranks 0 are kept before one table: two tell that the processes ran apart, and more only how many.
const maxFirsts = 64

// host reads the host of "Rank  0 Group  0 Pid   2045 on  node1 device  0 [...]".
func (t *Table) host(text string, n int) {
	head, rest, ok := strings.Cut(text, " on ")
	f := strings.Fields(rest)
	if !ok || len(f) < 2 || f[1] != "device" || len(t.hosts) >= evidence.MaxPorts {
		return
	}
	name, _, _ := strings.Cut(f[0], ".")
	if h := strings.Fields(head); len(h) > 1 && h[1] == "0" && len(t.firsts) < maxFirsts {
		t.firsts = append(t.firsts, evidence.FirstRank{Host: name, Process: h[len(h)-1], From: t.f.At(n)})
	}
	if !slices.Contains(t.hosts, name) {
		t.hosts = append(t.hosts, name)
	}
}

func (t *Table) table() *evidence.Table { return &t.f.Inv.Tables[t.at] }

// layouts are the columns by their number, for tables without a head: with a root (2021 on), without one, and
// without an operation (all_gather and its kin in old versions).
var layouts = map[int][]string{
	13: strings.Fields("size count type redop root time algbw busbw #wrong time algbw busbw #wrong"),
	12: strings.Fields("size count type redop time algbw busbw error time algbw busbw error"),
	11: strings.Fields("size count type time algbw busbw error time algbw busbw error"),
}

// row reads one row: the out-of-place half, then the in-place half.
func (t *Table) row(line []byte, n int) bool {
	if line[0] < '0' || line[0] > '9' {
		return false
	}
	fields := strings.Fields(string(line))
	columns := t.columns
	if columns == nil {
		columns = layouts[len(fields)]
	}
	size, err := strconv.ParseInt(fields[0], 10, 64)
	if columns == nil || err != nil || len(fields) < 6 || size < 0 {
		return false
	}
	if old, ok := t.fewer(columns, fields); ok {
		columns = old
	}
	t.begin(n)
	half := 0
	call := t.call(size, n)
	complete := 0
	for i, column := range columns {
		if i >= len(fields) {
			break
		}
		switch column {
		case "time":
			if half > 0 {
				t.add(call, complete)
				call, complete = t.call(size, n), 0
				call.InPlace = true
			}
			half++
			if us, ok := positive(fields[i]); ok && us < 1e12 {
				call.Time = units.Duration(us * float64(units.Microsecond))
				complete++
			}
		case "algbw":
			if v, ok := positive(fields[i]); ok {
				call.AlgBW = v
				complete++
			}
		case "busbw":
			if v, ok := positive(fields[i]); ok {
				call.BusBW = v
				complete++
			}
		case "#wrong", "error":
			call.Wrong = wrong(fields[i], column)
		}
	}
	t.add(call, complete)
	return true
}

// fewer finds the layout of a row that has fewer fields than the head has columns: the operation and root are blank
// in the rows of some tests.
func (t *Table) fewer(columns, fields []string) ([]string, bool) {
	blank := len(columns) - len(fields)
	if blank <= 0 || blank > 2 || len(fields) < 3 {
		return nil, false
	}
	if _, err := strconv.ParseFloat(fields[3], 64); err != nil {
		return nil, false
	}
	var out []string
	for _, c := range columns {
		if (c == "redop" || c == "root") && blank > 0 {
			blank--
			continue
		}
		out = append(out, c)
	}
	return out, blank == 0
}

func (t *Table) call(size int64, n int) evidence.Call {
	return evidence.Call{
		Name: t.test, Kind: kinds[t.test], Bytes: units.Bytes(size), Ranks: t.ranks, Step: -1, Wrong: -1, From: t.f.At(n), Table: t.at,
	}
}

// add keeps half a row that has time, algbw and busbw. A half that the log of another process broke off has not.
func (t *Table) add(c evidence.Call, complete int) {
	if complete == 3 && len(t.f.Inv.Calls) < MaxCalls {
		t.f.Inv.Calls = append(t.f.Inv.Calls, c)
	}
}

// wrong reads the number of wrong elements, -1 for N/A. The "error" column of old versions is the largest
// deviation, which is no count and not zero on healthy runs either, because sums are rounded: also -1.
func wrong(s, column string) int64 {
	v, ok := positive(s)
	if !ok || column == "error" {
		return -1
	}
	return int64(min(v, 1<<53))
}

func positive(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

func afterColon(s string) string {
	_, v, _ := strings.Cut(s, ":")
	return v
}

// leading reads the integer a text begins with.
func leading(s string) (int64, bool) {
	w, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseInt(w, 10, 64)
	return v, err == nil
}
