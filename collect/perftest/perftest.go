// Package perftest owns reading what the tests of linux-rdma/perftest print: ib_write_bw, ib_read_bw, ib_send_bw.
//
// Rates are brought to bit/s. "MB/sec" of old versions is, as "MiB/sec" of new ones, 2^20 bytes a second
// (src/perftest_parameters.c, RESULT_LINE). Latency tests are recognised and not kept.
package perftest

import (
	"bytes"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxRuns limits the runs kept of all inputs, and MaxRows the sizes of one (-a runs 23).
const (
	MaxRuns = 1 << 14
	MaxRows = 1 << 10
)

// Test reads the outputs of one input:
//
//	                   RDMA_Write BW Test
//	Dual-port       : OFF		Device         : mlx5_0
//	Number of qps   : 1		Transport type : IB
//	Mtu             : 4096[B]
//	#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
//	65536      5000             392.1              391.9              0.747
//	Failed status 12: wr_id 0 syndrom 0x81
type Test struct {
	f     *fragment.Fragment
	open  bool
	rows  bool // a head of columns was seen and its rows follow
	unit  float64
	title string
	far   bool // the GID that follows is the peer's
}

// New makes a reader for one input.
func New(f *fragment.Fragment) *Test { return &Test{f: f} }

// Parse reads an input.
func Parse(r io.Reader, f *fragment.Fragment) error {
	t := New(f)
	return lines.Each(r, func(line []byte, n int) { t.Line(line, n) })
}

// heads begin lines that no other tool prints.
var heads = [][]byte{
	[]byte("Number of qps   :"), []byte("Dual-port       :"), []byte("Conflicting CPU frequency values"), []byte("CQ Moderation   :"),
	[]byte("Connection type : "), []byte("rdma_cm QPs"), []byte("Couldn't allocate MR"), []byte("Unable to Connect the HCA's through the link"),
}

// Starts tells whether a line is one only perftest prints.
func Starts(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	for _, h := range heads {
		if bytes.HasPrefix(t, h) {
			return true
		}
	}
	if bytes.HasPrefix(t, []byte("Failed status ")) && bytes.Contains(t, []byte(": wr_id ")) {
		return true
	}
	return bytes.HasPrefix(t, []byte("#bytes")) || bytes.HasSuffix(t, []byte(" BW Test")) || command(string(t[:min(len(t), maxCommand)]))
}

// maxCommand is how much of a line is looked at for the name of a test: what stands before it is numactl at most.
const maxCommand = 120

// command tells whether a line runs a test: with its options the name of a test tells, as --use_cuda does, where the
// memory was.
func command(s string) bool {
	s = bare(strings.TrimLeft(s, "$# "))
	for _, name := range [...]string{"ib_write_bw", "ib_read_bw", "ib_send_bw"} {
		if rest, ok := strings.CutPrefix(s, name); ok && (rest == "" || rest[0] == ' ') {
			return true
		}
	}
	return false
}

// bare takes off what a test is started by: numactl and taskset with their options, sudo, variables.
func bare(s string) string {
	for {
		word, rest, ok := strings.Cut(s, " ")
		rest = strings.TrimLeft(rest, " ")
		switch {
		case !ok:
			return s
		case word == "numactl" || word == "taskset" || word == "sudo" || strings.Contains(word, "=") && !strings.HasPrefix(word, "-"):
			s = rest
		case word == "-c" || word == "-N" || word == "-m": // taskset -c 3, numactl -N 0 -m 0
			_, s, _ = strings.Cut(rest, " ")
		case strings.HasPrefix(word, "--cpu") || strings.HasPrefix(word, "--membind") || strings.HasPrefix(word, "--physcpubind") || strings.HasPrefix(word, "--localalloc"):
			s = rest
		default:
			return s
		}
	}
}

// Line reads one line; false means that it is not of a test.
func (t *Test) Line(line []byte, n int) bool {
	s := string(line)
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "", strings.HasPrefix(trimmed, "----"):
		return true
	case command(trimmed):
		t.open, t.rows, t.title = false, false, strings.TrimLeft(trimmed, "$# ")
	case strings.HasSuffix(trimmed, " BW Test"):
		if t.open || t.title == "" { // else the command line stood right before, which tells more
			t.open, t.rows, t.title = false, false, trimmed
		}
		t.begin(n)
	case strings.HasPrefix(trimmed, "#bytes"):
		t.begin(n)
		t.columns(trimmed)
	case strings.HasPrefix(trimmed, "Failed status "):
		t.failed(trimmed, n)
	case strings.HasPrefix(trimmed, "Conflicting CPU frequency"):
		t.begin(n)
		t.run().Conflict = t.f.At(n)
	case refusal(trimmed) != "":
		t.begin(n)
		if run := t.run(); !run.Failed.Known() {
			run.Failed = evidence.Known(refusal(trimmed), t.f.At(n))
		}
	case strings.HasPrefix(trimmed, "local address:"), strings.HasPrefix(trimmed, "remote address:"):
		t.far = trimmed[0] == 'r'
	case strings.HasPrefix(trimmed, "GID:"):
		t.gid(trimmed, n)
	case t.rows && trimmed[0] >= '0' && trimmed[0] <= '9':
		t.row(strings.Fields(trimmed), n)
	case strings.Contains(s, ":"):
		t.parameters(s, n)
	default:
		return false
	}
	return true
}

// refusal tells what a test could not do before it sent anything (src/perftest_resources.c), "" for any other line.
func refusal(s string) string {
	switch {
	case strings.HasPrefix(s, "Couldn't allocate MR"), strings.EqualFold(s, "failed to create mr"):
		return "register memory"
	case strings.HasPrefix(s, "Failed to modify QP") && strings.Contains(s, " to RT"):
		return "set up a QP"
	}
	return ""
}

// gid reads the 16 bytes of a GID, in decimal: "GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:01".
func (t *Test) gid(s string, n int) {
	parts := strings.Split(strings.TrimSpace(strings.TrimPrefix(s, "GID:")), ":")
	var raw [16]byte
	if len(parts) != len(raw) {
		return
	}
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return
		}
		raw[i] = byte(v)
	}
	t.begin(n)
	to := &t.run().LocalGID
	if t.far {
		to = &t.run().RemoteGID
	}
	if !to.Known() {
		*to = evidence.Known(netip.AddrFrom16(raw), t.f.At(n))
	}
}

func (t *Test) run() *evidence.Perftest { return &t.f.Inv.Perftests[len(t.f.Inv.Perftests)-1] }

// begin makes the entry of a run, once. Past the limit the last run takes everything, and is wrong in no more
// than one of MaxRuns.
func (t *Test) begin(n int) {
	if t.open || len(t.f.Inv.Perftests) >= MaxRuns {
		return
	}
	t.open = true
	t.f.Inv.Perftests = append(t.f.Inv.Perftests, evidence.Perftest{Test: t.title, Host: t.f.Host, Device: t.f.Device, From: t.f.At(n)})
}

// columns reads the head of a bandwidth table; t.rows stays false for one of latencies.
func (t *Test) columns(head string) {
	_, after, ok := strings.Cut(head, "BW average[")
	unit, _, _ := strings.Cut(after, "]")
	switch unit {
	case "Gb/sec":
		t.unit = 1e9
	case "MB/sec", "MiB/sec":
		t.unit = 8 << 20
	default:
		ok = false
	}
	t.rows = ok
}

func (t *Test) row(fields []string, n int) {
	run := t.run()
	if len(fields) < 4 || len(run.Rows) >= MaxRows {
		return
	}
	size, err1 := strconv.ParseInt(fields[0], 10, 64)
	iterations, err2 := strconv.ParseInt(fields[1], 10, 64)
	peak, err3 := strconv.ParseFloat(fields[2], 64)
	average, err4 := strconv.ParseFloat(fields[3], 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || !sane(peak) || !sane(average) {
		return
	}
	run.Rows = append(run.Rows, evidence.PerftestRow{
		Bytes: units.Bytes(size), Iterations: iterations, Peak: units.Rate(math.Round(peak * t.unit)), Average: units.Rate(math.Round(average * t.unit)), From: t.f.At(n),
	})
}

// sane keeps what fits a rate: no link carries 10^8 Gb/s.
func sane(v float64) bool { return v >= 0 && v < 1e8 }

func (t *Test) failed(s string, n int) {
	t.begin(n)
	rest := strings.TrimPrefix(s, "Failed status ")
	status, rest, _ := strings.Cut(rest, ":")
	if v, err := strconv.Atoi(strings.TrimSpace(status)); err == nil {
		t.run().Status = evidence.Known(v, t.f.At(n))
	}
	if _, hex, ok := strings.Cut(rest, "syndrom 0x"); ok {
		hex, _, _ = strings.Cut(hex, " ")
		if v, err := strconv.ParseInt(hex, 16, 32); err == nil {
			t.run().Syndrome = int(v)
		}
	}
}

// parameters reads the head: one or two "name : value" in a line.
func (t *Test) parameters(line string, n int) {
	at := t.f.At(n)
	for _, name := range [...]string{"Number of qps", "Mtu", "GID index", "Link type", "rdma_cm QPs", "Device", "Connection type"} {
		v, ok := parameter(line, name)
		if !ok {
			continue
		}
		t.begin(n)
		run := t.run()
		switch name {
		case "Number of qps":
			known(&run.QPs, v, at)
		case "Mtu":
			known(&run.MTU, strings.TrimSuffix(v, "[B]"), at)
		case "GID index":
			known(&run.GIDIndex, v, at)
		case "Link type":
			run.LinkLayer = evidence.Known(layer(v), at)
		case "rdma_cm QPs":
			run.RDMACM = evidence.Known(v == "ON", at)
		case "Device":
			run.Device = v
		case "Connection type":
			run.Connection = evidence.Known(v, at)
		}
	}
}

// layer brings "IB" to the word of ibv_devinfo.
func layer(v string) string {
	if v == "IB" {
		return "InfiniBand"
	}
	return v
}

// parameter finds the value of a name: up to a tab or two blanks, behind which a second pair may follow.
func parameter(line, name string) (string, bool) {
	i := strings.Index(line, name)
	if i < 0 {
		return "", false
	}
	rest := strings.TrimLeft(line[i+len(name):], " \t")
	v, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return "", false
	}
	v = strings.TrimLeft(v, " \t")
	if end := strings.IndexByte(v, '\t'); end >= 0 {
		v = v[:end]
	}
	if end := strings.Index(v, "  "); end >= 0 {
		v = v[:end]
	}
	return strings.TrimSpace(v), true
}

func known(to *evidence.Value[int], v string, at evidence.Source) {
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		*to = evidence.Known(int(n), at)
	}
}
