package joblog

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// mpi reads Open MPI's TCP transport (opal/mca/btl/tcp/btl_tcp_endpoint.c). NCCL's variables do not reach it: it
// chooses its interfaces by btl_tcp_if_include and btl_tcp_if_exclude.
//
//	[node1][[38971,1],2][btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 198.51.100.1 failed: Connection refused (111)
func (l *Log) mpi(f *fragment.Fragment, line []byte, n int) {
	e := evidence.Event{Kind: evidence.OtherWarning, Host: f.Host, Rank: -1, File: "btl_tcp_endpoint.c", From: f.At(n)}
	if host := between(line, "[", "]"); len(host) > 0 && line[0] == '[' {
		e.Host = string(host)
	}
	i := bytes.Index(line, []byte("[btl_tcp_"))
	_, text, _ := bytes.Cut(line[i:], []byte("] "))
	e.What = string(text)
	if to := between(line, "connect() to ", " failed: "); to != nil {
		e.Kind, e.What, e.Peer = evidence.ConnectFailed, "btl_tcp", string(to)
		_, errno, _ := strings.Cut(string(line), " failed: ")
		errno, _, _ = strings.Cut(errno, " (")
		e.Errno = errno
	}
	l.add(e, line)
}
