package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// R009: the path carries smaller packets than its ends send.
//
// Symptom: connections come up and small messages pass; large ones hang, time out or fail with status 12. Mechanism: RoCE
// has no discovery of the path's MTU and its packets may not be fragmented; a switch or router that cannot carry one drops
// it. Evidence for: ping with a size and "do not fragment" that is not answered while a small one is; a switch port whose
// MTU is below what the NICs send; frames that a NIC refused for their length. Against: a host that answers no ping at all.
// Look-alikes: R001 (the ends differ), R003 (the ends agree on a small MTU).
var causePathMTU = Cause{
	Code:     "R009",
	Title:    "the path carries smaller packets than its ends send",
	Needs:    "ping -M do -s SIZE between the hosts, the MTU of interfaces and switch ports",
	Explains: []string{"R004", "R005", "R001", "L033", "J002"},
	Check:    checkPathMTU,
}

// roceHeaders is what a RoCE v2 packet adds to its payload within the IP MTU: IPv4 20 (IPv6 40), UDP 8, BTH 12, the RDMA
// header of a write 16, ICRC 4 (InfiniBand annex A17).
const roceHeaders = 20 + 8 + 12 + 16 + 4

// icmpHeaders is what ping adds to its payload: IPv4 20 and ICMP 8, or IPv6 40 and ICMP 8.
func icmpHeaders(target string) int {
	if strings.Contains(target, ":") {
		return 48
	}
	return 28
}

func checkPathMTU(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("all links of a simulated run carry the same packets")
	}
	var findings []Finding
	probes, judged := v.probeFindings()
	findings = append(findings, probes...)
	if f, bad, read := v.switchMTU(); bad {
		findings = append(findings, f)
	} else {
		judged = judged || read
	}
	if f, bad := v.oversize(); bad {
		findings = append(findings, f)
	}
	if f, bad, read := v.netdevMTUs(); bad && len(findings) == 0 {
		findings = append(findings, f)
	} else {
		judged = judged || read
	}
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case judged:
		return ruledOut("interfaces, switch ports and probes that were read carry what the ends send")
	}
	return cannotCheck("ping -M do -s 8972 between the hosts (or 4132 for a path MTU of 4096), and the switches' MTU")
}

func pathMTUFinding() Finding {
	return Finding{
		Severity: Warning, Confidence: likely,
		Because: "RoCE does not find out what the path carries and its packets are never fragmented: what is too long for one hop is dropped there, every time it is sent again",
		Fix: Fix{
			Text:     "raise the MTU of every switch port, VLAN and tunnel on the path above the interfaces' (9216 is what most switches offer), or lower it on all hosts at once",
			Commands: []string{"ping -M do -s 8972 PEER", "ip link show IFACE", "show interfaces status   # the MTU column", "tracepath -n PEER"},
		},
		Settle: "ping -M do with two sizes, one above and one below, between the two addresses RoCE uses",
	}
}

// probeFindings judges pings with a size, by host and target.
func (v *View) probeFindings() (findings []Finding, judged bool) {
	type pair struct{ host, target string }
	lost, passed := map[pair]evidence.MTUProbe{}, map[pair]int{}
	var order []pair
	for _, p := range v.Inv.MTUProbes {
		ok, told := p.Passed()
		k := pair{p.Host, p.Target}
		if !told {
			continue
		}
		size := p.Payload + icmpHeaders(p.Target)
		switch {
		case ok:
			passed[k] = max(passed[k], size)
			judged = judged || p.DontFragment
		case p.DontFragment:
			if have, there := lost[k]; !there || p.Payload < have.Payload {
				if !there {
					order = append(order, k)
				}
				lost[k] = p
			}
		}
	}
	for _, k := range order {
		p := lost[k]
		size := p.Payload + icmpHeaders(p.Target)
		f := pathMTUFinding()
		f.Where = []string{fmt.Sprintf("the path from %s to %s", called(k.host), k.target)}
		row := Evidence{Layer: "host", What: fmt.Sprintf("ping of %d bytes (%d with headers), not to be fragmented", p.Payload, size), Seen: "no answer", Expected: "an answer", Role: "cause", From: p.From.String()}
		own, ownFrom, ownKnown := v.mtuTo(k.host, size)
		switch mtu, named1 := p.RouteMTU.Get(); {
		case p.TooLong && named1:
			row.Seen = fmt.Sprintf("refused: MTU %d", mtu)
		case p.TooLong:
			row.Seen = "refused as too long"
		}
		f.Evidence = []Evidence{row}
		f.WrongIf = "the target filters ping, or its own interface has the smaller MTU"
		if small := passed[k]; small > 0 {
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: fmt.Sprintf("ping of %d bytes with headers to the same target", small), Seen: "answered", From: p.From.String()})
			f.Confidence = named
		} else if !p.TooLong {
			f.Confidence = possible // nothing shows that the target answers ping at all
		}
		f.Title = fmt.Sprintf("packets of %d bytes from %s do not reach %s", size, called(k.host), k.target)
		if p.TooLong && ownKnown && own < size {
			// The interface itself refused: what is set on this host, and so no fault of the path.
			f.Title = fmt.Sprintf("the interface of %s has an MTU of %d: packets of %d bytes do not leave it", called(k.host), own, size)
			f.Because = "the ends agree on what the smaller interface allows; packets are small, and nothing is dropped"
			f.Severity, f.Confidence = Note, named
			f.Where = []string{called(k.host)}
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "MTU of the interface", Seen: fmt.Sprint(own), Expected: fmt.Sprint(size), Role: "cause", From: ownFrom})
		} else if broken := v.unreachable(); len(broken) > 0 {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, tell(broken, "effect")...)
		}
		findings = append(findings, f)
	}
	return findings, judged || len(order) > 0
}

// mtuTo is the MTU of the interface of a host that comes nearest to a size from below, where all RDMA interfaces are
// smaller than it.
func (v *View) mtuTo(host string, size int) (mtu int, from string, known bool) {
	h := v.host(host)
	if h == nil {
		return 0, "", false
	}
	for _, d := range h.Netdevs {
		m, ok := d.MTU.Get()
		if !ok || virtual(d.Name) {
			continue
		}
		if m >= size {
			return 0, "", false
		}
		if m > mtu {
			mtu, from, known = m, d.MTU.From.String(), true
		}
	}
	return mtu, from, known
}

// switchMTU finds a switch port that cannot carry the largest RoCE packet of the job.
func (v *View) switchMTU() (f Finding, bad, read bool) {
	largest, at := 0, mtuSeen{}
	if v.roce() == yes {
		for _, m := range append(v.mtus(true), v.mtus(false)...) {
			if m.mtu > largest {
				largest, at = m.mtu, m
			}
		}
	}
	need := largest + roceHeaders
	var small []port
	for _, p := range v.ports() {
		mtu, ok := p.MTU.Get()
		if !ok || p.State.Is(func(s string) bool { return s != "up" }) {
			continue
		}
		read = read || largest > 0
		if largest > 0 && mtu < need {
			small = append(small, p)
		}
	}
	if len(small) == 0 {
		return f, false, read
	}
	p := small[0]
	f = pathMTUFinding()
	f.Title = fmt.Sprintf("%s carries packets of %d bytes, and RoCE on %s sends %d", p.object, p.MTU.Or(0), object(at.host, at.device), need)
	if len(small) > 1 {
		f.Title += fmt.Sprintf(" (%d ports in all)", len(small))
	}
	f.WrongIf = "the port is on no path of the job"
	for _, s := range small[:min(len(small), maxRows)] {
		f.Where = append(f.Where, s.object)
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "MTU of " + s.object, Seen: fmt.Sprint(s.MTU.Or(0)), Expected: fmt.Sprintf("%d or more", need), Role: "cause", From: s.MTU.From.String()})
	}
	f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "path MTU of " + object(at.host, at.device), Seen: fmt.Sprintf("%d, with headers %d", largest, need), From: at.from.String()})
	if broken := v.unreachable(); len(broken) > 0 {
		f.Severity, f.Confidence = Critical, named
		f.Evidence = append(f.Evidence, tell(broken, "effect")...)
	}
	return f, true, true
}

// oversize finds a NIC that refuses frames for their length: its peer sends longer ones.
func (v *View) oversize() (Finding, bool) {
	for _, k := range v.keys(telemetry.NICRxOversize) {
		rows := v.grewRows("NIC", "cause", k.Object, telemetry.NICRxOversize)
		if len(rows) == 0 {
			continue
		}
		f := pathMTUFinding()
		f.Title = fmt.Sprintf("%s refuses frames that are longer than its MTU", spoken(k.Object))
		f.Because = "its peers send longer frames than this interface accepts: their MTU is larger, and what is too long is dropped"
		f.Where, f.Evidence = []string{spoken(k.Object)}, rows
		f.WrongIf = "the frames are of another protocol, such as LLDP or storage with jumbo frames"
		return f, true
	}
	return Finding{}, false
}

// netdevMTUs compares the MTU of interfaces of RDMA devices that have the same name on two hosts, where no active MTU is
// known that R001 would compare.
func (v *View) netdevMTUs() (f Finding, bad, read bool) {
	if v.roce() != yes || severalKnown(v.mtus(false)) {
		return f, false, false
	}
	var all []mtuSeen
	for _, p := range v.hostPorts() {
		name, ok := p.Netdev.Get()
		if !ok {
			continue
		}
		for _, d := range p.host.Netdevs {
			if mtu, known := d.MTU.Get(); known && d.Name == name {
				all = append(all, mtuSeen{p.host.Name, p.Device, mtu, d.MTU.From, false})
			}
		}
	}
	if len(all) == 0 && len(v.rdmaErrors()) > 0 { // which interface carries RoCE is not known: any but those of bootstrap and containers may
		all = v.dataInterfaces()
	}
	pair, differ := differing(all)
	if !differ {
		return f, false, severalKnown(all)
	}
	f = pathMTUFinding()
	f.Title = fmt.Sprintf("the interfaces below %s have different MTUs: %d on %s, %d on %s", pair[0].device, pair[0].mtu, called(pair[0].host), pair[1].mtu, called(pair[1].host))
	f.Because = "the path MTU of RoCE follows the interface's: the ends then differ, or the smaller one drops what is too long"
	f.WrongIf = "the two ports never talk to each other"
	f.Confidence = possible
	for _, m := range pair {
		f.Where = append(f.Where, object(m.host, m.device))
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "MTU of the interface below " + object(m.host, m.device), Seen: fmt.Sprint(m.mtu), Expected: "the same everywhere", Role: "cause", From: m.from.String()})
	}
	return f, true, true
}

// dataInterfaces lists the MTUs of interfaces that may carry RoCE: neither virtual ones nor those the job makes its TCP
// connections over.
func (v *View) dataInterfaces() []mtuSeen {
	tcp := map[string]bool{}
	for _, s := range v.Inv.NCCL.Sockets {
		tcp[s.Interface] = true
	}
	var all []mtuSeen
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if mtu, known := d.MTU.Get(); known && !virtual(d.Name) && !tcp[d.Name] {
				all = append(all, mtuSeen{h.Name, d.Name, mtu, d.MTU.From, false})
			}
		}
	}
	return all
}

func severalKnown(all []mtuSeen) bool { return len(all) > 0 && severalHosts(all) }
