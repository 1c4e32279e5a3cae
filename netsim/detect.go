package netsim

import (
	"strconv"

	"github.com/shunt-network/shunt/units"
)

// Switches route around a fault when they have noticed it: at once where the link tells, after some intervals of BFD (RFC 5880, 6.8.4)
// where it does not, or after a time that the fault itself states. Until then they send into it, or past what is well again.

// notice schedules the moment at which the switches learn that fault i has begun or ended.
func (n *Network) notice(i uint32, after units.Duration) {
	f := &n.faults[i]
	n.turns[i]++
	at := n.now + int64(after)
	if after == 0 {
		switch f.Kind {
		case LinkDown, SwitchReboot, NICReset:
			at += n.bfdTime(i)
		case OneWayDown:
			if n.bfd.Interval == 0 {
				return
			}
			at += n.bfdTime(i)
		default:
			return
		}
	}
	n.queue.push(newEvent(at, evDetect, i).of(n.turns[i], 0))
}

// bfdTime is how long BFD takes: the last packet that came through was heard up to an interval ago, and after Multiplier intervals from
// then the neighbour counts as gone. 0 where there is no BFD.
func (n *Network) bfdTime(i uint32) int64 {
	if n.bfd.Interval == 0 {
		return 0
	}
	name := n.f.PortName(portID(n.faults[i].Port)) + " bfd " + strconv.Itoa(int(n.turns[i]))
	dice := newStream(n.seed, name)
	heard := mulDiv(int64(n.bfd.Interval), int64(dice.uint32()), 1<<32)
	return int64(n.bfd.Interval)*int64(n.bfd.Multiplier) - heard + int64(n.bfd.Reroute)
}

// detect is the moment at which the switches have learned of fault i: those next to a dead link, and those that reach a destination only
// over it, stop using it. A fault that has ended, or come back, before it was noticed goes unnoticed.
func (n *Network) detect(i uint32, turn uint16) {
	if n.turns[i] != turn {
		return
	}
	f := &n.faults[i]
	begun := turn%2 == 1
	if f.Kind == SwitchReboot {
		n.eachPort(f.Port, func(pi uint32) { n.know(pi, begun) })
	} else {
		n.know(f.Port, begun)
	}
	n.fail(n.routes.Exclude(n.known))
}

// know takes the link of a port out of use, or back into it unless another fault that was noticed keeps it down.
func (n *Network) know(pi uint32, bad bool) {
	peer := n.ports[pi].peer
	bad = bad || n.downs[pi] > 0 && n.known[pi]
	n.known[pi], n.known[peer] = bad, bad
}
