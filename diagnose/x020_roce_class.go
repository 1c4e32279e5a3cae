package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// X020: RoCE travels in a class that is not lossless, or in several.
//
// Symptom: some connections lose packets or stand behind other traffic while others do not. Mechanism: a port takes the
// class from the code point; packets without RoCE's code point wait in the queue of best effort, where nothing pauses and
// a full queue drops. Evidence for: the code points in a capture, against the hosts' maps where these are known.
// Look-alikes: storage over RDMA with a class of its own, on purpose; connection set-up (UD), which is best effort.
var causeRoCEClass = Cause{
	Code:     "X020",
	Title:    "RoCE travels in the wrong class, or in several",
	Needs:    "a packet capture, and mlnx_qos or dcb of the hosts",
	Explains: []string{"L022", "L033"},
	Check:    checkRoCEClass,
}

// roceClass is one code point RoCE's data has.
type roceClass struct {
	dscp  int
	t     evidence.Tally
	hosts []string
}

func checkRoCEClass(v *View) Verdict {
	if v.captured() == 0 {
		return cannotCheck(needsCapture)
	}
	classes, all := v.roceClasses()
	if all == 0 {
		return cannotCheck("a capture with RoCE data: this one has connection set-up or notifications alone")
	}
	for _, c := range classes {
		if row, ok := v.lossyClass(c.dscp); ok {
			return found(Finding{
				Title:    fmt.Sprintf("RoCE with DSCP %d of %s falls into a priority without PFC", c.dscp, names(c.hosts)),
				Severity: Warning, Confidence: named, Where: c.hosts,
				Because:  "the class follows from the code point, and the maps send this one to a priority that is not lossless: a full queue drops there, and RDMA repeats what follows the loss",
				Evidence: []Evidence{frames("RDMA", fmt.Sprintf("packets with DSCP %d, %s", c.dscp, ofAll(c.t.Count, all)), "cause", c.t, ""), row},
				WrongIf:  "the ports trust the VLAN tag and not the code point, or RoCE is meant to run without PFC",
				Settle:   "the trust mode and the DSCP map of the switch ports",
				Fix:      classFix,
			})
		}
	}
	if len(classes) > 1 {
		main, odd := classes[0], classes[len(classes)-1]
		f := Finding{
			Title:    fmt.Sprintf("RoCE travels in %d classes: DSCP %d, and DSCP %d from %s", len(classes), main.dscp, odd.dscp, names(odd.hosts)),
			Severity: Note, Confidence: possible, Where: odd.hosts,
			Because: "a port takes the class from the code point, so that these packets wait in another queue, with other limits and perhaps without PFC",
			WrongIf: "they are of another application that has a class of its own on purpose (storage over RDMA)",
			Settle:  "which application sends them, and the DSCP map of the ports",
			Fix:     classFix,
		}
		if odd.dscp == 0 { // the default: a code point nobody set
			f.Severity, f.Confidence = Warning, likely
		}
		for _, c := range classes {
			f.Evidence = append(f.Evidence, frames("RDMA", fmt.Sprintf("packets with DSCP %d, %s", c.dscp, ofAll(c.t.Count, all)), "", c.t, ""))
		}
		return found(f)
	}
	if c := classes[0]; c.dscp == 0 {
		return found(Finding{
			Title:    "RoCE has no code point of its own: all of it has DSCP 0",
			Severity: Note, Confidence: possible, Where: c.hosts,
			Because:  "a port that takes the class from the code point cannot tell RoCE from everything else that has none",
			Evidence: []Evidence{frames("RDMA", "packets with DSCP 0, "+ofAll(c.t.Count, all), "cause", c.t, "the code point of the lossless class")},
			WrongIf:  "the ports take the class from the VLAN tag, or the network carries nothing but RoCE",
			Settle:   "the trust mode and the DSCP map of the switch ports",
			Fix:      classFix,
		})
	}
	return ruledOut(fmt.Sprintf("all RoCE data has DSCP %d", classes[0].dscp))
}

var classFix = Fix{
	Text:     "give all RoCE of the job the code point of the lossless class: the traffic class of the library, or the default of the device",
	Commands: []string{"export NCCL_IB_TC=106   # DSCP 26 with ECN bits: 26*4+2", "cma_roce_tos -d DEVICE -t 106", "mlnx_qos -i IFACE"},
}

// roceClasses lists the code points of RoCE's connected streams, most packets first. Packets whose tag gives them a
// priority are left out: their code point may decide nothing.
func (v *View) roceClasses() (classes []roceClass, all int) {
	index := map[int]int{}
	for _, p := range v.pairs() {
		for _, s := range p.streams {
			if s.Transport == "UD" || s.Requests == 0 {
				continue
			}
			for _, c := range s.Classes {
				if c.Priority > 0 {
					continue
				}
				i, ok := index[c.DSCP]
				if !ok {
					i = len(classes)
					index[c.DSCP] = i
					classes = append(classes, roceClass{dscp: c.DSCP, t: evidence.Tally{At: c.At}})
				}
				classes[i].t.Count += c.Count
				all += c.Count
				if !slices.Contains(classes[i].hosts, p.src) {
					classes[i].hosts = append(classes[i].hosts, p.src)
				}
			}
		}
	}
	slices.SortFunc(classes, func(a, b roceClass) int {
		return cmp.Or(cmp.Compare(b.t.Count, a.t.Count), cmp.Compare(b.dscp, a.dscp))
	})
	return classes, all
}

// lossyClass tells whether an interface maps the code point to a priority without PFC, while it has PFC on another.
func (v *View) lossyClass(dscp int) (Evidence, bool) {
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if d.QoS == nil || dscp < 0 || dscp > 63 {
				continue
			}
			m, known := d.QoS.DSCP.Get()
			pfc, told := d.QoS.PFC.Get()
			trusted := d.QoS.Trust.Is(func(t string) bool { return t == "dscp" })
			if !known || !told || !trusted || m[dscp] < 0 || m[dscp] > 7 || pfc[m[dscp]] || !slices.Contains(pfc[:], true) {
				continue
			}
			return Evidence{Layer: "host", What: fmt.Sprintf("DSCP %d on %s", dscp, object(h.Name, d.Name)), Seen: fmt.Sprintf("priority %d, PFC off", m[dscp]), Expected: "a priority with PFC", Role: "cause", From: d.QoS.PFC.From.String()}, true
		}
	}
	return Evidence{}, false
}
