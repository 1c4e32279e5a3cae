package fabric

import "fmt"

// LeafSpine is a two-tier fabric: every leaf has Bundle links to every spine.
type LeafSpine struct {
	Leaves, HostsPerLeaf, Spines, Bundle int
	GPUsPerHost                          int // each GPU has a NIC of its own, all on the host's leaf
	Access, Trunk                        Wire
	NVLink                               NVLink
}

// Build makes the fabric. Hosts come first, then leaves, then spines; host i hangs off leaf i/HostsPerLeaf.
// A leaf's ports are its host links, then its uplinks spine by spine.
func (s LeafSpine) Build() *Fabric {
	b := &builder{}
	hosts := make([]NodeID, s.Leaves*s.HostsPerLeaf)
	for i := range hosts {
		hosts[i] = b.node(Node{Name: fmt.Sprintf("host%d", i), Role: Host, Rail: -1})
	}
	leaves := make([]NodeID, s.Leaves)
	for i := range leaves {
		leaves[i] = b.node(Node{Name: fmt.Sprintf("leaf%d", i), Role: Leaf, Rail: -1})
	}
	spines := make([]NodeID, s.Spines)
	for i := range spines {
		spines[i] = b.node(Node{Name: fmt.Sprintf("spine%d", i), Role: Spine, Rail: -1})
	}
	for i, h := range hosts {
		for g := range s.GPUsPerHost {
			slot, _ := b.connect(h, leaves[i/s.HostsPerLeaf], s.Access)
			b.addGPU(h, g, slot)
		}
	}
	for _, l := range leaves {
		for _, sp := range spines {
			for range s.Bundle {
				b.connect(l, sp, s.Trunk)
			}
		}
	}
	return b.build(s.NVLink, 1)
}
