package diagnose

import (
	"fmt"
)

// R008: a receiver was not ready for too long.
//
// Symptom: status 13 (receiver-not-ready retries used up). Mechanism: the receiver's QP had no buffer posted; its software
// (the proxy thread of NCCL) or its GPU stood still, while its NIC answered every time. Evidence for: the status. Look-alikes:
// R004, where nobody answers. The NIC's counter is rnr_nak_retry_err.
var causeNotReady = Cause{
	Code:     "R008",
	Title:    "a receiver was not ready for too long",
	Needs:    "the NCCL log",
	Explains: []string{"J002", "J003"},
	Check:    checkNotReady,
}

func checkNotReady(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	late := v.completions(wcNotReadyExceed)
	if len(late) == 0 {
		return ruledOut("no receiver-not-ready retries were used up")
	}
	peer := orElse(late[0].Peer, "the peer of "+called(late[0].Host))
	return found(Finding{
		Title:    fmt.Sprintf("%s was not ready to receive for too long (status 13 on %s)", peer, names(eventHosts(late))),
		Severity: Critical, Confidence: likely, Where: []string{peer},
		Because:  "its NIC answered that no buffer was posted, until the sender's retries were used up: the process or the GPU there stood still",
		Evidence: tell(late, "effect"),
		Not:      []string{"the network: each refusal is an answer that came through"},
		WrongIf:  "the peer's log shows an error of its own before",
		Fix:      Fix{Text: "look at the process, the CPU and the GPU of that host at that time", Commands: []string{"py-spy dump --pid PID", "dmesg -T | grep -iE 'xid|hung task|soft lockup'", "cat /sys/class/infiniband/DEVICE/ports/1/hw_counters/rnr_nak_retry_err"}},
		Settle:   "the log and the load of " + peer,
	})
}
