package diagnose

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// I010: there is no route from a RoCE address to its peer.
//
// Symptom: a QP cannot be moved to RTR with "Network is unreachable" (101) or "No route to host" (113). Mechanism: the
// kernel resolves the path of a RoCE v2 QP with the routing table, from the interface of the source address
// (drivers/infiniband/core/addr.c); rails in subnets of their own need a route to each other's, or must not be joined.
// Evidence for: the error; routes that do not cover the peer. Look-alikes: a neighbour that does not answer (110, R004);
// I005 (a route, but the wrong one).
var causeNoRoute = Cause{
	Code:     "I010",
	Title:    "no route between RoCE addresses",
	Needs:    "the NCCL log with addresses (2.24 and later), ip route of the host",
	Explains: []string{"R004", "J003", "J002", "I011"},
	Check:    checkNoRoute,
}

func checkNoRoute(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	f := Finding{
		Severity: Critical, Confidence: named,
		Because: "the kernel looks up the path of a RoCE v2 connection in its routing table, from the source address's interface, and finds none to the peer",
		WrongIf: "ip route get PEER from ADDRESS finds a route on the right interface",
		Fix: Fix{
			Text:     "add a route to the peers' subnet on each rail, through the rail's own gateway; or keep connections within a rail",
			Commands: []string{"ip route get PEER from ADDRESS", "ip route add SUBNET via GATEWAY dev IFACE", "export NCCL_CROSS_NIC=0   # rails that are not joined"},
		},
		Settle: "ip route get PEER from ADDRESS on the host",
	}
	unrouted := without(v.said(evidence.ModifyQPFailed), func(e evidence.Event) bool {
		return !errnoIs(e, 101, "Network is unreachable") && !errnoIs(e, 113, "No route to host")
	})
	if len(unrouted) > 0 {
		e := unrouted[0]
		f.Title = fmt.Sprintf("%s has no route to its peer over RoCE (%s)", object(e.Host, e.Device), e.Errno)
		if e.Local.IsValid() && e.Remote.IsValid() {
			f.Title = fmt.Sprintf("%s has no route from %s to %s (%s)", object(e.Host, e.Device), e.Local.Unmap(), e.Remote.Unmap(), e.Errno)
		}
		f.Where = []string{object(e.Host, e.Device)}
		f.Evidence = tell(unrouted, "cause")
		return found(f)
	}
	addressed := false
	owners := v.owners()
	if g, ok := v.acrossRails(owners); ok {
		return found(g)
	}
	for _, e := range v.unreachable() {
		if !e.Local.IsValid() || !e.Remote.IsValid() || e.Local.IsLinkLocalUnicast() || e.Remote.IsLinkLocalUnicast() {
			continue
		}
		owner, ok := owners[e.Local.Unmap()]
		if !ok {
			continue
		}
		host := owner.host
		h := v.host(host)
		if len(h.Routes) == 0 {
			continue
		}
		addressed = true
		if covered(h, e.Remote.Unmap()) {
			continue
		}
		f.Title = fmt.Sprintf("%s has no route to %s, the peer of a RoCE connection from %s", called(host), e.Remote.Unmap(), e.Local.Unmap())
		f.Where = []string{called(host)}
		f.Evidence = []Evidence{
			{Layer: "host", What: fmt.Sprintf("routes of %s that cover %s", called(host), e.Remote.Unmap()), Seen: fmt.Sprintf("none of %d", len(h.Routes)), Expected: "one", Role: "cause", From: h.Routes[0].From.String()},
			told(e, "effect"),
		}
		return found(f)
	}
	switch {
	case len(v.unreachable()) == 0 && v.Inv.NCCL.HasLog:
		return ruledOut("no RDMA connection failed for want of a route")
	case addressed:
		return ruledOut("the routes that were read cover the peers of the failed connections")
	}
	return cannotCheck("ip route of the hosts, and the addresses of failed connections (NCCL 2.18 and later)")
}

// covered tells whether a route, or an interface's own subnet, leads to an address.
func covered(h *evidence.Host, a netip.Addr) bool {
	if slices.ContainsFunc(h.Routes, func(r evidence.Route) bool { return r.Prefix.IsValid() && r.Prefix.Contains(a) }) {
		return true
	}
	for _, d := range h.Netdevs {
		if slices.ContainsFunc(d.Addresses, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return true
		}
	}
	return false
}

// acrossRails finds a failed connection from one interface of a host to an address in the subnet of another one: the rails
// are networks of their own, and NCCL joined NICs of two.
func (v *View) acrossRails(owners map[netip.Addr]place) (Finding, bool) {
	for _, e := range v.unreachable() {
		owner, ok := owners[e.Local.Unmap()]
		if !ok || !e.Remote.Is4In6() || e.Local.IsLinkLocalUnicast() {
			continue
		}
		h := v.host(owner.host)
		if h == nil {
			continue
		}
		var own, other *evidence.Netdev
		for _, d := range h.Netdevs {
			for _, p := range d.Addresses {
				switch {
				case p.Addr().Unmap() == e.Local.Unmap():
					own = d
					if p.Contains(e.Remote.Unmap()) {
						other = nil
						own = nil
					}
				case p.Contains(e.Remote.Unmap()) && !virtual(d.Name):
					other = d
				}
			}
		}
		if own == nil || other == nil || own == other {
			continue
		}
		return Finding{
			Title:    fmt.Sprintf("a connection of %s crosses rails: from %s on %s to %s, which is in the subnet of %s", called(h.Name), e.Local.Unmap(), own.Name, e.Remote.Unmap(), other.Name),
			Severity: Critical, Confidence: likely, Where: []string{object(h.Name, own.Name)},
			Because: "each rail is a subnet of its own; a packet from one rail's address to another rail's needs a router between them, or leaves by the wrong interface and is not answered",
			Evidence: []Evidence{
				{Layer: "host", What: "interface with " + e.Remote.Unmap().String() + " in its subnet", Seen: other.Name, Expected: own.Name, Role: "cause", From: other.At.String()},
				told(e, "effect"),
			},
			WrongIf: "the rails are joined by routers, and policy routing sends each rail's packets to its own",
			Fix:     Fix{Text: "keep connections within a rail, or join the rails by routes", Commands: []string{"export NCCL_CROSS_NIC=0", "ip route get PEER from ADDRESS", "ip rule; ip route show table all"}, Try: []Change{{Setting: "NCCL_CROSS_NIC", Value: "0"}}},
			Settle:  "ib_write_bw between those two addresses",
		}, true
	}
	return Finding{}, false
}
