package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C008: the fabric refuses in-network reduction (SHARP).
//
// Symptom: messages of sharp_am or of the SHARP plugin, all_reduce as slow as without. Mechanism: the aggregation
// manager must run on the port of the master subnet manager; a port that the subnet manager uses cannot be a
// client; a streaming tree is a resource that only one job holds at a time and that the switches must offer.
// Evidence for: the messages. NCCL goes on without SHARP. Look-alikes: COLLNET not enabled, which prints nothing.
var causeSharp = Cause{
	Code:  "C008",
	Title: "in-network reduction (SHARP) is refused",
	Needs: "the NCCL log, the log of sharp_am",
	Check: checkSharp,
}

func checkSharp(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	refused := v.said(evidence.SharpFailed)
	if len(refused) == 0 {
		if e, ok := v.Inv.NCCL.Lookup("NCCL_COLLNET_ENABLE"); ok && e.Value == "1" {
			return ruledOut("SHARP is asked for (NCCL_COLLNET_ENABLE=1) and no refusal was printed")
		}
		return notApplicable("nothing in the logs speaks of SHARP")
	}
	f := Finding{
		Title:    fmt.Sprintf("SHARP is refused on %s", names(eventHosts(refused))),
		Severity: Warning, Confidence: named, Where: []string{object(refused[0].Host, refused[0].Device)},
		Because:  "the aggregation manager or the switches do not hand out what in-network reduction needs, so NCCL goes on without it",
		Evidence: tell(refused, "cause"),
		WrongIf:  "SHARP is not meant to be used here",
		Not:      []string{"the data path of ordinary collectives: they do not need SHARP"},
		Fix: Fix{
			Text:     "read the log of sharp_am; check that the switches support SHARP and that no other job holds the tree",
			Commands: []string{"sharp_am --version; journalctl -u sharp_am", "sminfo", "sharp_hello", "ibstat | grep -A8 DEVICE"},
		},
		Settle: "sharp_hello on two hosts of the job",
	}
	var reasons, fixes []string
	add := func(reason, fix string) { reasons, fixes = append(reasons, reason), append(fixes, fix) }
	seen := map[string]bool{}
	for _, e := range refused {
		text := strings.ToLower(e.Text + " " + e.What)
		switch {
		case strings.Contains(text, "master sm") && !seen["sm"]:
			seen["sm"] = true
			add("sharp_am does not run on the port of the master subnet manager", "run sharp_am on the host of the master subnet manager (opensm or UFM)")
		case strings.Contains(text, "used by sm") && !seen["port"]:
			seen["port"] = true
			add("the port is used by the subnet manager and cannot be a client", "keep the job off the host of the subnet manager, or leave that port out")
		case strings.Contains(text, "tree") && strings.Contains(text, "lock") && !seen["lock"]:
			seen["lock"] = true
			add("no streaming aggregation tree could be locked", "let other jobs release their trees, and check that the switches offer streaming aggregation")
		}
	}
	if len(reasons) > 0 {
		f.Title += ": " + listed(reasons)
		f.Fix.Text = strings.Join(fixes, "; ")
	}
	if len(f.Evidence) < len(refused) && len(f.Evidence) < maxRows {
		f.Evidence = nil
		for _, e := range refused[:min(len(refused), maxRows)] {
			f.Evidence = append(f.Evidence, told(e, "cause"))
		}
	}
	return found(f)
}
