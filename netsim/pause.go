package netsim

import (
	"github.com/shunt-network/shunt/units"
)

// Priority flow control (IEEE 802.1Q clause 36). A pause frame goes out as soon as the wire is free, before any packet that waits,
// and takes effect after the delay of the link. By default the model knows on and off: a real pause runs out after at most 65535 quanta of
// 512 bit times and its sender repeats it, which is implied then, so that the counters count changes and not repetitions. With
// Network.quanta set both happen.

// pauseOn is set in event.prio when the frame pauses, clear when it resumes.
const pauseOn = 0x80

// pauseQuantum is the unit of the time in a pause frame, in bits (IEEE 802.3 annex 31B.2).
const pauseQuantum = 512

// pauseState is what one class of a port counted of pause frames, and what it needs to keep pauses up and to let them end.
type pauseState struct {
	rx, tx             uint64
	rxTime, txTime     uint64
	rxSince            int64 // since when this port is paused, while it is, else since when it is not
	txSince            int64 // since when its peer is held paused, while it is
	headroomCap        int64
	until              int64 // with quanta: when the pause of this port runs out
	sent               int64 // with quanta: when the peer was last told to pause
	storms, stormsOver uint64
	stormDrops         uint64
	ending, repeating  bool // an evPauseEnd, an evRefresh is due
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
	repeated := n.quanta > 0 && what&pauseOn != 0
	if repeated {
		n.keepPausing(q, what&^pauseOn)
	}
	p.busy = max(p.busy, n.now) + n.wireTime(q, p, pauseBytes)
	if n.deaf[q] > 0 {
		return
	}
	if repeated {
		n.queue.idle++
	}
	n.queue.push(newEvent(p.busy+n.cold[q].wire, evPause, p.peer).of(p.gen, what))
}

// pauseTime is how long a pause lasts that is sent over a wire of rate r.
func (n *Network) pauseTime(r units.Rate) int64 {
	return mulDiv(n.quanta, int64(units.Second), int64(r))
}

// keepPausing sees to it that a pause is repeated when half of it is over. Hardware repeats in time too; how early is its own affair.
func (n *Network) keepPausing(q uint32, prio uint8) {
	c := class(q, prio)
	s := &n.pauses[c]
	s.sent = n.now
	if !s.repeating {
		s.repeating = true
		n.queue.idle++
		n.queue.push(newEvent(n.now+n.pauseTime(n.ports[n.ports[q].peer].rate)/2, evRefresh, c))
	}
}

// refreshPause is evRefresh.
func (n *Network) refreshPause(c uint32) {
	n.queue.idle--
	s, q := &n.pauses[c], c/Priorities
	s.repeating = false
	if !n.ingress[c].xoff || n.ports[q].down {
		return
	}
	if due := s.sent + n.pauseTime(n.ports[n.ports[q].peer].rate)/2; due > n.now { // paused anew in the meantime
		s.repeating = true
		n.queue.idle++
		n.queue.push(newEvent(due, evRefresh, c))
		return
	}
	s.tx++
	n.sendPause(q, uint8(c%Priorities)|pauseOn)
}

// pauseArrives is a pause or resume frame at port pi (N2: what is on the wire already is not recalled). A frame from before the link
// last went down was lost with it.
func (n *Network) pauseArrives(pi uint32, what uint8, gen uint16) {
	p := &n.ports[pi]
	prio, on := what&^pauseOn, what&pauseOn != 0
	if on && n.quanta > 0 {
		n.queue.idle--
	}
	if n.ports[p.peer].gen != gen {
		return
	}
	c := class(pi, prio)
	s := &n.pauses[c]
	s.rx++
	if on && n.quanta > 0 {
		s.until = n.now + n.pauseTime(p.rate)
		n.endPause(c, s)
	}
	n.setPaused(pi, p, prio, on)
	n.kick(pi, p)
}

// endPause schedules the moment at which a pause runs out.
func (n *Network) endPause(c uint32, s *pauseState) {
	if !s.ending {
		s.ending = true
		n.queue.idle++
		n.queue.push(newEvent(s.until, evPauseEnd, c))
	}
}

// pauseEnds is evPauseEnd: the pause may have been lifted or repeated since it was scheduled.
func (n *Network) pauseEnds(c uint32) {
	n.queue.idle--
	pi, prio, s := c/Priorities, uint8(c%Priorities), &n.pauses[c]
	s.ending = false
	p := &n.ports[pi]
	if p.held>>prio&1 == 0 {
		return
	}
	if s.until > n.now {
		n.endPause(c, s)
		return
	}
	n.setPaused(pi, p, prio, false)
	n.kick(pi, p)
}

// pauseWillEnd tells, when nothing else is under way, whether a pause will run out because nobody repeats it.
func (n *Network) pauseWillEnd() bool {
	if n.quanta == 0 {
		return false
	}
	for i := range n.ports {
		p := &n.ports[i]
		for prio := range uint8(Priorities) {
			if p.held>>prio&1 != 0 && (!n.ingress[class(p.peer, prio)].xoff || n.ports[p.peer].down || n.deaf[p.peer] > 0) {
				return true
			}
		}
	}
	return false
}

func (n *Network) setPaused(pi uint32, p *port, prio uint8, on bool) {
	if was := p.held>>prio&1 != 0; was == on {
		return
	}
	s := &n.pauses[class(pi, prio)]
	if on {
		p.held |= 1 << prio
		if n.watchdog.ignores(class(pi, prio)) {
			p.paused &^= 1 << prio
		} else {
			p.paused |= 1 << prio
		}
	} else {
		p.held &^= 1 << prio
		p.paused &^= 1 << prio
		s.rxTime += uint64(n.now - s.rxSince)
	}
	s.rxSince = n.now
	if n.probe.Pause != nil {
		n.probe.Pause(portID(pi), prio, on, units.At(n.now))
	}
}
