package diagnose

import (
	"github.com/shunt-network/shunt/evidence"
)

// J006: the watchdog thread itself stood still.
//
// Symptom: "watchdog got stuck for 480 seconds". Mechanism: PyTorch's monitor ends a process whose watchdog thread gives no
// sign of life (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, 480 by default): it hangs in a call into CUDA or NCCL, or the interpreter
// lock is held. This is about the process, not about a collective's timeout. Evidence for: the line. Look-alikes: J001,
// J002, where the watchdog is alive and reports a collective.
var causeWatchdogStuck = Cause{
	Code:     "J006",
	Title:    "the watchdog thread itself stood still",
	Needs:    "PyTorch's log",
	Explains: []string{"J003"},
	Check:    checkWatchdogStuck,
}

func checkWatchdogStuck(v *View) Verdict {
	stuck := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool { return e.What != "watchdog got stuck" })
	if len(stuck) == 0 {
		if s, silent := v.silent(); silent {
			return s
		}
		return ruledOut("no watchdog got stuck")
	}
	if len(v.networkErrors()) > 0 {
		return ruledOut("RDMA errors came with it: the watchdog waits for them to be dealt with")
	}
	return found(Finding{
		Title:    "a watchdog thread gave no sign of life: it hangs in a call into CUDA or NCCL, or waits for the interpreter",
		Severity: Critical, Confidence: possible, Where: []string{orElse(stuck[0].Host, "the process that reported it")},
		Because:  "the monitor ends a process whose watchdog thread stands still; that thread hangs on the process's own locks or on a GPU call that does not return, which the network need not be the reason for",
		Evidence: tell(stuck, "effect"),
		Not:      []string{"a collective's timeout: the watchdog would have reported one"},
		WrongIf:  "other ranks report a collective that timed out before: then that one is to be explained",
		Fix:      Fix{Text: "take the stacks of the process, native ones too, while it hangs; look for a GPU error", Commands: []string{"py-spy dump --native --pid PID", "dmesg -T | grep -i xid", "export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1200   # only to gain time"}},
		Settle:   "py-spy dump --native of the process",
	})
}
