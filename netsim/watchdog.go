package netsim

import "github.com/shunt-network/shunt/units"

// The PFC watchdog of SONiC (doc/pfcwd, orchagent/pfcwdorch): a switch looks at its lossless queues in fixed intervals. One that has been
// paused for the detection time with packets in it is in a storm: its packets are dropped, and so is what comes in on the port in the same
// priority, or they are sent in spite of the pauses. When it has not been paused for the restoration time, it is over. It keeps one bad
// host or a deadlock from stopping the network, at the price of loss in a lossless class.

// watchdog is the configuration, and the classes that are in a storm.
type watchdog struct {
	on                           bool
	drop                         bool
	poll, detection, restoration int64
	storm                        []bool // by class; nil until the first storm
}

func newWatchdog(c WatchdogConfig) watchdog {
	return watchdog{on: c.On, drop: c.Action == StormDrop, poll: int64(c.Poll), detection: int64(c.Detection), restoration: int64(c.Restoration)}
}

// Watched tells whether the switches of the run have a PFC watchdog.
func (n *Network) Watched() bool { return n.watchdog.on }

func (w *watchdog) stormy(c uint32) bool { return w.storm != nil && w.storm[c] }

// ignores tells whether a class is sent in spite of pauses.
func (w *watchdog) ignores(c uint32) bool { return !w.drop && w.stormy(c) }

// stormsOf is the classes of a port that are dropped.
func (n *Network) stormsOf(pi uint32) (classes uint8) {
	for prio := range uint8(Priorities) {
		if n.watchdog.drop && n.watchdog.stormy(class(pi, prio)) {
			classes |= 1 << prio
		}
	}
	return classes
}

// watch is evWatch. Only the pauses of switches are watched.
func (n *Network) watch() {
	w := &n.watchdog
	n.queue.push(newEvent(n.now+w.poll, evWatch, 0))
	for i := range n.ports {
		p := &n.ports[i]
		if p.host {
			continue
		}
		for prio := range uint8(Priorities) {
			if n.lossless>>prio&1 == 0 {
				continue
			}
			c := class(uint32(i), prio)
			since := n.now - n.pauses[c].rxSince
			held := p.held>>prio&1 != 0
			switch {
			case w.stormy(c):
				if !held && since >= w.restoration {
					n.stormOver(p, c, prio)
				}
			case held && since >= w.detection && n.egress[c].head != none:
				n.stormBegins(uint32(i), p, c, prio)
			}
		}
	}
}

func (n *Network) stormBegins(pi uint32, p *port, c uint32, prio uint8) {
	w := &n.watchdog
	if w.storm == nil {
		w.storm = make([]bool, len(n.egress))
	}
	w.storm[c] = true
	n.pauses[c].storms++
	if n.probe.Storm != nil {
		n.probe.Storm(portID(pi), prio, true, units.At(n.now))
	}
	if !w.drop {
		p.paused &^= 1 << prio
		n.kick(pi, p)
		return
	}
	p.refuse |= 1 << prio
	n.ingress[c].closed = true
	n.loseQueue(pi, p, prio, DropWatchdog)
}

func (n *Network) stormOver(p *port, c uint32, prio uint8) {
	n.watchdog.storm[c] = false
	n.pauses[c].stormsOver++
	n.ingress[c].closed = false
	if !p.down {
		p.refuse &^= 1 << prio
	}
	if n.probe.Storm != nil {
		n.probe.Storm(portID(c/Priorities), prio, false, units.At(n.now))
	}
}

// watchdogMayAct tells, when nothing else is under way, whether the watchdog will find a storm and lose or send what is stuck.
func (n *Network) watchdogMayAct() bool {
	if !n.watchdog.on {
		return false
	}
	for i := range n.ports {
		p := &n.ports[i]
		for prio := range uint8(Priorities) {
			c := class(uint32(i), prio)
			if !p.host && n.lossless>>prio&1 != 0 && p.held>>prio&1 != 0 && n.egress[c].head != none && !n.watchdog.stormy(c) {
				return true
			}
		}
	}
	return false
}
