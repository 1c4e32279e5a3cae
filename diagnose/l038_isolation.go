package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// L038: the counters show that RoCE is not in the priority that is paused, or that it shares that priority.
//
// Symptom: pause and loss at the wrong time, two-way traffic that disturbs itself, jitter when storage or backup runs.
// Mechanism: pause acts on a priority and knows no applications. Evidence for: bytes by priority beside the bytes of RDMA
// of the same port over one window. Against: headers: at the wire a packet of 1024 bytes counts 8 % more than its RDMA
// part, so a difference below 15 % says nothing. Look-alikes: X011 (the same, from sampled flows that name the application).
var causeIsolation = Cause{
	Code:     "L038",
	Title:    "RoCE is not alone in its priority, or not in the paused one",
	Needs:    "two readings of ethtool -S: bytes by priority and bytes of RDMA; PFC by priority",
	Explains: []string{"L033"},
	Check:    checkIsolation,
}

const (
	// foreignShare is the part of a priority's bytes that headers cannot explain: those of the smallest path MTU in use,
	// 1024, are 82 of 1106 bytes (see roceOverhead), twice over.
	foreignShare = 0.15
	// isolationBytes is the least traffic worth judging: below it a few control messages decide the shares.
	isolationBytes = 1 << 30
)

func checkIsolation(v *View) Verdict {
	switch {
	case v.Inv.Simulated:
		return notApplicable("the sorting of a simulated run is known from its flows")
	case v.roce() == no:
		return notApplicable("the job runs over InfiniBand")
	}
	judged := 0
	var findings []Finding
	for _, l := range v.linkEnds() {
		byPriority, rdma, known := v.sorted(l)
		if !known {
			continue
		}
		judged++
		if f, bad := v.isolationFinding(l, byPriority, rdma); bad {
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case judged > 0:
		return ruledOut(fmt.Sprintf("RoCE is in the paused priority and has it to itself on %s", count(judged, "port")))
	}
	return cannotCheck("ethtool -S of a RoCE port twice under load (rx_prioN_bytes and rx_vport_rdma_unicast_bytes)")
}

// sorted is the growth of a port's bytes, both directions: by priority, and of RDMA.
func (v *View) sorted(l linkEnd) (byPriority [evidence.Priorities]float64, rdma float64, known bool) {
	if v.Win == nil {
		return byPriority, 0, false
	}
	read := 0
	for _, id := range []telemetry.SeriesID{telemetry.NICTxBytes, telemetry.NICRxBytes} {
		for p := range int8(evidence.Priorities) {
			if d, ok := v.Win.Delta(key(id, l.object, p)); ok {
				byPriority[p] += d
				read++
			}
		}
	}
	for _, id := range []telemetry.SeriesID{telemetry.NICRDMATxBytes, telemetry.NICRDMARxBytes} {
		d, ok := v.Win.Delta(key(id, l.object, telemetry.AnyPriority))
		if !ok {
			return byPriority, 0, false
		}
		rdma += d
	}
	return byPriority, rdma, read >= 4 && rdma >= isolationBytes
}

func (v *View) isolationFinding(l linkEnd, byPriority [evidence.Priorities]float64, rdma float64) (Finding, bool) {
	busiest := 0
	for p, b := range byPriority {
		if b > byPriority[busiest] {
			busiest = p
		}
	}
	var pfc [evidence.Priorities]bool
	pfcKnown, pfcFrom := false, ""
	for _, d := range l.host.Netdevs {
		if d.Name == l.name && d.QoS != nil {
			pfc, pfcKnown = d.QoS.PFC.Get()
			pfcFrom = d.QoS.PFC.From.String()
		}
	}
	paused := pauses(pfc)
	rows := []Evidence{
		{Layer: "NIC", What: "bytes of RDMA, " + l.String(), Seen: amount(rdma), From: v.from(telemetry.NICRDMATxBytes, l.object, telemetry.AnyPriority)},
		{Layer: "NIC", What: fmt.Sprintf("bytes of priority %d, %s", busiest, l), Seen: amount(byPriority[busiest]), Role: "cause", From: v.from(telemetry.NICTxBytes, l.object, int8(busiest))},
	}
	f := Finding{
		Severity: Warning, Confidence: named, Where: []string{l.String()}, Evidence: rows,
		WrongIf: "the counters of RDMA leave out a part of it (other functions of the card)",
		Settle:  "tcpdump of the port's mirror, or sFlow at its switch: DSCP of UDP port 4791 and of the rest",
	}
	switch {
	case pfcKnown && len(paused) > 0 && !pfc[busiest] && rdma > byPriority[busiest]/2 && rdma > 2*sumOver(byPriority, paused):
		f.Title = fmt.Sprintf("RoCE of %s travels in priority %d, and PFC is on for %s", l, busiest, priorities(paused))
		f.Because = "pause protects a priority that RoCE does not use: its packets are dropped when a buffer is full"
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "PFC of " + l.String(), Seen: "on for " + priorities(paused), Expected: fmt.Sprintf("on for %d, or RoCE in another", busiest), Role: "cause", From: pfcFrom})
		f.Fix = Fix{Text: "send RoCE with a DSCP that NICs and switches map to the paused priority", Commands: []string{"export NCCL_IB_TC=106   # DSCP 26", "mlnx_qos -i IFACE --trust dscp", "cma_roce_tos -d DEVICE -t 106"}}
		return f, true
	case byPriority[busiest]*(1-foreignShare) > rdma && (!pfcKnown || pfc[busiest]) && busiest > 0:
		other := byPriority[busiest] - rdma
		f.Title = fmt.Sprintf("RoCE of %s shares priority %d: %s of its %s are not RDMA", l, busiest, amount(other), amount(byPriority[busiest]))
		f.Because = "pause and marks act on the priority: bursts of the other traffic stop and slow RoCE, and pauses for RoCE stop the other"
		f.Evidence[1].Expected = "about " + amount(rdma)
		if !pfcKnown {
			f.Confidence = likely
		}
		f.Fix = Fix{Text: "give the other traffic a DSCP of its own, mapped to a lossy priority on its hosts and on the switches", Commands: []string{"tc -s qdisc show dev IFACE", "iptables -t mangle -A POSTROUTING -p tcp -j DSCP --set-dscp 8", "mlnx_qos -i IFACE"}}
		return f, true
	}
	return f, false
}

func sumOver(all [evidence.Priorities]float64, which []int) (sum float64) {
	for _, p := range which {
		sum += all[p]
	}
	return sum
}

// hostOf is the host of an object: "host3" of "host3/mlx5_0".
func hostOf(object string) string {
	host, _, _ := strings.Cut(object, "/")
	return host
}
