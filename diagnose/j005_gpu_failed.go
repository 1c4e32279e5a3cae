package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J005: a GPU or the program on it failed first.
//
// Symptom: a CUDA error on one rank, then closed connections, flushed work and timeouts on the others. Mechanism: the
// process ends, its QPs and sockets with it; peers notice only that it does not answer. Evidence for: the CUDA error, a
// GPU error (Xid) in the kernel log. Against: RDMA errors that came before it. Look-alikes: R004, P003.
var causeGPUFailed = Cause{
	Code:     "J005",
	Title:    "not the network: a GPU or its program failed first",
	Needs:    "the logs of all ranks, the kernel log",
	Explains: []string{"J003", "J002", "R004", "I007", "J001"},
	Check:    checkGPUFailed,
}

func checkGPUFailed(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	failed := v.said(evidence.CudaError)
	if len(failed) == 0 {
		return ruledOut("no CUDA error in the logs")
	}
	first := beforeOthers(failed)[0]
	for _, e := range append(v.networkErrors(), v.said(evidence.RegisterFailed, evidence.ShmFailed)...) {
		if e.From.File == first.From.File && e.Sequence < first.Sequence {
			return ruledOut("the CUDA error came after another error of the same log (" + e.From.String() + ")")
		}
	}
	who := "a process on " + called(first.Host)
	if first.Rank >= 0 {
		who = fmt.Sprintf("rank %d", first.Rank)
		if first.Host != "" {
			who += " on " + first.Host
		}
	}
	f := Finding{
		Title:    fmt.Sprintf("not the network: %s failed with a CUDA error", who),
		Severity: Critical, Confidence: likely, Where: []string{called(first.Host)},
		Because:  "when the process ends its QPs and connections end with it, and its peers see only that it does not answer",
		Evidence: append(tell(failed, "cause"), tell(v.said(evidence.PeerClosed), "effect")...),
		WrongIf:  "a line of another rank, from before it, names another cause",
		Not:      []string{"the network: nothing of it was reported before this error in the same log"},
		Fix: Fix{
			Text:     "read the message and the kernel log of that host; run the program with launches that block to find the kernel that failed",
			Commands: []string{"dmesg -T | grep -iE 'xid|oom'", "nvidia-smi -q | grep -iA4 'ecc errors'", "CUDA_LAUNCH_BLOCKING=1 ..."},
		},
		Settle: "the kernel log (Xid) of " + called(first.Host) + " at that time",
	}
	if strings.Contains(strings.ToLower(first.Text), "out of memory") {
		f.Title = fmt.Sprintf("not the network: %s ran out of GPU memory", who)
		f.Because = "the allocation failed and ended the process; its queue pairs and connections end with it, and its peers see only that it does not answer"
		f.Fix = Fix{
			Text:     "make the model's share or the batch smaller, look for memory that other processes hold on that GPU, and leave NCCL some: its buffers are allocated beside the framework's pool",
			Commands: []string{"nvidia-smi --query-compute-apps=pid,used_memory --format=csv", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "export NCCL_BUFFSIZE=2097152 NCCL_MAX_NCHANNELS=8   # less for NCCL, as a test"},
		}
		f.Settle = "nvidia-smi on that host while the job starts"
		return found(f)
	}
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			if k.Kind == "xid" && (h.Name == first.Host || h.Name == "") {
				f.Confidence = named
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "GPU error (Xid) on " + object(h.Name, k.Device), Seen: shorten(k.Text), Role: "cause", From: k.From.String()})
				return found(f)
			}
		}
	}
	return found(f)
}
