package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J007: the kernel of a host ended a process, or could not go on.
//
// Symptom: closed connections and status 12 on the peers of one host, in the middle of a run. Mechanism: memory that is used
// up makes the kernel kill the largest process; a processor that is stuck, or a machine check, stops what runs on it. Peers
// see only that it does not answer. Evidence for: the kernel's own line. Look-alikes: J003 (a process ended, without the
// kernel's word), J005 and J009 (GPU).
var causeHostTrouble = Cause{
	Code:     "J007",
	Title:    "not the network: a host ran out of memory, or stood still",
	Needs:    "the kernel log of the hosts",
	Explains: []string{"J003", "J002", "R004", "I007", "J001"},
	Check:    checkHostTrouble,
}

// hostTroubles are kinds of line of the kernel log, and what each means.
var hostTroubles = map[string]struct{ what, because, fix, command string }{
	"oom":    {"the kernel killed a process for want of memory", "the process that held the rank ended at once, with its queue pairs and connections, and its peers see only that it does not answer", "find what grew: loader workers, pinned buffers, checkpoints in memory; raise the container's limit if it was that", "dmesg -T | grep -iE 'out of memory|oom-kill|killed process'"},
	"lockup": {"a processor of it stood still", "what ran there could not post or poll, so everything that waits for this rank waited too", "look for the driver or file system named in the line; update the kernel or that driver", "dmesg -T | grep -iE 'lockup|blocked for more than|rcu.*stall'"},
	"mce":    {"its hardware reported a machine check", "memory or processor errors end processes or slow them while the firmware handles each", "replace the memory module or processor that the line names", "ras-mc-ctl --errors; mcelog"},
}

func checkHostTrouble(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated host does not fail in this way")
	}
	var findings []Finding
	read := false
	for _, h := range v.Inv.Hosts {
		seen := map[string]bool{}
		for _, k := range h.Kernel {
			read = true
			t, ok := hostTroubles[k.Kind]
			if !ok || seen[k.Kind] {
				continue
			}
			seen[k.Kind] = true
			f := Finding{
				Title:    fmt.Sprintf("not the network: on %s %s", called(h.Name), t.what),
				Severity: Warning, Confidence: possible, Where: []string{called(h.Name)},
				Because:  t.because,
				Evidence: []Evidence{{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}},
				WrongIf:  "the line is of another time, or of a process that is not of the job",
				Fix:      Fix{Text: t.fix, Commands: []string{t.command}},
				Settle:   "the time of the line against the first error of the job",
			}
			ended := without(v.said(evidence.ProcessEnded), func(e evidence.Event) bool {
				return k.Kind != "oom" || e.Host != "" && h.Name != "" && e.Host != h.Name || e.What != "SIGKILL" && e.What != "out of memory"
			})
			if effects := append(ended, v.lossOf(h.Name)...); len(effects) > 0 {
				f.Severity, f.Confidence = Critical, named
				f.Evidence = append(f.Evidence, tell(effects, "effect")...)
			}
			findings = append(findings, f)
		}
	}
	if f, ok := v.memoryByLauncher(); ok && len(findings) == 0 {
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read:
		return ruledOut("the kernel logs that were read show neither memory that is used up nor a host that stood still")
	}
	return cannotCheck("the kernel log (dmesg) of the hosts")
}

// memoryByLauncher finds Slurm's word that the memory limit of a step ended a process, where no kernel log was read.
func (v *View) memoryByLauncher() (Finding, bool) {
	said := without(v.said(evidence.ProcessEnded), func(e evidence.Event) bool { return e.What != "out of memory" })
	if len(said) == 0 {
		return Finding{}, false
	}
	if named := without(said, func(e evidence.Event) bool { return e.Host == "" }); len(named) > 0 {
		said = named
	}
	t := hostTroubles["oom"]
	return Finding{
		Title:    fmt.Sprintf("not the network: on %s a process was ended for want of memory", names(eventHosts(said))),
		Severity: Critical, Confidence: named, Where: []string{called(said[0].Host)},
		Because:  t.because,
		Evidence: append(tell(said, "cause"), tell(v.said(evidence.PeerClosed, evidence.WatchdogTimeout), "effect")...),
		WrongIf:  "the process was not one of the job's ranks",
		Fix:      Fix{Text: "find what grew: loader workers, pinned buffers, checkpoints in memory; ask for more memory in the job (--mem) if it was that", Commands: []string{"sacct -j JOB --format=JobID,NodeList,MaxRSS,ReqMem,State", t.command}},
		Settle:   "sacct -j JOB --format=JobID,MaxRSS,ReqMem,State",
	}, true
}

// lossOf lists the errors of peers that lost a host, or of any host where the host of the trouble has no name.
func (v *View) lossOf(host string) []evidence.Event {
	return without(v.said(evidence.CompletionError, evidence.PeerClosed, evidence.ConnectFailed), func(e evidence.Event) bool {
		if e.Kind == evidence.CompletionError && e.Status != wcRetryExceeded && e.Status != wcFlushed {
			return true
		}
		if host == "" || e.Host == host {
			return false
		}
		peer, _, _ := strings.Cut(e.Peer, ".")
		return peer != host && v.hostNamed(e.Peer) != host
	})
}
