package joblog

import (
	"bytes"
	"net/netip"
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
	before := len(l.inv.NCCL.Events)
	l.add(e, line)
	l.failed = -1
	if len(l.inv.NCCL.Events) > before {
		l.failed = before
	}
	return UCX
}

// trouble reads UCX's own messages:
//
//	[1737449293.340768] [node13:559607:0]  ib_md.c:287  UCX  ERROR ibv_reg_mr(address=.., length=.., access=0xf) failed: Cannot allocate memory : ...
//	[1737449293.340768] [node13:559607:0]  mm_posix.c:206  UCX  ERROR Not enough memory to write total of 4292720 bytes. Please check that /dev/shm ...
//	[1737449293.340768] [node13:559607:0]  ucp_context.c:1112 UCX  WARN  network device 'mlx5_9:1' is not available, please use one or more of: ..
func (l *Log) trouble(f *fragment.Fragment, line []byte, n int) Source {
	i := bytes.Index(line, []byte(" UCX  "))
	head, text := line[:i], bytes.TrimSpace(line[i+len(" UCX  "):])
	level, text, _ := bytes.Cut(text, []byte(" "))
	text = bytes.TrimSpace(text)
	if string(level) != "ERROR" && string(level) != "WARN" {
		return None
	}
	e := evidence.Event{Kind: evidence.OtherWarning, Host: f.Host, Rank: -1, File: "UCX", What: string(text[:min(len(text), fragment.MaxText)]), From: f.At(n)}
	if id := bytes.LastIndexByte(head, '['); id >= 0 {
		if host, rest, ok := bytes.Cut(head[id+1:], []byte(":")); ok {
			e.Host = string(host)
			pid, _ := numberAfter(rest, "")
			e.Process = int(pid)
		}
	}
	switch {
	case bytes.HasPrefix(text, []byte("ibv_reg_mr(")), bytes.HasPrefix(text, []byte("ibv_reg_dmabuf_mr(")):
		e.Kind, e.What = evidence.RegisterFailed, "ibv_reg_mr"
		_, errno, _ := bytes.Cut(text, []byte("failed: "))
		errno, _, _ = bytes.Cut(errno, []byte(" :"))
		e.Errno = string(bytes.TrimSpace(errno))
	case bytes.HasPrefix(text, []byte("Not enough memory to write total of")):
		e.Kind, e.Errno = evidence.ShmFailed, "No space left on device"
	case bytes.HasPrefix(text, []byte("network device '")):
	default:
		return None
	}
	l.add(e, line)
	return UCX
}

// request reads the second line UCX prints of a completion in error: where the request was to go, by LID on InfiniBand and by
// GID on RoCE.
//
//	[node1:7391:0:7391] ib_mlx5_log.c:177  DCI QP 0x14e4 wqe[0]: SEND s-e [rqpn 0x2248a rmac .. sgix 0 dgid fe80::1 tc 0] [inl len 18]
//	[node1:7391:0:7391] ib_mlx5_log.c:177  DCI QP 0x10f3a wqe[446]: SEND s-e [rqpn 0x32ca rlid 19352] [inl len 20]
func (l *Log) request(line []byte) Source {
	if l.failed < 0 || l.failed >= len(l.inv.NCCL.Events) {
		return UCX
	}
	e := &l.inv.NCCL.Events[l.failed]
	l.failed = -1
	if pid, _ := numberAfter(between(line, "[", "]"), ":"); e.Process != 0 && int(pid) != e.Process {
		return UCX
	}
	to := between(line, "[rqpn ", "]")
	if lid, ok := numberAfter(to, "rlid "); ok {
		e.Peer = "LID " + strconv.FormatInt(lid, 10)
	}
	if index, ok := numberAfter(to, "sgix "); ok {
		e.GIDIndex, e.HasGIDIndex = int(index), true
	}
	if _, rest, ok := bytes.Cut(to, []byte("dgid ")); ok {
		word, _, _ := bytes.Cut(rest, []byte(" "))
		if a, err := netip.ParseAddr(string(word)); err == nil {
			e.Remote = netip.AddrFrom16(a.As16())
			e.Peer = a.Unmap().String()
		}
	}
	return UCX
}
