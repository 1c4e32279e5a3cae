package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H007: the NVLink fabric of a host is not ready.
//
// Symptom: CUDA does not start ("system not yet initialized", 802), or NCCL cannot bind NVLink multicast memory (NVLS).
// Mechanism: on hosts with NVSwitch the fabric manager sets up the switches; without it, or with one of another version
// than the driver, GPUs have no NVLink and CUDA waits. Evidence for: those lines. The network between hosts is not
// concerned. Look-alikes: J005 (any other CUDA error).
var causeFabricManager = Cause{
	Code:     "H007",
	Title:    "the NVLink fabric of a host is not ready",
	Needs:    "the NCCL log, or nvidia-smi -q",
	Explains: []string{"J005", "J003", "J002"},
	Check:    checkFabricManager,
}

func checkFabricManager(v *View) Verdict {
	if f, ok := v.fabricNotReady(); ok {
		return found(f)
	}
	if s, silent := v.silent(); silent {
		return s
	}
	said := without(v.said(evidence.CudaError, evidence.OtherWarning), func(e evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return !strings.Contains(text, "system not yet initialized") && !strings.Contains(text, "cuda failure 802") &&
			!(strings.Contains(text, "nvls") && strings.Contains(text, "multicast")) && !(e.Kind == evidence.CudaError && strings.Contains(e.File, "nvls"))
	})
	if f, ok := v.noIMEX(); ok {
		return found(f)
	}
	if len(said) == 0 {
		return ruledOut("neither CUDA nor NVLS complains about the NVLink fabric")
	}
	return found(Finding{
		Title:    fmt.Sprintf("the NVLink fabric of %s is not ready", names(eventHosts(said))),
		Severity: Critical, Confidence: likely, Where: []string{called(said[0].Host)},
		Because:  "on hosts with NVSwitch the fabric manager sets the switches up; without it, or with another version than the driver's, GPUs have no NVLink",
		Evidence: tell(said, "cause"),
		Not:      []string{"the network between hosts: NVLink ends at the host"},
		WrongIf:  "nvidia-smi -q shows the fabric of all GPUs as completed",
		Fix:      Fix{Text: "start the fabric manager in the version of the driver; as a way around it for NVLS alone, NCCL_NVLS_ENABLE=0", Commands: []string{"systemctl status nvidia-fabricmanager", "nvidia-smi -q | grep -A3 Fabric", "export NCCL_NVLS_ENABLE=0   # as a test"}},
		Settle:   "nvidia-smi -q | grep -A3 Fabric on " + called(said[0].Host),
	})
}

// noIMEX finds NCCL's complaint that NVLink between hosts is there and memory cannot be shared over it (src/mnnvl.cc).
func (v *View) noIMEX() (Finding, bool) {
	said := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool {
		return !strings.HasPrefix(e.What, "MNNVL ") || !strings.Contains(e.What, "not working")
	})
	if len(said) == 0 {
		return Finding{}, false
	}
	return Finding{
		Title:    fmt.Sprintf("NVLink between hosts cannot be used on %s: no IMEX channel", names(eventHosts(said))),
		Severity: Critical, Confidence: named, Where: []string{called(said[0].Host)},
		Because:  "GPU memory is shared between hosts of an NVLink domain through IMEX: its service must run on all of them, and the process needs a channel (/dev/nvidia-caps-imex-channels), which a container has to be given",
		Evidence: append(tell(said, "cause"), tell(v.said(evidence.CudaError), "effect")...),
		Not:      []string{"the network: NCCL stopped before it used any", "a GPU: the CUDA error (800, operation not permitted) is the refusal itself"},
		WrongIf:  "the job is not meant to use NVLink between hosts",
		Fix:      Fix{Text: "start nvidia-imex on every host of the domain, with the same list of nodes, and hand a channel to the container (in Kubernetes by a ComputeDomain); or go without NVLink between hosts", Commands: []string{"systemctl status nvidia-imex; nvidia-imex-ctl -N", "ls /dev/nvidia-caps-imex-channels   # in the container", "export NCCL_MNNVL_ENABLE=0   # as a test"}},
		Settle:   "ls /dev/nvidia-caps-imex-channels inside the container, and nvidia-imex-ctl -N on the host",
	}, true
}

// fabricNotReady finds a host whose GPUs say themselves that their NVLink fabric is not set up (nvidia-smi -q, "Fabric"):
// State is Completed where it is, N/A on boards without NVSwitch.
func (v *View) fabricNotReady() (Finding, bool) {
	for _, h := range v.Inv.Hosts {
		var bad []*evidence.GPU
		for _, g := range h.GPUs {
			state, known := g.Fabric.Get()
			status, told := g.FabricState.Get()
			if known && (state == "In Progress" || state == "Not Started") || known && state == "Completed" && told && status != "Success" && status != "N/A" {
				bad = append(bad, g)
			}
		}
		if len(bad) == 0 {
			continue
		}
		g := bad[0]
		seen := g.Fabric.Or("")
		if s, ok := g.FabricState.Get(); ok {
			seen += ", " + s
		}
		f := Finding{
			Title:    fmt.Sprintf("the NVLink fabric of %s is not ready: %s of %d say %s", called(h.Name), counted(len(bad), "GPU", "GPUs"), len(h.GPUs), seen),
			Severity: Warning, Confidence: named, Where: []string{called(h.Name)},
			Because:  "on hosts with NVSwitch the fabric manager sets the switches up; until it has, CUDA waits and GPUs have no NVLink",
			Evidence: []Evidence{{Layer: "host", What: "fabric of " + object(h.Name, gpuName(g)), Seen: seen, Expected: "Completed, Success", Role: "cause", From: g.Fabric.From.String()}},
			Not:      []string{"the network between hosts: NVLink ends at the host"},
			WrongIf:  "it was read while the host started",
			Fix:      Fix{Text: "start the fabric manager in the version of the driver, and read its log", Commands: []string{"systemctl status nvidia-fabricmanager", "journalctl -u nvidia-fabricmanager", "nvidia-smi -q | grep -A3 Fabric"}},
			Settle:   "nvidia-smi -q | grep -A3 Fabric again",
		}
		if failed := v.said(evidence.CudaError); len(failed) > 0 {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, tell(failed, "effect")...)
		}
		return f, true
	}
	return Finding{}, false
}
