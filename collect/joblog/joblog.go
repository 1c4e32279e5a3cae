// Package joblog owns reading what the other libraries of a job print: PyTorch's watchdog of process groups, its store and
// Gloo, UCX, Open MPI's TCP transport, the SHARP library and daemon, Mooncake, libibverbs, and what torchrun and Slurm say of
// a process that ended.
//
// Their lines stand in the same files as NCCL's, and their events go into the same list, in the same order.
//
// Read joblog.go (dispatch), torch.go, python.go, rendezvous.go, launcher.go, then ucx.go, mpi.go, sharp.go, transfer.go and verbs.go.
package joblog

import (
	"bytes"
	"io"
	"strconv"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxWork is how many states of ranks are kept: those of the largest jobs that have been reported, four times over.
const MaxWork = 1 << 17

// Source is the program a line is of.
type Source string

// Sources, as the list of files names them.
const (
	None     Source = ""
	PyTorch  Source = "PyTorch log"
	UCX      Source = "UCX log"
	OpenMPI  Source = "Open MPI log"
	SHARP    Source = "SHARP log"
	Verbs    Source = "libibverbs"
	Mooncake Source = "Mooncake log"
	Launcher Source = "launcher"
)

// Log reads the lines of any number of files.
type Log struct {
	inv    *evidence.Inventory
	events *fragment.Events

	// Of the process torchrun's report is about at the moment.
	failedHost string
	failedRank int

	open map[string]int // tracebacks: what their lines begin with, and how many there were

	failed int // index of the event that UCX's next line tells more about, -1 for none
}

// New makes a reader that writes into inv, and its events through events.
func New(inv *evidence.Inventory, events *fragment.Events) *Log {
	return &Log{inv: inv, events: events, failedRank: -1, failed: -1, open: map[string]int{}}
}

// Parse reads a log into the fragment's inventory.
func Parse(r io.Reader, f *fragment.Fragment) error {
	l := New(f.Inv, fragment.NewEvents())
	return lines.Each(r, func(line []byte, n int) { l.Line(f, line, n) })
}

// Line reads one line; it returns None for one that is of no program known here.
func (l *Log) Line(f *fragment.Fragment, line []byte, n int) Source {
	if bytes.Contains(line, []byte("ProcessGroupNCCL")) {
		l.torch(f, line, n)
		return PyTorch
	}
	if (len(l.open) > 0 || bytes.Contains(line, traceback)) && l.python(f, line, n) {
		return PyTorch
	}
	if bytes.Contains(line, []byte("libibverbs: Warning: ")) {
		return l.verbs(f, line, n)
	}
	if host, ok := bytes.CutPrefix(line, []byte("  host      : ")); ok {
		l.failedHost, l.failedRank = string(host[:min(len(host), 255)]), -1 // 255: the longest name of a host (RFC 1123)
		return Launcher
	}
	if bytes.Contains(line, []byte(": error: ")) && l.slurm(f, line, n) {
		return Launcher
	}
	if bytes.IndexByte(line, '[') < 0 && bytes.IndexByte(line, '(') < 0 { // the others have brackets, most lines have none
		return None
	}
	has := func(mark string) bool { return bytes.Contains(line, []byte(mark)) }
	under := bytes.IndexByte(line, '_') >= 0 // a scan for a byte is far faster than one for a word, and most lines end here
	switch {
	case has("(synd 0x"):
		return l.ucx(f, line, n)
	case bytes.IndexByte(line, 'X') >= 0 && has(" UCX  "):
		return l.trouble(f, line, n)
	case bytes.IndexByte(line, 'q') >= 0 && has(" [rqpn "):
		return l.request(line)
	case under && has("[btl_tcp_"):
		l.mpi(f, line, n)
		return OpenMPI
	case under && has("sharp_am["), bytes.IndexByte(line, 'R') >= 0 && has("] ERROR "):
		return l.sharp(f, line, n)
	case has("onnect") && l.rendezvous(f, line, n):
		return PyTorch
	case under && has("(local_rank: "), bytes.IndexByte(line, 'S') >= 0 && has("Signal "):
		return l.elastic(f, line, n)
	case under && (has("rdma_") || has("worker_pool.cpp")), bytes.IndexByte(line, 'R') >= 0 && has("to RTR"):
		return l.transfer(f, line, n)
	}
	return None
}

func (l *Log) add(e evidence.Event, line []byte) {
	e.Text = string(line[:min(len(line), fragment.MaxText)])
	l.events.Add(&l.inv.NCCL, e)
}

// between is what stands between two marks, nil where one is missing.
func between(b []byte, open, end string) []byte {
	i := bytes.Index(b, []byte(open))
	if i < 0 {
		return nil
	}
	b = b[i+len(open):]
	j := bytes.Index(b, []byte(end))
	if j < 0 {
		return nil
	}
	return b[:j]
}

// numberAfter reads the whole number behind a mark.
func numberAfter(b []byte, mark string) (int64, bool) {
	i := bytes.Index(b, []byte(mark))
	if i < 0 {
		return 0, false
	}
	b = bytes.TrimLeft(b[i+len(mark):], " ")
	n := 0
	for n < len(b) && (b[n] >= '0' && b[n] <= '9' || n == 0 && b[n] == '-') {
		n++
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 64)
	return v, err == nil
}
