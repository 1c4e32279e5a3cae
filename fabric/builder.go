package fabric

import (
	"fmt"

	"github.com/shunt-network/shunt/units"
)

// Wire describes a link: the same both ways until a fault or an override says otherwise.
type Wire struct {
	Rate  units.Rate     `yaml:"rate" required:"true" min:"1bps" example:"400Gbps" doc:"bit rate of one direction"`
	Delay units.Duration `yaml:"delay" required:"true" min:"1ps" example:"500ns" doc:"propagation time, one way"`
}

// builder collects nodes and links in any order; build hands out the dense port ids.
type builder struct {
	nodes []Node
	links []link
	gpus  []gpu
}

// link joins port slots (node, index within the node).
type link struct {
	a, b         NodeID
	slotA, slotB int
	wire         Wire
}

type gpu struct {
	host  NodeID
	index int
	slots []int // NIC slots on the host, one a plane
}

func (b *builder) node(n Node) NodeID {
	b.nodes = append(b.nodes, n)
	return NodeID(len(b.nodes) - 1)
}

// connect joins the next free port of x to the next free port of y and returns their slots.
func (b *builder) connect(x, y NodeID, w Wire) (slotX, slotY int) {
	slotX, slotY = b.nodes[x].NumPorts, b.nodes[y].NumPorts
	b.nodes[x].NumPorts++
	b.nodes[y].NumPorts++
	b.links = append(b.links, link{x, y, slotX, slotY, w})
	return slotX, slotY
}

// addGPU gives host a GPU that sends through the given slots of it, which connect has returned.
func (b *builder) addGPU(host NodeID, index int, slots ...int) {
	b.gpus = append(b.gpus, gpu{host, index, slots})
}

// build makes the fabric: ports in node order, endpoints in port order, routes by shortest path.
func (b *builder) build(nv NVLink, planes int) *Fabric {
	f := &Fabric{Nodes: b.nodes, NVLink: nv, Planes: planes}
	total := 0
	for i := range f.Nodes {
		f.Nodes[i].FirstPort = PortID(total)
		total += f.Nodes[i].NumPorts
	}
	f.Ports = make([]Port, total)
	names := portNames{}
	for _, l := range b.links {
		pa, pb := f.Nodes[l.a].FirstPort+PortID(l.slotA), f.Nodes[l.b].FirstPort+PortID(l.slotB)
		up := f.Nodes[l.a].Role < f.Nodes[l.b].Role // (F2)
		f.Ports[pa] = f.port(l.a, names.of(f.Nodes[l.a].Role, l.slotA), pb, l.wire, up)
		f.Ports[pb] = f.port(l.b, names.of(f.Nodes[l.b].Role, l.slotB), pa, l.wire, !up)
	}
	for i := range f.Ports {
		f.Ports[i].Endpoint = -1
		if f.Nodes[f.Ports[i].Node].Role == Host {
			f.Ports[i].Endpoint = int32(len(f.Endpoints))
			f.Endpoints = append(f.Endpoints, PortID(i))
		}
	}
	for _, g := range b.gpus {
		out := GPU{Host: g.host, Index: g.index}
		for _, s := range g.slots {
			out.NICs = append(out.NICs, f.Nodes[g.host].FirstPort+PortID(s))
		}
		f.GPUs = append(f.GPUs, out)
	}
	f.routes = newRoutes(f)
	return f
}

func (f *Fabric) port(n NodeID, name string, peer PortID, w Wire, up bool) Port {
	return Port{Node: n, Name: name, Peer: peer, Rate: w.Rate, Nominal: w.Rate, Delay: w.Delay, Uplink: up}
}

// portNames makes each name once: ports of equal slot share it.
type portNames struct{ nic, ethernet []string }

func (c *portNames) of(r Role, slot int) string {
	names, pattern, step := &c.ethernet, "Ethernet%d", 8 // SONiC numbers a 8-lane port by its first lane
	if r == Host {
		names, pattern, step = &c.nic, "mlx5_%d", 1
	}
	for len(*names) <= slot {
		*names = append(*names, fmt.Sprintf(pattern, len(*names)*step))
	}
	return (*names)[slot]
}
