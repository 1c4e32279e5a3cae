package netsim

import (
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// bitErrors is the bit error rate of what leaves a port, with the chance for the last size seen.
type bitErrors struct {
	ber  float64
	size uint16
	p    uint64 // chance that a packet of that size is wrong, of 2^53
}

// spoil decides whether a packet arrives wrong: 1-(1-BER)^bits. The float decides only whether, never when.
func (n *Network) spoil(pi uint32, pk *packet) {
	b := &n.ber[pi]
	if b.size != pk.size {
		b.size = pk.size
		b.p = uint64(-math.Expm1(float64(pk.size)*8*math.Log1p(-b.ber)) * (1 << 53))
	}
	if n.rngs[pi].Uint64()>>11 < b.p {
		pk.flags |= corrupt
	}
}

func (n *Network) setBER(pi uint32, ber float64) {
	n.ber[pi] = bitErrors{ber: ber}
	n.ports[pi].dirty = ber > 0
}

// begin starts fault i, and schedules its end and its return.
func (n *Network) begin(i uint32) {
	f := &n.faults[i]
	if n.returned[i] {
		n.recurring--
	}
	if f.For > 0 {
		n.queue.push(newEvent(n.now+int64(f.For), evHeal, i))
	}
	if f.Every > 0 {
		n.returned[i] = true
		n.recurring++
		n.queue.push(newEvent(n.now+int64(f.Every), evFault, i))
	}
	p := &n.ports[f.Port]
	switch f.Kind {
	case LinkDown:
		n.downs[f.Port]++
		n.downs[p.peer]++
		if !p.down {
			n.linkDown(f.Port)
			n.queue.push(newEvent(n.now+int64(f.Detect), evDetect, 0))
		}
	case RateDegraded:
		n.setRate(f.Port, f.Rate)
	case BitErrors:
		n.setBER(f.Port, f.BER)
	case SlowReceiver:
		c := &n.nics[p.node]
		c.drain = units.NewLine(f.Rate)
		if !c.slow {
			c.slow = true
			c.gen++
		}
	}
}

// heal ends fault i.
func (n *Network) heal(i uint32) {
	f := &n.faults[i]
	p := &n.ports[f.Port]
	switch f.Kind {
	case LinkDown:
		n.downs[f.Port]--
		n.downs[p.peer]--
		if n.downs[f.Port] == 0 {
			n.linkUp(f.Port)
			n.queue.push(newEvent(n.now+int64(f.Detect), evDetect, 0))
		}
	case RateDegraded:
		n.setRate(f.Port, n.f.Ports[f.Port].Rate)
	case BitErrors:
		n.setBER(f.Port, n.f.Ports[f.Port].BER)
	case SlowReceiver:
		c := &n.nics[p.node]
		c.slow = false
		for c.head != none {
			n.takeWaiting(p.node, c)
		}
	}
}

// linkDown takes a link down: what flies on it and what waits for it is lost, and pauses end with it. A NIC keeps the data it has not
// made into packets yet.
func (n *Network) linkDown(pi uint32) {
	ends := [2]uint32{pi, n.ports[pi].peer}
	for _, x := range ends {
		p := &n.ports[x]
		p.down = true
		p.gen++
		p.busy = n.now
		n.cold[x].linkDowns++
		if n.probe.Link != nil {
			n.probe.Link(portID(x), false, units.At(n.now))
		}
	}
	for _, x := range ends {
		n.lose(x)
		for prio := range uint8(Priorities) {
			n.setPaused(x, &n.ports[x], prio, false)
			if in, s := &n.ingress[class(x, prio)], &n.pauses[class(x, prio)]; in.xoff {
				in.xoff = false
				s.txTime += uint64(n.now - s.txSince)
			}
		}
	}
}

// lose drops what flies from port x and what is queued there.
func (n *Network) lose(x uint32) {
	p := &n.ports[x]
	for p.head != none {
		k := p.head
		p.head = n.pool.packets[k].next
		n.cold[x].wireLost += uint64(n.pool.packets[k].size)
		n.drop(x, k, DropLinkDown)
	}
	for prio := range uint8(Priorities) {
		n.loseQueue(x, p, prio, DropLinkDown)
	}
}

// loseQueue drops what is queued at port x in a class.
func (n *Network) loseQueue(x uint32, p *port, prio uint8, why DropReason) {
	e := &n.egress[class(x, prio)]
	for e.head != none {
		k := e.head
		pk := &n.pool.packets[k]
		e.head = pk.next
		e.bytes -= int64(pk.size)
		if !p.host {
			n.release(p.node, pk)
		}
		n.drop(x, k, why)
	}
	if e.ring == none {
		p.ready &^= 1 << prio
	}
}

// linkUp brings a link back.
func (n *Network) linkUp(pi uint32) {
	for _, x := range [2]uint32{pi, n.ports[pi].peer} {
		n.ports[x].down = false
		if n.probe.Link != nil {
			n.probe.Link(portID(x), true, units.At(n.now))
		}
	}
	for _, x := range [2]uint32{pi, n.ports[pi].peer} {
		n.kick(x, &n.ports[x])
	}
}

// detect is the moment at which the switches have learned which links are up: those next to a dead link, and those that reach a
// destination only over it, stop using it.
func (n *Network) detect() {
	down := make([]bool, len(n.ports))
	for i := range n.ports {
		down[i] = n.ports[i].down
	}
	n.fail(n.routes.Exclude(down))
}

func portID(pi uint32) fabric.PortID { return fabric.PortID(pi) }
