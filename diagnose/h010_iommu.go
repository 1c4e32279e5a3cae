package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H010: the IOMMU translates every access of the NIC.
//
// Symptom: bandwidth below the port's with whole links, the NIC waits for PCIe, more with small pages and many buffers.
// Mechanism: with an IOMMU in translating mode each address a device uses is looked up, and its cache is small; pass-through
// (iommu=pt) maps once. Peer-to-peer with GPUs goes up to the root complex to be translated. Evidence for: the kernel's
// command line and its line about the default domain. Against: a virtual machine, where the host decides; a platform whose
// NIC and GPU cache translations (ATS). Look-alikes: H002 (access control), H008.
var causeIOMMU = Cause{
	Code:     "H010",
	Title:    "the IOMMU translates every access of the NIC",
	Needs:    "the kernel's command line (/proc/cmdline) or its log",
	Explains: []string{"H002", "L012"},
	Check:    checkIOMMU,
}

func checkIOMMU(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no IOMMU")
	}
	var findings []Finding
	read := 0
	for _, h := range v.Inv.Hosts {
		if f, ok := iommuFault(h); ok {
			findings = append(findings, f)
			continue
		}
		mode, row := iommuMode(h)
		if mode == unknown {
			continue
		}
		read++
		if mode == no || virtualMachine(h) {
			continue
		}
		f := Finding{
			Title:    fmt.Sprintf("the IOMMU of %s translates every access of its devices", called(h.Name)),
			Severity: Note, Confidence: possible, Where: []string{called(h.Name)},
			Because:  "each address a NIC or GPU uses is looked up in tables in memory, and traffic between the two goes up to the root complex for it",
			Evidence: []Evidence{row},
			WrongIf:  "ib_write_bw with GPU memory reaches the port's rate as it is",
			Fix:      Fix{Text: "boot bare metal with the IOMMU in pass-through mode, or off where nothing needs it", Commands: []string{"cat /proc/cmdline", "grubby --update-kernel=ALL --args=iommu=pt", "dmesg | grep -i 'iommu: Default domain'"}},
			Settle:   "ib_write_bw --use_cuda before and after, between the same two hosts",
		}
		for _, d := range v.pciNICs() {
			if d.host == h {
				if stalls := v.pciStalls(d); len(stalls) > 0 {
					f.Severity, f.Confidence = Warning, likely
					f.Evidence = append(f.Evidence, stalls...)
				}
			}
		}
		if _, slow := v.hostFastGPUSlow(); slow {
			f.Severity, f.Confidence = Warning, likely
		}
		findings = append(findings, f)
	}
	if f, ok := v.iommuByRCCL(); ok && len(findings) == 0 {
		return found(f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut("the IOMMU is off, in pass-through mode, or the hosts are virtual machines")
	}
	return cannotCheck("/proc/cmdline, or the kernel log from its start")
}

// iommuByRCCL finds RCCL's own remark that the kernel was started without iommu=pt (src/init.cc of RCCL). It compares the
// command line alone, so on a host whose IOMMU is off it says so as well: more than a note only where a collective hangs.
func (v *View) iommuByRCCL() (Finding, bool) {
	said := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool { return !strings.Contains(e.Text, `Missing "iommu=pt"`) })
	if len(said) == 0 {
		return Finding{}, false
	}
	f := Finding{
		Title:    fmt.Sprintf("RCCL misses iommu=pt on the kernel's command line of %s", names(eventHosts(said))),
		Severity: Note, Confidence: possible, Where: []string{called(said[0].Host)},
		Because:  "with an IOMMU that translates, direct transfers between GPUs, and between GPU and NIC, are slow or never end",
		Evidence: tell(said, "cause"),
		WrongIf:  "the IOMMU is off in the firmware: RCCL looks at the command line only",
		Fix:      Fix{Text: "boot with iommu=pt", Commands: []string{"cat /proc/cmdline; dmesg | grep -iE 'iommu|AMD-Vi' | head", "grubby --update-kernel=ALL --args=iommu=pt"}},
		Settle:   "dmesg | grep 'iommu: Default domain'",
	}
	if stuck := v.said(evidence.WatchdogTimeout); len(stuck) > 0 && len(v.networkErrors()) == 0 {
		f.Severity, f.Confidence = Warning, likely
		f.Evidence = append(f.Evidence, tell(stuck, "effect")...)
	}
	return f, true
}

// iommuMode tells whether a host's IOMMU translates (yes), does not (no), or is not known to. The last word is the
// kernel's: "iommu: Default domain type: Translated" or "Passthrough" (drivers/iommu/iommu.c).
func iommuMode(h *evidence.Host) (answer, Evidence) {
	for _, k := range h.Kernel {
		text := strings.ToLower(k.Text)
		row := Evidence{Layer: "host", What: "kernel log", Seen: shorten(k.Text), Expected: "Passthrough", Role: "cause", From: k.From.String()}
		switch {
		case strings.Contains(text, "default domain type: translated"):
			return yes, row
		case strings.Contains(text, "default domain type: passthrough"):
			return no, row
		}
	}
	line, ok := h.Versions["cmdline"].Get()
	if !ok {
		return unknown, Evidence{}
	}
	row := Evidence{Layer: "host", What: "kernel command line", Seen: "", Expected: "iommu=pt", Role: "cause", From: h.Versions["cmdline"].From.String()}
	mode := unknown // what holds without a word on it depends on how the kernel was built
	for word := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "iommu.passthrough" && value == "1", name == "iommu" && (value == "pt" || value == "off"), (name == "intel_iommu" || name == "amd_iommu") && value == "off":
			row.Seen = word
			return no, row
		case name == "intel_iommu" && strings.HasPrefix(value, "on"), name == "amd_iommu" && value == "on", name == "iommu.passthrough" && value == "0", name == "iommu" && (value == "nopt" || value == "force"):
			mode, row.Seen = yes, strings.TrimSpace(row.Seen+" "+word)
		}
	}
	return mode, row
}

// iommuFault finds an access that the IOMMU refused: IO_PAGE_FAULT (drivers/iommu/amd) or DMAR's line (intel). Peer-to-peer
// between NIC and GPU is what it refuses on a host that was not set up for it.
func iommuFault(h *evidence.Host) (Finding, bool) {
	for _, k := range h.Kernel {
		if k.Kind != "iommu fault" {
			continue
		}
		where := object(h.Name, k.Device)
		return Finding{
			Title:    fmt.Sprintf("the IOMMU of %s refused an access of %s", called(h.Name), orElse(k.Device, "a device")),
			Severity: Warning, Confidence: likely, Where: []string{where},
			Because:  "the address the device used is not mapped for it: what it was to read or write never arrived, and the transfer fails",
			Evidence: []Evidence{{Layer: "host", What: "kernel log", Seen: shorten(k.Text), Expected: "no such line", Role: "cause", From: k.From.String()}},
			WrongIf:  "the device is neither a NIC nor a GPU of the job",
			Fix:      Fix{Text: "boot bare metal with the IOMMU in pass-through mode, or off where nothing needs it; in virtual machines pass the devices through together", Commands: []string{"dmesg -T | grep -E 'IO_PAGE_FAULT|DMAR'", "grubby --update-kernel=ALL --args=iommu=pt"}},
			Settle:   "NCCL_NET_GDR_LEVEL=LOC as a test: without peer-to-peer no such line comes",
		}, true
	}
	return Finding{}, false
}
