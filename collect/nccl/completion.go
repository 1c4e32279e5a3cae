package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/evidence"
)

// completion reads a work completion in error (transport/net_ib.cc, net_ib/p2p.cc), whose form changed often:
//
//	Got completion with error 12, opcode 0, len 0, vendor err 129                                    2.4 to 2.9
//	Got completion from peer IP<port> with error 12, opcode 0, len 0, vendor err 129                 2.10 on
//	... (Send) localGid ::ffff:192.0.2.1 remoteGid ::ffff:192.0.2.2                                  2.18 on
//	Got completion from peer IP<port> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid .. remoteGids..   2.20 on
//	... hca mlx5_0                                                                                   2.22.3 on
//	Got completion from peer IP<port> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=NAME(0) reqSize=.. vendor_err=129 ..  2.28.7 on
//
// "remoteGids" has no blank behind it in the source. Opcode and length mean nothing on an error (verbs leaves them
// undefined) and are not kept.
func (l *Log) completion(m *message, rest []byte) {
	e := evidence.Event{Kind: evidence.CompletionError}
	plugin := bytes.HasSuffix(m.file, []byte(".c")) // the SHARP plugin has versions of its own
	bound := func(at func(major, minor, patch int), minor, patch int) {
		if !plugin {
			at(2, minor, patch)
		}
	}
	if from, ok := after(rest, "from peer "); ok {
		e.Peer, _ = peer(from)
		bound(l.bounds.atLeast, 10, 0)
	}
	if status, ok := after(rest, "with status="); ok {
		bound(l.bounds.atLeast, 20, 0)
		if !digit(first(status)) {
			status, _ = after(status, "(")
		}
		e.Status, _, _ = number(status)
	} else if status, ok := after(rest, "with error "); ok {
		bound(l.bounds.below, 20, 0)
		e.Status, _, _ = number(status)
	}
	if v, ok := numberAfter(rest, "vendor err "); ok {
		e.Vendor = v
	} else if v, ok := numberAfter(rest, "vendor_err="); ok {
		e.Vendor = v
		bound(l.bounds.atLeast, 28, 7)
	}
	if g, ok := after(rest, "localGid "); ok {
		e.Local = gid(g)
		bound(l.bounds.atLeast, 18, 0)
	}
	if g, ok := after(rest, "remoteGid"); ok {
		e.Remote = gid(bytes.TrimLeft(bytes.TrimPrefix(g, []byte("s")), " "))
	}
	if hca, ok := after(rest, " hca "); ok {
		e.Device = string(before(hca, " "))
		bound(l.bounds.atLeast, 22, 3)
	}
	switch {
	case bytes.Contains(rest, []byte("(Send)")):
		e.What = "send"
	case bytes.Contains(rest, []byte("(Recv)")):
		e.What = "recv"
	}
	l.event(m, e)
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}
