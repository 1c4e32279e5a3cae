package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// R007: only consequences were read; the first error is elsewhere.
//
// Symptom: work requests flushed (status 5, mlx5 syndrome 249). Mechanism: a queue pair that has failed hands back all that
// is still queued as flushed (IB specification vol. 1, 10.3.1), so the status says that something came before: on the
// same QP, or on the peer. Evidence for: nothing but flushes in all that was read. Against: any other error.
var causeOnlyFlushed = Cause{
	Code:     "R007",
	Title:    "only flushed work was read: the first error is elsewhere",
	Needs:    "the logs of all ranks",
	Explains: []string{"J002", "J003"},
	Check:    checkOnlyFlushed,
}

func checkOnlyFlushed(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	flushed := v.completions(wcFlushed)
	if len(flushed) == 0 {
		return ruledOut("no work request was flushed")
	}
	i := slices.IndexFunc(v.Inv.NCCL.Events, func(e evidence.Event) bool {
		switch e.Kind {
		case evidence.CompletionError:
			return e.Status != wcFlushed
		case evidence.OtherWarning, evidence.PeerClosed, evidence.WatchdogTimeout, evidence.NoVerbsLibrary, evidence.NoDevice, evidence.SharpFailed:
			return false
		}
		return true
	})
	if i >= 0 {
		return ruledOut("the flushed work follows another error (" + v.Inv.NCCL.Events[i].From.String() + ")")
	}
	return found(Finding{
		Title:    fmt.Sprintf("%s reports flushed work only (status 5): the first error is in a log that was not read", names(eventHosts(flushed))),
		Severity: Critical, Confidence: possible, Where: []string{orElse(flushed[0].Peer, "the peer of "+called(flushed[0].Host))},
		Because:  "a queue pair hands its work back as flushed only after it has failed; what made it fail came before, often on the peer",
		Evidence: tell(flushed, "effect"),
		Not:      []string{"a cause of its own: status 5 never comes first"},
		WrongIf:  "the program closed its connections on purpose",
		Fix:      Fix{Text: "read the earliest line with another status, or an asynchronous event, over the logs of all ranks", Commands: []string{"grep -hE 'NCCL WARN' *.log | grep -v 'status=5\\|error 5' | sort | head"}},
		Settle:   "the logs of all ranks, above all of the peer",
	})
}
