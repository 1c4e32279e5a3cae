package netsim

import (
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// PFC can lock up a network whose paths form a cycle: each port of the cycle is paused because the switch behind it is full, and that one
// is full because its port of the cycle is paused (Hu et al., Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them,
// HotNets 2016). Up-down routes in a Clos network have no such cycle; a ring has, and so has a Clos network whose routes
// bounce off a failed link.

// Deadlock is a cycle of paused ports that nothing will resume.
type Deadlock struct {
	Priority uint8
	// Ports are the paused ports: each waits for the switch behind it, which is full because the next one waits.
	Ports []fabric.PortID
	Since units.Instant // when the last of them was paused
}

// waiting is a paused queue of a switch, and what the switch behind it holds of what came from it.
type waiting struct {
	class   uint32
	behind  uint32   // ingress class of the switch behind it
	holds   []uint32 // paused queues there, as indices, that hold packets which came in through behind
	bytes   []int64  // and how many bytes of them
	unmoved bool     // nothing will resume it
}

// Deadlocks finds the cycles of now. It is exact while a pause lasts until it is lifted: a paused queue counts when, after everything that can
// still move has moved, the switch behind it holds too much of what came from there to lift the pause.
func (n *Network) Deadlocks() []Deadlock {
	queues, index := n.pausedQueues()
	if len(queues) == 0 {
		return nil
	}
	n.findHeld(queues, index)
	for changed := true; changed; { // the largest set of queues that wait for each other
		changed = false
		for i := range queues {
			if w := &queues[i]; w.unmoved && n.willResume(w, queues) {
				w.unmoved, changed = false, true
			}
		}
	}
	var out []Deadlock
	seen := make([]int, len(queues)) // 1+number of the walk that came by
	for i := range queues {
		if queues[i].unmoved && seen[i] == 0 {
			if cycle := walkCycle(queues, seen, i); cycle != nil {
				out = append(out, n.deadlock(queues, cycle))
			}
		}
	}
	return out
}

// pausedQueues lists the queues of switches that are paused with something in them; index is by class, -1 for all others.
func (n *Network) pausedQueues() (queues []waiting, index []int32) {
	for i := range n.ports {
		p := &n.ports[i]
		if p.host || p.paused&n.lossless == 0 {
			continue
		}
		for prio := range uint8(Priorities) {
			c := class(uint32(i), prio)
			if p.paused&n.lossless>>prio&1 == 0 || n.egress[c].head == none {
				continue
			}
			if index == nil {
				index = make([]int32, len(n.egress))
				for c := range index {
					index[c] = -1
				}
			}
			index[c] = int32(len(queues))
			// A host drains what it has: nothing waits for ever behind it.
			queues = append(queues, waiting{class: c, behind: class(p.peer, prio), unmoved: !n.ports[p.peer].host && n.ingress[class(p.peer, prio)].xoff})
		}
	}
	return queues, index
}

// findHeld looks through the paused queues for what came from others of them.
func (n *Network) findHeld(queues []waiting, index []int32) {
	from := make([]int32, len(n.ingress)) // ingress class -> the queue whose packets it receives, +1
	for i := range queues {
		from[queues[i].behind] = int32(i) + 1
	}
	for i := range queues {
		for k := n.egress[queues[i].class].head; k != none; k = n.pool.packets[k].next {
			pk := &n.pool.packets[k]
			if pk.dst == toReduction {
				continue // it is charged to nobody
			}
			f := from[pk.at]
			if f == 0 {
				continue
			}
			w := &queues[f-1]
			if l := len(w.holds); l == 0 || w.holds[l-1] != uint32(i) {
				w.holds, w.bytes = append(w.holds, uint32(i)), append(w.bytes, 0)
			}
			w.bytes[len(w.bytes)-1] += int64(pk.size)
		}
	}
}

// willResume tells whether the switch behind a paused queue will lift the pause once only the queues that are unmoved hold anything.
func (n *Network) willResume(w *waiting, queues []waiting) bool {
	stuck, all := int64(0), int64(0)
	for i, h := range w.holds {
		if queues[h].unmoved {
			stuck += w.bytes[i]
		}
	}
	sw := n.ports[w.behind/Priorities].node
	for i := range queues {
		if q := &queues[i]; q.unmoved && n.ports[q.class/Priorities].node == sw {
			all += n.egress[q.class].bytes
		}
	}
	in := &n.ingress[w.behind]
	gone := in.used + int64(in.headroom) - stuck // the headroom is given back first
	if int64(in.headroom) > gone {
		return false
	}
	s := &n.switches[sw]
	limit := (s.shared - min(all, s.used)) * n.alpha >> alphaBits
	if n.xoff > 0 {
		limit = min(limit, n.xoff)
	}
	return stuck == 0 || stuck <= limit-n.xon
}

// walkCycle follows what a queue waits for until it comes back to where it was; nil when it ends in a cycle already known.
func walkCycle(queues []waiting, seen []int, from int) []int {
	var path []int
	walk := from + 1
	for at := from; ; {
		if seen[at] == walk {
			return path[slices.Index(path, at):]
		}
		if seen[at] != 0 {
			return nil
		}
		seen[at] = walk
		path = append(path, at)
		next := -1
		for _, h := range queues[at].holds {
			if queues[h].unmoved {
				next = int(h)
				break
			}
		}
		if next < 0 {
			return nil
		}
		at = next
	}
}

func (n *Network) deadlock(queues []waiting, cycle []int) Deadlock {
	d := Deadlock{Priority: uint8(queues[cycle[0]].class % Priorities)}
	since := int64(0)
	for _, i := range cycle {
		c := queues[i].class
		d.Ports = append(d.Ports, portID(c/Priorities))
		since = max(since, n.pauses[c].rxSince)
	}
	d.Since = units.At(since)
	return d
}
