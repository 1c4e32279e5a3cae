package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// P005: the PCIe slot gives a card too little power, or a module runs too hot.
//
// Symptom: ports that stay down or slow after boot, modules that switch off under load. Mechanism: the device
// compares the slot's power budget with its need (drivers/net/ethernet/mellanox/mlx5/core/events.c, mlx5_pcie_event)
// and the module reports its temperature; firmware limits ports and modules. Evidence for: the kernel's line.
// Look-alikes: P003 (the consequence). The driver prints the power line once for each boot.
var causeSlot = Cause{
	Code:     "P005",
	Title:    "a NIC gets too little power, or its module is too hot",
	Needs:    "the kernel log",
	Explains: []string{"P003"},
	Check:    checkSlot,
}

func checkSlot(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no kernel log")
	}
	var findings []Finding
	read := false
	for _, h := range v.Inv.Hosts {
		byDevice := map[string]int{}
		for _, k := range h.Kernel {
			read = true
			if k.Kind != "pcie power" && k.Kind != "module temperature" {
				continue
			}
			if i, ok := byDevice[k.Device]; ok {
				findings[i].Evidence = append(findings[i].Evidence, kernelRow(k))
				findings[i].Title = fmt.Sprintf("the NIC at %s on %s gets too little power from its slot, and its module is too hot", orElse(k.Device, "an unnamed address"), called(h.Name))
				continue
			}
			byDevice[k.Device] = len(findings)
			what := "gets too little power from its PCIe slot"
			fix := "check the slot's power budget in the BIOS and the card's extra power cable; move the card to a slot that is built for it"
			if k.Kind == "module temperature" {
				what, fix = "has a module that is too hot", "check air flow and dust, then replace the module"
			}
			findings = append(findings, Finding{
				Title:      fmt.Sprintf("the NIC at %s on %s %s", orElse(k.Device, "an unnamed address"), called(h.Name), what),
				Severity:   Warning,
				Confidence: named,
				Where:      []string{object(h.Name, k.Device)},
				Because:    "firmware limits or switches off ports and modules that lack power or overheat, so links drop or run below their speed under load",
				Evidence:   []Evidence{kernelRow(k)},
				WrongIf:    "the line is from an earlier boot or an earlier slot of the card",
				Fix:        Fix{Text: fix, Commands: []string{"dmesg -T | grep -E 'insufficient power|High Temperature'", "ethtool -m IFACE | grep -iE 'temperature|power'", "mlxlink -d DEVICE -m"}},
				Settle:     "ethtool -m of the port under load, and the speed the port runs at",
			})
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read:
		return ruledOut("the kernel log has no such line")
	}
	return cannotCheck("the kernel log (dmesg)")
}

func kernelRow(k evidence.KernelEvent) Evidence {
	return Evidence{Layer: "physical", What: "kernel log", Seen: shorten(k.Text), Role: "cause", From: k.From.String()}
}
