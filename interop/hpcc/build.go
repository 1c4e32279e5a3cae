package hpcc

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Loss says how a share of lost packets becomes a bit error rate.
type Loss struct {
	Packet units.Bytes // bytes of a full packet on the wire; 0: DefaultPacket
	Share  float64     // of links that name none: ERROR_RATE_PER_LINK of a configuration
}

// headerBytes is what the model adds to a payload: PPP, IPv4, UDP and its own headers without INT
// (CustomHeader::GetStaticWholeHeaderSize less IntHeader::GetStaticSize).
const headerBytes = 48

// DefaultPacket is a packet of the 1000 bytes payload that most configurations have.
const DefaultPacket units.Bytes = 1000 + headerBytes

// leastDelay stands for a delay of 0, which no link has.
const leastDelay = units.Picosecond

// Fabric builds the network. Host n of the file is called host<n>; switches are called leaf<n>, spine<n> or core<n> by
// how far they are from the hosts. The GPUs are the hosts in order of their numbers. The error is a spec.Problems.
func (t *Topology) Fabric(l Loss) (*fabric.Fabric, error) {
	g := t.Graph(l)
	g.AssignRoles()
	for i := range g.Nodes {
		g.Nodes[i].Name = g.Nodes[i].Role.String() + g.Nodes[i].Name
	}
	f := g.Build(t.Tell)
	return f, t.Report.Err()
}

// Tell reports what fabric.Graph.Build finds: link i of the graph is link i of the file.
func (t *Topology) Tell(link int, text string) {
	at := t.header
	if link >= 0 && link < len(t.Links) {
		at = t.Links[link].Place
	}
	t.Report.Wrong(at, "%s", text)
}

// Graph lists hosts and then switches in order of their numbers, each named by its number alone, and all links.
//
// Where a link joins two hosts, hosts forward for each other: every host gets a switch of its own with a link as fast
// as all others of the host together. Their numbers follow those of the file.
func (t *Topology) Graph(l Loss) fabric.Graph {
	isSwitch := make([]bool, t.Nodes)
	for _, id := range t.Switches {
		isSwitch[id] = true
	}
	var g fabric.Graph
	place := make([]fabric.NodeID, t.Nodes)
	for _, switches := range [2]bool{false, true} {
		for id := range t.Nodes {
			if isSwitch[id] == switches {
				place[id] = fabric.NodeID(len(g.Nodes))
				role := fabric.Host
				if switches {
					role = fabric.Leaf
				}
				g.Nodes = append(g.Nodes, fabric.Node{Name: strconv.Itoa(id), Role: role, Rail: -1})
			}
		}
	}
	if l.Packet == 0 {
		l.Packet = DefaultPacket
	}
	lossy, zero := false, false
	rate := make([]units.Rate, t.Nodes) // of all links of a node
	for _, x := range t.Links {
		share := x.ErrorRate
		if share == 0 {
			share = l.Share
		}
		lossy, zero = lossy || share > 0, zero || x.Delay == 0
		rate[x.A], rate[x.B] = min(rate[x.A]+x.Rate, maxRate), min(rate[x.B]+x.Rate, maxRate)
		g.Links = append(g.Links, fabric.Link{
			A: place[x.A], B: place[x.B], Wire: fabric.Wire{Rate: x.Rate, Delay: max(x.Delay, leastDelay)}, BER: bitErrorRate(share, l.Packet),
		})
	}
	if lossy {
		t.Report.Note(t.header, "links lose packets; the share of a full packet (%s) is turned into a bit error rate, so that shorter packets are lost less often", l.Packet)
	}
	if zero {
		t.Report.Note(t.header, "links have a delay of 0, which becomes %s", leastDelay)
	}
	t.forward(&g, isSwitch, rate)
	return g
}

// forward gives hosts a switch of their own where hosts are linked to each other.
func (t *Topology) forward(g *fabric.Graph, isSwitch []bool, rate []units.Rate) {
	joined := slices.IndexFunc(t.Links, func(l Link) bool { return !isSwitch[l.A] && !isSwitch[l.B] })
	if joined < 0 {
		return
	}
	t.Report.Note(t.Links[joined], "links join hosts, which forward nothing here: each host gets a switch of its own, one packet time away")
	own := map[fabric.NodeID]fabric.NodeID{}
	for i := range g.Nodes {
		if n := g.Nodes[i]; n.Role == fabric.Host {
			id, _ := strconv.Atoi(n.Name)
			own[fabric.NodeID(i)] = fabric.NodeID(len(g.Nodes))
			g.Nodes = append(g.Nodes, fabric.Node{Name: strconv.Itoa(t.Nodes + id), Role: fabric.Leaf, Rail: -1})
		}
	}
	for i := range g.Links {
		l := &g.Links[i]
		if sw, ok := own[l.A]; ok {
			l.A = sw
		}
		if sw, ok := own[l.B]; ok {
			l.B = sw
		}
	}
	for id, sw := 0, fabric.NodeID(t.Nodes); id < t.Nodes; id++ {
		if isSwitch[id] {
			continue
		}
		host := sw - fabric.NodeID(t.Nodes) // hosts come first, and their switches in the same order
		if rate[id] > 0 {
			g.Links = append(g.Links, fabric.Link{A: host, B: sw, Wire: fabric.Wire{Rate: rate[id], Delay: leastDelay}})
		}
		sw++
	}
}

// Numbers are the numbers that the files of a network use, found again in the names of a fabric.
type Numbers struct {
	node []int32 // by NodeID
	gpu  map[int32]fabric.GPUID
}

// NumbersOf reads the numbers of nodes off their names, where all names end in different ones, as those of fabrics made
// from such files do. Otherwise nodes are numbered as in the fabric, which has its hosts first. Where hosts have several
// GPUs, GPUs are numbered and not hosts.
func NumbersOf(f *fabric.Fabric) Numbers {
	n := Numbers{node: make([]int32, len(f.Nodes)), gpu: make(map[int32]fabric.GPUID, len(f.GPUs))}
	seen := make(map[int32]bool, len(f.Nodes))
	for i := range f.Nodes {
		id, ok := trailing(f.Nodes[i].Name)
		if !ok || seen[id] {
			seen = nil
			break
		}
		seen[id] = true
		n.node[i] = id
	}
	for i := range n.node {
		if seen == nil {
			n.node[i] = int32(i)
		}
	}
	several := false
	for _, g := range f.GPUs {
		several = several || g.Index > 0
	}
	for i, g := range f.GPUs {
		if several {
			n.gpu[int32(i)] = fabric.GPUID(i)
		} else {
			n.gpu[n.node[g.Host]] = fabric.GPUID(i)
		}
	}
	return n
}

// trailing is the number that a name ends in.
func trailing(name string) (int32, bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	v, err := strconv.ParseInt(name[i:], 10, 32)
	return int32(v), err == nil
}

// GPU is the GPU of a number of a file.
func (n Numbers) GPU(id int32) (fabric.GPUID, bool) {
	g, ok := n.gpu[id]
	return g, ok
}

// Of is the number of the host of a GPU, or of the GPU where hosts have several.
func (n Numbers) Of(f *fabric.Fabric, g fabric.GPUID) int32 {
	if host := n.node[f.GPUs[g].Host]; n.gpu[host] == g {
		return host
	}
	return int32(g)
}

// missing says which numbers there are.
func (n Numbers) missing(r *source.Report, at source.Located, id int32) {
	least, most := int32(1<<31-1), int32(0)
	for k := range n.gpu {
		least, most = min(least, k), max(most, k)
	}
	r.Wrong(at, "node %d is no host of the fabric; %s", id, fmt.Sprintf("hosts are among %d to %d", least, most))
}
