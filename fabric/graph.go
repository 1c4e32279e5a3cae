package fabric

import (
	"fmt"
	"math"
	"slices"

	"github.com/shunt-network/shunt/units"
)

// Graph is a network as a list of nodes and links, for what no generator makes: the topology file of another
// simulator, the cabling of a real cluster. Routes are by the fewest hops, as in every fabric.
type Graph struct {
	Nodes  []Node // FirstPort and NumPorts are worked out; the ports of a node are in the order of Links
	Links  []Link
	GPUs   []Attachment // nil: one GPU a host, which sends through all ports of the host
	NVLink NVLink
}

// Link joins two nodes, given by their places in Graph.Nodes. Two nodes may have several links.
type Link struct {
	A, B NodeID
	Wire
	Back units.Duration // delay from B to A where it is another; 0: as Delay
	BER  float64        // probability that a bit arrives wrong, either way
}

// Attachment is a GPU of a host and the links it sends through, by their places in Graph.Links.
type Attachment struct {
	Host  NodeID
	Links []int
}

// AssignRoles makes leaves of the switches next to a host, spines of those one hop further, and cores of all others.
// Hosts keep their role; what the other nodes had as a role is overwritten.
func (g *Graph) AssignRoles() {
	const far = math.MaxInt32
	hops := make([]int32, len(g.Nodes))
	neighbours := g.neighbours()
	var queue []NodeID
	for i := range g.Nodes {
		hops[i] = far
		if g.Nodes[i].Role == Host {
			hops[i] = 0
			queue = append(queue, NodeID(i))
		}
	}
	for head := 0; head < len(queue); head++ {
		n := queue[head]
		for _, peer := range neighbours[n] {
			if hops[peer] == far {
				hops[peer] = hops[n] + 1
				queue = append(queue, peer)
			}
		}
	}
	for i := range g.Nodes {
		if g.Nodes[i].Role != Host {
			g.Nodes[i].Role = Role(min(hops[i], int32(Core)))
		}
	}
}

// neighbours lists the nodes that each node is linked to.
func (g *Graph) neighbours() [][]NodeID {
	out := make([][]NodeID, len(g.Nodes))
	for _, l := range g.Links {
		if g.joins(l) {
			out[l.A], out[l.B] = append(out[l.A], l.B), append(out[l.B], l.A)
		}
	}
	return out
}

// joins tells whether both ends of l exist.
func (g *Graph) joins(l Link) bool { return int(l.A) < len(g.Nodes) && int(l.B) < len(g.Nodes) }

// Build makes the fabric. Everything that is wrong is reported, each with the number of the link in question, or -1
// when it is about no link; the fabric is nil when there was something.
//
// Where the switches fall into parts that no link joins, each part with hosts becomes a plane, and every GPU must
// have as many ports in each plane as any other: GPU.NICs are in the order of the planes.
func (g Graph) Build(report func(link int, text string)) *Fabric {
	wrong := 0
	tell := func(link int, format string, args ...any) {
		wrong++
		if report != nil {
			report(link, fmt.Sprintf(format, args...))
		}
	}
	g.check(tell)
	if wrong > 0 {
		return nil
	}
	if g.GPUs == nil {
		g.GPUs = g.oneGPU()
	}
	g.Nodes = slices.Clone(g.Nodes)
	planes := g.splitPlanes(tell)
	if wrong > 0 {
		return nil
	}
	return g.build(planes)
}

// check reports what makes the graph no network.
func (g *Graph) check(tell func(link int, format string, args ...any)) {
	hosts := 0
	names := make(map[string]bool, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Role == Host {
			hosts++
		}
		if n.Name == "" || names[n.Name] {
			tell(-1, "node %d is called %q, as another or not at all; give each its own name", i, n.Name)
		}
		names[n.Name] = true
	}
	switch {
	case hosts == 0:
		tell(-1, "the network has no host; a network needs two")
	case hosts > MaxHosts:
		tell(-1, "the network has %d hosts; at most %d can be built", hosts, MaxHosts)
	case 2*len(g.Links) > MaxPorts:
		tell(-1, "the network has %d ports; at most %d can be built", 2*len(g.Links), MaxPorts)
	}
	linked := make([]bool, len(g.Nodes))
	for i, l := range g.Links {
		switch {
		case !g.joins(l):
			tell(i, "the link joins node %d, and nodes go from 0 to %d", max(l.A, l.B), len(g.Nodes)-1)
			continue
		case l.A == l.B:
			tell(i, "the link joins %s to itself; name two nodes", g.Nodes[l.A].Name)
		case g.Nodes[l.A].Role == Host && g.Nodes[l.B].Role == Host: // (F3)
			tell(i, "the link joins the hosts %s and %s; hosts forward nothing, so put a switch between them", g.Nodes[l.A].Name, g.Nodes[l.B].Name)
		}
		if l.Rate <= 0 {
			tell(i, "the link has a rate of %s; a link needs one above 0", l.Rate)
		}
		if l.Delay <= 0 || l.Back < 0 {
			tell(i, "the link has a delay of %s; light needs 5 ns a metre, and the least that can be built is 1ps", l.Delay)
		}
		if !(l.BER >= 0 && l.BER < 1) {
			tell(i, "the link has a bit error rate of %v; it is at least 0 and below 1", l.BER)
		}
		linked[l.A], linked[l.B] = true, true
	}
	for i := range g.Nodes {
		if g.Nodes[i].Role == Host && !linked[i] {
			tell(-1, "%s has no link; link it to a switch or leave it out", g.Nodes[i].Name)
		}
	}
	for i, a := range g.GPUs {
		if len(a.Links) == 0 || int(a.Host) >= len(g.Nodes) || g.Nodes[a.Host].Role != Host {
			tell(-1, "GPU %d is in no host or has no link; a GPU sends through a port of its host", i)
			continue
		}
		for _, l := range a.Links {
			if l < 0 || l >= len(g.Links) || g.Links[l].A != a.Host && g.Links[l].B != a.Host {
				tell(-1, "GPU %d of %s sends through link %d, which is none of its host", i, g.Nodes[a.Host].Name, l)
			}
		}
	}
}

// oneGPU gives every host one GPU that sends through all its ports.
func (g *Graph) oneGPU() []Attachment {
	var out []Attachment
	at := make([]int, len(g.Nodes)) // host -> its place in out
	for i := range g.Nodes {
		if g.Nodes[i].Role == Host {
			at[i] = len(out)
			out = append(out, Attachment{Host: NodeID(i)})
		}
	}
	for i, l := range g.Links {
		for _, end := range [2]NodeID{l.A, l.B} {
			if g.Nodes[end].Role == Host {
				out[at[end]].Links = append(out[at[end]].Links, i)
			}
		}
	}
	return out
}

// splitPlanes numbers the parts of the network that only hosts join, sorts the links of every GPU by them, and
// reports GPUs that cannot reach each other. It returns how many ports the best connected GPU has.
func (g *Graph) splitPlanes(tell func(link int, format string, args ...any)) int {
	plane := make([]int, len(g.Nodes)) // of a switch, -1 before it is known
	for i := range plane {
		plane[i] = -1
	}
	neighbours, planes := g.neighbours(), 0
	fill := func(from NodeID) {
		plane[from] = planes
		for queue := []NodeID{from}; len(queue) > 0; queue = queue[1:] {
			for _, peer := range neighbours[queue[0]] {
				if g.Nodes[peer].Role != Host && plane[peer] < 0 {
					plane[peer] = planes
					queue = append(queue, peer)
				}
			}
		}
		planes++
	}
	of := func(link int) int { // plane of the switch that a host link leads to
		l := g.Links[link]
		if g.Nodes[l.A].Role == Host {
			return plane[l.B]
		}
		return plane[l.A]
	}
	for _, a := range g.GPUs {
		for _, link := range a.Links {
			if of(link) < 0 {
				l := g.Links[link]
				if g.Nodes[l.A].Role == Host {
					l.A = l.B
				}
				fill(l.A)
			}
		}
	}
	for i := range g.Nodes {
		if planes > 1 && plane[i] >= 0 {
			g.Nodes[i].Plane = plane[i]
		}
	}
	ports := 0
	var first []int // planes of the links of the first GPU
	gpus := make([]Attachment, len(g.GPUs))
	for i, a := range g.GPUs {
		links := slices.Clone(a.Links)
		slices.SortStableFunc(links, func(x, y int) int { return of(x) - of(y) })
		gpus[i] = Attachment{Host: a.Host, Links: links}
		ports = max(ports, len(links))
		in := make([]int, len(links))
		for k, link := range links {
			in[k] = of(link)
		}
		if i == 0 {
			first = in
		} else if planes > 1 && !slices.Equal(in, first) {
			tell(-1, "no links join some parts of the network: the first GPU has ports in parts %v, GPU %d of %s in %v; link the parts, or give every GPU a port in each", first, i, g.Nodes[a.Host].Name, in)
			return 0
		}
	}
	g.GPUs = gpus
	return ports
}

// build makes the fabric of a graph that was found right.
func (g *Graph) build(planes int) *Fabric {
	b := &builder{}
	for _, n := range g.Nodes {
		n.FirstPort, n.NumPorts = 0, 0
		b.node(n)
	}
	slots := make([][2]int, len(g.Links))
	for i, l := range g.Links {
		slots[i][0], slots[i][1] = b.connect(l.A, l.B, l.Wire)
	}
	next := make(map[NodeID]int, len(g.GPUs))
	for _, a := range g.GPUs {
		var at []int
		for _, link := range a.Links {
			if g.Links[link].A == a.Host {
				at = append(at, slots[link][0])
			} else {
				at = append(at, slots[link][1])
			}
		}
		b.addGPU(a.Host, next[a.Host], at...)
		next[a.Host]++
	}
	f := b.build(g.NVLink, planes)
	for i, l := range g.Links {
		there, back := &f.Ports[f.Nodes[l.A].FirstPort+PortID(slots[i][0])], &f.Ports[f.Nodes[l.B].FirstPort+PortID(slots[i][1])]
		there.BER, back.BER = l.BER, l.BER
		if l.Back > 0 {
			back.Delay = l.Back
		}
		if f.Nodes[l.A].Role == f.Nodes[l.B].Role { // (F2)
			there.Uplink, back.Uplink = false, false
		}
	}
	return f
}
