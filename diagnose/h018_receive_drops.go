package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
)

// H018: a NIC drops what arrives because its buffer is full.
//
// Symptom: loss at one receiver while every switch port is clean. Mechanism: packets wait in the NIC's port buffer for PCIe
// and memory; where these are slower than the link and pause does not stop the sender in time, the buffer overflows.
// Evidence for: rx_discards_phy, or discards of a priority, that grow; PCIe stalls beside it say that the host is the slow
// part. Against: packets without a receive buffer of the program (rx_out_of_buffer), which cost no RDMA packet.
// Look-alikes: L012, where pause works and spreads; L036, where the priority is not the paused one.
var causeReceiveDrops = Cause{
	Code:     "H018",
	Title:    "a NIC drops what arrives because its buffer is full",
	Needs:    "two readings of ethtool -S (rx_discards_phy, rx_prioN_discards, outbound_pci_stalled_wr)",
	Explains: []string{"L033"},
	Check:    checkReceiveDrops,
}

// manyDrops is how many lost packets are worth a warning: a handful may be lost while a port comes up.
const manyDrops = 100

func checkReceiveDrops(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("what a simulated NIC drops is told by its fabric's causes")
	}
	type drop struct {
		object string
		n      float64
	}
	var hit []drop
	known := 0
	for _, object := range v.objects(telemetry.NICRxDiscards, telemetry.NICRxPriorityDiscards) {
		all, ok := v.total(telemetry.NICRxDiscards, object)
		byPriority, told := v.total(telemetry.NICRxPriorityDiscards, object)
		if !ok && !told {
			continue
		}
		known++
		if n := max(all, byPriority); n >= manyDrops {
			hit = append(hit, drop{object, n})
		}
	}
	switch {
	case known == 0:
		return cannotCheck("two readings of rx_discards_phy (ethtool -S)")
	case len(hit) == 0:
		return ruledOut(fmt.Sprintf("the drops of %s for lack of buffer did not grow", counted(known, "port", "ports")))
	}
	slices.SortStableFunc(hit, func(a, b drop) int { return cmp.Compare(b.n, a.n) })
	var findings []Finding
	for _, d := range hit[:min(len(hit), maxRows)] {
		f := Finding{
			Title:    fmt.Sprintf("%s dropped %.6g packets for lack of buffer", spoken(d.object), d.n),
			Severity: Warning, Confidence: likely, Where: []string{spoken(d.object)},
			Because:  "what arrives waits in the port's buffer for PCIe and memory; it arrives faster than they take it, and pause does not stop the senders in time",
			Evidence: v.grewRows("NIC", "cause", d.object, telemetry.NICRxDiscards, telemetry.NICRxPriorityDiscards),
			WrongIf:  "the packets are of a lossy priority, where drops under a burst are normal",
			Not:      []string{"the fabric: the packets had arrived"},
			Fix:      Fix{Text: "find what slows the host (PCIe link, payload, IOMMU, NUMA: H codes), and check that pause is on for the priority and has buffer (L036)", Commands: []string{"ethtool -S IFACE | grep -E 'discards|outbound_pci|pause'", "lspci -vvv -s ADDRESS | grep -E 'LnkSta|MaxPayload'", "mlnx_qos -i IFACE"}},
			Settle:   "outbound_pci_stalled_wr under load, and pauses sent by this port",
		}
		stalls := v.grewRows("host", "cause", d.object, telemetry.NICPCIStalledWrite, telemetry.NICPCIStalledRead, telemetry.NICPCIBufferOverflow)
		if len(stalls) > 0 {
			f.Title += ", and waits for PCIe"
			f.Confidence = named
			f.Evidence = append(f.Evidence, stalls...)
		}
		f.Evidence = append(f.Evidence, v.grewRows("NIC", "effect", d.object, telemetry.NICTxPause)...)
		findings = append(findings, f)
	}
	return found(findings...)
}
