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
	Needs:    "the NCCL log",
	Explains: []string{"J005", "J003", "J002"},
	Check:    checkFabricManager,
}

func checkFabricManager(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	said := without(v.said(evidence.CudaError, evidence.OtherWarning), func(e evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return !strings.Contains(text, "system not yet initialized") && !strings.Contains(text, "cuda failure 802") &&
			!(strings.Contains(text, "nvls") && strings.Contains(text, "multicast"))
	})
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
