package simai

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Fabric builds the network of a SimAI topology, as hpcc.ReadTopology reads it. A server becomes a host with its GPUs,
// whose links to NVSwitches become the fabric's NVLink; all other links of a GPU are ports of its NIC. GPU n of the file
// is GPU n. The error is a spec.Problems.
func Fabric(t *hpcc.Topology) (*fabric.Fabric, error) {
	b := builder{Topology: t, nvswitch: map[int32]bool{}, isSwitch: make([]bool, t.Nodes)}
	if t.GPUsPerServer == 0 {
		t.Report.Wrong(source.Place{Line: 1, Col: 1}, "the header has no GPUs of a server, as SimAI's has; read the file as one of HPCC")
		return nil, t.Report.Err()
	}
	for i, id := range t.Switches {
		b.isSwitch[id] = true
		b.nvswitch[id] = i < t.NVSwitches
	}
	gpus := t.Nodes - len(t.Switches)
	for id, sw := range b.isSwitch {
		if sw != (id >= gpus) {
			t.Report.Wrong(source.Place{Line: 2, Col: 1}, "GPUs have the numbers before all switches: %d GPUs are 0 to %d, and %d is a switch or missing", gpus, gpus-1, id)
			return nil, t.Report.Err()
		}
	}
	if gpus%t.GPUsPerServer != 0 {
		t.Report.Wrong(source.Place{Line: 1, Col: 1}, "%d GPUs do not make whole servers of %d", gpus, t.GPUsPerServer)
		return nil, t.Report.Err()
	}
	g := b.graph(gpus)
	if !t.Report.OK() {
		return nil, t.Report.Err()
	}
	f := g.Build(func(link int, text string) {
		if link >= 0 {
			link = b.file[link]
		}
		t.Tell(link, text)
	})
	return f, t.Report.Err()
}

// builder sorts the links of a file into NVLink and network.
type builder struct {
	*hpcc.Topology
	nvswitch map[int32]bool // switches that are NVSwitches, and those that are not
	isSwitch []bool
	file     []int // link of the graph -> link of the file
}

func (b *builder) graph(gpus int) fabric.Graph {
	var g fabric.Graph
	for s := range gpus / b.GPUsPerServer {
		g.Nodes = append(g.Nodes, fabric.Node{Name: fmt.Sprintf("host%d", s), Role: fabric.Host, Rail: -1})
	}
	place := make(map[int32]fabric.NodeID, len(b.Switches))
	switches := slices.Sorted(slices.Values(b.Switches))
	for _, id := range switches {
		if !b.nvswitch[id] {
			place[id] = fabric.NodeID(len(g.Nodes))
			g.Nodes = append(g.Nodes, fabric.Node{Name: strconv.Itoa(int(id)), Role: fabric.Leaf, Rail: -1})
		}
	}
	at := func(id int32) fabric.NodeID {
		if b.isSwitch[id] {
			return place[id]
		}
		return fabric.NodeID(int(id) / b.GPUsPerServer)
	}
	g.GPUs = make([]fabric.Attachment, gpus)
	for i := range g.GPUs {
		g.GPUs[i].Host = fabric.NodeID(i / b.GPUsPerServer)
	}
	nv := nvlinks{rate: make([]units.Rate, gpus), server: map[int32]int{}}
	for i := range b.Links {
		l := &b.Links[i]
		if b.nvswitch[l.A] || b.nvswitch[l.B] {
			nv.add(b, l)
			continue
		}
		if !b.isSwitch[l.A] && !b.isSwitch[l.B] {
			b.Report.Wrong(l, "the link joins the GPUs %d and %d; GPUs are joined by an NVSwitch", l.A, l.B)
			continue
		}
		for _, end := range [2]int32{l.A, l.B} {
			if !b.isSwitch[end] {
				g.GPUs[end].Links = append(g.GPUs[end].Links, len(g.Links))
			}
		}
		g.Links = append(g.Links, fabric.Link{A: at(l.A), B: at(l.B), Wire: fabric.Wire{Rate: l.Rate, Delay: max(l.Delay, units.Picosecond)}})
		b.file = append(b.file, i)
	}
	g.NVLink = nv.all(b)
	g.AssignRoles()
	for i := range g.Nodes {
		if g.Nodes[i].Role != fabric.Host {
			g.Nodes[i].Name = g.Nodes[i].Role.String() + g.Nodes[i].Name
		}
	}
	b.rails(&g)
	return g
}

// nvlinks adds up what GPUs have towards NVSwitches.
type nvlinks struct {
	rate   []units.Rate // by GPU
	delay  units.Duration
	server map[int32]int // NVSwitch -> server of its GPUs
	first  *hpcc.Link
}

func (n *nvlinks) add(b *builder, l *hpcc.Link) {
	gpu, sw := l.A, l.B
	if b.isSwitch[gpu] {
		gpu, sw = sw, gpu
	}
	if b.isSwitch[gpu] {
		b.Report.Wrong(l, "the link joins NVSwitch %d to switch %d; NVSwitches join the GPUs of a server", min(gpu, sw), max(gpu, sw))
		return
	}
	server := int(gpu) / b.GPUsPerServer
	if s, known := n.server[sw]; known && s != server {
		b.Report.Wrong(l, "NVSwitch %d joins GPUs of servers %d and %d; write how many GPUs share it in front, as the GPUs of a server", sw, s, server)
	}
	n.server[sw] = server
	n.rate[gpu] += l.Rate
	if n.first == nil {
		n.first, n.delay = l, l.Delay
	} else if l.Delay != n.delay {
		b.Report.Wrong(l, "the NVLink has a delay of %s and that of line %d has %s; the model has one for all", l.Delay, n.first.Line, n.delay)
	}
}

// all is the NVLink of every server: there and back over the NVSwitch is two links.
func (n *nvlinks) all(b *builder) fabric.NVLink {
	for gpu, r := range n.rate {
		if r != n.rate[0] {
			b.Report.Wrong(source.Place{Line: 1, Col: 1}, "GPU 0 has %s of NVLink and GPU %d has %s; the model has one rate for all", n.rate[0], gpu, r)
			break
		}
	}
	if len(n.rate) == 0 || n.rate[0] == 0 {
		return fabric.NVLink{}
	}
	return fabric.NVLink{Rate: n.rate[0], Latency: 2 * n.delay}
}

// rails numbers the rails, where every leaf serves GPUs of one place in their servers.
func (b *builder) rails(g *fabric.Graph) {
	rail := make([]int, len(g.Nodes))
	for i := range rail {
		rail[i] = -1
	}
	for gpu, a := range g.GPUs {
		for _, link := range a.Links {
			leaf := g.Links[link].B
			if leaf == a.Host {
				leaf = g.Links[link].A
			}
			index := gpu % b.GPUsPerServer
			if rail[leaf] >= 0 && rail[leaf] != index {
				return
			}
			rail[leaf] = index
		}
	}
	if b.GPUsPerServer > 1 {
		for i := range g.Nodes {
			g.Nodes[i].Rail = rail[i]
		}
	}
}
