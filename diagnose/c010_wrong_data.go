package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// C010: a collective delivers wrong data.
//
// Symptom: nccl-tests counts elements with a wrong value (#wrong, "Out of bounds values: FAILED"); training
// diverges. Mechanism: something writes past a buffer or reads before the data is there: chunk sizes that do not
// fit (C007), PCIe writes reordered (J004), LL128 forced where stores of 128 bytes are not kept whole, a faulty GPU or
// NIC. A network that damages packets does not: the ICRC catches that. Evidence for: the count. Look-alikes: a test
// that did not check (N/A).
var causeWrongData = Cause{
	Code:  "C010",
	Title: "a collective delivers wrong data",
	Needs: "nccl-tests with checking on (-c 1)",
	Check: checkWrongData,
}

func checkWrongData(v *View) Verdict {
	var wrong []evidence.Call
	checked := 0
	for _, c := range v.Inv.Calls {
		if c.Wrong >= 0 {
			checked++
		}
		if c.Wrong > 0 {
			wrong = append(wrong, c)
		}
	}
	switch {
	case v.Inv.Simulated:
		return notApplicable("a simulated run carries no data to check")
	case len(wrong) == 0 && checked > 0:
		return ruledOut(fmt.Sprintf("no wrong element in %d checked rows", checked))
	case len(wrong) == 0:
		return cannotCheck("a table of nccl-tests with checking on")
	}
	w := wrong[0]
	f := Finding{
		Title:    fmt.Sprintf("%s delivers wrong data: %d elements at %s", orElse(w.Kind, "the collective"), w.Wrong, w.Bytes),
		Severity: Critical, Confidence: named, Where: []string{orElse(w.Kind, "collective")},
		Because: "a buffer is written past its end or read before its data is there; packets that are damaged on the wire do not do this, because the checksum of RDMA packets (ICRC) catches them",
		WrongIf: "the test compares with a wrong expectation, as old versions of nccl-tests did for some types",
		Fix: Fix{
			Text:     "run without any NCCL_ variable; then with one protocol at a time; then on other GPUs and NICs",
			Commands: []string{"env | grep ^NCCL_", "NCCL_PROTO=Simple ./all_reduce_perf -b 8 -e 1G -f 2 -c 1", "dmesg | grep -i xid"},
		},
		Settle: "the same test without any NCCL_ variable",
	}
	for _, c := range wrong[:min(len(wrong), maxRows)] {
		f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: fmt.Sprintf("wrong elements at %s", c.Bytes), Seen: fmt.Sprint(c.Wrong), Expected: "0", Role: "cause", From: c.From.String()})
	}
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			if k.Kind == "xid" {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "GPU error (Xid) on " + object(h.Name, k.Device), Seen: shorten(k.Text), From: k.From.String()})
			}
		}
	}
	return found(f)
}
