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
	if f, ok := v.deadByRAS(); ok {
		return found(f)
	}
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

// deadByRAS finds a process that NCCL's RAS counts as dead: its own network, of TCP connections beside the job, has lost it
// for a minute and more (src/ras, RAS_PEER_DEAD_TIMEOUT).
func (v *View) deadByRAS() (Finding, bool) {
	var dead []evidence.RASRank
	for _, r := range v.Inv.NCCL.RASReports {
		for _, p := range r.Lost {
			if p.Dead {
				dead = append(dead, p)
			}
		}
	}
	if len(dead) == 0 {
		return Finding{}, false
	}
	where := "node " + orElse(dead[0].Host, "that the report does not name")
	if dead[0].Process > 0 {
		where = fmt.Sprintf("process %d on %s", dead[0].Process, where)
	}
	f := Finding{
		Title:    fmt.Sprintf("not the data path: NCCL's RAS counts %s as dead: %s", counted(len(dead), "process", "processes"), where),
		Severity: Critical, Confidence: likely, Where: []string{orElse(dead[0].Host, where)},
		Because: "RAS talks to every process over TCP beside the job; one that it lost for a minute has ended, or its whole host is gone",
		WrongIf: "the host answers ping and the process is still there: then TCP between the hosts is what was lost",
		Fix:     Fix{Text: "read the end of that process's log and its host's kernel log", Commands: []string{"dmesg -T | grep -iE 'oom|killed process|xid|segfault'", "scontrol show node HOST; kubectl describe pod"}},
		Settle:  "whether the process is still there on that host",
	}
	for _, p := range dead[:min(len(dead), maxRows)] {
		f.Evidence = append(f.Evidence, Evidence{Layer: "job", What: "NCCL's RAS report", Seen: fmt.Sprintf("process %d on node %s, GPU %d: dead", p.Process, orElse(p.Host, "unknown"), p.GPU), Role: "cause", From: p.From.String()})
	}
	return f, true
}
