package joblog

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// rendezvous reads connections over TCP that PyTorch makes beside NCCL: those to its store
// (torch/csrc/distributed/c10d/socket.cpp), and those of Gloo, which joins the CPUs of a job (gloo/transport/tcp):
//
//	[c10d] The client socket has timed out after 600000ms while trying to connect to (node1, 29500).
//	[c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).
//	Gloo connectFullMesh failed with [.../pair.cc:144] timed out connecting: SO_ERROR: Connection refused, remote=[127.0.1.1]:1421
//	[.../gloo/transport/tcp/pair.cc:761] connect [127.0.1.1]:60817: Connection refused
//
// A refused connection to the store is tried again until the time is up, as processes start at different moments; only the end
// of the trying is an event. False is returned for any other line.
func (l *Log) rendezvous(f *fragment.Fragment, line []byte, n int) bool {
	e := evidence.Event{Kind: evidence.ConnectFailed, Host: f.Host, Rank: -1, From: f.At(n)}
	if r, ok := numberAfter(line, "[rank"); ok {
		e.Rank = int(r)
	}
	switch {
	case bytes.Contains(line, []byte("client socket has timed out")):
		to := between(line, "trying to connect to (", ")")
		i := bytes.LastIndexByte(to, ',')
		if i < 0 {
			return false
		}
		port, _ := numberAfter(to[i:], ",")
		e.What, e.File, e.Errno = "store", "socket.cpp", "timed out"
		e.Peer, e.Port = string(to[:i]), int(port)
	case bytes.Contains(line, []byte("client socket has failed to connect to ")):
		return true
	case bytes.Contains(line, []byte("pair.cc:")):
		to := between(line, "remote=[", "]")
		mark := "remote=[" + string(to) + "]:"
		if to == nil {
			to = between(line, "connect [", "]")
			mark = "connect [" + string(to) + "]:"
		}
		if to == nil {
			return false
		}
		port, _ := numberAfter(line, mark)
		e.What, e.File, e.Errno = "gloo", "pair.cc", errnoOf(line)
		e.Peer, e.Port = string(to), int(port)
	default:
		return false
	}
	l.add(e, line)
	return true
}

// errnoOf is the word of the C library for the error that a line names, "" where it names none of those a connection ends with.
func errnoOf(line []byte) string {
	for _, word := range []string{"Connection refused", "Connection timed out", "No route to host", "Network is unreachable", "Connection reset by peer"} {
		if bytes.Contains(line, []byte(word)) {
			return word
		}
	}
	return ""
}
