package diagnose

import (
	"fmt"
	"strings"
)

// H008: the NIC's PCIe packets are too small.
//
// Symptom: a whole PCIe link and a port that does not reach its rate; reads (sends from memory) slower than writes.
// Mechanism: each PCIe packet carries MaxPayload bytes and some 24 of overhead; with 128 a sixth of the link is headers. A
// read is split into requests of MaxReadReq bytes, and their number in flight is limited. Evidence for: MaxPayload and
// MaxReadReq in DevCtl, with a link that carries the port only with larger ones. Against: a link with room to spare.
// Look-alikes: H006, H002.
var causePayload = Cause{
	Code:  "H008",
	Title: "the NIC's PCIe packets are too small (MaxPayload, MaxReadReq)",
	Needs: "lspci -vvv as root, and the port's rate",
	Check: checkPayload,
}

// readRequest is the read request NVIDIA's tuning guides set for ports of 100 Gbit/s and more ("MaxReadReq 4096"); Linux
// leaves what firmware set, 512 on most.
const (
	readRequest      = 4096
	smallReadRequest = 512
)

func checkPayload(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	var findings []Finding
	read := 0
	for _, d := range v.pciNICs() {
		runs, running := d.Running.Get()
		payload, known := d.MaxPayload.Get()
		rate, told := d.rate.Get()
		if strings.Contains(d.Name, "Virtual Function") || !running || !known || payload <= 0 || !told || d.job == no || runs.Width == 0 {
			continue
		}
		read++
		need := rate.BytesPerSecond() / 1e9
		gets := payloadGBps(runs, payload)
		may := d.MayPayload.Or(0)
		request, requestKnown := d.MaxRead.Get()
		f := Finding{
			Severity: Warning, Confidence: likely, Where: []string{d.String()},
			WrongIf: "the port is not the one the job uses, or never meant to reach its rate",
			Not:     []string{"the width and speed of the link: they would carry the port"},
			Fix: Fix{
				Text:     "let the BIOS, or the kernel with pci=pcie_bus_perf, choose the largest payload that all devices on the way allow; set the NIC's read request to 4096 bytes",
				Commands: []string{"lspci -vvv -s ADDRESS | grep -E 'DevCap:|MaxReadReq'", "setpci -s ADDRESS CAP_EXP+8.w   # bits 14:12 = 5 is 4096", "mlxconfig -d DEVICE query | grep MAX_ACC_OUT_READ"},
			},
			Settle: "ib_write_bw and ib_read_bw before and after, between host memories",
		}
		switch {
		case gets < need && pcieGBps(runs) >= need && may > payload && payloadGBps(runs, may) > gets:
			f.Title = fmt.Sprintf("%s sends PCIe packets of %d bytes: its link then moves %.3g GB/s, and the port needs %.3g", d, payload, gets, need)
			f.Because = fmt.Sprintf("each packet has about %d bytes of overhead whatever it carries, so with %d bytes of payload %.0f %% of the link is overhead", tlpOverhead, payload, 100*float64(tlpOverhead)/float64(payload+tlpOverhead))
			f.Evidence = []Evidence{
				{Layer: "host", What: "MaxPayload of " + d.String(), Seen: fmt.Sprintf("%d bytes", payload), Expected: fmt.Sprintf("%d bytes, which the card allows", may), Role: "cause", From: d.MaxPayload.From.String()},
				{Layer: "host", What: "PCIe link", Seen: linkText(runs), From: d.Running.From.String()},
				{Layer: "NIC", What: "rate of the port", Seen: rate.String(), Expected: fmt.Sprintf("%.3g Gbit/s or less", 8*gets), Role: "effect", From: d.rate.From.String()},
			}
		case requestKnown && request < smallReadRequest && need >= 12: // 100 Gbit/s
			f.Title = fmt.Sprintf("%s reads memory in requests of %d bytes", d, request)
			f.Because = fmt.Sprintf("a port of %v needs that many more requests in flight, and the card and the root complex limit their number", rate)
			f.Confidence = possible
			f.Evidence = []Evidence{
				{Layer: "host", What: "MaxReadReq of " + d.String(), Seen: fmt.Sprintf("%d bytes", request), Expected: fmt.Sprintf("%d bytes", readRequest), Role: "cause", From: d.MaxRead.From.String()},
				{Layer: "NIC", What: "rate of the port", Seen: rate.String(), From: d.rate.From.String()},
			}
		default:
			continue
		}
		if stalls := v.pciStalls(d); len(stalls) > 0 {
			f.Evidence = append(f.Evidence, stalls...)
			f.Confidence = named
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("the PCIe packets of %s leave room for their ports", counted(read, "network device", "network devices")))
	}
	return cannotCheck("lspci -vvv as root (DevCtl), with the rate of the port (ethtool, ibstat)")
}
