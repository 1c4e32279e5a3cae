package fabric

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

// graphOf makes a graph from names joined by "-": a name that begins with h is a host.
func graphOf(links ...string) Graph {
	var g Graph
	ids := map[string]NodeID{}
	node := func(name string) NodeID {
		if id, ok := ids[name]; ok {
			return id
		}
		role := Leaf
		if name[0] == 'h' {
			role = Host
		}
		ids[name] = NodeID(len(g.Nodes))
		g.Nodes = append(g.Nodes, Node{Name: name, Role: role, Rail: -1})
		return ids[name]
	}
	for _, l := range links {
		a, b, _ := strings.Cut(l, "-")
		g.Links = append(g.Links, Link{A: node(a), B: node(b), Wire: wire})
	}
	return g
}

func buildGraph(t *testing.T, g Graph) *Fabric {
	t.Helper()
	f := g.Build(func(link int, text string) { t.Errorf("link %d: %s", link, text) })
	if f == nil {
		t.Fatal("no fabric")
	}
	return f
}

// A leaf-spine network given link by link is the one that the generator makes.
func TestGraphIsTheGenerator(t *testing.T) {
	want := LeafSpine{Leaves: 4, HostsPerLeaf: 3, Spines: 2, Bundle: 2, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	var g Graph
	for _, n := range want.Nodes {
		g.Nodes = append(g.Nodes, Node{Name: n.Name, Role: min(n.Role, Leaf), Rail: -1})
	}
	for i, p := range want.Ports {
		if p.Uplink {
			g.Links = append(g.Links, Link{A: p.Node, B: want.Ports[p.Peer].Node, Wire: wire})
		}
		if p.Peer == PortID(i) {
			t.Fatal("a port is its own peer")
		}
	}
	g.AssignRoles()
	got := buildGraph(t, g)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Fabric{}, routes{})); diff != "" {
		t.Errorf("generator and graph differ:\n%s", diff)
	}
}

func TestGraphRolesAndUplinks(t *testing.T) {
	g := graphOf("h0-a", "h1-b", "a-b", "a-s", "b-s", "s-c", "c-d")
	g.AssignRoles()
	f := buildGraph(t, g)
	roles := map[string]Role{}
	for _, n := range f.Nodes {
		roles[n.Name] = n.Role
	}
	if diff := cmp.Diff(map[string]Role{"h0": Host, "h1": Host, "a": Leaf, "b": Leaf, "s": Spine, "c": Core, "d": Core}, roles); diff != "" {
		t.Errorf("roles:\n%s", diff)
	}
	for i, p := range f.Ports {
		own, peer := f.Nodes[p.Node].Role, f.Node(p.Peer).Role
		if p.Uplink != (own < peer) {
			t.Errorf("%s towards %s: uplink %v", f.PortName(PortID(i)), f.PortName(p.Peer), p.Uplink)
		}
	}
	// The fewest hops lead over the direct link, not over the spine.
	paths, complete := f.Paths(f.GPUs[0].NICs[0], f.GPUs[1].NICs[0], 10)
	if len(paths) != 1 || !complete || len(paths[0]) != 3 {
		t.Errorf("paths from h0 to h1: %v", paths)
	}
}

func TestGraphDelaysBothWays(t *testing.T) {
	g := graphOf("h0-a", "h1-a")
	g.Links[1].Back, g.Links[1].BER = 3*units.Microsecond, 1e-9
	f := buildGraph(t, g)
	h1, _ := f.NodeByName("h1")
	up := f.Nodes[h1].FirstPort
	if there, back := f.Ports[up], f.Ports[f.Ports[up].Peer]; there.Delay != units.Microsecond || back.Delay != 3*units.Microsecond || there.BER != 1e-9 || back.BER != 1e-9 {
		t.Errorf("there %+v, back %+v", there, back)
	}
}

// Two parts that only hosts join are planes, and the ports of every GPU lie in the same order of planes.
func TestGraphPlanes(t *testing.T) {
	f := buildGraph(t, graphOf("h0-a", "h0-b", "h1-b", "h1-a"))
	if f.Planes != 2 || len(f.GPUs) != 2 {
		t.Fatalf("%d planes, %d GPUs", f.Planes, len(f.GPUs))
	}
	for i, gpu := range f.GPUs {
		for plane, nic := range gpu.NICs {
			if got := f.Node(f.Ports[nic].Peer).Plane; got != plane {
				t.Errorf("GPU %d: port %d lies in plane %d", i, plane, got)
			}
		}
	}
	// Two ports to switches that are joined are two ports of one network.
	f = buildGraph(t, graphOf("h0-a", "h0-b", "h1-a", "a-b"))
	if f.Planes != 2 || len(f.GPUs[0].NICs) != 2 || len(f.GPUs[1].NICs) != 1 || f.Nodes[1].Plane != 0 {
		t.Errorf("%d ports a GPU; %v", f.Planes, f.GPUs)
	}
}

func TestGraphMistakes(t *testing.T) {
	change := func(f func(*Graph)) Graph {
		g := graphOf("h0-a", "h1-a")
		f(&g)
		return g
	}
	for _, c := range []struct {
		want string
		g    Graph
	}{
		{"-1: the network has no host", Graph{}},
		{"0: the link joins the hosts h0 and h1; hosts forward nothing", graphOf("h0-h1", "h0-a", "h1-a")},
		{"1: the link joins a to itself", graphOf("h0-a", "a-a")},
		{"1: the link joins node 9, and nodes go from 0 to 2", change(func(g *Graph) { g.Links[1].B = 9 })},
		{"0: the link has a rate of 0bps", change(func(g *Graph) { g.Links[0].Rate = 0 })},
		{"0: the link has a delay of 0ps", change(func(g *Graph) { g.Links[0].Delay = 0 })},
		{"0: the link has a bit error rate of 1", change(func(g *Graph) { g.Links[0].BER = 1 })},
		{"-1: h2 has no link", change(func(g *Graph) { g.Nodes = append(g.Nodes, Node{Name: "h2"}) })},
		{`-1: node 2 is called "a", as another`, change(func(g *Graph) { g.Nodes[2].Name = "a" })},
		{"-1: GPU 0 of h0 sends through link 1, which is none of its host", change(func(g *Graph) { g.GPUs = []Attachment{{Host: 0, Links: []int{1}}} })},
		{"-1: GPU 0 is in no host or has no link", change(func(g *Graph) { g.GPUs = []Attachment{{Host: 1, Links: []int{0}}} })},
		{"-1: no links join some parts of the network: the first GPU has ports in parts [0], GPU 1 of h1 in [1]", graphOf("h0-a", "h1-b")},
	} {
		var got []string
		f := c.g.Build(func(link int, text string) { got = append(got, fmt.Sprintf("%d: %s", link, text)) })
		if f != nil || len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("want %q, got %q", c.want, got)
		}
	}
}
