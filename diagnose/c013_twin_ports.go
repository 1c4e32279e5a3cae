package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C013: NCCL takes two ports of an adapter for one NIC.
//
// Symptom: with NCCL_CROSS_NIC=0 on a rail-aligned network some connections still cross rails. Mechanism: NCCL
// compares the GUID of the chip and the port number (src/graph/topo.cc); newer dual-port adapters show each port as a
// function of its own, with port 1 and the same GUID. Evidence for: two <net> entries with equal GUID and port in the
// topology file. It does no harm where rails do not matter, so it is a note unless CROSS_NIC is 0.
var causeTwinPorts = Cause{
	Code:  "C013",
	Title: "NCCL takes two ports of an adapter for one",
	Needs: "NCCL's topology file (NCCL_TOPO_DUMP_FILE)",
	Check: checkTwinPorts,
}

func checkTwinPorts(v *View) Verdict {
	if len(v.Inv.Topology) == 0 {
		return notApplicable("no topology file of NCCL was read")
	}
	for i, a := range v.Inv.Topology {
		for _, b := range v.Inv.Topology[i+1:] {
			if a.Name == b.Name || a.Host != b.Host || a.From.File != b.From.File || zeroGUID(a) || a.GUID != b.GUID || a.Port != b.Port {
				continue
			}
			f := Finding{
				Title:    fmt.Sprintf("%s and %s have the same GUID and port number: NCCL takes them for one NIC", a.Name, b.Name),
				Severity: Note, Confidence: named, Where: []string{object(a.Host, a.Name), object(b.Host, b.Name)},
				Because: "the adapter shows each of its ports as a device of its own with port 1, and NCCL tells ports apart by chip GUID and port number only, so NCCL_CROSS_NIC=0 does not keep rails apart",
				Evidence: []Evidence{
					{Layer: "collective", What: "GUID and port of " + a.Name, Seen: fmt.Sprintf("%s port %d", a.GUID, a.Port), Expected: "a pair of its own", Role: "cause", From: a.From.String()},
					{Layer: "collective", What: "GUID and port of " + b.Name, Seen: fmt.Sprintf("%s port %d", b.GUID, b.Port), Expected: "a pair of its own", Role: "cause", From: b.From.String()},
				},
				WrongIf: "the network is not split into rails, so it does not matter which port a connection takes",
				Fix:     Fix{Text: "list one port of each adapter for each rail, or use a release of NCCL that compares the devices themselves", Commands: []string{"export NCCL_IB_HCA==DEVICE,DEVICE,...", "export NCCL_IB_MERGE_NICS=0   # as a test"}},
				Settle:  "the Channel lines of a run with NCCL_CROSS_NIC=0: the same device index on both ends, or not",
			}
			if e, ok := v.variable("NCCL_CROSS_NIC", a.Host); ok && strings.TrimSpace(e.Value) == "0" {
				f.Severity = Warning
				f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "NCCL_CROSS_NIC", Seen: e.Value, From: e.From.String()})
			}
			return found(f)
		}
	}
	return ruledOut("each NIC of the topology file has a GUID and port of its own")
}

func zeroGUID(n evidence.TopoNIC) bool { return strings.Trim(n.GUID, "0x:") == "" }
