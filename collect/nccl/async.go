package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/evidence"
)

// async reads what a device reported about itself (ncclIbAsyncThreadMain in transport/net_ib.cc, later
// net_ib/common.cc). What becomes the text of libibverbs (ibv_event_type_str), the same in all forms:
//
//	Got async event : port error                                     up to 2.19
//	mlx5_0:1 Got async event : port error                            2.20 to 2.22
//	mlx5_0:1 Got async error event: port error                       2.23 to 2.28
//	mlx5_0:1 async fatal event on QP (0x7f..): local access ...      2.23.4 on; CQ and SRQ alike
//	mlx5_0:1 GID table changed                                       2.28 on; 2.23 to 2.27 say "unknown event type (18)"
//	mlx5_0:1 Got non-fatal async event: port active(9)               2.29 on
func (l *Log) async(m *message, rest []byte) {
	e := evidence.Event{Kind: evidence.AsyncEvent}
	named := false
	if word := before(rest, " "); bytes.IndexByte(word, ':') > 0 {
		e.Device, e.DevicePort = devicePort(word)
		rest = bytes.TrimLeft(rest[len(word):], " ")
		named = true
	}
	switch {
	case bytes.HasPrefix(rest, []byte("Got async event")):
		e.What = text(rest)
		if named {
			l.bounds.atLeast(2, 20, 0)
		} else {
			l.bounds.below(2, 21, 0)
		}
		l.bounds.below(2, 23, 4)
	case bytes.HasPrefix(rest, []byte("Got async error event")):
		e.What = text(rest)
		l.bounds.atLeast(2, 23, 0)
		l.bounds.below(2, 29, 0)
	case bytes.HasPrefix(rest, []byte("Got non-fatal async event")):
		e.What = string(before([]byte(text(rest)), "("))
		l.bounds.atLeast(2, 29, 0)
	case bytes.HasPrefix(rest, []byte("async fatal event on ")):
		e.What, e.Fatal = text(rest), true
		l.bounds.atLeast(2, 23, 4)
	case bytes.HasPrefix(rest, []byte("GID table changed")):
		e.What = gidChange
		l.bounds.atLeast(2, 28, 0)
	case bytes.HasPrefix(rest, []byte("unknown event type (18)")): // IBV_EVENT_GID_CHANGE in rdma-core verbs.h
		e.What = gidChange
	default:
		e.What = string(rest)
	}
	l.event(m, e)
}

const gidChange = "GID table changed"

// text is what follows the first colon.
func text(b []byte) string {
	_, t, _ := bytes.Cut(b, []byte(":"))
	return string(bytes.TrimSpace(t))
}
