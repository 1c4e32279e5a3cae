package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// P004: an RDMA device failed as a whole.
//
// Symptom: every process that uses the device fails at once. Mechanism: IBV_EVENT_DEVICE_FATAL, which
// libibverbs prints as "local catastrophic error" (rdma-core libibverbs/enum_strs.c): firmware, hardware or the
// PCIe link of the device died and all its QPs with it. Evidence for: the event. Look-alikes: P003 (one port, the
// device lives), a driver restart by hand.
var causeDeviceFatal = Cause{
	Code:     "P004",
	Title:    "an RDMA device failed",
	Needs:    "the NCCL log",
	Explains: []string{"P003", "R004", "R005", "J002", "J003", "I007", "H002", "C002"},
	Check:    checkDeviceFatal,
}

func isDeviceFatal(e evidence.Event) bool {
	what := strings.ToLower(orElse(e.What, e.Text))
	return strings.Contains(what, "catastrophic") || strings.Contains(what, "device fatal") || strings.Contains(what, "device_fatal")
}

func checkDeviceFatal(v *View) Verdict {
	fatal := without(v.said(evidence.AsyncEvent), func(e evidence.Event) bool { return !isDeviceFatal(e) })
	if len(fatal) == 0 {
		if f, ok := v.deviceByKernel(); ok {
			return found(f)
		}
		if s, silent := v.silent(); silent {
			return s
		}
		return ruledOut("no device reported a fatal error in the NCCL log")
	}
	var findings []Finding
	for _, host := range eventHosts(fatal) {
		own := without(fatal, func(e evidence.Event) bool { return e.Host != host })
		where := object(host, own[0].Device)
		processes := map[int]bool{}
		for _, e := range own {
			processes[e.Process] = true
		}
		f := Finding{
			Title:      fmt.Sprintf("the RDMA device of %s failed: %s reported a catastrophic error", where, counted(len(processes), "process", "processes")),
			Severity:   Critical,
			Confidence: named,
			Where:      []string{where},
			Because:    "the device's firmware, hardware or PCIe link died and took all its QPs with it; the library only passes the news on",
			Evidence:   tell(own, "cause"),
			Not:        []string{"NCCL or the application: the event comes from the device through its driver", "a cable: that raises a port error, not a device error"},
			WrongIf:    "the driver was reloaded or the device reset by hand at that time",
			Fix: Fix{
				Text:     "read the kernel log for the device's health report and PCIe errors, update the firmware, then replace the card if it comes back",
				Commands: []string{"dmesg -T | grep -iE 'mlx5|health|synd|AER|pcieport'", "mstflint -d DEVICE query", "lspci -vvv -s ADDRESS | grep -E 'LnkSta|DevSta|UESta'"},
			},
			Settle: "the kernel log of " + called(host) + " at that time",
		}
		for _, h := range v.Inv.Hosts {
			if h.Name != host {
				continue
			}
			rows := 0
			for _, k := range h.Kernel {
				if aboutDevice(k) && rows < maxRows {
					rows++
					f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "kernel log", Seen: shorten(k.Text), Role: "cause", From: k.From.String()})
				}
			}
		}
		f.Evidence = append(f.Evidence, tell(v.completions(wcRetryExceeded), "effect")...)
		findings = append(findings, f)
	}
	return found(findings...)
}

// aboutDevice tells whether a line of the kernel log says that a NIC, or its bus, is in trouble.
func aboutDevice(k evidence.KernelEvent) bool {
	return slices.Contains([]string{"nic health", "netdev watchdog", "aer", "pcie power"}, k.Kind)
}

// deviceByKernel finds a NIC whose driver gave up on it, or whose queue stood still, where no library reported it.
func (v *View) deviceByKernel() (Finding, bool) {
	for _, h := range v.Inv.Hosts {
		i := slices.IndexFunc(h.Kernel, func(k evidence.KernelEvent) bool { return k.Kind == "nic health" || k.Kind == "netdev watchdog" })
		if i < 0 {
			continue
		}
		k := h.Kernel[i]
		where := object(h.Name, k.Device)
		f := Finding{
			Title:    fmt.Sprintf("the driver of %s reports that the device failed", where),
			Severity: Warning, Confidence: likely, Where: []string{where},
			Because:  "firmware or hardware of the card stopped; its queue pairs are gone until the driver has recovered it, and peers get no answer",
			Evidence: []Evidence{{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}},
			WrongIf:  "the driver was reloaded or the device reset by hand at that time",
			Not:      []string{"a cable: that takes the link down, not the device"},
			Fix:      Fix{Text: "read the health report around the line, update the firmware, then replace the card if it comes back", Commands: []string{"dmesg -T | grep -iE 'mlx5|health|synd|AER'", "devlink health show", "mstflint -d DEVICE query"}},
			Settle:   "the time of the line against the first error of the job",
		}
		if k.Kind == "netdev watchdog" {
			f.Title = fmt.Sprintf("a transmit queue of %s stood still", where)
			f.Confidence = possible
		}
		if broken := v.unreachable(); len(broken) > 0 {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, tell(broken, "effect")...)
		}
		return f, true
	}
	return Finding{}, false
}
