package diagnose

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// I011: the address of a peer is not resolved, or the table of neighbours is full.
//
// Symptom: a QP cannot be set up (timed out, 110), or packets to some peers never leave. Mechanism: a RoCE v2 packet to a peer
// of the same subnet needs its MAC address; the kernel asks by ARP or NDP on the interface of the route, and a wrong VLAN, a
// down port of the peer or a full table leaves it without. Evidence for: ip neigh: FAILED or INCOMPLETE for the peer of a
// failed connection; the kernel's "neighbor table overflow". Against: a peer behind a router. Look-alikes: I010 (no route at
// all), I005 (the answer comes from another interface).
var causeNeighbor = Cause{
	Code:     "I011",
	Title:    "a peer's address is not resolved",
	Needs:    "ip neigh of the hosts, or the kernel log",
	Explains: []string{"R004"},
	Check:    checkNeighbor,
}

func checkNeighbor(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run resolves no addresses")
	}
	broken := v.unreachable()
	peers := map[netip.Addr]evidence.Event{}
	for _, e := range broken {
		if e.Remote.IsValid() {
			peers[e.Remote.Unmap()] = e
		}
	}
	read := 0
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			if k.Kind != "neighbor overflow" {
				continue
			}
			f := neighborFinding(called(h.Name))
			f.Title = fmt.Sprintf("the table of neighbours of %s is full", called(h.Name))
			f.Because = "entries for peers are thrown out while they are in use, so connections to some of them cannot be set up"
			f.Evidence = append([]Evidence{{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}}, tell(broken, "effect")...)
			f.Fix = Fix{Text: "raise the thresholds above the number of hosts times their interfaces", Commands: []string{"sysctl -w net.ipv4.neigh.default.gc_thresh3=65536 net.ipv4.neigh.default.gc_thresh2=32768"}}
			if len(broken) > 0 {
				f.Severity, f.Confidence = Critical, named
			}
			return found(f)
		}
		for _, n := range h.Neighbors {
			read++
			state := strings.ToUpper(n.State)
			e, ours := peers[n.Address.Unmap()]
			if !ours || state != "FAILED" && state != "INCOMPLETE" {
				continue
			}
			if e.Host != "" && h.Name != "" && e.Host != h.Name {
				continue
			}
			f := neighborFinding(object(h.Name, n.Dev))
			f.Title = fmt.Sprintf("%s does not answer for its address on %s of %s (%s)", n.Address.Unmap(), n.Dev, called(h.Name), n.State)
			f.Severity, f.Confidence = Critical, named
			f.Evidence = []Evidence{
				{Layer: "host", What: fmt.Sprintf("neighbour %s on %s", n.Address.Unmap(), object(h.Name, n.Dev)), Seen: n.State, Expected: "REACHABLE or STALE, with a MAC address", Role: "cause", From: n.From.String()},
				told(e, "effect"),
			}
			return found(f)
		}
	}
	if f, ok := v.unresolvedByCall(broken); ok && read == 0 {
		return found(f)
	}
	switch {
	case read > 0:
		return ruledOut("the neighbours that were read are resolved, or none is the peer of a failed connection")
	case len(broken) == 0 && v.Inv.NCCL.HasLog:
		return ruledOut("no RDMA connection failed")
	}
	return cannotCheck("ip neigh of the hosts whose connections failed")
}

// unresolvedByCall tells from the error alone: moving a RoCE QP to RTR sends nothing to the peer, it only looks up the peer's MAC
// address, and 110 (timed out) is what the kernel answers when nobody answers for it (drivers/infiniband/core/addr.c,
// rdma_addr_find_l2_eth_by_grh).
func (v *View) unresolvedByCall(broken []evidence.Event) (Finding, bool) {
	if v.roce() == no {
		return Finding{}, false
	}
	calls := without(broken, func(e evidence.Event) bool {
		return e.Kind != evidence.ModifyQPFailed || !errnoIs(e, 110, "timed out") || e.Local.IsValid() && e.Local.IsLinkLocalUnicast()
	})
	if len(calls) == 0 || v.roce() == unknown && !calls[0].HasGIDIndex {
		return Finding{}, false
	}
	e := calls[0]
	f := neighborFinding(object(e.Host, e.Device))
	peer := "its peer"
	if e.Remote.IsValid() {
		peer = e.Remote.Unmap().String()
	}
	from := ""
	if e.Local.IsValid() {
		from = " from " + e.Local.Unmap().String()
	}
	f.Title = fmt.Sprintf("%s could not resolve the address of %s%s when it set up a QP", object(e.Host, e.Device), peer, from)
	f.Severity, f.Confidence = Critical, possible
	if e.Remote.IsValid() && e.Remote.Is4In6() {
		f.Confidence = likely
	}
	f.Because = "setting up a RoCE connection looks up the peer's MAC address, or that of the router to it, on the interface of the GID; nobody answered, so no packet of data was ever sent"
	f.Evidence = tell(calls, "cause")
	f.Not = []string{"a filter of UDP 4791, the MTU, and loss: nothing was sent yet"}
	f.Fix.Text = "ping the peer's address from that interface; where NICs of different rails cannot reach each other keep the rails apart (NCCL_CROSS_NIC=0) or route between them; else look at VLAN, the peer's port and which interface has the address"
	f.Fix.Commands = []string{"ping -I IFACE PEER; ip neigh show PEER; ip route get PEER from ADDRESS", "export NCCL_CROSS_NIC=0   # rails that are not connected", "show_gids"}
	f.WrongIf = "ping from that address reaches the peer"
	return f, true
}

func neighborFinding(where string) Finding {
	return Finding{
		Severity: Warning, Confidence: possible, Where: []string{where},
		Because: "a packet to a host of the same subnet needs its MAC address; where nobody answers for the address no connection can be set up",
		WrongIf: "the peer is behind a router, whose address is then the one to resolve",
		Fix: Fix{
			Text:     "look at the peer's port, at the VLAN of both switch ports, and at which interface has the address",
			Commands: []string{"ping -I IFACE PEER; ip neigh show PEER", "tcpdump -eni IFACE arp", "ip -d link show IFACE"},
		},
		Settle: "arping -I IFACE PEER",
	}
}
