package nccl

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Algorithms and protocols by the numbers NCCL printed up to 2.22 (src/include/nccl_common.h, NCCL_ALGO_ and
// NCCL_PROTO_).
var (
	algorithms = []string{"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"}
	protocols  = []string{"LL", "LL128", "Simple"}
)

type tuningKey struct {
	host, collective string
	bytes            int64
	algo, proto      string
}

// tuning reads which algorithm and protocol were chosen for a size (NCCL_DEBUG_SUBSYS=TUNING, printed by rank 0 alone;
// src/enqueue.cc, later src/enqueue/enqueue.cc):
//
//	4194304 Bytes -> Algo 1 proto 2 time 123.4                                      up to 2.19
//	AllReduce: 4194304 Bytes -> Algo 1 proto 2 channel{Lo..Hi}={0..7}               2.20 on
//	AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}       2.23 on
//
// It returns false for any other line.
func (l *Log) tuning(m *message) bool {
	arrow := bytes.Index(m.msg, []byte(" Bytes -> Algo "))
	if arrow < 0 {
		return false
	}
	left := m.msg[:arrow]
	collective := ""
	if name, rest, ok := bytes.Cut(left, []byte(": ")); ok {
		collective, left = l.name(name), rest
	}
	size, rest, ok := number(left)
	if !ok || len(rest) > 0 || size < 0 {
		return true
	}
	words := bytes.Fields(m.msg[arrow+len(" Bytes -> Algo "):])
	if len(words) < 3 || string(words[1]) != "proto" {
		return true
	}
	key := tuningKey{m.name, collective, int64(size), l.name([]byte(named(words[0], algorithms))), l.name([]byte(named(words[2], protocols)))}
	if i, ok := l.tuned[key]; ok {
		l.inv.NCCL.Tuning[i].Count++
		return true
	}
	if len(l.tuned) >= MaxDistinct {
		l.inv.NCCL.Repeated++
		return true
	}
	l.tuned[key] = len(l.inv.NCCL.Tuning)
	c := evidence.TuningChoice{Host: m.name, Collective: collective, Bytes: units.Bytes(size), Algorithm: key.algo, Protocol: key.proto, Count: 1, From: m.at}
	if span, ok := after(m.msg, "channel{Lo..Hi}={"); ok {
		low, rest, ok1 := number(span)
		if high, ok := bytes.CutPrefix(rest, []byte("..")); ok && ok1 {
			if h, _, ok := number(high); ok && h >= low {
				c.Channels = h - low + 1
			}
		}
	}
	l.inv.NCCL.Tuning = append(l.inv.NCCL.Tuning, c)
	return true
}

// named brings "1", "RING" and "Ring" to one spelling.
func named(word []byte, names []string) string {
	if i, err := strconv.ParseUint(string(word), 10, 8); err == nil && int(i) < len(names) {
		return names[i]
	}
	for _, n := range names {
		if strings.EqualFold(n, strings.ReplaceAll(string(word), "_", "")) {
			return n
		}
	}
	return string(word)
}

type calledKey struct {
	host, collective string
	count, datatype  int
}

// called counts the calls of collectives (NCCL_DEBUG_SUBSYS=COLL; src/enqueue.cc, ncclEnqueueCheck). opCount is
// hexadecimal:
//
//	AllReduce: opCount 5a sendbuff 0x7f.. recvbuff 0x7f.. count 1048576 datatype 7 op 0 root 0 comm 0x55.. [nranks=8] stream 0x..
func (l *Log) called(m *message) {
	name, rest, ok := bytes.Cut(m.msg, []byte(": opCount "))
	if !ok || len(name) > 32 {
		return
	}
	op, err := strconv.ParseInt(string(before(rest, " ")), 16, 64)
	count, ok1 := numberAfter(rest, " count ")
	datatype, ok2 := numberAfter(rest, " datatype ")
	if err != nil || !ok1 || !ok2 {
		return
	}
	key := calledKey{m.name, l.name(name), count, datatype}
	if i, ok := l.calls[key]; ok {
		c := &l.inv.NCCL.CallsSeen[i]
		c.Count++
		c.LastOp = max(c.LastOp, op)
		return
	}
	if len(l.calls) >= MaxDistinct {
		l.inv.NCCL.Repeated++
		return
	}
	l.calls[key] = len(l.inv.NCCL.CallsSeen)
	c := evidence.CallSeen{Host: m.name, Collective: key.collective, Elements: int64(count), Type: datatype, Count: 1, LastOp: op, From: m.at}
	c.Ranks, _ = numberAfter(rest, "[nranks=")
	l.inv.NCCL.CallsSeen = append(l.inv.NCCL.CallsSeen, c)
}
