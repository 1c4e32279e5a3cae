package diagnose

import (
	"fmt"
	"strings"
)

// H009: relaxed ordering of PCIe is off where the platform needs it.
//
// Symptom: half the rate between host memories or GPUs on AMD processors and in virtual machines, with every link whole.
// Mechanism: a strictly ordered write waits for the one before it; on platforms with a long way to memory the NIC cannot
// keep enough writes in flight (PCI Express base specification, 2.4). NCCL asks for relaxed ordering of its data by
// itself, unless NCCL_IB_PCI_RELAXED_ORDERING=0 or the device's control register forbids it (RlxdOrd-). Evidence for:
// either, with the NIC waiting for PCIe. Look-alikes: J004 (ordering forced off everywhere loses data), H010.
var causeRelaxedOff = Cause{
	Code:  "H009",
	Title: "relaxed ordering of PCIe is off where it is needed",
	Needs: "lspci -vvv as root, lscpu, the variables of the job",
	Check: checkRelaxedOff,
}

func checkRelaxedOff(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	fix := Fix{
		Text:     "let NCCL choose (unset the variable), and set relaxed ordering in the BIOS and in the NIC's control register",
		Commands: []string{"unset NCCL_IB_PCI_RELAXED_ORDERING", "lspci -vvv -s ADDRESS | grep RlxdOrd", "mlxconfig -d DEVICE query PCI_WR_ORDERING   # per_mkey(0)"},
	}
	f := Finding{
		Severity: Warning, Confidence: possible, Fix: fix,
		Because: "each write waits until the one before it has arrived, and the way to memory is too long on this platform to fill the port in that manner",
		WrongIf: "the bandwidth is the same with NCCL_IB_PCI_RELAXED_ORDERING=1",
		Settle:  "ib_write_bw with and without --disable_pcie_relaxed, between the same two hosts",
	}
	if e, ok := v.Inv.NCCL.Lookup("NCCL_IB_PCI_RELAXED_ORDERING"); ok && strings.TrimSpace(e.Value) == "0" {
		f.Title = "NCCL_IB_PCI_RELAXED_ORDERING=0 keeps the NIC from writing out of order"
		f.Where = []string{orElse(e.Host, e.Name)}
		f.Evidence = []Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset (2: where the device can)", Role: "cause", From: e.From.String()}}
		f.Fix.Try = []Change{{Setting: e.Name, Value: ""}}
		f.Severity = Note
		for _, h := range v.Inv.Hosts {
			if amd(h) || virtualMachine(h) {
				f.Severity, f.Confidence = Warning, likely
				f.Evidence = append(f.Evidence, platformRow(h.Name, h.Processor.Model.Or("")+" "+h.Processor.Virtual.Or(""), orElse(h.Processor.Model.From.String(), h.Processor.Virtual.From.String()), e.From.String()))
				break
			}
		}
		return found(f)
	}
	read := 0
	var findings []Finding
	for _, d := range v.pciNICs() {
		on, known := d.Relaxed.Get()
		if !known || d.job == no || strings.Contains(d.Name, "Virtual Function") {
			continue // the register of a virtual function is what the hypervisor makes up
		}
		read++
		if on {
			continue
		}
		stalls := v.pciStalls(d)
		needed := amd(d.host) || virtualMachine(d.host)
		if !needed && len(stalls) == 0 {
			continue // Intel's and NVIDIA's own hosts reach their rate either way
		}
		g := f
		g.Title = fmt.Sprintf("relaxed ordering is switched off in the control register of %s", d)
		g.Where = []string{d.String()}
		g.Evidence = []Evidence{{Layer: "host", What: "DevCtl of " + d.String(), Seen: "RlxdOrd-", Expected: "RlxdOrd+", Role: "cause", From: d.Relaxed.From.String()}}
		if needed {
			p := d.host.Processor
			g.Evidence = append(g.Evidence, platformRow(d.host.Name, p.Model.Or("")+" "+p.Virtual.Or(""), orElse(p.Model.From.String(), p.Virtual.From.String()), d.From.String()))
		}
		g.Evidence = append(g.Evidence, stalls...)
		if len(stalls) > 0 {
			g.Confidence = likely
		}
		findings = append(findings, g)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut("relaxed ordering is on, or nothing waits for PCIe on a platform that does without")
	}
	return cannotCheck("lspci -vvv as root (RlxdOrd)")
}

// platformRow names the platform for which a setting of PCIe matters.
func platformRow(host, what, from, other string) Evidence {
	return Evidence{Layer: "host", What: "platform of " + called(host), Seen: orElse(strings.TrimSpace(what), "a virtual machine"), From: orElse(from, other)}
}
