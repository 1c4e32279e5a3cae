package route

import (
	"errors"

	"github.com/shunt-network/shunt/fabric"
)

// hop is where a packet leaves a switch: the ports members[first:first+n]. Most look-ups miss the cache, so it is one word: n in the
// low countBits, first above.
type hop uint32

const countBits = 10

// ErrTooLarge refuses a fabric with more than 1023 equal-cost ports at a switch, or more than 4 million ports in all next-hop sets.
var ErrTooLarge = errors.New("route: the fabric is too large for the next-hop table")

// Table holds the next hops of every switch in use. It starts as the fabric's shortest paths and shrinks by the links that
// are known to be down; it never takes a longer path, as switches in a Clos network that share an AS number do not
// (RFC 7938, 5.2.1: a route that went down does not come up again).
type Table struct {
	f       *fabric.Fabric
	rows    []int32 // node -> row, -1 for a host
	width   int
	hops    []hop // row*width + endpoint
	members []fabric.PortID
	sets    map[string]hop // only to share members; never iterated
	err     error
}

// NewTable starts with every link up.
func NewTable(f *fabric.Fabric) (*Table, error) {
	t := &Table{f: f, width: len(f.Endpoints), rows: make([]int32, len(f.Nodes)), sets: map[string]hop{}}
	rows := int32(0)
	for i := range f.Nodes {
		t.rows[i] = -1
		if f.Nodes[i].Role != fabric.Host {
			t.rows[i] = rows
			rows++
		}
	}
	t.hops = make([]hop, int(rows)*t.width)
	shared := make([]hop, len(f.Sets()))
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
	return t, t.err
}

func (t *Table) intern(set []fabric.PortID) hop {
	key := make([]byte, 0, 4*len(set))
	for _, p := range set {
		key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	if h, ok := t.sets[string(key)]; ok {
		return h
	}
	if len(set) >= 1<<countBits || len(t.members)+len(set) >= 1<<(32-countBits) {
		t.err = ErrTooLarge
		return 0
	}
	h := hop(len(t.members)<<countBits | len(set))
	t.members = append(t.members, set...)
	t.sets[string(key)] = h
	return h
}

// Ports lists the ports through which switch sw sends to endpoint ep; empty when it knows no way. The slice is
// shared: do not change it.
func (t *Table) Ports(sw fabric.NodeID, ep uint32) []fabric.PortID {
	_, ports := t.Set(sw, ep)
	return ports
}

// Set is Ports with the number of the first member, by which state of the set can be kept: no two sets share members.
func (t *Table) Set(sw fabric.NodeID, ep uint32) (first uint32, ports []fabric.PortID) {
	h := t.hops[int(t.rows[sw])*t.width+int(ep)]
	return uint32(h >> countBits), t.members[h>>countBits:][:h&(1<<countBits-1)]
}

// Exclude recomputes the table for the links that are down (by port, both ends): a switch stops using a port whose
// link is down, or whose far end has no way left to the destination.
func (t *Table) Exclude(down []bool) error {
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
	return t.err
}
