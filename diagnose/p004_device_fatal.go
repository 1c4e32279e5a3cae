package diagnose

import (
	"fmt"
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
	if s, silent := v.silent(); silent {
		return s
	}
	fatal := without(v.said(evidence.AsyncEvent), func(e evidence.Event) bool { return !isDeviceFatal(e) })
	if len(fatal) == 0 {
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
			for _, k := range h.Kernel {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "kernel log", Seen: shorten(k.Text), From: k.From.String()})
			}
		}
		f.Evidence = append(f.Evidence, tell(v.completions(wcRetryExceeded), "effect")...)
		findings = append(findings, f)
	}
	return found(findings...)
}
