package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// L036: the QoS path of RoCE is broken at one of its hops.
//
// Symptom: retries and sporadic loss under load although PFC and ECN are set up; two-way traffic that disturbs itself.
// Mechanism: a packet is lossless only where its whole way is: NCCL_IB_TC -> DSCP -> priority (trust, dscp2prio) -> PFC and
// buffer of that priority -> the switch's class -> its pause, headroom and queue -> the queue's marking. One hop that sorts
// it elsewhere undoes the rest. Evidence for: each hop's setting, the first broken one named. Against: no hop pauses
// anything: a network that is lossy by design. Look-alikes: L033, which shows the loss and not where the way is broken.
var causeQoSPath = Cause{
	Code:     "L036",
	Title:    "the QoS path of RoCE is broken at one hop",
	Needs:    "NCCL_IB_TC, mlnx_qos of the hosts, config_db.json of the switches",
	Explains: []string{"L033", "L037", "L038", "L032"},
	Check:    checkQoSPath,
}

func checkQoSPath(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run sorts all RoCE into one priority")
	}
	if v.roce() == no {
		return notApplicable("the job runs over InfiniBand")
	}
	nics := v.qosPorts()
	var switches []port
	for _, p := range v.ports() {
		if p.QoS != nil && p.sw.QoS != nil && p.QoS.PFC.Known() && !p.State.Is(func(s string) bool { return s != "up" }) {
			switches = append(switches, p)
		}
	}
	if len(nics)+len(switches) == 0 {
		return cannotCheck("mlnx_qos -i IFACE of the hosts, and config_db.json of the switches")
	}
	lossless := v.losslessPriority(nics, switches)
	if lossless < 0 {
		if len(switches) == 0 {
			return cannotCheck("config_db.json of the switches: no NIC that was read pauses anything, so it is not known whether the network is meant to be lossless")
		}
		return ruledOut("nothing is paused anywhere: the network is lossy by design")
	}
	ways := v.qosWays(nics, switches, lossless)
	first := slices.IndexFunc(ways, func(w way) bool { return w.broken >= 0 })
	if first < 0 {
		return v.wholeWay(ways, nics, switches)
	}
	return found(v.qosFinding(ways, first))
}

// way is the hops of a packet from one place, and the first that is broken.
type way struct {
	hops   []hop
	broken int // -1 where none is
	depth  int // of the broken hop, over host and switch
}

// behindHost is the depth at which a switch's hops begin: a host has fewer.
const behindHost = 100

// losslessPriority is the priority that is meant to be lossless: what most ports pause, the lowest of several; -1 where
// nothing pauses.
func (v *View) losslessPriority(nics []qosPort, switches []port) int {
	var votes [evidence.Priorities]int
	vote := func(pfc evidence.Value[[evidence.Priorities]bool]) {
		set, _ := pfc.Get()
		for _, p := range pauses(set) {
			votes[p]++
		}
	}
	for _, n := range nics {
		vote(n.qos.PFC)
	}
	for _, p := range switches {
		vote(p.QoS.PFC)
	}
	best := -1
	for p, n := range votes {
		if n > 0 && (best < 0 || n > votes[best]) {
			best = p
		}
	}
	return best
}

// qosWays follows the packets of each host through its NIC, and of the first host through each switch port. The ways are
// sorted by how early they break.
func (v *View) qosWays(nics []qosPort, switches []port, lossless int) (ways []way) {
	dscp, priority := -1, lossless
	add := func(hops []hop, depth int) {
		w := way{hops: hops, broken: slices.IndexFunc(hops, func(h hop) bool { return h.broken != "" })}
		w.depth = depth + max(w.broken, 0)
		if w.broken < 0 {
			w.depth = 1 << 10 // behind those that break
		}
		ways = append(ways, w)
	}
	for i, n := range nics {
		hops, p := v.nicHops(n, lossless)
		add(hops, 0)
		if tc, told := v.trafficClassOf(n.host.Name); told && i == 0 {
			dscp = tc.dscp()
			if p >= 0 {
				priority = p
			}
		}
	}
	if len(nics) == 0 {
		host := ""
		if hosts := v.jobHosts(); len(hosts) > 0 {
			host = hosts[0]
		}
		if tc, told := v.trafficClassOf(host); told {
			dscp = tc.dscp()
			priority = -1
			add([]hop{{name: "traffic class of RoCE", object: orElse(host, "the job"), layer: "collective", seen: fmt.Sprintf("%d (DSCP %d): %s", tc.value, dscp, tc.how), from: tc.from}}, 0)
		}
	}
	// What the host sorts wrongly the switch cannot put right: its hops are judged for a packet that arrives as it is meant.
	hostBroken := slices.ContainsFunc(ways, func(w way) bool { return w.broken >= 0 })
	if hostBroken {
		dscp, priority = -1, lossless
	}
	for _, p := range switches {
		add(switchHops(p, dscp, priority), behindHost)
	}
	slices.SortStableFunc(ways, func(a, b way) int { return a.depth - b.depth })
	return ways
}

// wholeWay is the verdict where no hop is broken.
func (v *View) wholeWay(ways []way, nics []qosPort, switches []port) Verdict {
	hops := 0
	for _, w := range ways {
		hops += len(w.hops)
	}
	switch {
	case len(nics) == 0:
		return cannotCheck("mlnx_qos -i IFACE of the hosts; the switches' part of the way is whole")
	case len(switches) == 0:
		return cannotCheck("config_db.json of the switches; the hosts' part of the way is whole")
	}
	return ruledOut(fmt.Sprintf("the way of RoCE from the traffic class to the queue is whole (%d hops read)", hops))
}

func (v *View) qosFinding(ways []way, first int) Finding {
	w := ways[first]
	h := w.hops[w.broken]
	f := Finding{
		Title:    "the QoS path of RoCE breaks at: " + h.broken,
		Severity: Warning, Confidence: named,
		Because: h.why,
		WrongIf: "another setting, not in these files, sorts RoCE (an ACL or policy on the switch, a traffic class set by the framework)",
		Fix:     Fix{Text: h.fix + "; then check each hop behind it again"},
		Settle:  "ethtool -S IFACE | grep -E 'prio[0-7]_(bytes|pause)' under load: the priority that carries the bytes",
	}
	if h.cmd != "" {
		f.Fix.Commands = append(f.Fix.Commands, h.cmd)
	}
	f.Fix.Commands = append(f.Fix.Commands, "mlnx_qos -i IFACE", "show pfc priority; show qos map   # on the switch")
	var objects []string
	same := 0
	for _, other := range ways {
		if other.broken < 0 {
			continue
		}
		o := other.hops[other.broken]
		if other.depth == w.depth {
			same++
			if !slices.Contains(objects, o.object) {
				objects = append(objects, o.object)
			}
		}
	}
	f.Where = objects
	if same > 1 {
		f.Title += fmt.Sprintf(" (%d ports in all)", same)
	}
	if w.depth >= behindHost { // what the host does comes before what the switch does
		for _, other := range ways {
			if other.broken < 0 && len(other.hops) > 0 && other.hops[0].layer != "switch" {
				for _, x := range other.hops {
					f.Evidence = append(f.Evidence, x.row())
				}
				break
			}
		}
	}
	for _, x := range w.hops {
		f.Evidence = append(f.Evidence, x.row())
	}
	// Another place where the way breaks later is worth a row: mending the first alone would not help.
	for _, other := range ways[first+1:] {
		if other.broken >= 0 && other.depth != w.depth && len(f.Evidence) < 2*maxRows+2 {
			f.Evidence = append(f.Evidence, other.hops[other.broken].row())
		}
	}
	if w.depth < behindHost { // the switch's hops follow those of the host
		for _, other := range ways {
			if other.broken < 0 && len(other.hops) > 0 && other.hops[0].layer == "switch" {
				for _, x := range other.hops {
					f.Evidence = append(f.Evidence, x.row())
				}
				break
			}
		}
	}
	var symptoms []Evidence
	for _, id := range []telemetry.SeriesID{telemetry.NICLocalAckTimeout, telemetry.NICPacketSeqErr, telemetry.NICRxPriorityDiscards, telemetry.NICRxDiscards, telemetry.SwitchQueueDropped} {
		layer := "RDMA"
		if telemetry.Catalogue[id].Scope == telemetry.SwitchPort {
			layer = "switch"
		}
		for _, object := range v.objects(id) {
			if len(symptoms) >= 2 {
				break
			}
			symptoms = append(symptoms, v.grewRows(layer, "effect", object, id)...)
		}
	}
	f.Evidence = append(f.Evidence, symptoms...)
	lost := v.completions(wcRetryExceeded)
	f.Evidence = append(f.Evidence, tell(lost, "effect")...)
	switch {
	case len(symptoms) > 0:
		f.Confidence = proven
	case h.layer == "collective":
		f.Confidence = likely
		if len(v.Inv.NCCL.Env) > 0 {
			break
		}
		f.Confidence = possible // a log without ENV among its subsystems shows no variable at all
		f.WrongIf += "; NCCL_IB_TC is set, and NCCL_DEBUG_SUBSYS left ENV out"
	}
	if len(lost) > 0 {
		f.Severity = Critical
	}
	return f
}
