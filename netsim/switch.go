package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
)

// swtch is one switch: its share of the buffer and what it needs to choose ports.
type swtch struct {
	node   fabric.NodeID
	salt   uint32
	shared int64 // buffer besides the headrooms
	used   int64 // of it
}

// book is what reductions do at a switch, kept apart because most packets have nothing to do with it.
type book struct {
	sums           int64  // queued packets of reductions: they lie in the slots, which are memory of their own
	absorbed, made uint64 // bytes of packets that reductions took in, and sent out
}

// forward sends a packet that came in at port q of switch s on its way, through port to, or where that is none through the one that the switch
// chooses. With an idle wire it does not touch the buffer: it leaves as it comes.
func (n *Network) forward(q, s, k, to uint32) {
	pk := &n.pool.packets[k]
	sw := &n.switches[s]
	if to == none {
		if pk.dst == toReduction {
			n.reduceAt(q, s, k)
			return
		}
		ports := n.routes.Ports(sw.node, pk.dst)
		switch {
		case len(ports) == 0:
			n.drop(q, k, DropNoRoute)
			return
		case !n.choice.hashed:
			to = n.chosen(q, s, k)
		case len(ports) == 1:
			to = uint32(ports[0])
		default:
			to = uint32(ports[route.Pick(pk.hash, sw.salt, uint32(len(ports)))])
		}
	}
	p := &n.ports[to]
	if n.trace != nil && pk.kind() == data && n.ports[n.ports[q].peer].host && !n.ports[p.peer].host {
		n.trace.sent(n, s, to, pk)
	}
	if p.refuse>>pk.prio&1 != 0 {
		n.turnAway(to, k)
		return
	}
	if p.ready == 0 && p.busy <= n.now && !p.armed && p.paused>>pk.prio&1 == 0 {
		n.transmit(to, p, k)
		return
	}
	if !n.admit(q, sw, to, k) {
		return
	}
	n.enqueue(to, p, k)
	if n.markEnqueue {
		n.markJoining(to, k)
	}
	n.kick(to, p)
}

// chosen is the port that a switch chooses which looks at more than a hash.
func (n *Network) chosen(q, s, k uint32) uint32 {
	first, ports := n.routes.Set(n.switches[s].node, n.pool.packets[k].dst)
	to := uint32(ports[0])
	if len(ports) > 1 {
		to = n.choose(q, s, k, first, ports)
	}
	switch {
	case n.choice.tags != nil:
		n.passCONGA(q, s, to, k)
	case n.choice.scheme == route.ByBuckets:
		n.passSprayer(s)
	}
	return to
}

// turnAway drops a packet at a port that is down, or whose class the watchdog has taken out of service.
func (n *Network) turnAway(pi, k uint32) {
	if n.ports[pi].down {
		n.drop(pi, k, DropLinkDown)
	} else {
		n.drop(pi, k, DropWatchdog)
	}
}
