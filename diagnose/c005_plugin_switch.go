package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C005: a network plugin does not listen to the switch of the built-in network.
//
// Symptom: NCCL_IB_DISABLE=1 is set and RDMA errors go on. Mechanism: libnccl-net.so (HPC-X brings one, network
// name IBext...) is a network of its own with its own switch, NCCL_IBEXT_DISABLE; NCCL_IB_DISABLE belongs to the
// code inside NCCL. Evidence for: that variable, and a network IBext or source files that end in .c (the plugin is
// C, NCCL is C++). Look-alikes: a plugin that is used on purpose.
var causePluginSwitch = Cause{
	Code:  "C005",
	Title: "a network plugin ignores NCCL_IB_DISABLE",
	Needs: "the NCCL log with its variables",
	Check: checkPluginSwitch,
}

func checkPluginSwitch(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	off, set := v.Inv.NCCL.Lookup("NCCL_IB_DISABLE")
	if !set || strings.TrimSpace(off.Value) != "1" {
		return notApplicable("NCCL_IB_DISABLE is not set to 1")
	}
	if e, ok := v.Inv.NCCL.Lookup("NCCL_IBEXT_DISABLE"); ok && strings.TrimSpace(e.Value) == "1" {
		return ruledOut("NCCL_IBEXT_DISABLE=1 switches the plugin off too")
	}
	var rows []Evidence
	where := ""
	for _, c := range v.Inv.NCCL.Networks {
		if strings.HasPrefix(c.Name, "IBext") {
			rows = append(rows, Evidence{Layer: "collective", What: "network of " + called(c.Host), Seen: c.Name + " (a plugin)", Expected: "Socket, with NCCL_IB_DISABLE=1", Role: "cause", From: c.From.String()})
			where = called(c.Host)
			break
		}
	}
	errors := v.rdmaErrors()
	for _, e := range errors {
		if fromPlugin(e) {
			rows = append(rows, Evidence{Layer: "collective", What: "source file of the error", Seen: e.File + " (a plugin's)", Expected: "none: RDMA is off", Role: "effect", From: e.From.String()})
			where = orElse(where, called(e.Host))
			break
		}
	}
	if len(rows) == 0 {
		if len(v.Inv.NCCL.Networks) == 0 {
			return cannotCheck("which network is in use (\"Using network\")")
		}
		return ruledOut("no network plugin is in use")
	}
	f := Finding{
		Title:    fmt.Sprintf("NCCL_IB_DISABLE=1 has no effect on %s: RDMA is used by a plugin with a switch of its own", where),
		Severity: Warning, Confidence: named, Where: []string{where},
		Because:  "the plugin is a network of its own; NCCL_IB_DISABLE only switches off the code inside NCCL",
		Evidence: append([]Evidence{{Layer: "collective", What: "NCCL_IB_DISABLE", Seen: off.Value, Role: "cause", From: off.From.String()}}, rows...),
		WrongIf:  "the plugin is meant to be used, and the variable is a leftover",
		Not:      []string{"the built-in network: its errors come from files that end in .cc"},
		Fix: Fix{
			Text:     "switch the plugin off as well, or load none; then deal with what made RDMA fail",
			Commands: []string{"export NCCL_IB_DISABLE=1 NCCL_IBEXT_DISABLE=1", "export NCCL_NET_PLUGIN=none"},
			Try:      []Change{{Setting: "NCCL_IBEXT_DISABLE", Value: "1"}},
		},
		Settle: "\"Using network\" after NCCL_NET_PLUGIN=none",
	}
	if len(errors) > 0 {
		f.Severity = Critical
		f.Evidence = append(f.Evidence, tell(errors, "effect")...)
	}
	return found(f)
}

// fromPlugin tells whether an event was printed by the code of a plugin, which is C, rather than NCCL's C++.
func fromPlugin(e evidence.Event) bool {
	return strings.HasSuffix(e.File, ".c") && !fromUCX(e) && !strings.Contains(e.File, "btl_")
}
