package fabric

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

var wire = Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}

func small() *Fabric {
	return LeafSpine{Leaves: 3, HostsPerLeaf: 2, Spines: 4, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
}

func rails() *Fabric {
	return RailOptimised{Rails: 4, LeavesPerRail: 2, HostsPerLeaf: 3, Spines: 2, Bundle: 2, GPUsPerHost: 4, Access: wire, Trunk: wire}.Build()
}

func planes() *Fabric {
	return DualPlane{Rails: 1, LeavesPerRail: 2, HostsPerLeaf: 2, Spines: 3, Bundle: 1, GPUsPerHost: 2, Access: wire, Trunk: wire}.Build()
}

func tree() *Fabric {
	s := KAry(4, 1)
	s.Access, s.Trunk = wire, wire
	return s.Build()
}

// pathCount checks how many shortest paths join two NIC ports and how many links each crosses.
func pathCount(t *testing.T, f *Fabric, src, dst PortID, want, links int) {
	t.Helper()
	paths, all := f.Paths(src, dst, 1000)
	if len(paths) != want || !all {
		t.Errorf("%s to %s: %d paths, want %d", f.PortName(src), f.PortName(dst), len(paths), want)
	}
	for _, p := range paths {
		if len(p) != links || f.Ports[p[len(p)-1]].Peer != dst {
			t.Errorf("path %v does not cross %d links to the destination", p, links)
		}
		for i, port := range p[1:] {
			if f.Ports[port].Node != f.Ports[f.Ports[p[i]].Peer].Node {
				t.Errorf("path %v is broken at %s", p, f.PortName(port))
			}
		}
	}
}

func TestLeafSpinePaths(t *testing.T) {
	f := small()
	if len(f.Nodes) != 6+3+4 || len(f.Endpoints) != 6 || len(f.Ports) != 2*(6+12) {
		t.Fatalf("%d nodes, %d endpoints, %d ports", len(f.Nodes), len(f.Endpoints), len(f.Ports))
	}
	pathCount(t, f, f.Endpoints[0], f.Endpoints[5], 4, 4) // one a spine
	pathCount(t, f, f.Endpoints[0], f.Endpoints[1], 1, 2) // within the leaf
	if few, all := f.Paths(f.Endpoints[0], f.Endpoints[5], 2); len(few) != 2 || all {
		t.Errorf("limit 2: %d paths, complete %v", len(few), all)
	}
}

// In a 4-ary fat-tree, hosts share a leaf (1 path of 2 links), a pod (one path a spine of the pod, 4 links), or
// only the cores ((k/2)^2 = 4 paths of 6 links).
func TestFatTreePaths(t *testing.T) {
	f := tree()
	if len(f.Nodes) != 16+8+8+4 || len(f.Ports) != 2*(16+16+16) {
		t.Fatalf("%d nodes, %d ports", len(f.Nodes), len(f.Ports))
	}
	pathCount(t, f, f.Endpoints[0], f.Endpoints[1], 1, 2)
	pathCount(t, f, f.Endpoints[0], f.Endpoints[2], 2, 4)
	pathCount(t, f, f.Endpoints[0], f.Endpoints[4], 4, 6)
	for _, n := range f.Nodes {
		if n.Role != Host && n.NumPorts != 4 {
			t.Errorf("%s has %d ports, want k = 4", n.Name, n.NumPorts)
		}
	}
	if h, _ := f.NodeByName("host5"); f.Nodes[h].Pod != 1 {
		t.Errorf("host5 is in pod %d, want 1", f.Nodes[h].Pod)
	}
	if s, _ := f.NodeByName("spine7"); f.Nodes[s].Pod != 3 {
		t.Errorf("spine7 is in pod %d, want 3", f.Nodes[s].Pod)
	}
}

// Equal GPUs of one group are one leaf apart; other rails and groups are reached over every spine link pair.
func TestRailLocality(t *testing.T) {
	f := rails()
	nic := func(host, gpu int) PortID { return f.GPUs[host*4+gpu].NICs[0] }
	for g := range 4 {
		pathCount(t, f, nic(0, g), nic(2, g), 1, 2)
		leaf := f.Node(f.Ports[nic(0, g)].Peer)
		if leaf.Rail != g || leaf != f.Node(f.Ports[nic(1, g)].Peer) {
			t.Errorf("GPU %d of host0 hangs off %s of rail %d", g, leaf.Name, leaf.Rail)
		}
	}
	pathCount(t, f, nic(0, 0), nic(1, 1), 2*2*2, 4) // 2 spines, 2 links up, 2 links down
	pathCount(t, f, nic(0, 3), nic(5, 3), 2*2*2, 4)
}

// Nothing leads from one plane to the other, and each GPU has a port in both.
func TestPlanesAreDisjoint(t *testing.T) {
	f := planes()
	if f.Planes != 2 || len(f.GPUs) != 8 || len(f.Endpoints) != 16 {
		t.Fatalf("%d planes, %d GPUs, %d endpoints", f.Planes, len(f.GPUs), len(f.Endpoints))
	}
	for i, g := range f.GPUs {
		if len(g.NICs) != 2 {
			t.Fatalf("GPU %d has %d NIC ports", i, len(g.NICs))
		}
		for plane, nic := range g.NICs {
			if got := f.Node(f.Ports[nic].Peer).Plane; got != plane {
				t.Errorf("NIC port %d of GPU %d lies in plane %d", plane, i, got)
			}
		}
	}
	pathCount(t, f, f.GPUs[0].NICs[0], f.GPUs[7].NICs[0], 3, 4)
	pathCount(t, f, f.GPUs[0].NICs[1], f.GPUs[7].NICs[1], 3, 4)
	pathCount(t, f, f.GPUs[0].NICs[0], f.GPUs[7].NICs[1], 0, 0)
	used := [2]map[NodeID]bool{{}, {}}
	for plane := range 2 {
		paths, _ := f.Paths(f.GPUs[0].NICs[plane], f.GPUs[7].NICs[plane], 100)
		for _, p := range paths {
			for _, port := range p[1:] {
				used[plane][f.Ports[port].Node] = true
			}
		}
	}
	for n := range used[0] {
		if used[1][n] {
			t.Errorf("%s carries both planes", f.Nodes[n].Name)
		}
	}
}

// In every topology peers point at each other, exactly one end of a link between tiers is the uplink, names are
// unique, and every port belongs to the node that counts it.
func TestPortsPair(t *testing.T) {
	for name, f := range map[string]*Fabric{"leaf-spine": small(), "fat-tree": tree(), "rails": rails(), "planes": planes()} {
		seen := map[string]bool{}
		for i, p := range f.Ports {
			id := PortID(i)
			q := f.Ports[p.Peer]
			if q.Peer != id || p.Uplink == q.Uplink {
				t.Errorf("%s: port %s and its peer %s do not pair", name, f.PortName(id), f.PortName(p.Peer))
			}
			if n := f.Node(id); id < n.FirstPort || id >= n.FirstPort+PortID(n.NumPorts) {
				t.Errorf("%s: port %d is not one of %s", name, i, n.Name)
			}
			if seen[f.PortName(id)] {
				t.Errorf("%s: two ports are called %s", name, f.PortName(id))
			}
			seen[f.PortName(id)] = true
		}
	}
}
