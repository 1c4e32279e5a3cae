package diagnose

import (
	"fmt"
	"slices"
	"strings"

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
	if f, ok := v.endedByItself(); ok {
		return found(f)
	}
	if f, ok := v.endedByLauncher(); ok {
		return found(f)
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

// endedByItself finds the exception that ended a program while nothing else was wrong before it.
func (v *View) endedByItself() (Finding, bool) {
	failed := v.said(evidence.ProgramFailed)
	if len(failed) == 0 {
		return Finding{}, false
	}
	e := failed[0]
	for _, o := range append(v.networkErrors(), v.said(evidence.ConnectFailed, evidence.RegisterFailed, evidence.ShmFailed, evidence.CudaError)...) {
		if o.From.File != e.From.File || o.Sequence < e.Sequence {
			return Finding{}, false
		}
	}
	who := "a program"
	if e.Rank >= 0 {
		who = fmt.Sprintf("rank %d", e.Rank)
	}
	name, _, _ := strings.Cut(e.What, ":")
	f := Finding{
		Title:    fmt.Sprintf("not the network: %s ended with an exception of its own (%s)", who, shorten(name)),
		Severity: Critical, Confidence: likely, Where: []string{orElse(e.Host, who)},
		Because:  "the exception ended the process; the other ranks wait for it in their next collective, and report closed connections or a timeout",
		Evidence: append([]Evidence{{Layer: "job", What: "exception of " + who, Seen: shorten(e.What), Role: "cause", From: e.From.String()}}, tell(v.said(evidence.PeerClosed, evidence.WatchdogTimeout), "effect")...),
		WrongIf:  "the program caught it and went on, or another rank ended before",
		Not:      []string{"the network: no connection had failed before"},
		Fix:      Fix{Text: "mend what the exception names; its traceback stands above it", Commands: []string{"grep -n -m1 -B30 '" + strings.ReplaceAll(shorten(name), "'", "") + "' LOG"}},
		Settle:   "the traceback of " + who,
	}
	if len(v.said(evidence.PeerClosed, evidence.WatchdogTimeout, evidence.ProcessEnded, evidence.CompletionError)) == 0 {
		f.Severity, f.Confidence = Note, weak // programs print exceptions that they caught
		f.Title = strings.Replace(f.Title, "ended with", "reports", 1)
	}
	return f, true
}

// endedByLauncher finds a process that a launcher saw end by a signal. SIGKILL is what the kernel and container limits send for
// memory; SIGBUS comes from a shared memory that is full; SIGTERM is the launcher's own, to those that were left.
func (v *View) endedByLauncher() (Finding, bool) {
	ended := without(v.said(evidence.ProcessEnded), func(e evidence.Event) bool { return e.What == "SIGTERM" || e.What == "out of memory" })
	if len(ended) == 0 {
		return Finding{}, false
	}
	e := ended[0]
	who := "a process"
	if e.Rank >= 0 {
		who = fmt.Sprintf("rank %d", e.Rank)
	}
	f := Finding{
		Title:    fmt.Sprintf("not the network: %s on %s ended by %s", who, called(e.Host), e.What),
		Severity: Critical, Confidence: likely, Where: []string{called(e.Host)},
		Because:  "a signal ended the process, and its peers see only that it does not answer any more",
		Evidence: append(tell(ended, "cause"), tell(v.said(evidence.PeerClosed, evidence.WatchdogTimeout), "effect")...),
		Not:      []string{"the network: it cannot send a signal"},
		WrongIf:  "the watchdog of the process ended it (SIGABRT) after a timeout: then the timeout is what to look at",
		Settle:   "the kernel log of " + called(e.Host) + " at that time",
		Fix:      Fix{Text: "read the end of that process's log, and its host's kernel log", Commands: []string{"dmesg -T | grep -iE 'oom|killed process|xid|segfault'", "scontrol show job; kubectl describe pod"}},
	}
	switch e.What {
	case "SIGKILL":
		f.Because = "SIGKILL comes from outside: mostly from the kernel, when the host or the container has used up its memory, else from the scheduler; peers see only that the process does not answer"
		f.Fix.Text = "look for the kernel's out-of-memory line and the limits of the container; find what grew (loader workers, pinned buffers, a checkpoint in memory)"
	case "SIGBUS":
		f.Because = "SIGBUS comes when a page of a mapped file cannot be had: mostly of /dev/shm, which is full in a container that has 64 MiB of it"
		f.Fix = Fix{Text: "give the container more shared memory", Commands: []string{"df -h /dev/shm", "docker run --shm-size=16g ...   # or --ipc=host", "kubectl: emptyDir {medium: Memory} mounted on /dev/shm"}}
		f.Settle = "df -h /dev/shm inside the container while the job runs"
	case "SIGABRT":
		f.Severity, f.Confidence = Warning, weak
		f.Because = "the process ended itself, as PyTorch's watchdog does after a timeout, or after an error that its log names"
		f.Fix.Text = "read the lines before it in the log of that process"
	}
	return f, true
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
