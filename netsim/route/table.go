package route

import (
	"github.com/shunt-network/shunt/fabric"
)

// Hop is where a packet leaves a switch: a single port, or a choice among several.
type Hop struct {
	first uint32 // index into members
	n     uint32
}

// Table holds the next hops of every switch in use. It starts as the fabric's shortest paths and shrinks by the links that
// are known to be down; it never takes a longer path, as switches in a Clos network that share an AS number do not
// (RFC 7938, 5.2.1: a route that went down does not come up again).
type Table struct {
	f       *fabric.Fabric
	rows    []int32 // node -> row, -1 for a host
	width   int
	hops    []Hop // row*width + endpoint
	members []fabric.PortID
	sets    map[string]Hop // only to share members; never iterated
}

// NewTable starts with every link up.
func NewTable(f *fabric.Fabric) *Table {
	t := &Table{f: f, width: len(f.Endpoints), rows: make([]int32, len(f.Nodes)), sets: map[string]Hop{}}
	rows := int32(0)
	for i := range f.Nodes {
		t.rows[i] = -1
		if f.Nodes[i].Role != fabric.Host {
			t.rows[i] = rows
			rows++
		}
	}
	t.hops = make([]Hop, int(rows)*t.width)
	shared := make([]Hop, len(f.Sets()))
	for i, set := range f.Sets() {
		shared[i] = t.intern(set)
	}
	for node, row := range t.rows {
		if row < 0 {
			continue
		}
		for ep := range t.width {
			t.hops[int(row)*t.width+ep] = shared[f.NextHopSet(fabric.NodeID(node), int32(ep))]
		}
	}
	return t
}

func (t *Table) intern(set []fabric.PortID) Hop {
	key := make([]byte, 0, 4*len(set))
	for _, p := range set {
		key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	if h, ok := t.sets[string(key)]; ok {
		return h
	}
	h := Hop{first: uint32(len(t.members)), n: uint32(len(set))}
	t.members = append(t.members, set...)
	t.sets[string(key)] = h
	return h
}

// Ports lists the ports through which switch sw sends to endpoint ep; empty when it knows no way. The slice is
// shared: do not change it.
func (t *Table) Ports(sw fabric.NodeID, ep uint32) []fabric.PortID {
	h := t.hops[int(t.rows[sw])*t.width+int(ep)]
	return t.members[h.first : h.first+h.n : h.first+h.n]
}

// Exclude recomputes the table for the links that are down (by port, both ends): a switch stops using a port whose
// link is down, or whose far end has no way left to the destination.
func (t *Table) Exclude(down []bool) {
	const unknown, busy = 0, 1
	state := make([]uint8, len(t.f.Nodes))
	alive := make([]bool, len(t.f.Nodes))
	for ep := range t.width {
		clear(state)
		var visit func(n fabric.NodeID) bool
		visit = func(n fabric.NodeID) bool { // shortest paths hold no cycle, so the recursion ends
			if state[n] != unknown {
				return alive[n]
			}
			state[n] = busy
			var usable []fabric.PortID
			for _, p := range t.f.NextHops(n, int32(ep)) {
				far := t.f.Ports[t.f.Ports[p].Peer].Node
				if !down[p] && (t.f.Nodes[far].Role == fabric.Host || visit(far)) {
					usable = append(usable, p)
				}
			}
			alive[n] = len(usable) > 0
			t.hops[int(t.rows[n])*t.width+ep] = t.intern(usable)
			return alive[n]
		}
		for n, row := range t.rows {
			if row >= 0 {
				visit(fabric.NodeID(n))
			}
		}
	}
}
