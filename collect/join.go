package collect

import (
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// unite makes one thing of what outputs call by several names. On one host a port of a NIC is an RDMA device to verbs
// (mlx5_0), an interface to the kernel (ens3np0) and an address to PCIe (0000:5c:00.0); which is which stands in
// ibdev2netdev, ethtool -i, /sys, NCCL's topology file and GID tables, each of which may be missing. To the rest of the
// cluster a host is an address, and a port what the switch at the other end of its cable calls it.
func unite(inv *evidence.Inventory) {
	for _, t := range inv.Topology {
		joinTopology(inv, t)
	}
	for _, h := range inv.Hosts {
		j := hostJoin{h: h}
		j.netdevs()
		j.nics()
		j.gpus()
	}
	nameRanks(inv)
}

// joinTopology takes the address of a device from NCCL's topology file. A file that names no host is of the one host
// there is.
func joinTopology(inv *evidence.Inventory, t evidence.TopoNIC) {
	address := evidence.PCIAddress(t.PCI)
	if address == "" || t.Name == "" {
		return
	}
	for _, h := range inv.Hosts {
		if h.Name != t.Host && !(t.Host == "" && len(inv.Hosts) == 1) {
			continue
		}
		for _, n := range h.NICs {
			if n.Device == t.Name && !n.PCI.Known() {
				n.PCI = evidence.Known(address, t.From)
			}
		}
	}
}

// hostJoin joins the devices of one host.
type hostJoin struct{ h *evidence.Host }

// netdevs gives an interface without a name to the one with its address: ethtool -i does not tell which it is of.
func (j hostJoin) netdevs() {
	h := j.h
	i := slices.IndexFunc(h.Netdevs, func(d *evidence.Netdev) bool { return d.Name == "" })
	if i < 0 {
		return
	}
	nameless := h.Netdevs[i]
	address, ok := nameless.PCI.Get()
	if !ok {
		return
	}
	for _, d := range h.Netdevs {
		if d != nameless && d.PCI.Or("") == address {
			fillNetdev(d, nameless)
			h.Netdevs = slices.Delete(h.Netdevs, i, i+1)
			return
		}
	}
}

func fill[T any](to *evidence.Value[T], from evidence.Value[T]) {
	if !to.Known() && from.Known() {
		*to = from
	}
}

// fillNetdev gives an interface what is known of it under another name.
func fillNetdev(to, from *evidence.Netdev) {
	fill(&to.Driver, from.Driver)
	fill(&to.DriverAt, from.DriverAt)
	fill(&to.Firmware, from.Firmware)
	fill(&to.FEC.Configured, from.FEC.Configured)
	fill(&to.FEC.Active, from.FEC.Active)
	if to.Module == nil {
		to.Module = from.Module
	}
	if to.QoS == nil {
		to.QoS = from.QoS
	}
}

// nics brings interface, address, node and cable of each port together.
func (j hostJoin) nics() {
	h := j.h
	for _, n := range h.NICs {
		if address := evidence.PCIAddress(n.Device); address != "" { // mlxlink -d 5c:00.0
			n.PCI = evidence.Known(address, n.State.From)
		}
	}
	j.addressed()
	for _, n := range h.NICs {
		d := j.interfaceOf(n)
		if d == nil {
			j.node(n, nil)
			continue
		}
		if !n.Netdev.Known() {
			n.Netdev = evidence.Known(d.Name, d.PCI.From)
		}
		if d.Device == "" {
			d.Device = n.Device
		}
		fill(&n.PCI, d.PCI)
		fill(&d.PCI, n.PCI)
		if at, ok := d.Neighbor.Get(); ok && n.Switch == "" {
			n.Switch = at
		}
		j.node(n, d)
	}
	for _, d := range h.Netdevs {
		for _, p := range h.PCI {
			if d.PCI.Known() && evidence.PCIAddress(p.Address) == d.PCI.Or("") {
				fill(&d.NUMANode, p.NUMANode)
			}
		}
	}
}

// addressed gives what is known of a port by its address alone to the port with that address.
func (j hostJoin) addressed() {
	h := j.h
	h.NICs = slices.DeleteFunc(h.NICs, func(n *evidence.NIC) bool {
		address := evidence.PCIAddress(n.Device)
		if address == "" {
			return false
		}
		for _, other := range h.NICs {
			if other != n && other.PCI.Or("") == address && evidence.PCIAddress(other.Device) == "" {
				fillNIC(other, n)
				return true
			}
		}
		return false
	})
}

// fillNIC gives a port what mlxlink tells of it under its address.
func fillNIC(to, from *evidence.NIC) {
	fill(&to.State, from.State)
	fill(&to.Physical, from.Physical)
	fill(&to.Lanes, from.Lanes)
	fill(&to.Firmware, from.Firmware)
	fill(&to.FEC.Active, from.FEC.Active)
	fill(&to.Links, from.Links)
	if to.Module == nil {
		to.Module = from.Module
	}
	if to.Signal == nil {
		to.Signal = from.Signal
	}
}

// interfaceOf finds the interface of a port: by its name, by a name that leads back, or by the address. A function has
// one address and may have several interfaces, of which representatives and VLANs are not the port's own: where two
// have the address, nothing is concluded.
func (j hostJoin) interfaceOf(n *evidence.NIC) *evidence.Netdev {
	if name, ok := n.Netdev.Get(); ok {
		for _, d := range j.h.Netdevs {
			if d.Name == name {
				return d
			}
		}
		return nil
	}
	var found *evidence.Netdev
	for _, d := range j.h.Netdevs {
		if d.Name != "" && (d.Device == n.Device && n.Port == 1 || d.Device == "" && d.PCI.Known() && d.PCI.Or("") == n.PCI.Or("")) {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

// node tells on which node a port is.
func (j hostJoin) node(n *evidence.NIC, d *evidence.Netdev) {
	address, ok := n.PCI.Get()
	for _, p := range j.h.PCI {
		if ok && evidence.PCIAddress(p.Address) == address {
			fill(&n.NUMANode, p.NUMANode)
		}
	}
	if d != nil {
		fill(&n.NUMANode, d.NUMANode)
	}
}

// gpus makes one of GPUs that one output knows by number and another by address.
func (j hostJoin) gpus() {
	h := j.h
	h.GPUs = slices.DeleteFunc(h.GPUs, func(g *evidence.GPU) bool {
		if g.PCI != "" || g.Index < 0 {
			return false
		}
		for _, other := range h.GPUs {
			if other != g && other.Index == g.Index && other.PCI != "" {
				fill(&other.NUMANode, g.NUMANode)
				fill(&other.Name, g.Name)
				fill(&other.UUID, g.UUID)
				if len(other.NVLinks) == 0 {
					other.NVLinks = g.NVLinks
				}
				return true
			}
		}
		return false
	})
}

// nameRanks gives the hosts that RAS and tests between hosts know by their address the name they have elsewhere.
func nameRanks(inv *evidence.Inventory) {
	var names map[netip.Addr]string
	name := func(host *string) {
		a, err := netip.ParseAddr(*host)
		if err != nil {
			return
		}
		if names == nil { // most inputs have neither
			names = hostNames(inv)
		}
		if n := names[a.Unmap()]; n != "" {
			*host = n
		}
	}
	for i := range inv.NCCL.RASComms {
		c := &inv.NCCL.RASComms[i]
		for k := range c.Ranks {
			name(&c.Ranks[k].Host)
		}
		for k := range c.Missing {
			name(&c.Missing[k].Host)
		}
	}
	for i := range inv.NCCL.RASReports {
		r := &inv.NCCL.RASReports[i]
		for k := range r.Lost {
			name(&r.Lost[k].Host)
		}
		for k := range r.Mismatches {
			for m := range r.Mismatches[k].Named {
				name(&r.Mismatches[k].Named[m].Host)
			}
		}
	}
	for i := range inv.NCCL.RASEvents {
		name(&inv.NCCL.RASEvents[i].Peer.Host)
	}
	for i := range inv.NetTests {
		name(&inv.NetTests[i].Peer)
	}
}

// hostNames maps addresses to the one host that has them: by its own listings, then by what NCCL says it uses.
func hostNames(inv *evidence.Inventory) map[netip.Addr]string {
	names := owners(&inv.NCCL)
	for _, h := range inv.Hosts {
		for _, a := range addresses(h) {
			if have, ok := names[a]; ok && have != h.Name {
				names[a] = "" // two hosts have it, as with a container runtime's bridge
			} else if h.Name != "" && !a.IsLinkLocalUnicast() && !a.IsLoopback() {
				names[a] = h.Name
			}
		}
	}
	return names
}
