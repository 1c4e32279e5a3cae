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
	sums   int64 // queued packets of reductions: they lie in the slots, which are memory of their own

	absorbed, made uint64 // bytes of packets that reductions took in, and sent out
}

// forward sends a packet that came in at port q of switch s on its way. With an idle wire it does not touch the buffer:
// it leaves as it comes.
func (n *Network) forward(q, s uint32, k uint32) {
	pk := &n.pool.packets[k]
	sw := &n.switches[s]
	if pk.dst == toReduction {
		n.reduceAt(q, s, k)
		return
	}
	first, ports := n.routes.Set(sw.node, pk.dst)
	var out uint32
	switch {
	case len(ports) == 1:
		out = uint32(ports[0])
	case len(ports) == 0:
		n.drop(q, k, DropNoRoute)
		return
	case n.choice.hashed:
		out = uint32(ports[route.Pick(pk.hash, sw.salt, uint32(len(ports)))])
	default:
		out = n.choose(q, s, k, first, ports)
	}
	if n.choice.tags != nil {
		n.passCONGA(q, s, out, k)
	}
	n.sendOut(q, sw, out, k)
}

// sendOut sends a packet that came in at port q through port out of the same switch.
func (n *Network) sendOut(q uint32, sw *swtch, out, k uint32) {
	pk := &n.pool.packets[k]
	p := &n.ports[out]
	if p.down || (p.refuse|n.ports[q].refuse)>>pk.prio&1 != 0 {
		n.turnAway(q, out, k)
		return
	}
	if p.ready == 0 && p.busy <= n.now && !p.armed && p.paused>>pk.prio&1 == 0 {
		n.transmit(out, p, k)
		return
	}
	if !n.admit(q, sw, out, k) {
		return
	}
	n.enqueue(out, p, k)
	n.kick(out, p)
}

// turnAway drops a packet whose port is down, or whose class the watchdog has taken out of service at the port it came in or leaves by.
func (n *Network) turnAway(q, out, k uint32) {
	switch p := &n.ports[out]; {
	case p.down:
		n.drop(out, k, DropLinkDown)
	case p.refuse>>n.pool.packets[k].prio&1 != 0:
		n.drop(out, k, DropWatchdog)
	default:
		n.drop(q, k, DropWatchdog)
	}
}
