package collect

import (
	"net/netip"

	"github.com/shunt-network/shunt/evidence"
)

// adopt finds out whose outputs those without a host are: NCCL logs name the host with every address it uses, and
// an output that lists one of these addresses is of that host. Where addresses point to several hosts, or to none,
// the host stays unnamed.
func adopt(inv *evidence.Inventory, parts []part) {
	var unnamed *evidence.Host
	for _, h := range inv.Hosts {
		if h.Name == "" {
			unnamed = h
		}
	}
	if unnamed == nil {
		return
	}
	name := ownerOf(addresses(unnamed), owners(&inv.NCCL))
	if name == "" {
		return
	}
	for _, h := range inv.Hosts {
		if h.Name == name {
			return // its own outputs name it, so those without a name may be of another host with a shared address
		}
	}
	unnamed.Name = name
	for _, p := range parts {
		for i := range p.Samples {
			if p.Samples[i].Host == "" {
				p.Samples[i].Host = name
			}
		}
	}
}

// owners maps addresses to the one host that uses them. Two hosts may have the same address on a bridge of a
// container runtime; such an address tells nothing.
func owners(n *evidence.NCCL) map[netip.Addr]string {
	owner := map[netip.Addr]string{}
	put := func(a netip.Addr, host string) {
		if host == "" || !a.IsValid() || a.Unmap().IsLinkLocalUnicast() || a.Unmap().IsLoopback() {
			return
		}
		if have, ok := owner[a.Unmap()]; ok && have != host {
			host = ""
		}
		owner[a.Unmap()] = host
	}
	for _, s := range n.Sockets {
		put(s.Address, s.Host)
	}
	for _, q := range n.QPs {
		put(q.GID, q.Host)
	}
	for _, e := range n.Events {
		put(e.Local, e.Host)
	}
	return owner
}

func addresses(h *evidence.Host) []netip.Addr {
	var all []netip.Addr
	for _, n := range h.NICs {
		for _, g := range n.GIDs {
			all = append(all, g.Address.Unmap())
		}
	}
	for _, d := range h.Netdevs {
		for _, p := range d.Addresses {
			all = append(all, p.Addr().Unmap())
		}
	}
	return all
}

func ownerOf(addresses []netip.Addr, owner map[netip.Addr]string) string {
	name := ""
	for _, a := range addresses {
		switch o := owner[a]; {
		case o == "":
		case name == "":
			name = o
		case name != o:
			return ""
		}
	}
	return name
}
