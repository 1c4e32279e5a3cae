// Package lspci owns reading lspci, with details (-vvv) and as a tree (-t, -tv): access control services of bridges,
// which decide whether a NIC reaches a GPU directly, the PCIe link of devices, and which bridges stand between two.
//
// Read lspci.go, then details.go (what stands below a device) and tree.go.
package lspci

import (
	"bytes"
	"io"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxDevices limits bridges and network devices kept of one host. The largest servers have some 300 PCI functions;
// virtual functions bring that to a few thousand.
const MaxDevices = 1 << 14

// Devices reads lspci -vvv (pciutils, lspci.c and ls-caps.c), and the same with fewer details:
//
//	29:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
//		Bus: primary=29, secondary=2a, subordinate=2c, sec-latency=0
//		Capabilities: [148 v1] Access Control Services
//			ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
//	c9:00.0 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
//		Physical Slot: 3
//		NUMA node: 1
//			LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
//			LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
//			DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
//				RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
//				MaxPayload 256 bytes, MaxReadReq 512 bytes
//		Kernel driver in use: mlx5_core
//
// What ACS does stands in PCI Express Base Specification, 6.12: P2P Request Redirect, P2P Completion Redirect and P2P
// Egress Control send traffic between peers up to the root complex, or stop it; Source Validation alone does not.
type Devices struct {
	f       *fragment.Fragment
	address string
	device  int // index into the host's PCI, -1 for a device that is no NIC
	gpu     *evidence.GPU
	node    int // index into the host's Tree, -1 before the first device
	denied  bool
	nodes   map[string]int    // address to index into the host's Tree
	buses   map[string]string // "0000:2a" to the bridge in front of the bus
	columns []column          // of the tree that is being read
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Devices {
	return &Devices{f: f, device: -1, node: -1, nodes: map[string]int{}, buses: map[string]string{}}
}

// Parse reads an output.
func Parse(r io.Reader, f *fragment.Fragment) error {
	d := New(f)
	err := lines.Each(r, func(line []byte, n int) { d.Line(line, n) })
	d.End()
	return err
}

// Starts tells whether a line begins a device, or is one only lspci prints.
func Starts(line []byte) bool {
	return address(line) != "" || bytes.Contains(line, []byte("ACSCtl:")) || startsTree(line)
}

// address reads "29:01.0 " or "0000:29:01.0 " at the beginning of a line, behind which the class follows.
func address(line []byte) string {
	first, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(first) < 7 || len(first) > 16 || !bytes.Contains(rest, []byte(": ")) {
		return ""
	}
	s := string(first)
	if s[len(s)-2] != '.' || s[len(s)-5] != ':' {
		return ""
	}
	for _, c := range first {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != ':' && c != '.' {
			return ""
		}
	}
	return s
}

// Line reads one line; false means that it is not of lspci.
func (d *Devices) Line(line []byte, n int) bool {
	if a := address(line); a != "" {
		d.begin(a, string(line[len(a)+1:]), n)
		return true
	}
	if startsTree(line) || d.inTree(line) {
		d.branch(line, n)
		return true
	}
	t := strings.TrimSpace(string(line))
	if t == "" {
		return true
	}
	d.detail(t, n)
	return line[0] == '\t' || line[0] == ' '
}

// Holds tells whether a line is a detail of a device: they are indented by tabs, as nothing else that stands beside.
func (d *Devices) Holds(line []byte) bool {
	return d.node >= 0 && len(line) > 2 && line[0] == '\t' && line[1] == '\t'
}

func (d *Devices) begin(a, rest string, n int) {
	d.address, d.device, d.gpu, d.node = a, -1, nil, -1
	class, name, _ := strings.Cut(rest, ": ")
	class = withoutNumber(class)
	d.node = d.add(evidence.PCINode{Address: evidence.PCIAddress(a), Class: class, Name: name, From: d.f.At(n)})
	h := d.f.TheHost()
	switch {
	case strings.HasPrefix(class, "Ethernet controller"), strings.HasPrefix(class, "Infiniband controller"), strings.HasPrefix(class, "Network controller"):
		if len(h.PCI) < MaxDevices {
			d.device = len(h.PCI)
			h.PCI = append(h.PCI, evidence.PCIDevice{Address: a, Name: name, Class: class, From: d.f.At(n)})
		}
	case class == "3D controller", class == "Processing accelerators", class == "VGA compatible controller" && strings.Contains(name, "NVIDIA"), class == "Display controller":
		d.gpu = h.GPUAt(evidence.PCIAddress(a), -1)
		if !d.gpu.From.Set() {
			d.gpu.From = d.f.At(n)
		}
	}
}

// withoutNumber takes the number of a class off, which -nn prints: "Ethernet controller [0200]".
func withoutNumber(class string) string {
	if i := strings.LastIndex(class, " ["); i > 0 && strings.HasSuffix(class, "]") {
		return class[:i]
	}
	return class
}

// add puts a device into the tree, or completes the one that is there; -1 where the tree is full.
func (d *Devices) add(node evidence.PCINode) int {
	if node.Address == "" {
		return -1
	}
	h := d.f.TheHost()
	if len(d.nodes) == 0 { // what earlier outputs of the host told
		for i, have := range h.Tree {
			d.nodes[have.Address] = i
		}
	}
	i, ok := d.nodes[node.Address]
	if !ok {
		if len(h.Tree) >= MaxDevices {
			return -1
		}
		i = len(h.Tree)
		d.nodes[node.Address] = i
		h.Tree = append(h.Tree, node)
		return i
	}
	have := &h.Tree[i]
	if have.Parent == "" {
		have.Parent = node.Parent
	}
	if have.Class == "" {
		have.Class = node.Class
	}
	if have.Name == "" {
		have.Name = node.Name
	}
	return i
}

// End finds the bridges above the devices, by the buses behind them.
func (d *Devices) End() {
	h := d.f.TheHost()
	for address, i := range d.nodes {
		if i < len(h.Tree) && h.Tree[i].Parent == "" && len(address) > 5 {
			if bridge := d.buses[address[:len(address)-5]]; bridge != address {
				h.Tree[i].Parent = bridge
			}
		}
	}
}
