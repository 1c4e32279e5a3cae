package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// H017: PCIe reports errors of a NIC's or GPU's link.
//
// Symptom: one host slower than its sisters, uneven, or a device that falls off its bus. Mechanism: packets with a wrong
// check sequence are sent again by the link itself (replays), which costs bandwidth; what it cannot mend ends in an error
// that the driver sees. Evidence for: the kernel's AER lines, the NIC's own counters of PCIe recovery. Against: a few
// corrected errors at boot. Look-alikes: H006, where the link is narrow and sound.
var causePCIeErrors = Cause{
	Code:     "H017",
	Title:    "PCIe reports errors of a device's link",
	Needs:    "the kernel log, two readings of ethtool -S",
	Explains: []string{"P004", "H006"},
	Check:    checkPCIeErrors,
}

// someCorrected is how many lines about corrected errors are worth a word: a link logs one or two while it trains.
const someCorrected = 3

func checkPCIeErrors(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	var findings []Finding
	read := 0
	base := func(where string) Finding {
		return Finding{
			Severity: Warning, Confidence: likely, Where: []string{where},
			Because: "each packet that arrives damaged on the bus is sent again, and what cannot be mended stops the device",
			WrongIf: "the lines are from the time the host started, and none came since",
			Not:     []string{"the cable and the switch: the errors are on the host's own bus"},
			Fix:     Fix{Text: "reseat the card and the riser, update its firmware, then swap slot or card", Commands: []string{"dmesg -T | grep -iE 'aer|pcie bus error'", "lspci -vvv -s ADDRESS | grep -E 'DevSta|CESta|UESta'", "ethtool -S IFACE | grep pci_signal"}},
			Settle:  "the same lines and counters after the card was reseated",
		}
	}
	for _, h := range v.Inv.Hosts {
		count := map[string]int{}
		for _, k := range h.Kernel {
			read++
			if k.Kind != "aer" {
				continue
			}
			k.Device = reported(k)
			text := strings.ToLower(k.Text)
			fatal := strings.Contains(text, "uncorrect") || strings.Contains(text, "fatal") && !strings.Contains(text, "non-fatal")
			if count[k.Device]++; !fatal && count[k.Device] != someCorrected {
				continue
			}
			where := object(h.Name, k.Device)
			if slices.ContainsFunc(findings, func(f Finding) bool { return f.Where[0] == where }) {
				continue
			}
			f := base(where)
			f.Title = fmt.Sprintf("the kernel of %s reports PCIe errors of %s", called(h.Name), orElse(k.Device, "a device"))
			if fatal {
				f.Confidence = named
			}
			f.Evidence = []Evidence{{Layer: "host", What: "kernel log", Seen: shorten(k.Text), Role: "cause", From: k.From.String()}}
			findings = append(findings, f)
		}
	}
	for _, k := range v.keys(telemetry.NICPCISignal) {
		read++
		rows := v.grewRows("NIC", "cause", k.Object, telemetry.NICPCISignal)
		if len(rows) == 0 {
			continue
		}
		f := base(spoken(k.Object))
		f.Title = fmt.Sprintf("the PCIe link of %s had to recover", spoken(k.Object))
		f.Evidence = rows
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut("neither the kernel log nor the NICs' counters show PCIe errors")
	}
	return cannotCheck("the kernel log (dmesg), or rx_pci_signal_integrity twice")
}

// reported is the device an AER line is about: the port that received the message names it behind "from".
func reported(k evidence.KernelEvent) string {
	if _, rest, ok := strings.Cut(k.Text, " from "); ok {
		word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if a := evidence.PCIAddress(word); a != "" {
			return a
		}
	}
	return k.Device
}
