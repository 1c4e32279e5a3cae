package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// H016: several NICs share one PCIe link that is narrower than all of them.
//
// Symptom: each NIC is fast alone, and together they are not. Mechanism: they hang below one switch or bifurcated slot whose
// link to the processor carries less than their ports together. Evidence for: the PCIe tree with the link of the bridge and
// the rates of the ports below. Against: traffic with GPUs below the same switch, which does not pass that link.
// Look-alikes: H006 (a link below its capability), C009.
var causeSharedLink = Cause{
	Code:  "H016",
	Title: "several NICs share one PCIe link",
	Needs: "lspci -t and lspci -vvv as root, the rates of the ports",
	Check: checkSharedLink,
}

// sharedRoom is how much less than the ports together a link may carry before it is worth a finding: ports reach some 97 %
// of their rate, and the link loses a tenth to overhead with payloads of 256 bytes (see tlpOverhead).
const sharedRoom = 0.95

func checkSharedLink(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	type load struct {
		host *evidence.Host
		node evidence.PCINode
		nics []pciNIC
		sum  units.Rate
	}
	var loads []*load
	place := map[string]*load{}
	seen := map[string]bool{}
	for _, d := range v.pciNICs() {
		rate, told := d.rate.Get()
		up, ok := d.host.BridgesAbove(d.Address)
		slot := d.host.Name + " " + strings.SplitN(d.Address, ".", 2)[0]
		if !told || !ok || d.job == no || strings.Contains(d.Name, "Virtual Function") {
			continue
		}
		// The ports of one card share its own link by design; what matters is other cards beside it.
		card := seen[slot]
		seen[slot] = true
		for _, address := range up {
			i := slices.IndexFunc(d.host.Tree, func(n evidence.PCINode) bool { return n.Address == address })
			if i < 0 || !d.host.Tree[i].Running.Known() {
				continue
			}
			key := d.host.Name + "/" + address
			l := place[key]
			if l == nil {
				l = &load{host: d.host, node: d.host.Tree[i]}
				place[key] = l
				loads = append(loads, l)
			}
			l.sum += rate
			if !card {
				l.nics = append(l.nics, d)
			}
		}
	}
	var findings []Finding
	taken := map[string]bool{}
	for _, l := range loads {
		link, _ := l.node.Running.Get()
		gets, need := payloadGBps(link, usualPayload), l.sum.BytesPerSecond()/1e9
		if len(l.nics) < 2 || link.Width == 0 || gets >= sharedRoom*need {
			continue
		}
		names := make([]string, len(l.nics))
		for i, d := range l.nics {
			names[i] = d.name
		}
		if taken[l.host.Name+strings.Join(names, ",")] {
			continue // the bridge above the bridge says the same
		}
		taken[l.host.Name+strings.Join(names, ",")] = true
		f := Finding{
			Title:    fmt.Sprintf("%s of %s share one PCIe link (%s, %.3g GB/s) and need %.3g GB/s together", listed(names), called(l.host.Name), linkText(link), gets, need),
			Severity: Warning, Confidence: likely, Where: []string{object(l.host.Name, l.node.Address)},
			Because: "what the ports exchange with host memory, or with GPUs elsewhere, passes the link of the bridge above them all",
			Evidence: []Evidence{
				{Layer: "host", What: "PCIe link of the bridge " + l.node.Address, Seen: linkText(link), Expected: fmt.Sprintf("%.3g GB/s or more", need), Role: "cause", From: l.node.Running.From.String()},
				{Layer: "NIC", What: "ports below it", Seen: fmt.Sprintf("%s, %v together", listed(names), l.sum), Role: "cause", From: l.nics[0].From.String()},
			},
			WrongIf: "each NIC exchanges data with GPUs below the same bridge only",
			Fix:     Fix{Text: "move a card to a slot of another root port, or use one of the NICs for this traffic", Commands: []string{"lspci -tv", "lspci -vvv -s BRIDGE | grep LnkSta"}},
			Settle:  "ib_write_bw on both NICs at the same time, and on each alone",
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case len(loads) > 0:
		return ruledOut("the links above the NICs carry what the ports below them need")
	}
	return cannotCheck("lspci -t and lspci -vvv as root (links of the bridges), with the rates of the ports")
}

// usualPayload is the payload of a PCIe packet where nothing else is known: what servers settle on.
const usualPayload = 256
