package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// H013: the interrupts of a NIC are taken on the far side of the host.
//
// Symptom: less TCP throughput and more latency than the NIC gives; uneven speed of two NICs of one host. Mechanism: the
// handler and what it touches are on another NUMA node than the NIC, and each completion crosses the sockets' link.
// Evidence for: /proc/interrupts or the affinities against the NIC's node. Against: RDMA of NCCL, which polls. Look-alikes:
// H011 (the process, not the interrupts), H012.
var causeFarInterrupts = Cause{
	Code:  "H013",
	Title: "the interrupts of a NIC are taken on the far side of the host",
	Needs: "/proc/interrupts or the affinities, the cores of each NUMA node (lscpu), the NIC's node",
	Check: checkFarInterrupts,
}

func checkFarInterrupts(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated host has no interrupts")
	}
	var findings []Finding
	judged := 0
	for _, h := range v.Inv.Hosts {
		if len(h.NUMA) < 2 {
			continue
		}
		for _, d := range deviceInterrupts(h) {
			if d.node < 0 {
				continue
			}
			far, all, how := farShare(h, d)
			if all == 0 {
				continue
			}
			judged++
			if far <= coreShare {
				continue
			}
			f := Finding{
				Title:    fmt.Sprintf("%.0f %% of the interrupts of %s go to cores of another NUMA node than its own (%d)", 100*far, d, d.node),
				Severity: Note, Confidence: possible, Where: []string{d.String()},
				Because:  "the handler, and the memory it works on, are across the link between the sockets",
				Evidence: []Evidence{{Layer: "host", What: how + " of " + d.String(), Seen: fmt.Sprintf("%.0f %% away from node %d", 100*far, d.node), Expected: "on its own node", Role: "cause", From: d.from.String()}},
				WrongIf:  "all traffic of this NIC is RDMA that polls, as NCCL's does: then interrupts cost next to nothing",
				Fix:      Fix{Text: "bind the NIC's interrupts to cores of its own NUMA node, and keep irqbalance from moving them", Commands: []string{"set_irq_affinity_bynode.sh NODE IFACE", "systemctl stop irqbalance"}},
				Settle:   "iperf3 before and after, bound to the NIC's node",
			}
			if v.onlySockets() {
				f.Severity, f.Confidence = Warning, likely
			}
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case judged > 0:
		return ruledOut(fmt.Sprintf("the interrupts of %s stay on their NUMA nodes", counted(judged, "network device", "network devices")))
	}
	return cannotCheck("/proc/interrupts with lscpu and the NUMA node of the NIC, of a host with two nodes or more")
}

// farShare is the part of a device's interrupts that another NUMA node takes: by the affinities where they are known, else
// by the counts.
func farShare(h *evidence.Host, d deviceIRQs) (share float64, all uint64, how string) {
	var far uint64
	for _, q := range d.irqs {
		set, ok := q.Affinity.Get()
		if !ok {
			continue
		}
		all++
		away := true
		for _, cpu := range set.List() {
			if n := h.NodeOf(cpu); n == d.node || n < 0 {
				away = false
				break
			}
		}
		if away {
			far++
		}
	}
	if all > 0 {
		return float64(far) / float64(all), all, "affinities"
	}
	if d.total < enoughInterrupts {
		return 0, 0, ""
	}
	for cpu, n := range d.byCPU {
		if at := h.NodeOf(cpu); at >= 0 && at != d.node {
			far += n
		}
	}
	return float64(far) / float64(d.total), d.total, "interrupts"
}
