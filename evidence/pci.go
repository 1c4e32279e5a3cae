package evidence

import "strings"

// PCINode is a device or a bridge in the tree lspci -t draws, or one lspci -v lists.
type PCINode struct {
	Address string // "0000:c9:00.0"
	Parent  string // address of the bridge above; "" for what hangs off a root complex, or where not told
	Class   string // "PCI bridge", "3D controller", "Ethernet controller"; "" in a tree without names
	Name    string
	Capable Value[PCILink]
	Running Value[PCILink]
	From    Source
}

// PCIAddress brings "c9:00.0", "0000:C9:00.0" and "00000000:C9:00.0" (as nvidia-smi prints it) to one form; "" for
// what is no address.
func PCIAddress(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	parts := strings.Split(s, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 || len(parts[0]) < 4 || len(parts[0]) > 8 || len(parts[1]) != 2 {
		return ""
	}
	domain := strings.TrimLeft(parts[0], "0")
	for len(domain) < 4 {
		domain = "0" + domain
	}
	device, function, ok := strings.Cut(parts[2], ".")
	if !ok {
		function = "0" // NCCL and the Xid lines of the driver leave it off
	}
	if len(device) != 2 || len(function) != 1 || strings.Trim(domain+parts[1]+device+function, "0123456789abcdef") != "" {
		return ""
	}
	return domain + ":" + parts[1] + ":" + device + "." + function
}

// BridgesAbove lists the bridges over a device, nearest first; ok is false where the tree does not have it.
func (h *Host) BridgesAbove(address string) (bridges []string, ok bool) {
	n, ok := h.pciNode(PCIAddress(address))
	for ok && n.Parent != "" && len(bridges) < maxDepth {
		bridges = append(bridges, n.Parent)
		next, found := h.pciNode(n.Parent)
		if !found {
			break
		}
		n = next
	}
	return bridges, ok
}

// maxDepth is how many bridges can stand over a device: bus numbers have eight bits, and each bridge takes one.
const maxDepth = 256

func (h *Host) pciNode(address string) (PCINode, bool) {
	for _, n := range h.Tree {
		if n.Address == address {
			return n, true
		}
	}
	return PCINode{}, false
}

// BridgesBetween lists the bridges on the way from one device to another below the same root complex, ends at the
// last they have in common; ok is false where the tree does not tell, or their way goes through the processor.
func (h *Host) BridgesBetween(a, b string) (bridges []string, ok bool) {
	up, ok1 := h.BridgesAbove(a)
	down, ok2 := h.BridgesAbove(b)
	if !ok1 || !ok2 {
		return nil, false
	}
	for i, x := range up {
		for j, y := range down {
			if x == y {
				return append(append([]string{}, up[:i+1]...), down[:j]...), true
			}
		}
	}
	return nil, false
}
