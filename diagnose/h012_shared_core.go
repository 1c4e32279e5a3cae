package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// H012: the interrupts of two NICs are taken by one core.
//
// Symptom: throughput looks normal, and every so often a collective waits: latency peaks at regular times while the core
// beside it idles. Mechanism: each NIC's first completion vectors start at the same processors; where few queues are in use
// both NICs end on one core, and one waits for the other's handler. Evidence for: /proc/interrupts, most interrupts of two
// devices on the same processor. Against: a handful of interrupts; counts from before the affinity was changed, which
// stand in the file for ever. Look-alikes: H013. NCCL's own RDMA polls; interrupts matter for sockets, for the kernel's
// side of RDMA, and for whatever else runs on that core.
var causeSharedCore = Cause{
	Code:  "H012",
	Title: "the interrupts of two NICs are taken by one core",
	Needs: "/proc/interrupts of the hosts, twice or with the affinities",
	Check: checkSharedCore,
}

const (
	// coreShare is the part of a device's interrupts on one processor from which that processor is where they go.
	coreShare = 0.5
	// enoughInterrupts is how many a device must have had for its shares to mean something: setting a card up takes a few
	// thousand, a second of traffic at any rate worth a finding more than this.
	enoughInterrupts = 100_000
)

func checkSharedCore(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated host has no interrupts")
	}
	var findings []Finding
	judged := 0
	for _, h := range v.Inv.Hosts {
		byCore := map[int][]deviceIRQs{}
		for _, d := range deviceInterrupts(h) {
			if d.total < enoughInterrupts {
				continue
			}
			judged++
			if cpu, share := d.busiest(); share >= coreShare && !movedAway(d, cpu) {
				byCore[cpu] = append(byCore[cpu], d)
			}
		}
		var cores []int
		for cpu, devices := range byCore {
			if len(devices) > 1 {
				cores = append(cores, cpu)
			}
		}
		slices.Sort(cores)
		for _, cpu := range cores {
			findings = append(findings, sharedCoreFinding(h, cpu, byCore[cpu]))
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case judged > 1:
		return ruledOut(fmt.Sprintf("no two of %s have most of their interrupts on one core", counted(judged, "network device", "network devices")))
	}
	return cannotCheck("/proc/interrupts of a host with two NICs under load")
}

// movedAway tells whether the affinities that hold now keep all of a device's interrupts off a core: what the counts show
// is then the past.
func movedAway(d deviceIRQs, cpu int) bool {
	known := 0
	for _, q := range d.irqs {
		set, ok := q.Affinity.Get()
		if !ok {
			continue
		}
		known++
		if set.Has(cpu) {
			return false
		}
	}
	return known > 0
}

func sharedCoreFinding(h *evidence.Host, cpu int, devices []deviceIRQs) Finding {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.name
	}
	f := Finding{
		Title:    fmt.Sprintf("core %d of %s takes most interrupts of %s", cpu, called(h.Name), listed(names)),
		Severity: Warning, Confidence: likely, Where: []string{called(h.Name)},
		Because: "one core runs the handlers of both, one after the other, so completions of one NIC wait for those of the other",
		WrongIf: "the counts are from before the affinity was set as it is now",
		Not:     []string{"the fabric: both NICs' links are used as usual"},
		Fix: Fix{
			Text:     "give each NIC's interrupts cores of its own on its NUMA node, keep irqbalance from moving them, and keep that over a restart",
			Commands: []string{"systemctl stop irqbalance", "set_irq_affinity_cpulist.sh CORES IFACE", "ethtool -L IFACE combined 16", "cat /proc/irq/*/smp_affinity_list"},
		},
		Settle: "/proc/interrupts twice under load, ten seconds apart: which columns grow",
	}
	for _, d := range devices {
		_, share := d.busiest()
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: fmt.Sprintf("interrupts of %s on core %d", d, cpu), Seen: fmt.Sprintf("%.0f %% of %d", 100*share, d.total), Expected: "spread, or on a core of its own", Role: "cause", From: d.from.String()})
		f.Where = append(f.Where, d.String())
	}
	if s, ok := h.Balancer.Get(); ok {
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "irqbalance on " + called(h.Name), Seen: s, From: h.Balancer.From.String()})
	}
	return f
}
