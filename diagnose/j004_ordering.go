package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J004: sizes of one collective differ between peers, or data arrives before it is there.
//
// Symptom: "collective mismatch error local size ... remote ..." at random, or wrong data. Mechanism: either the
// ranks really call different collectives, or the NIC's PCIe writes are reordered: with PCI_WR_ORDERING forced to
// relaxed, a flag may become visible before the data it announces, while NCCL relies on order for its flags (it asks
// for relaxed ordering by itself where it is safe, NCCL_IB_PCI_RELAXED_ORDERING). Evidence for: the firmware
// setting. Look-alikes: a real mismatch of the application, which comes at the same place each time.
var causeOrdering = Cause{
	Code:     "J004",
	Title:    "peers disagree about a collective, or PCIe writes are reordered",
	Needs:    "the NCCL log; mlxconfig query of the NICs",
	Explains: []string{"C010", "J002", "J003"},
	Check:    checkOrdering,
}

func checkOrdering(v *View) Verdict {
	mismatch := v.said(evidence.CollectiveMismatch)
	var forced *evidence.Setting
	read := false
	for i, s := range v.Inv.Settings {
		if !strings.HasSuffix(s.Name, "PCI_WR_ORDERING") {
			continue
		}
		read = true
		if strings.Contains(strings.ToLower(s.Value), "force_relax") && forced == nil {
			forced = &v.Inv.Settings[i]
		}
	}
	if len(mismatch) == 0 && forced == nil {
		if read {
			return ruledOut("the NIC's firmware does not force relaxed ordering")
		}
		if s, silent := v.silent(); silent {
			return s
		}
		return ruledOut("peers agree about their collectives")
	}
	f := Finding{
		Severity: Critical, Confidence: possible,
		Because: "the two ends of a transfer expect different sizes: the ranks call different collectives, or a flag became visible before the data it announces",
		WrongIf: "the ranks really call different collectives: then it comes at the same step each time",
		Fix: Fix{
			Text:     "check that all ranks call the same collectives in the same order; ask the NICs whether their firmware forces relaxed ordering",
			Commands: []string{"mlxconfig -d DEVICE query PCI_WR_ORDERING", "export NCCL_IB_PCI_RELAXED_ORDERING=0   # as a test"},
		},
		Settle: "mlxconfig query PCI_WR_ORDERING on all hosts, and whether the error comes at the same step each time",
	}
	if len(mismatch) > 0 {
		f.Title = fmt.Sprintf("%s and its peer expect different sizes of one transfer", called(mismatch[0].Host))
		f.Where = []string{called(mismatch[0].Host)}
		f.Evidence = tell(mismatch, "effect")
	}
	if len(mismatch) > 0 && strings.Contains(mismatch[0].Text, "Message truncated") {
		f.Title = fmt.Sprintf("%s got a message of another size than it expected while ranks joined", called(mismatch[0].Host))
		f.Because = "ranks that make a communicator exchange messages of fixed sizes; a size that is wrong means that the other side makes another communicator, or runs another version of NCCL or of a plugin"
		f.WrongIf = "all ranks make the same communicators in the same order, with one version of NCCL"
		f.Fix = Fix{Text: "compare the version of NCCL on all hosts; check that all ranks make their communicators and groups in the same order, and that no second job uses the same id", Commands: []string{"NCCL_DEBUG=VERSION ...", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV"}}
		f.Settle = "the NCCL banner and the \"Init START\" lines of both ranks"
		f.Not = []string{"the data path: this went over TCP, and arrived"}
	}
	if forced != nil {
		where := orElse(forced.Object, called(""))
		f.Title = fmt.Sprintf("the firmware of the NIC on %s forces relaxed ordering of PCIe writes", where)
		f.Where = []string{where}
		f.Because = "with writes forced to be relaxed a flag may become visible before the data it announces; NCCL relies on the order and asks for relaxed writes by itself where that is safe"
		f.Evidence = append([]Evidence{{Layer: "NIC", What: "PCI_WR_ORDERING", Seen: forced.Value, Expected: "per_mkey(0)", Role: "cause", From: forced.From.String()}}, f.Evidence...)
		f.Fix = Fix{Text: "let each memory region say whether its writes may be relaxed, and reset the device", Commands: []string{"mlxconfig -d DEVICE set PCI_WR_ORDERING=per_mkey", "mlxfwreset -d DEVICE reset"}}
		f.Severity, f.Confidence = Warning, likely
		if len(mismatch) > 0 {
			f.Severity, f.Confidence = Critical, named
			f.Title += ", and transfers arrive with the wrong size"
		}
	}
	return found(f)
}
