package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H020: GPUs of a host cannot open each other's memory.
//
// Symptom: a CUDA error while channels over P2P are set up; or they come up and the first collective hangs. Mechanism: NCCL
// judges by the distance of two GPUs that they reach each other directly (NCCL_P2P_LEVEL), and the driver refuses, or PCIe does
// not carry it: boards whose driver has peer-to-peer off, a process that sees only its own GPU, an IOMMU or access control that
// sends the access elsewhere. Evidence for: the error (217, peer access is not supported; the IPC handle that cannot be opened).
// Look-alikes: H007 (NVLink not set up), H002 (the same between GPU and NIC).
var causeGPUPeers = Cause{
	Code:     "H020",
	Title:    "GPUs of a host cannot open each other's memory",
	Needs:    "the NCCL log",
	Explains: []string{"J005", "J003", "J002"},
	Check:    checkGPUPeers,
}

func checkGPUPeers(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	refused := without(v.said(evidence.CudaError, evidence.OtherWarning), func(e evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return !strings.Contains(text, "peer access is not supported") && !strings.Contains(text, "failed to open cuda ipc handle") &&
			!strings.Contains(text, "peer access is not enabled")
	})
	if len(refused) == 0 {
		return ruledOut("no GPU refused access to a peer")
	}
	host := refused[0].Host
	f := Finding{
		Title:    fmt.Sprintf("GPUs of %s cannot open each other's memory", names(eventHosts(refused))),
		Severity: Critical, Confidence: named, Where: []string{called(host)},
		Because:  "NCCL chose direct transfers between two GPUs by their distance, and the driver refused: peer-to-peer is off for these boards, the process sees only its own GPU, or the host is a virtual machine that does not pass it on",
		Evidence: tell(refused, "cause"),
		Not:      []string{"the network between hosts: the two GPUs are in one host"},
		WrongIf:  "the two ranks run on different machines that call themselves alike (I008)",
		Fix: Fix{
			Text:     "let every process see all GPUs of its host and choose by local rank; where the boards have no peer-to-peer, switch NCCL's use of it off",
			Commands: []string{"nvidia-smi topo -p2p r", "export NCCL_P2P_DISABLE=1   # as a test", "cat /proc/cmdline; lspci -vvv | grep ACSCtl"},
		},
		Settle: "nvidia-smi topo -p2p r, and a run with NCCL_P2P_DISABLE=1",
	}
	for _, h := range v.Inv.Hosts {
		if h.Name != host && h.Name != "" {
			continue
		}
		if mode, row := iommuMode(h); mode == yes {
			f.Evidence = append(f.Evidence, row)
			f.Fix.Text += "; boot with the IOMMU off or in pass-through mode (H010)"
		}
	}
	return found(f)
}
