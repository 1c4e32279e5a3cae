package netsim

import (
	"github.com/shunt-network/shunt/units"
)

// Priority flow control (IEEE 802.1Q clause 36). A pause frame goes out as soon as the wire is free, before any packet that waits,
// and takes effect after the delay of the link. The model knows on and off: a real pause runs out after at most 65535 quanta of 512 bit
// times and its sender repeats it, which is implied here. So the counters count changes, not repetitions.

// pauseOn is set in event.prio when the frame pauses, clear when it resumes.
const pauseOn = 0x80

// pauseState is what one class of a port counted of pause frames.
type pauseState struct {
	rx, tx         uint64
	rxTime, txTime uint64
	rxSince        int64 // since when this port is paused, while it is
	txSince        int64 // since when its peer is held paused, while it is
	headroomCap    int64
}

// pausePeer tells the peer of ingress port q to stop sending a class.
func (n *Network) pausePeer(q uint32, prio uint8, in *ingress) {
	in.xoff = true
	s := &n.pauses[class(q, prio)]
	s.tx++
	s.txSince = n.now
	n.sendPause(q, prio|pauseOn)
}

// resumePeer lets it go on.
func (n *Network) resumePeer(q uint32, prio uint8, in *ingress) {
	in.xoff = false
	s := &n.pauses[class(q, prio)]
	s.tx++
	s.txTime += uint64(n.now - s.txSince)
	n.sendPause(q, prio)
}

func (n *Network) sendPause(q uint32, what uint8) {
	p := &n.ports[q]
	if p.down {
		return
	}
	p.busy = max(p.busy, n.now) + n.wireTime(q, p, pauseBytes)
	n.queue.push(newEvent(p.busy+n.cold[q].wire, evPause, p.peer).of(p.gen, what))
}

// pauseArrives is a pause or resume frame at port pi (N2: what is on the wire already is not recalled). A frame from before the link
// last went down was lost with it.
func (n *Network) pauseArrives(pi uint32, what uint8, gen uint16) {
	p := &n.ports[pi]
	if n.ports[p.peer].gen != gen {
		return
	}
	prio, on := what&^pauseOn, what&pauseOn != 0
	n.pauses[class(pi, prio)].rx++
	n.setPaused(pi, p, prio, on)
	n.kick(pi, p)
}

func (n *Network) setPaused(pi uint32, p *port, prio uint8, on bool) {
	if was := p.paused>>prio&1 != 0; was == on {
		return
	}
	s := &n.pauses[class(pi, prio)]
	if on {
		p.paused |= 1 << prio
		s.rxSince = n.now
	} else {
		p.paused &^= 1 << prio
		s.rxTime += uint64(n.now - s.rxSince)
	}
	if n.probe.Pause != nil {
		n.probe.Pause(portID(pi), prio, on, units.At(n.now))
	}
}
