package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// R006: enhanced connection establishment (ECE) switches on features that do not fit the fabric.
//
// Symptom: bandwidth over RoCE that is low and changes from run to run, from NCCL 2.19 on. Mechanism: with ECE
// (on by default since 2.19, NCCL_IB_ECE_ENABLE) the two NICs agree on vendor features such as selective repeat
// or their own congestion control, as their firmware is set; wrong or unequal parameters hurt. Evidence for:
// unequal options, or ECE together with unstable bandwidth. ECE alone is normal and no finding. Look-alikes: L033.
var causeECE = Cause{
	Code:  "R006",
	Title: "enhanced connection establishment may hurt",
	Needs: "NCCL's QP lines, and measured bandwidths",
	Check: checkECE,
}

func checkECE(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	var with, options []evidence.QPSetup
	for _, q := range v.Inv.NCCL.QPs {
		if !q.ECE {
			continue
		}
		with = append(with, q)
		if q.ECEOptions != "" && !slices.ContainsFunc(options, func(o evidence.QPSetup) bool { return o.ECEOptions == q.ECEOptions }) {
			options = append(options, q)
		}
	}
	if e, ok := v.Inv.NCCL.Lookup("NCCL_IB_ECE_ENABLE"); ok && e.Value == "0" {
		return ruledOut("NCCL_IB_ECE_ENABLE=0")
	}
	if len(with) == 0 {
		if len(v.Inv.NCCL.QPs) > 0 {
			return ruledOut("the QPs do not use ECE")
		}
		return cannotCheck("NCCL's QP lines (NCCL_DEBUG_SUBSYS=INIT,NET)")
	}
	shaky, unsteady := v.unsteady()
	if len(options) < 2 && !unsteady {
		if len(v.Inv.Calls) == 0 {
			return cannotCheck("measured bandwidths: ECE is in use, which by itself is normal")
		}
		return ruledOut("ECE is in use, with equal options and a steady bandwidth")
	}
	f := Finding{
		Title:    fmt.Sprintf("the NICs agree on extra features (ECE) on %s, and bandwidth is unsteady", called(with[0].Host)),
		Severity: Warning, Confidence: weak, Where: []string{called(with[0].Host)},
		Because:  "ECE switches on what the firmware of both NICs offers, such as selective repeat or a congestion control of their own, which may not fit the fabric",
		Evidence: []Evidence{{Layer: "RDMA", What: "ECE of QPs on " + called(with[0].Host), Seen: orElse(with[0].ECEOptions, "in use"), Role: "cause", From: with[0].From.String()}},
		WrongIf:  "NCCL_IB_ECE_ENABLE=0 changes nothing",
		Fix:      Fix{Text: "run once without ECE; if that helps, bring the firmware and its settings to the same state everywhere", Commands: []string{"export NCCL_IB_ECE_ENABLE=0", "mlxfwmanager --query"}, Try: []Change{{Setting: "NCCL_IB_ECE_ENABLE", Value: "0"}}},
		Settle:   "the same run with NCCL_IB_ECE_ENABLE=0",
	}
	if len(options) > 1 {
		o := options[1]
		f.Title = fmt.Sprintf("the NICs of %s and %s offer different extra features (ECE options %s and %s)", called(options[0].Host), called(o.Host), options[0].ECEOptions, o.ECEOptions)
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "ECE of QPs on " + called(o.Host), Seen: o.ECEOptions, Expected: options[0].ECEOptions, Role: "cause", From: o.From.String()})
		f.Severity = Note
		if unsteady {
			f.Severity, f.Confidence = Warning, possible
		}
	}
	if unsteady {
		f.Evidence = append(f.Evidence, shaky)
	}
	return found(f)
}

// unsteady finds a size at which a benchmark lost half its bus bandwidth against the next smaller one, among
// sizes that fill the pipe (16 MiB and more), where bandwidth should only rise.
func (v *View) unsteady() (Evidence, bool) {
	best := map[[2]string]evidence.Call{}
	for _, c := range v.Inv.Calls {
		if c.Bytes < 16*units.MiB || c.BusBW <= 0 || c.InPlace {
			continue
		}
		k := [2]string{fmt.Sprint(c.Table), c.Kind}
		if b, ok := best[k]; ok && c.Bytes >= b.Bytes && c.BusBW < b.BusBW/2 {
			return Evidence{Layer: "collective", What: fmt.Sprintf("busbw at %s, after %.3g GB/s at %s", c.Bytes, b.BusBW, b.Bytes), Seen: fmt.Sprintf("%.3g GB/s", c.BusBW), Expected: "no less than at a smaller size", Role: "effect", From: c.From.String()}, true
		}
		if b, ok := best[k]; !ok || c.BusBW > b.BusBW {
			best[k] = c
		}
	}
	return Evidence{}, false
}
