package joblog

import (
	"bytes"
	"strconv"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// completions maps UCX's words (src/uct/ib/mlx5/ib_mlx5_log.c) to the work completion statuses of verbs.h.
var completions = []struct {
	words  string
	status int
}{
	{"Transport retry count exceeded", 12},
	{"Receive-no-ready retry count exceeded", 13},
	{"Remote access", 10},
	{"Remote QP", 11},
	{"Invalid request", 9},
	{"Local access", 8},
	{"WR flushed because QP in error state", 5},
	{"Local protection", 4},
	{"Local length", 1},
}

// ucx reads a completion in error as UCX prints it:
//
//	[node1:7391 :0]  ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)
//
// "synd" is the device's own number; "vend" is the vendor error NCCL prints in decimal.
func (l *Log) ucx(f *fragment.Fragment, line []byte, n int) Source {
	e := evidence.Event{Kind: evidence.CompletionError, Host: f.Host, Rank: -1, What: "UCX", From: f.At(n)}
	for _, c := range completions {
		if bytes.Contains(line, []byte(c.words)) {
			e.Status = c.status
			break
		}
	}
	if e.Status == 0 {
		return None
	}
	if head := between(line, "[", "]"); head != nil {
		host, rest, _ := bytes.Cut(head, []byte(":"))
		if rest != nil {
			e.Host = string(host)
			pid, _ := numberAfter(rest, "")
			e.Process = int(pid)
		}
	}
	if dev := between(line, " on ", " "); dev != nil {
		name, port, _ := bytes.Cut(dev, []byte(":"))
		e.Device = string(name)
		p, _ := numberAfter(port, "")
		e.DevicePort = int(p)
	}
	if v, err := strconv.ParseInt(string(bytes.TrimRight(between(line, "vend 0x", " "), ")")), 16, 32); err == nil {
		e.Vendor = int(v)
	}
	for word := range bytes.FieldsSeq(line) {
		if name, _, ok := bytes.Cut(word, []byte(".c:")); ok {
			e.File = string(name) + ".c"
			break
		}
	}
	l.add(e, line)
	return UCX
}
