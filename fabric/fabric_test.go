package fabric

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

func small() *Fabric {
	w := Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}
	return LeafSpine{Leaves: 3, HostsPerLeaf: 2, Spines: 4, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

func TestLeafSpinePaths(t *testing.T) {
	f := small()
	if len(f.Nodes) != 6+3+4 || len(f.Endpoints) != 6 || len(f.Ports) != 2*(6+12) {
		t.Fatalf("%d nodes, %d endpoints, %d ports", len(f.Nodes), len(f.Endpoints), len(f.Ports))
	}
	across, all := f.Paths(f.Endpoints[0], f.Endpoints[5], 100)
	if len(across) != 4 || !all {
		t.Errorf("between leaves: %d paths, want one a spine (4)", len(across))
	}
	for _, p := range across {
		if len(p) != 4 || f.Ports[p[3]].Peer != f.Endpoints[5] {
			t.Errorf("path %v does not cross 4 links to the destination", p)
		}
	}
	inside, _ := f.Paths(f.Endpoints[0], f.Endpoints[1], 100)
	if len(inside) != 1 || len(inside[0]) != 2 {
		t.Errorf("within a leaf: %v, want one path of 2 links", inside)
	}
	if few, all := f.Paths(f.Endpoints[0], f.Endpoints[5], 2); len(few) != 2 || all {
		t.Errorf("limit 2: %d paths, complete %v", len(few), all)
	}
}

// Peers point at each other, and exactly one end of a link between tiers is the uplink.
func TestPortsPair(t *testing.T) {
	f := small()
	for i, p := range f.Ports {
		q := f.Ports[p.Peer]
		if q.Peer != PortID(i) || p.Uplink == q.Uplink {
			t.Errorf("port %s and its peer %s do not pair", f.PortName(PortID(i)), f.PortName(p.Peer))
		}
	}
}
