package diagnose

import (
	"fmt"
	"strings"
)

// R003: RoCE runs with a small path MTU.
//
// Symptom: some percent below the expected bandwidth, more packets for everybody. Mechanism: an interface MTU of
// 1500 leaves room for a path MTU of 1024 only, so headers and gaps take 82 bytes of 1106 on the wire (7.4 %)
// instead of 82 of 4178 (2 %). Evidence for: active_mtu below what the port can do. Look-alikes: R001.
var causeSmallMTU = Cause{
	Code:  "R003",
	Title: "RoCE runs with a small path MTU",
	Needs: "ibv_devinfo, or NCCL's QP lines",
	Check: checkSmallMTU,
}

// roceOverhead is what a RoCE v2 packet over IPv4 adds to its payload on the wire: Ethernet 14 + FCS 4 +
// preamble and gap 20 (IEEE 802.3), IPv4 20, UDP 8, BTH 12, ICRC 4 (InfiniBand annex A17).
const roceOverhead = 14 + 4 + 20 + 20 + 8 + 12 + 4

func checkSmallMTU(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	var small []mtuSeen
	known, limit := false, 4096
	for _, m := range append(v.mtus(true), v.perftestMTUs()...) {
		known = true
		if m.mtu < 2048 {
			small = append(small, m)
		}
	}
	if !known {
		for _, p := range v.hostPorts() {
			if p.LinkLayer.Is(func(s string) bool { return s == "InfiniBand" }) || p.State.Is(func(s string) bool { return strings.Contains(strings.ToUpper(s), "DOWN") }) {
				continue
			}
			mtu, ok := p.ActiveMTU.Get()
			known = known || ok
			if most, told := p.MaxMTU.Get(); ok && mtu < 2048 && (!told || most > mtu) {
				small = append(small, mtuSeen{p.host.Name, p.Device, mtu, p.ActiveMTU.From, false})
				if told {
					limit = most
				}
			}
		}
	}
	switch {
	case !known:
		return cannotCheck("the path MTU (ibv_devinfo, or NCCL_DEBUG_SUBSYS=INIT,NET)")
	case len(small) == 0:
		return ruledOut("the path MTU is 2048 or more")
	}
	return found(smallMTUFinding(small, limit))
}

func smallMTUFinding(small []mtuSeen, limit int) Finding {
	m := small[0]
	lost := 100 * (float64(limit)/float64(limit+roceOverhead) - float64(m.mtu)/float64(m.mtu+roceOverhead))
	f := Finding{
		Title:    fmt.Sprintf("RoCE on %s runs with a path MTU of %d; %d would save %.0f %% of the line rate", object(m.host, m.device), m.mtu, limit, lost),
		Severity: Note, Confidence: named, Where: []string{object(m.host, m.device)},
		Because: fmt.Sprintf("each packet carries %d bytes of headers and gaps whatever its payload, and an interface MTU of 1500 leaves room for a payload of 1024", roceOverhead),
		Not:     []string{"a large loss of bandwidth: look for another cause if more than a tenth is missing"},
		WrongIf: "the switches on the path cannot carry larger frames",
		Fix: Fix{
			Text:     "set the interface MTU to 4200 or more (9000) on all hosts and on the switches, all at once: ends that differ are worse (R001)",
			Commands: []string{"ip link set IFACE mtu 9000", "ibv_devinfo | grep active_mtu", "ping -M do -s 4172 PEER"},
		},
		Settle: "ib_write_bw before and after",
	}
	for _, s := range small[:min(len(small), maxRows)] {
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "path MTU of " + object(s.host, s.device), Seen: fmt.Sprint(s.mtu), Expected: fmt.Sprint(limit), Role: "cause", From: s.from.String()})
	}
	return f
}
