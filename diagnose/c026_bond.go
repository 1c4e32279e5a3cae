package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C026: one queue pair a connection uses one port of a bond.
//
// Symptom: a bandwidth test with several queue pairs reaches both ports of a bonded adapter, the collective about one. Mechanism:
// the adapter (or the bond's hash) puts each queue pair on one port, and NCCL makes one a connection unless told otherwise
// (NCCL_IB_QPS_PER_CONNECTION, 1). Evidence for: the device is a bond, the variable is unset, the test used several queue pairs
// and is about twice as fast. Against: connections without GPU Direct. Look-alikes: H002, H001, which slow what lies between NIC
// and GPU, on a bond as on any other device.
var causeBond = Cause{
	Code:     "C026",
	Title:    "one queue pair a connection uses one port of a bond",
	Needs:    "perftest with several QPs, nccl-tests and the NCCL log",
	Explains: []string{"H002"},
	Check:    checkBond,
}

func checkBond(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no bonds")
	}
	device, row, ok := v.bondInUse()
	if !ok {
		return notApplicable("no bonded RDMA device is in use")
	}
	qps := 1
	set, known := v.variable("NCCL_IB_QPS_PER_CONNECTION", "")
	if known {
		if _, err := fmt.Sscan(set.Value, &qps); err != nil {
			qps = 1
		}
	}
	if qps > 1 {
		return ruledOut(fmt.Sprintf("connections have %d queue pairs (NCCL_IB_QPS_PER_CONNECTION)", qps))
	}
	slow, ok := v.hostFastGPUSlow()
	if !ok {
		if len(v.Inv.Perftests) == 0 || len(v.Inv.Tables) == 0 {
			return cannotCheck("a bandwidth test with several QPs (ib_write_bw -q 4) beside nccl-tests over the same bond")
		}
		return ruledOut("the collective is about as fast as the bandwidth test")
	}
	var test evidence.Perftest
	for _, t := range v.Inv.Perftests {
		if n, told := t.QPs.Get(); told && n > 1 && strings.Contains(t.Device, "bond") {
			test = t
		}
	}
	if test.Device == "" {
		return cannotCheck("a bandwidth test over the bond with several QPs (ib_write_bw -q 4)")
	}
	if off, _ := v.usesGDR(); !off && len(v.Inv.NCCL.Channels) > 0 {
		return ruledOut("the connections do not use GPU Direct, which explains the difference by itself (H001)")
	}
	f := slow
	f.Title = fmt.Sprintf("connections over %s have one queue pair, which uses one port of the bond", device)
	f.Confidence = likely
	f.Where = []string{device}
	f.Because = "the adapter puts each queue pair on one port of the bond; a test with several fills both, and NCCL makes one a connection unless told otherwise"
	f.Evidence = append(f.Evidence, row, Evidence{Layer: "RDMA", What: "QPs of the bandwidth test", Seen: fmt.Sprint(test.QPs.Or(0)), From: test.QPs.From.String()})
	f.WrongIf = "the collective is as slow with NCCL_IB_QPS_PER_CONNECTION=4; or ib_write_bw -q 1 is as fast as with several"
	f.Fix = Fix{
		Text:     "give each connection more queue pairs, and split messages over them; on the adapter, the hash mode of the bond instead of queue affinity",
		Commands: []string{"export NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1", "cat /proc/net/bonding/bond0 | grep -iE 'mode|hash|slave'", "mlxconfig -d DEVICE query LAG_RESOURCE_ALLOCATION"},
	}
	f.Settle = "ib_write_bw -q 1 against -q 4 over the same bond"
	return found(f)
}

// bondInUse is a bonded device that the job lists.
func (v *View) bondInUse() (device string, row Evidence, ok bool) {
	for _, l := range v.Inv.NCCL.Devices {
		for _, d := range l.Devices {
			if strings.Contains(d.Device, "bond") {
				return d.Device, Evidence{Layer: "collective", What: "RDMA devices of " + called(l.Host), Seen: d.Device, Role: "cause", From: l.From.String()}, true
			}
		}
	}
	if e, set := v.Inv.NCCL.Lookup("NCCL_IB_HCA"); set && strings.Contains(e.Value, "bond") {
		return strings.TrimLeft(e.Value, "="), Evidence{Layer: "collective", What: "NCCL_IB_HCA", Seen: e.Value, Role: "cause", From: e.From.String()}, true
	}
	return "", Evidence{}, false
}
