package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// I005: several RoCE interfaces of one host share an IP subnet, with nothing that ties addresses to interfaces.
//
// Symptom: connection timeouts on some pairs of NICs with RoCE v2 while v1 works; all traffic on one port.
// Mechanism: the route of a RoCE v2 QP is looked up in the main table, where of two equal prefixes the first
// interface wins; with arp_ignore=0 every interface answers ARP for every local address (kernel
// Documentation/networking/ip-sysctl.rst), so peers learn the wrong MAC. Evidence for: two RoCE interfaces with
// one prefix, only the default rules. Against: policy routing rules, or a VRF. Look-alikes: a broken port.
var causeSameSubnet = Cause{
	Code:     "I005",
	Title:    "RoCE interfaces of a host share a subnet without policy routing",
	Needs:    "ip addr, ip rule, and which interfaces carry RDMA (show_gids or ibdev2netdev)",
	Explains: []string{"R004", "J002", "J003", "I011"},
	Check:    checkSameSubnet,
}

// shared is two or more RoCE interfaces of a host in one subnet.
type shared struct {
	host   *evidence.Host
	prefix netip.Prefix
	devs   []*evidence.Netdev
}

func checkSameSubnet(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop && v.roce() == no {
		return verdict
	}
	groups, addressed := v.sharedSubnets()
	if len(groups) == 0 {
		if !addressed {
			return cannotCheck("the addresses of the RoCE interfaces (ip addr, and show_gids or ibdev2netdev)")
		}
		return ruledOut("each RoCE interface is in a subnet of its own")
	}
	broken := v.unreachable()
	var findings []Finding
	ruled := 0
	for _, g := range groups {
		if len(g.host.Rules) > 0 {
			ruled++
			continue
		}
		listedRules := g.host.RulesAt.File != ""
		if !listedRules && len(broken) == 0 {
			continue
		}
		var names []string
		for _, d := range g.devs {
			names = append(names, d.Name)
		}
		f := Finding{
			Title:      fmt.Sprintf("%s of %s are RoCE interfaces in one subnet (%s) without policy routing", listed(names), called(g.host.Name), g.prefix),
			Severity:   Warning,
			Confidence: likely,
			Where:      []string{object(g.host.Name, names[0])},
			Because:    "the main routing table sends everything for the subnet out of its first interface, and every interface answers ARP for all addresses of the host, so RoCE v2 packets leave or arrive on the wrong port",
			Not:        []string{"RoCE v1: it is addressed by MAC and hides the fault, so a test with GID index 0 that works clears nothing"},
			WrongIf:    "the interfaces are in VRFs, or rules in another table do what ip rule does not show",
			Fix: Fix{
				Text: "give each rail its own subnet; or add a rule and a table for each address, and let each interface answer for itself only",
				Commands: []string{
					"ip rule add from ADDRESS table N && ip route add SUBNET dev IFACE src ADDRESS table N",
					"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2",
				},
			},
			Settle: "ib_write_bw for each pair of NICs with -x set to the RoCE v2 index, and tcpdump of ARP on the peer",
		}
		for _, d := range g.devs[:min(len(g.devs), maxRows)] {
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "address of " + d.Name, Seen: prefixIn(d, g.prefix), Expected: "a subnet of its own", Role: "cause", From: d.At.String()})
		}
		if listedRules {
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "policy routing rules", Seen: "none but the default ones", Role: "cause", From: g.host.RulesAt.String()})
		} else {
			f.Confidence = possible
			f.Settle = "ip rule on " + called(g.host.Name)
		}
		for _, name := range []string{"net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.rp_filter"} {
			if value, ok := g.host.Sysctl[name].Get(); ok {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: name, Seen: value, From: g.host.Sysctl[name].From.String()})
			}
		}
		if len(broken) > 0 {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, tell(broken, "effect")...)
			if listedRules {
				f.Confidence = named
			}
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case ruled == len(groups):
		return ruledOut("policy routing rules tie addresses to interfaces")
	}
	return cannotCheck("ip rule of " + called(groups[0].host.Name) + ": its RoCE interfaces share a subnet")
}

// sharedSubnets lists RoCE interfaces in one subnet; addressed tells whether the addresses of any two RoCE
// interfaces of one host were known at all.
func (v *View) sharedSubnets() (groups []shared, addressed bool) {
	printed, job := v.printedGIDs(), v.jobDevices()
	for _, h := range v.Inv.Hosts {
		var own []shared
		interfaces := 0
		for _, d := range h.Netdevs {
			if !carriesRDMA(job, h, d, printed) || len(d.Addresses) == 0 {
				continue
			}
			interfaces++
			for _, a := range d.Addresses {
				if a.Addr().IsLinkLocalUnicast() || a.IsSingleIP() {
					continue
				}
				p := a.Masked()
				i := slices.IndexFunc(own, func(s shared) bool { return s.prefix == p })
				if i < 0 {
					own = append(own, shared{h, p, nil})
					i = len(own) - 1
				}
				if !slices.Contains(own[i].devs, d) {
					own[i].devs = append(own[i].devs, d)
				}
			}
		}
		addressed = addressed || interfaces > 1
		for _, s := range own {
			if len(s.devs) > 1 {
				groups = append(groups, s)
			}
		}
	}
	return groups, addressed
}

// printedGIDs are the addresses that the library printed as GIDs of its connections.
func (v *View) printedGIDs() map[netip.Addr]bool {
	printed := map[netip.Addr]bool{}
	for _, e := range v.rdmaErrors() {
		printed[e.Local.Unmap()], printed[e.Remote.Unmap()] = true, true
	}
	for _, q := range v.Inv.NCCL.QPs {
		printed[q.GID.Unmap()] = true
	}
	return printed
}

// carriesRDMA tells whether an RDMA device of the job sits on the interface: by the device's own word, by the GID table,
// or because an address of the interface is a GID that the library printed.
func carriesRDMA(job jobDevices, h *evidence.Host, d *evidence.Netdev, printed map[netip.Addr]bool) bool {
	for _, n := range h.NICs {
		if !job.has(h.Name, n) {
			continue
		}
		if n.Netdev.Or("") == d.Name || n.Device == d.Device && d.Device != "" ||
			slices.ContainsFunc(n.GIDs, func(g evidence.GID) bool { return g.Netdev == d.Name }) {
			return true
		}
	}
	return slices.ContainsFunc(d.Addresses, func(p netip.Prefix) bool { return printed[p.Addr().Unmap()] })
}

func prefixIn(d *evidence.Netdev, p netip.Prefix) string {
	var words []string
	for _, a := range d.Addresses {
		if a.Masked() == p {
			words = append(words, a.String())
		}
	}
	return strings.Join(words, ", ")
}
