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
	Explains: []string{"J005", "J003", "J002", "J001", "H002", "H010"},
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
		if f, ok := v.peersHang(); ok {
			return found(f)
		}
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

// peersHang finds a job on one host whose first collectives hang, over direct transfers that access control or the IOMMU sends
// elsewhere: with either, writes between GPUs may never arrive (NCCL user guide, troubleshooting, PCI access control services).
func (v *View) peersHang() (Finding, bool) {
	stuck := without(v.said(evidence.WatchdogTimeout), func(e evidence.Event) bool { return e.Seq > 100 }) // later, transfers had worked
	direct := -1
	for i, c := range v.Inv.NCCL.Channels {
		if strings.HasPrefix(c.Via, "NET/") {
			return Finding{}, false
		}
		if strings.HasPrefix(c.Via, "P2P") && direct < 0 {
			direct = i
		}
	}
	if len(stuck) == 0 || direct < 0 {
		return Finding{}, false
	}
	c := v.Inv.NCCL.Channels[direct]
	for _, h := range v.Inv.Hosts {
		if h.Name != c.Host && h.Name != "" {
			continue
		}
		var rows []Evidence
		for _, b := range h.Bridges {
			if b.Redirect && len(rows) == 0 {
				rows = append(rows, bridgeRow(h.Name, b))
			}
		}
		if mode, row := iommuMode(h); mode == yes && !virtualMachine(h) {
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			continue
		}
		rows = append(rows, Evidence{Layer: "collective", What: "connections of " + called(c.Host) + " via " + c.Via, Seen: fmt.Sprint(c.Total), From: c.Example.String()})
		return Finding{
			Title:    fmt.Sprintf("GPUs of %s talk directly over PCIe that redirects or translates it, and the first collectives hang", called(c.Host)),
			Severity: Critical, Confidence: likely, Where: []string{called(c.Host)},
			Because:  "access control and a translating IOMMU send what one GPU writes to another up to the root complex, where it may be lost; NCCL waits for a flag that never comes",
			Evidence: append(rows, tell(stuck, "effect")...),
			Not:      []string{"the network between hosts: all ranks are on one host"},
			WrongIf:  "it hangs in the same way with NCCL_P2P_DISABLE=1; or NVLink joins the GPUs",
			Fix: Fix{
				Text:     "switch access control off on the bridges above the GPUs, and boot with the IOMMU off or in pass-through mode; as a way around it, no direct transfers",
				Commands: []string{"export NCCL_P2P_DISABLE=1   # as a test", "for d in $(lspci -d '*:*:0604' | awk '{print $1}'); do setpci -v -s $d ECAP_ACS+0x6.w=0000; done", "cat /proc/cmdline"},
			},
			Settle: "a run with NCCL_P2P_DISABLE=1",
		}, true
	}
	return Finding{}, false
}
