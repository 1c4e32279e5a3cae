package fabric

import "fmt"

// twoTier is what every two-tier network here is made of: planes that share nothing but the hosts, in each of
// them leaves split by rail, and spines that join all leaves of the plane.
//
// GPU g of a host hangs off rail g mod Rails: with as many rails as GPUs, equal GPUs of all hosts below a group
// share a leaf, and traffic between GPUs of one rail and group never climbs to a spine.
type twoTier struct {
	rails, planes int
	groups        int // leaves of one rail in one plane; hosts below one group share their leaves
	hostsPerGroup int
	spines        int // of one plane
	bundle        int // links between a leaf and a spine
	gpus          int // of one host
	access, trunk Wire
	nvlink        NVLink
}

// build makes the fabric. Nodes are hosts, leaves (by plane, group, rail), spines (by plane). A leaf's ports are
// its host links in host order, then its uplinks spine by spine. A host's NICs are in GPU order, the planes of
// one GPU beside each other.
func (s twoTier) build() *Fabric {
	b := &builder{}
	split := s.rails > 1
	hosts := make([]NodeID, s.groups*s.hostsPerGroup)
	for i := range hosts {
		hosts[i] = b.node(Node{Name: fmt.Sprintf("host%d", i), Role: Host, Rail: -1})
	}
	leaves := make([]NodeID, 0, s.planes*s.groups*s.rails)
	for plane := range s.planes {
		for range s.groups {
			for rail := range s.rails {
				n := Node{Name: fmt.Sprintf("leaf%d", len(leaves)), Role: Leaf, Rail: -1, Plane: plane}
				if split {
					n.Rail = rail
				}
				leaves = append(leaves, b.node(n))
			}
		}
	}
	spines := make([]NodeID, 0, s.planes*s.spines)
	for plane := range s.planes {
		for range s.spines {
			spines = append(spines, b.node(Node{Name: fmt.Sprintf("spine%d", len(spines)), Role: Spine, Rail: -1, Plane: plane}))
		}
	}
	leaf := func(plane, group, rail int) NodeID { return leaves[(plane*s.groups+group)*s.rails+rail] }
	for i, h := range hosts {
		for g := range s.gpus {
			slots := make([]int, s.planes)
			for plane := range s.planes {
				slots[plane], _ = b.connect(h, leaf(plane, i/s.hostsPerGroup, g%s.rails), s.access)
			}
			b.addGPU(h, g, slots...)
		}
	}
	for i, l := range leaves {
		plane := i / (s.groups * s.rails)
		for _, sp := range spines[plane*s.spines : (plane+1)*s.spines] {
			for range s.bundle {
				b.connect(l, sp, s.trunk)
			}
		}
	}
	return b.build(s.nvlink, s.planes)
}
