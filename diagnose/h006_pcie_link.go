package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// H006: the PCIe link of a NIC runs below what the card can do, or a bridge above it does.
//
// Symptom: a port whose link is up at full rate moves half of it. Mechanism: the link trained at fewer lanes or a lower
// speed (slot wired for x8, riser, dirty contact, BIOS), and PCIe is narrower than the port. Evidence for: LnkSta below
// LnkCap in lspci; old versions do not print "(downgraded)", so the numbers are compared; the NIC waits for PCIe. Against: a
// link that still carries the port's rate. Look-alikes: power saving lowers the speed (not the width) of an idle link; H008,
// H010, H002, where the link is whole.
var causePCIeLink = Cause{
	Code:     "H006",
	Title:    "the PCIe link of a NIC runs below its capability",
	Needs:    "lspci -vvv as root",
	Explains: []string{"L012", "H008"},
	Check:    checkPCIeLink,
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
	for _, d := range v.pciNICs() {
		can, known := d.Capable.Get()
		runs, running := d.Running.Get()
		if !known || !running || d.job == no || runs.Width == 0 { // x0: nothing is connected
			continue
		}
		read++
		if f, bad := v.linkFinding(d, can, runs); bad {
			findings = append(findings, f)
			continue
		}
		if f, bad := v.narrowBridge(d, runs); bad {
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("the PCIe links of %s run at what the cards can do, or carry what their ports need", counted(read, "network device", "network devices")))
	}
	return cannotCheck("lspci -vvv as root (LnkCap, LnkSta)")
}

// linkFinding judges a NIC's own link.
func (v *View) linkFinding(d pciNIC, can, runs evidence.PCILink) (Finding, bool) {
	if runs.Width >= can.Width && runs.Speed >= can.Speed {
		return Finding{}, false
	}
	f := pcieFinding(d)
	f.Title = fmt.Sprintf("the PCIe link of %s on %s runs at %s instead of %s", d.name, called(d.host.Name), linkText(runs), linkText(can))
	f.Because = fmt.Sprintf("the link moves at most %.3g GB/s in each direction where the card is built for %.3g GB/s", pcieGBps(runs), pcieGBps(can))
	f.Evidence = []Evidence{{Layer: "host", What: "PCIe link of " + orElse(d.Name, d.name), Seen: linkText(runs), Expected: linkText(can), Role: "cause", From: orElse(d.Running.From.String(), d.From.String())}}
	rate, told := d.rate.Get()
	stalls := v.pciStalls(d)
	f.Evidence = append(f.Evidence, stalls...)
	switch {
	case told && pcieGBps(runs) >= rate.BytesPerSecond()/1e9 && len(stalls) == 0:
		f.Severity, f.Confidence = Note, weak
		f.Not = append(f.Not, fmt.Sprintf("a bottleneck: %.3g GB/s still carry the port's %v", pcieGBps(runs), rate))
	case runs.Width >= can.Width && len(stalls) == 0:
		f.Severity, f.Confidence = Note, possible // power saving lowers the speed of an idle link
	case told || len(stalls) > 0:
		f.Confidence = named
		if told {
			f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "rate of the port behind it", Seen: rate.String(), Expected: fmt.Sprintf("%.3g Gbit/s or less", 8*pcieGBps(runs)), Role: "effect", From: d.rate.From.String()})
		}
	}
	return f, true
}

// narrowBridge finds a bridge above a NIC whose link is narrower than the NIC's own and than its port.
func (v *View) narrowBridge(d pciNIC, runs evidence.PCILink) (Finding, bool) {
	rate, told := d.rate.Get()
	up, ok := d.host.BridgesAbove(d.Address)
	if !told || !ok {
		return Finding{}, false
	}
	for _, address := range up {
		i := slices.IndexFunc(d.host.Tree, func(n evidence.PCINode) bool { return n.Address == address })
		if i < 0 {
			continue
		}
		n := d.host.Tree[i]
		l, known := n.Running.Get()
		if !known || l.Width == 0 || pcieGBps(l) >= pcieGBps(runs) || pcieGBps(l) >= rate.BytesPerSecond()/1e9 {
			continue
		}
		f := pcieFinding(d)
		f.Title = fmt.Sprintf("the PCIe link of the bridge %s above %s on %s runs at %s, less than the port's %v", address, d.name, called(d.host.Name), linkText(l), rate)
		f.Where = []string{object(d.host.Name, address)}
		f.Because = fmt.Sprintf("everything between the NIC and memory passes this link, which moves at most %.3g GB/s in each direction", pcieGBps(l))
		f.Evidence = []Evidence{
			{Layer: "host", What: "PCIe link of the bridge " + address, Seen: linkText(l), Expected: linkText(runs) + ", as the NIC's own", Role: "cause", From: n.Running.From.String()},
			{Layer: "NIC", What: "rate of the port behind it", Seen: rate.String(), Role: "effect", From: d.rate.From.String()},
		}
		if can, known := n.Capable.Get(); known && (can.Width > l.Width || can.Speed > l.Speed) {
			f.Confidence = named
		}
		return f, true
	}
	return Finding{}, false
}

func pcieFinding(d pciNIC) Finding {
	return Finding{
		Severity: Warning, Confidence: likely, Where: []string{d.String()},
		WrongIf: "the slot is built for no more, and the port is no faster than the slot; or the link was idle and saves power (speed only)",
		Not:     []string{"the cable and the switch: they do not see PCIe"},
		Fix:     Fix{Text: "reseat the card, check the slot's wiring and the riser, the BIOS setting of the slot's speed and bifurcation", Commands: []string{"lspci -vvv -s ADDRESS | grep -E 'LnkCap:|LnkSta:'", "mlxlink -d DEVICE --port_type PCIE -e"}},
		Settle:  "lspci -vvv under load, and ib_write_bw between host memories against the port's rate",
	}
}

// pciStalls has rows for a NIC that waits for PCIe, or lost packets to it.
func (v *View) pciStalls(d pciNIC) (rows []Evidence) {
	ends := once(v, func(f *facts) **map[string]linkEnd { return &f.endOf }, func() map[string]linkEnd {
		of := map[string]linkEnd{}
		for _, l := range v.linkEnds() {
			of[l.host.Name+"/"+l.name], of[l.object] = l, l
		}
		return of
	})
	if l, ok := ends[d.host.Name+"/"+d.name]; ok {
		rows = v.grewRows("NIC", "effect", l.object, telemetry.NICPCIStalledWrite, telemetry.NICPCIStalledRead, telemetry.NICPCIBufferOverflow)
	}
	return rows
}
