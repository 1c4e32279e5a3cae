package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// C022: a NIC that is much slower than the others takes part in the job.
//
// Symptom: bandwidth far below the sum of the fast NICs. Mechanism: NCCL uses every RDMA port that is up, a management or
// storage adapter among them, and gives it channels of its own; each collective waits for the slowest channel. Evidence for:
// the list of devices in use and the rates of the ports. Against: NCCL_IB_HCA that leaves it out. Look-alikes: C003 (another
// link layer), C004 (hosts that differ), P001 (a port that should be as fast).
var causeSlowNIC = Cause{
	Code:     "C022",
	Title:    "a much slower NIC takes part in the job",
	Needs:    "the devices in use (NCCL log) and the rates of the ports (ibstat, ibstatus, rdma link, ethtool)",
	Explains: []string{"C009"},
	Check:    checkSlowNIC,
}

// slowNIC is the part of the fastest port's rate from which a port is another kind: neighbouring generations differ by two.
const slowNIC = 4

func checkSlowNIC(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	lists := v.deviceLists()
	if len(lists) == 0 {
		return cannotCheck("the devices in use (NCCL_DEBUG=INFO prints \"NET/IB : Using\")")
	}
	compared := 0
	for _, l := range lists {
		h := v.host(l.host)
		if h == nil {
			continue
		}
		var fast, slow *evidence.NIC
		for _, entry := range l.devices {
			name, _, _ := strings.Cut(entry, "/")
			for _, n := range h.NICs {
				rate, ok := n.Rate.Get()
				if !ok || n.Device != name || rate <= 0 || n.State.Is(func(s string) bool { return strings.Contains(strings.ToUpper(s), "DOWN") }) {
					continue
				}
				compared++
				if fast == nil || rate > rateOf(fast) {
					fast = n
				}
				if slow == nil || rate < rateOf(slow) {
					slow = n
				}
			}
		}
		if fast == nil || rateOf(fast) < slowNIC*rateOf(slow) {
			continue
		}
		var keep []string
		for _, entry := range l.devices {
			if name, _, _ := strings.Cut(entry, "/"); name != slow.Device {
				keep = append(keep, name)
			}
		}
		return found(Finding{
			Title:    fmt.Sprintf("%s (%v) takes part in the job beside %s (%v) on %s", slow.Device, rateOf(slow), fast.Device, rateOf(fast), called(l.host)),
			Severity: Warning, Confidence: likely, Where: []string{object(l.host, slow.Device)},
			Because: "NCCL uses every RDMA port that is up and gives each its channels; a collective ends with the slowest of them",
			Evidence: []Evidence{
				{Layer: "collective", What: "RDMA devices of " + called(l.host), Seen: listed(l.devices), Expected: "those of the compute network alone", Role: "cause", From: l.from.String()},
				{Layer: "NIC", What: "rate of " + object(l.host, slow.Device), Seen: rateOf(slow).String(), Expected: rateOf(fast).String(), Role: "cause", From: slow.Rate.From.String()},
			},
			WrongIf: "the channels of that device carry nothing (its counters stand still during the run)",
			Fix:     Fix{Text: "name the NICs of the compute network, exactly", Commands: []string{"export NCCL_IB_HCA==" + strings.Join(keep, ",")}, Try: []Change{{Setting: "NCCL_IB_HCA", Value: "=" + strings.Join(keep, ",")}}},
			Settle:  "the same run with NCCL_IB_HCA",
		})
	}
	if compared < 2 {
		return cannotCheck("the rates of the devices in use (ibstat, ibstatus, rdma link)")
	}
	return ruledOut("the devices in use are of like speed")
}

func rateOf(n *evidence.NIC) units.Rate { return n.Rate.Or(0) }
