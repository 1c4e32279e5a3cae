package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// begin starts fault i, and schedules its end and its return.
func (n *Network) begin(i uint32) {
	f := &n.faults[i]
	if n.returned[i] {
		n.queue.idle--
	}
	if f.For > 0 {
		n.queue.push(newEvent(n.now+int64(f.For), evHeal, i))
	}
	if f.Every > 0 {
		n.returned[i] = true
		n.queue.idle++
		n.queue.push(newEvent(n.now+int64(f.Every), evFault, i))
	}
	p := &n.ports[f.Port]
	switch f.Kind {
	case LinkDown:
		n.hold(f.Port)
	case SwitchReboot:
		n.eachPort(f.Port, n.hold)
		n.forgetReductions(p.node)
	case NICReset:
		n.hold(f.Port)
		n.resetNIC(p.node)
	case OneWayDown:
		n.deafen(f.Port)
	case RateDegraded:
		n.setRate(f.Port, f.Rate)
	case BitErrors:
		n.setBER(f.Port, f.BER)
	case SilentDrop:
		n.setLoss(f.Port, f.Loss, f.Flows)
	case ChecksumDrop:
		n.setStrict(f.Port, true)
	case SlowReceiver:
		c := &n.nics[p.node]
		c.drain = units.NewLine(f.Rate)
		if !c.slow {
			c.slow = true
			c.gen++
		}
	}
	n.notice(i, f.Detect)
}

// heal ends fault i.
func (n *Network) heal(i uint32) {
	f := &n.faults[i]
	p := &n.ports[f.Port]
	switch f.Kind {
	case LinkDown, NICReset:
		n.letGo(f.Port)
	case SwitchReboot:
		n.eachPort(f.Port, n.letGo)
	case OneWayDown:
		n.undeafen(f.Port)
	case RateDegraded:
		n.setRate(f.Port, n.f.Ports[f.Port].Rate)
	case BitErrors:
		n.setBER(f.Port, n.f.Ports[f.Port].BER)
	case SilentDrop:
		n.setLoss(f.Port, 0, 0)
	case ChecksumDrop:
		n.setStrict(f.Port, false)
	case SlowReceiver:
		c := &n.nics[p.node]
		c.slow = false
		for c.head != none {
			n.takeWaiting(p.node, c)
		}
	}
	n.notice(i, or(f.Recover, f.Detect))
}

// eachPort does something to every port of the switch that has port pi.
func (n *Network) eachPort(pi uint32, do func(uint32)) {
	node := &n.f.Nodes[n.f.Ports[pi].Node]
	for i := range node.NumPorts {
		do(uint32(node.FirstPort) + uint32(i))
	}
}

// hold keeps the link of a port down, until as many have let go.
func (n *Network) hold(pi uint32) {
	n.downs[pi]++
	n.downs[n.ports[pi].peer]++
	if !n.ports[pi].down {
		n.linkDown(pi)
	}
}

func (n *Network) letGo(pi uint32) {
	n.downs[pi]--
	n.downs[n.ports[pi].peer]--
	if n.downs[pi] == 0 {
		n.linkUp(pi)
	}
}

// resetNIC loses the QPs of endpoint ep. Its own know it at once; their peers find out by their timeouts, because nobody answers.
func (n *Network) resetNIC(ep uint32) {
	for q := range n.snd {
		s := &n.snd[q]
		if s.dst == ep {
			n.rcv[q].gone = true
		}
		if s.src != ep || s.flags&dead != 0 {
			continue
		}
		n.deactivate(uint32(q))
		s.flags |= dead
		for m := s.oldest; m != none; m = n.msgs[m].next {
			n.nicCounters[ep].FlushErrors++
		}
		n.abandon(s)
	}
}

// linkDown takes a link down: what flies on it and what waits for it is lost, and pauses end with it. A NIC keeps the data it has not
// made into packets yet.
func (n *Network) linkDown(pi uint32) {
	ends := [2]uint32{pi, n.ports[pi].peer}
	for _, x := range ends {
		p := &n.ports[x]
		p.down, p.refuse = true, 0xff
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
	n.loseFlying(x, p)
	for prio := range uint8(Priorities) {
		n.loseQueue(x, p, prio, DropLinkDown)
	}
}

// loseFlying drops what flies from port x.
func (n *Network) loseFlying(x uint32, p *port) {
	for p.head != none {
		k := p.head
		p.head = n.pool.packets[k].next
		n.cold[x].wireLost += uint64(n.pool.packets[k].size)
		n.drop(x, k, DropLinkDown)
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
		n.ports[x].down, n.ports[x].refuse = false, n.stormsOf(x)
		if n.probe.Link != nil {
			n.probe.Link(portID(x), true, units.At(n.now))
		}
	}
	for _, x := range [2]uint32{pi, n.ports[pi].peer} {
		n.kick(x, &n.ports[x])
	}
}

func portID(pi uint32) fabric.PortID { return fabric.PortID(pi) }
