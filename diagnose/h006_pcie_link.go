package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// H006: the PCIe link of a NIC runs below what the card can do.
//
// Symptom: a port whose link is up at full rate moves half of it. Mechanism: the link trained at fewer lanes or a
// lower speed (slot wired for x8, riser, dirty contact, BIOS), and PCIe is narrower than the port. Evidence for: LnkSta
// below LnkCap in lspci; old versions do not print "(downgraded)", so the numbers are compared. Against: a PCIe link that
// still carries the port's rate. Look-alikes: power saving lowers the speed (not the width) of an idle link.
var causePCIeLink = Cause{
	Code:  "H006",
	Title: "the PCIe link of a NIC runs below its capability",
	Needs: "lspci -vvv as root",
	Check: checkPCIeLink,
}

// pcieGBps is what a PCIe link moves in each direction, in GB/s: 8b/10b coding at 2.5 and 5 GT/s, 128b/130b above (PCI
// Express base specification, 4.2), before the headers of packets.
func pcieGBps(l evidence.PCILink) float64 {
	code := 128.0 / 130
	if l.Speed <= 5 {
		code = 0.8
	}
	return l.Speed * code * float64(l.Width) / 8
}

func checkPCIeLink(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	var findings []Finding
	read := 0
	for _, h := range v.Inv.Hosts {
		for _, d := range h.PCI {
			can, known := d.Capable.Get()
			runs, running := d.Running.Get()
			if !known || !running {
				continue
			}
			read++
			if runs.Width >= can.Width && runs.Speed >= can.Speed {
				continue
			}
			f := Finding{
				Title:    fmt.Sprintf("the PCIe link of %s on %s runs at %g GT/s x%d instead of %g GT/s x%d", d.Address, called(h.Name), runs.Speed, runs.Width, can.Speed, can.Width),
				Severity: Warning, Confidence: likely, Where: []string{object(h.Name, d.Address)},
				Because: fmt.Sprintf("the link moves at most %.3g GB/s in each direction where the card is built for %.3g GB/s", pcieGBps(runs), pcieGBps(can)),
				Evidence: []Evidence{
					{Layer: "host", What: "PCIe link of " + d.Name, Seen: fmt.Sprintf("%g GT/s x%d", runs.Speed, runs.Width), Expected: fmt.Sprintf("%g GT/s x%d", can.Speed, can.Width), Role: "cause", From: orElse(d.Running.From.String(), d.From.String())},
				},
				WrongIf: "the slot is built for no more, and the port is no faster than the slot; or the link was idle and saves power (speed only)",
				Not:     []string{"the cable and the switch: they do not see PCIe"},
				Fix:     Fix{Text: "reseat the card, check the slot's wiring and the riser, the BIOS setting of the slot's speed and bifurcation", Commands: []string{"lspci -vvv -s ADDRESS | grep -E 'LnkCap:|LnkSta:'", "mlxlink -d DEVICE --port_type PCIE -e"}},
				Settle:  "lspci -vvv under load, and ib_write_bw between host memories against the port's rate",
			}
			if runs.Width >= can.Width {
				f.Severity, f.Confidence = Note, possible // power saving lowers the speed of an idle link
			}
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("the PCIe links of %s run at what the cards can do", counted(read, "network device", "network devices")))
	}
	return cannotCheck("lspci -vvv as root (LnkCap, LnkSta)")
}
