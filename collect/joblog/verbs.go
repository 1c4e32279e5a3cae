package joblog

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// noProvider is what libibverbs says of a device of the kernel that it has no user-space driver for (rdma-core,
// libibverbs/init.c):
//
//	libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0
//
// "couldn't load driver 'libi40iw-rdmav34.so'" is of drivers whose device need not be there, and is left out.
var noProvider = []byte("no userspace device-specific driver found for ")

// verbs reads one line of libibverbs.
func (l *Log) verbs(f *fragment.Fragment, line []byte, n int) Source {
	i := bytes.Index(line, noProvider)
	if i < 0 {
		return None
	}
	device := string(line[i+len(noProvider):])
	l.add(evidence.Event{Kind: evidence.OtherWarning, Host: f.Host, Rank: -1, What: "no verbs provider", Device: device[:min(len(device), 64)], File: "libibverbs", From: f.At(n)}, line)
	return Verbs
}
