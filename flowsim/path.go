package flowsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// A flow loads constraints: each carries weight bytes for every byte of the flow. With a hash a constraint is a port and the
// weight is 1. Split over equal-cost ports, a flow loads many ports a little; ports that every flow loads alike act as one, so
// that the constraints of a path stay few (spread.go).

// hop is a constraint on the way of a flow.
type hop struct {
	con    uint32
	weight float64
}

// links is the fabric as flows see it: which constraints a flow meets and what they can carry.
type links struct {
	f     *fabric.Fabric
	c     Config
	id    identities
	table *route.Table // nil as long as no link has failed: the fabric's own next hops hold
	rate  []units.Rate // by port, as it runs now; 0 while the link is down
	split *spreads     // nil with a hash

	leaf  []fabric.NodeID // by endpoint
	leafs []int32         // by node: its number among the leaves that have endpoints, -1 elsewhere
	count int             // of those leaves
}

func newLinks(f *fabric.Fabric, c Config) *links {
	l := &links{f: f, c: c, id: newIdentities(f, c.Seed), rate: make([]units.Rate, len(f.Ports))}
	for p := range f.Ports {
		l.rate[p] = f.Ports[p].Rate
	}
	l.leaf, l.leafs = make([]fabric.NodeID, len(f.Endpoints)), make([]int32, len(f.Nodes))
	for i := range l.leafs {
		l.leafs[i] = -1
	}
	for ep, p := range f.Endpoints {
		leaf := f.Ports[f.Ports[p].Peer].Node
		if l.leafs[leaf] < 0 {
			l.leafs[leaf] = int32(l.count)
			l.count++
		}
		l.leaf[ep] = leaf
	}
	return l
}

// next lists the ports through which a switch sends to an endpoint.
func (l *links) next(sw fabric.NodeID, ep uint32) []fabric.PortID {
	if l.table != nil {
		return l.table.Ports(sw, ep)
	}
	return l.f.NextHops(sw, int32(ep))
}

// hashes opens a QP between two endpoints: its numbers are the next ones of both adapters, and what switches hash of it follows,
// on the way there and on the way back.
func (l *links) hashes(a, b uint32) (there, back uint32) {
	d := &l.id
	qa, qb := d.nextQPN(a), d.nextQPN(b)
	sport := route.SourcePort(qa, qb)
	if l.c.Path == HashQPN {
		there, back = qb, qa
	}
	return route.FlowHash(d.addr[a], d.addr[b], sport, there), route.FlowHash(d.addr[b], d.addr[a], sport, back)
}

// way is the path of a flow: its hops are appended to a list of the caller; what is here is the time it takes.
type way struct {
	latency int64   // propagation and switches, ps
	store   float64 // ps a byte of a packet takes to be sent on by the switches behind the first link
	ok      bool    // false where a switch knows no way
}

// maxHops ends a walk that does not come to an end: routes of a graph are shortest paths, and these are long ones.
const maxHops = 64

// walk appends the constraints that a flow between two endpoints meets, each with the given weight.
func (l *links) walk(out []hop, a, b uint32, hash uint32, weight float64) ([]hop, way) {
	if l.split != nil {
		return l.walkSplit(out, a, b, weight)
	}
	p := l.f.Endpoints[a]
	w := way{latency: int64(l.f.Ports[p].Delay)}
	out = append(out, hop{uint32(p), weight})
	for range maxHops {
		at := l.f.Ports[p].Peer
		if l.f.Ports[at].Endpoint >= 0 {
			w.ok = true
			return out, w
		}
		sw := l.f.Ports[at].Node
		ports := l.next(sw, b)
		if len(ports) == 0 {
			return out, w
		}
		p = ports[0]
		if len(ports) > 1 {
			p = ports[route.Pick(hash, l.id.salt[sw], uint32(len(ports)))]
		}
		out = append(out, hop{uint32(p), weight})
		w.pass(l, p)
	}
	return out, w
}

// pass adds what it takes to cross a switch and leave it through port p.
func (w *way) pass(l *links, p fabric.PortID) {
	w.latency += int64(l.c.SwitchLatency) + int64(l.f.Ports[p].Delay)
	if r := l.rate[p]; r > 0 {
		w.store += 8e12 / float64(r)
	}
}

// constraints is how many constraints there are.
func (l *links) constraints() int {
	if l.split != nil {
		return l.split.count
	}
	return len(l.f.Ports)
}

// capacity is what a constraint can carry, in bytes a picosecond.
func (l *links) capacity(con uint32) float64 {
	if l.split != nil {
		return l.split.capacity(l, con)
	}
	return float64(l.rate[con]) / 8e12
}

// of is the constraint of a port and the share of its bytes that the port carries; ok is false where no flow can take the port.
func (l *links) of(p fabric.PortID) (con uint32, factor float64, ok bool) {
	if l.split == nil {
		return uint32(p), 1, true
	}
	c := l.split.class[p]
	return c, l.split.factor[p], c != none
}

// none is the absent index.
const none = ^uint32(0)
