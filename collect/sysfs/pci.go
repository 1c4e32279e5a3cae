package sysfs

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// pciFiles are the files of a PCI device that are read (Documentation/ABI/testing/sysfs-bus-pci).
var pciFiles = map[string]bool{
	"class": true, "numa_node": true, "current_link_speed": true, "current_link_width": true, "max_link_speed": true, "max_link_width": true,
}

// LocatePCI finds the device, the bridge above it and the file in a path such as
// sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/numa_node, or sys/bus/pci/devices/0000:51:00.0/numa_node, which tells
// no bridge; ok is false for any other path. Of sys/class/net/ens3np0/device/numa_node, and the like of infiniband, the
// device is the name above "device".
func LocatePCI(p string) (address, parent, file string, ok bool) {
	parts := strings.Split(p, "/")
	n := len(parts)
	if n < 2 || !pciFiles[parts[n-1]] {
		return "", "", "", false
	}
	if address = fullAddress(parts[n-2]); address == "" {
		if n >= 5 && parts[n-2] == "device" && parts[n-3] != "" && parts[n-5] == "class" && (parts[n-4] == "net" || parts[n-4] == "infiniband") {
			return parts[n-3], "", parts[n-1], true
		}
		return "", "", "", false
	}
	if n >= 3 {
		parent = fullAddress(parts[n-3])
	}
	return address, parent, parts[n-1], true
}

// fullAddress is a part of a path that is an address with its domain, "" for any other.
func fullAddress(part string) string {
	if strings.Count(part, ":") != 2 || strings.IndexByte(part, '.') < 0 {
		return ""
	}
	return evidence.PCIAddress(part)
}

// AddressIn is the PCI device a path of something below it goes through: sys/devices/../0000:53:00.0/net/ens3/mtu.
func AddressIn(p string) string {
	found := ""
	for part := range strings.SplitSeq(p, "/") {
		if a := fullAddress(part); a != "" {
			found = a
		}
	}
	return found
}

// MaxPCI limits the devices gathered of one host.
const MaxPCI = 1 << 14

// PCI gathers the files of PCI devices of all hosts; what a device is stands in one of them, and not in the first.
type PCI struct {
	hosts   []*evidence.Host
	devices map[*evidence.Host]map[string]*pciDevice
	order   map[*evidence.Host][]*pciDevice
}

type pciDevice struct {
	address, parent  string // address is a name where the path goes through one
	class            string
	node             evidence.Value[int]
	running, capable evidence.Value[evidence.PCILink]
	at               evidence.Source
	nic, merged      bool
}

// NewPCI makes an empty one.
func NewPCI() *PCI {
	return &PCI{devices: map[*evidence.Host]map[string]*pciDevice{}, order: map[*evidence.Host][]*pciDevice{}}
}

// File reads one file.
func (p *PCI) File(f *fragment.Fragment, address, parent, file string, value []byte, line int) {
	h := f.TheHost()
	table := p.devices[h]
	if table == nil {
		table = map[string]*pciDevice{}
		p.devices[h] = table
		p.hosts = append(p.hosts, h)
	}
	d := table[address]
	if d == nil {
		if len(table) >= MaxPCI {
			return
		}
		d = &pciDevice{address: address, at: f.At(line)}
		table[address] = d
		p.order[h] = append(p.order[h], d)
	}
	if parent != "" {
		d.parent = parent
	}
	v := string(bytes.TrimSpace(value))
	at := f.At(line)
	switch file {
	case "class":
		d.class = v
	case "numa_node":
		if n, err := strconv.ParseInt(v, 10, 16); err == nil && n >= 0 { // -1: the firmware does not tell
			d.node = evidence.Known(int(n), at)
		}
	case "current_link_speed":
		speed(&d.running, v, at)
	case "max_link_speed":
		speed(&d.capable, v, at)
	case "current_link_width":
		width(&d.running, v, at)
	case "max_link_width":
		width(&d.capable, v, at)
	}
}

// speed reads "32.0 GT/s PCIe"; "Unknown" is a link that is down.
func speed(to *evidence.Value[evidence.PCILink], v string, at evidence.Source) {
	number, _, _ := strings.Cut(v, " ")
	if s, err := strconv.ParseFloat(number, 64); err == nil && s > 0 && s < 1e3 {
		l := to.Or(evidence.PCILink{})
		l.Speed = s
		*to = evidence.Known(l, at)
	}
}

func width(to *evidence.Value[evidence.PCILink], v string, at evidence.Source) {
	if w, err := strconv.ParseUint(v, 10, 8); err == nil && w > 0 {
		l := to.Or(evidence.PCILink{})
		l.Width = int(w)
		*to = evidence.Known(l, at)
	}
}

// The classes that matter (PCI Code and ID Assignment Specification 1.11).
const (
	classNetwork    = "0x02"
	classInfiniBand = "0x0207"
	classDisplay    = "0x03"
	classBridge     = "0x0604"
)

// Finish writes the devices.
func (p *PCI) Finish() {
	for _, h := range p.hosts {
		seen := map[string]int{}
		for i, n := range h.Tree {
			seen[n.Address] = i
		}
		for _, d := range p.order[h] {
			if evidence.PCIAddress(d.address) != "" {
				continue
			}
			d.nic = true
			d.resolve(h)
			if same := p.devices[h][d.address]; same != nil && same != d {
				same.merge(d)
				d.merged = true
			}
		}
		for _, d := range p.order[h] {
			if !d.merged {
				d.write(h, seen)
			}
		}
	}
}

func (d *pciDevice) write(h *evidence.Host, tree map[string]int) {
	running, capable := whole(d.running), whole(d.capable)
	class := ""
	switch {
	case strings.HasPrefix(d.class, classInfiniBand):
		class = "Infiniband controller"
	case strings.HasPrefix(d.class, classNetwork):
		class = "Ethernet controller"
	case strings.HasPrefix(d.class, classDisplay):
		class = "3D controller"
		g := h.GPUAt(d.address, -1)
		fill(&g.Running, running)
		fill(&g.Capable, capable)
		fill(&g.NUMANode, d.node)
	case strings.HasPrefix(d.class, classBridge):
		class = "PCI bridge"
	}
	if (strings.HasPrefix(d.class, classNetwork) || d.nic || d.class == "" && ofNIC(h, d.address)) && !hasPCI(h, d) {
		h.PCI = append(h.PCI, evidence.PCIDevice{Address: d.address, Class: class, Running: running, Capable: capable, NUMANode: d.node, From: d.at})
	}
	if evidence.PCIAddress(d.address) == "" {
		return // where it hangs is not known
	}
	i, ok := tree[d.address]
	if !ok {
		tree[d.address] = len(h.Tree)
		h.Tree = append(h.Tree, evidence.PCINode{Address: d.address, Parent: d.parent, Class: class, Running: running, Capable: capable, From: d.at})
		return
	}
	n := &h.Tree[i]
	if n.Parent == "" {
		n.Parent = d.parent
	}
	fill(&n.Running, running)
	fill(&n.Capable, capable)
}

// whole drops a link of which only speed or width is known.
func whole(l evidence.Value[evidence.PCILink]) evidence.Value[evidence.PCILink] {
	if v, ok := l.Get(); ok && (v.Speed == 0 || v.Width == 0) {
		return evidence.Value[evidence.PCILink]{}
	}
	return l
}

func fill[T any](to *evidence.Value[T], v evidence.Value[T]) {
	if !to.Known() {
		*to = v
	}
}

// resolve finds the address of a device that is known by its name, and tells the device its NUMA node.
func (d *pciDevice) resolve(h *evidence.Host) {
	name := d.address
	for _, n := range h.NICs {
		if n.Device == name {
			fill(&n.NUMANode, d.node)
			if a := evidence.PCIAddress(n.PCI.Or("")); a != "" {
				d.address = a
			}
		}
	}
	for _, x := range h.Netdevs {
		if x.Name == name {
			fill(&x.NUMANode, d.node)
			if a := evidence.PCIAddress(x.PCI.Or("")); a != "" {
				d.address = a
			}
		}
	}
}

// merge takes over what another path to the device told.
func (d *pciDevice) merge(o *pciDevice) {
	d.nic = true
	fill(&d.node, o.node)
	if d.class == "" {
		d.class = o.class
	}
	for _, l := range []struct {
		to, from *evidence.Value[evidence.PCILink]
	}{{&d.running, &o.running}, {&d.capable, &o.capable}} {
		have, more := l.to.Or(evidence.PCILink{}), l.from.Or(evidence.PCILink{})
		if have.Speed == 0 {
			have.Speed = more.Speed
		}
		if have.Width == 0 {
			have.Width = more.Width
		}
		if l.to.Known() {
			*l.to = evidence.Known(have, l.to.From)
		} else if l.from.Known() {
			*l.to = evidence.Known(have, l.from.From)
		}
	}
}

// ofNIC tells whether an address is that of a known port.
func ofNIC(h *evidence.Host, address string) bool {
	for _, n := range h.NICs {
		if evidence.PCIAddress(n.PCI.Or("")) == address {
			return true
		}
	}
	for _, x := range h.Netdevs {
		if evidence.PCIAddress(x.PCI.Or("")) == address {
			return true
		}
	}
	return false
}

// hasPCI completes the device another output has listed, and tells whether there is one.
func hasPCI(h *evidence.Host, d *pciDevice) bool {
	for i := range h.PCI {
		if h.PCI[i].Address == d.address || evidence.PCIAddress(h.PCI[i].Address) == d.address {
			fill(&h.PCI[i].Running, whole(d.running))
			fill(&h.PCI[i].Capable, whole(d.capable))
			fill(&h.PCI[i].NUMANode, d.node)
			return true
		}
	}
	return false
}
