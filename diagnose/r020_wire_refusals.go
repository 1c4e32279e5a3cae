package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// R020: a receiver refuses requests, as a capture shows.
//
// Symptom: QPs that break (status 9, 10, 11) or that stutter. Mechanism: the responder answers with a NAK: it has no
// buffer posted (RNR; the sender waits and repeats), or it does not grant the memory, does not understand the request, or
// could not do it (each of which ends the queue pair). Evidence for: the NAKs, with their sender. Look-alikes: sequence
// NAKs, which speak of loss (L022).
var causeWireRefusals = Cause{
	Code:     "R020",
	Title:    "a receiver refuses requests (captured NAKs)",
	Needs:    "a packet capture with both directions",
	Explains: []string{"R005", "R008", "J002", "J003"},
	Check:    checkWireRefusals,
}

// fatal are the refusals that end a queue pair (InfiniBand section 9.9.2.4).
var fatal = []evidence.RefusalKind{evidence.RefusedAccess, evidence.RefusedInvalid, evidence.RefusedOperation}

func checkWireRefusals(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	type refusal struct {
		*pair
		kind evidence.RefusalKind
		t    evidence.Tally
	}
	var all []refusal
	answers := 0
	for _, p := range v.pairs() {
		answers += p.sum(func(s *evidence.Stream) int { return s.Answers })
		for _, kind := range append(slices.Clone(fatal), evidence.RefusedNotReady) {
			if t := p.tally(func(s *evidence.Stream) evidence.Tally { return s.Refused(kind) }); t.Count > 0 {
				all = append(all, refusal{p, kind, t})
			}
		}
	}
	switch {
	case len(all) == 0 && answers == 0:
		return cannotCheck("a capture with both directions: this one has no acknowledgements")
	case len(all) == 0:
		return ruledOut(fmt.Sprintf("no refusal among %s", count(answers, "answer")))
	}
	slices.SortStableFunc(all, func(a, b refusal) int {
		return cmp.Or(-compareBool(slices.Contains(fatal, a.kind), slices.Contains(fatal, b.kind)), cmp.Compare(b.t.Count, a.t.Count))
	})
	r := all[0]
	f := Finding{
		Title:    fmt.Sprintf("%s refuses requests of %s: %s, %s", r.src, r.dst, r.kind, count(r.t.Count, "time")),
		Severity: Critical, Confidence: named, Where: []string{r.src, r.dst},
		Because: "the answer ends the queue pair: the memory key, the address or the length of the request was not what the responder grants, so that memory was freed while in use or the two ends run different code",
		Not:     []string{"the network: a refusal is an answer, so packets arrive in both directions"},
		WrongIf: "the queue pair went on after it",
		Settle:  "the log of the process on " + r.src,
		Fix:     Fix{Text: "look at what the process on " + r.src + " registers and frees, and compare versions and MTU at both ends", Commands: []string{"grep . /sys/class/infiniband/*/ports/1/hw_counters/resp_remote_access_errors"}},
	}
	if r.kind == evidence.RefusedNotReady {
		f.Severity = Warning
		f.Because = "no buffer was posted when the packet came: the process or GPU there is late, and the sender waits for the time the answer says before it tries again"
		f.WrongIf = "rnr_nak_retry_err of the sender did not grow"
		f.Fix = Fix{Text: "look at the process, the CPU and the GPU of " + r.src + " at that time", Commands: []string{"py-spy dump --pid PID", "grep . /sys/class/infiniband/*/ports/1/hw_counters/rnr_nak_retry_err"}}
	}
	for _, o := range all[:min(len(all), 5)] {
		f.Evidence = append(f.Evidence, frames("RDMA", fmt.Sprintf("NAKs of %s to %s: %s", o.src, o.dst, o.kind), "cause", o.t, "0"))
	}
	return found(f)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
