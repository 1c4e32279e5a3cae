package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C017: reduction in the NVLink switches (NVLS) is off on hosts that have it.
//
// Symptom: all_reduce within a host, or between hosts of eight GPUs, reaches about three quarters of what its sisters reach.
// Mechanism: from Hopper on NVSwitch adds up what GPUs send (multicast memory); NCCL uses it since 2.17, unless a variable
// forbids it, or the driver does not offer it. Evidence for: NCCL_NVLS_ENABLE=0, an algorithm list without NVLS. Against:
// GPUs without NVSwitch or before Hopper. Look-alikes: H007 (the fabric manager is not ready: an error, not silence).
var causeNVLS = Cause{
	Code:  "C017",
	Title: "reduction in the NVLink switches (NVLS) is off",
	Needs: "the variables of the job, the GPUs of its hosts (nvidia-smi)",
	Check: checkNVLS,
}

// nvlsModels are GPUs on boards with NVSwitch of the third generation and later, which multicast (NCCL release notes 2.17;
// NVIDIA Hopper and Blackwell data sheets): boards with PCIe alone have none, and are told by their NVLinks.
var nvlsModels = []string{"H100", "H200", "H800", "H20", "B100", "B200", "B300", "GB200", "GB300", "GH200"}

func checkNVLS(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated host has no NVLink switches")
	}
	host, row, has := v.nvlsHost()
	var off *evidence.EnvVar
	for i, e := range v.Inv.NCCL.Env {
		value := strings.TrimSpace(e.Value)
		switch {
		case e.Name == "NCCL_NVLS_ENABLE" && value == "0",
			e.Name == "NCCL_ALGO" && value != "" && !strings.HasPrefix(value, "^") && !strings.Contains(value, ":") && !strings.Contains(strings.ToUpper(value), "NVLS"),
			e.Name == "NCCL_ALGO" && strings.HasPrefix(value, "^") && strings.Contains(strings.ToUpper(value), "NVLS"):
			off = &v.Inv.NCCL.Env[i]
		}
		if off != nil {
			break
		}
	}
	switch {
	case !has && off == nil:
		return notApplicable("no GPU that is known to hang off an NVLink switch of the third generation")
	case !has:
		return cannotCheck("whether the GPUs hang off NVLink switches (nvidia-smi, nvidia-smi topo -m)")
	case off == nil:
		return ruledOut("no variable forbids reduction in the NVLink switches")
	case v.nccl().atLeast(2, 17) == no:
		return notApplicable(v.nccl().String() + " does not have it")
	}
	return found(Finding{
		Title:    fmt.Sprintf("%s=%s forbids reduction in the NVLink switches of %s", off.Name, off.Value, called(host)),
		Severity: Note, Confidence: likely, Where: []string{orElse(off.Host, off.Name)},
		Because: "without it each GPU reads what the others have over NVLink and adds up itself, which moves the data twice; published runs on eight H200 reach 366 GB/s that way and 473 GB/s with it",
		Evidence: []Evidence{
			{Layer: "collective", What: off.Name, Seen: off.Value, Expected: "unset", Role: "cause", From: off.From.String()},
			row,
		},
		WrongIf: "it was set to get around an error of multicast memory: then the fabric manager is what to mend (H007)",
		Not:     []string{"the network between hosts"},
		Fix:     Fix{Text: "unset it, with the fabric manager in the version of the driver", Commands: []string{"unset " + off.Name, "all_reduce_perf -b 1G -e 8G -f 2 -g 8   # on one host, with and without"}, Try: []Change{{Setting: off.Name, Value: ""}}},
		Settle:  "all_reduce_perf on one host with and without it",
	})
}

// nvlsHost finds a host whose GPUs hang off switches that reduce.
func (v *View) nvlsHost() (host string, row Evidence, ok bool) {
	for _, h := range v.Inv.Hosts {
		linked := false
		if m, known := h.Matrix.Get(); known {
			for _, path := range m.Paths {
				for _, p := range path {
					linked = linked || strings.HasPrefix(p, "NV")
				}
			}
		}
		if len(h.GPUs) < 2 && !linked {
			continue
		}
		for _, g := range h.GPUs {
			name, known := g.Name.Get()
			if !known || strings.Contains(name, "PCIe") || strings.Contains(name, "NVL") {
				continue
			}
			switched := linked || len(g.NVLinks) > 0 || g.Fabric.Known() || strings.Contains(name, "HBM3")
			for _, m := range nvlsModels {
				if strings.Contains(name, m) && switched {
					return h.Name, Evidence{Layer: "host", What: "GPUs of " + called(h.Name), Seen: name, From: g.Name.From.String()}, true
				}
			}
		}
	}
	return "", Evidence{}, false
}
