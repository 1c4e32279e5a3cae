package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// J003: a process died first, and the others lost their connections to it.
//
// Symptom: many lines about connections closed or reset by the peer. Mechanism: when a process ends, its kernel
// closes its sockets; every other rank reports that, and it says nothing about the network. Evidence for: closed
// connections, and an earlier error of the process that ended (CUDA, memory, an exception). The earliest event of
// all ranks is the one to read. Look-alikes: a link that went down closes nothing; its connections time out.
var causePeerDied = Cause{
	Code:     "J003",
	Title:    "not the network: a process died first",
	Needs:    "the logs of all ranks",
	Explains: nil,
	Check:    checkPeerDied,
}

func checkPeerDied(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	closed := v.said(evidence.PeerClosed)
	if len(closed) == 0 {
		return ruledOut("no connection was closed by a peer")
	}
	f := Finding{
		Severity: Critical,
		Because:  "when a process ends its kernel closes its connections, and every rank that talked to it reports that",
		WrongIf:  "a line of another rank, from before these, names another cause",
		Not:      []string{"the network: a closed or reset connection was answered by the peer's kernel, so packets get through"},
		Fix: Fix{
			Text:     "read the log of that process and of its host's kernel at that time: a CUDA error, memory used up, an exception, a signal",
			Commands: []string{"dmesg -T | grep -iE 'oom|killed process|xid|segfault'", "scontrol show job; kubectl describe pod"},
		},
		Settle: "the end of the log of that process",
	}
	peers := map[string]int{}
	var order []string
	for _, e := range closed {
		if e.Peer == "" {
			continue
		}
		if peers[e.Peer]++; peers[e.Peer] == 1 {
			order = append(order, e.Peer)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return peers[b] - peers[a] })
	first := beforeOthers(v.Inv.NCCL.Events)[0]
	f.Evidence = tell(closed, "effect")
	f.Confidence = possible
	switch {
	case first.Kind != evidence.PeerClosed:
		f.Title = fmt.Sprintf("not the connections: %s reported another error before they were closed", called(first.Host))
		f.Where = []string{called(first.Host)}
		f.Evidence = append([]Evidence{told(first, "cause")}, f.Evidence...)
	case len(order) > 0:
		f.Title = fmt.Sprintf("not the network: a process on %s ended first, and %s lost it", order[0], counted(len(eventHosts(closed)), "host", "hosts"))
		f.Where = []string{order[0]}
	default:
		f.Title = "not the network: a process ended first, and its peers lost their connections"
		f.Where = []string{"the peer of " + called(closed[0].Host)}
	}
	return found(f)
}
