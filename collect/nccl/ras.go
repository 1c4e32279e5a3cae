package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// ras reads the text of NCCL's RAS service (src/ras/client_support.cc, the tool ncclras): the table
//
//	Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//	    #  in group  per comm  per node  per comm  in group
//	    0         1        32         8       256       256   RUNNING      OK
//
// RAS compares how many collectives the ranks launched. It cannot see that one is stuck in the network.
type ras struct{ open bool }

func (r *ras) line(l *Log, f *fragment.Fragment, line []byte, n int) bool {
	t := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(t, []byte("Group ")) && bytes.HasSuffix(t, []byte("Errors")) && bytes.Contains(t, []byte(" Status ")):
		r.open = true
		return true
	case !r.open:
		return false
	case len(t) == 0, bytes.HasPrefix(t, []byte("Errors")), bytes.HasPrefix(t, []byte("Warnings")):
		r.open = false
		return false
	case t[0] == '#':
		return true
	}
	fields := bytes.Fields(t)
	if len(fields) != 8 || !digit(t[0]) { // the row of one group: a number, five counts, status, errors
		return false
	}
	l.inv.NCCL.RAS = append(l.inv.NCCL.RAS, evidence.RASStatus{Status: string(fields[6]), Errors: string(fields[7]), From: f.At(n)})
	return true
}
