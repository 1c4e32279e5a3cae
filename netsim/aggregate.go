package netsim

import "github.com/shunt-network/shunt/units"

// reduceAt is a packet of a reduction that came in at port q of switch s: from a child to be added, or from the parent to be handed on.
func (n *Network) reduceAt(q, s, k uint32) {
	pk := &n.pool.packets[k]
	r := &n.reductions[pk.qp]
	i := r.at[s]
	if i < 0 {
		n.drop(q, k, DropNoRoute)
		return
	}
	v := &r.vertices[i]
	n.books[s].absorbed += uint64(pk.size)
	if q == v.up {
		n.handDown(v, q, k)
		return
	}
	child := v.childOf(n, q)
	if n.addRate == 0 || child < 0 {
		n.add(v, q, k)
		return
	}
	// The switch adds what one port brings one after the other.
	v.free[child] = max(v.free[child], n.now) + int64(units.Serialize(units.Bytes(pk.size-headerBytes), n.addRate))
	pk.at = int64(q)
	n.adding++
	n.queue.push(newEvent(v.free[child], evAdd, k).of(v.restarts, 0))
}

// added is evAdd: the switch has read a packet that it was busy with. One that was in a switch when it rebooted is gone.
func (n *Network) added(k uint32, restarts uint16) {
	pk := &n.pool.packets[k]
	q := uint32(pk.at)
	s := n.ports[q].node
	r := &n.reductions[pk.qp]
	v := &r.vertices[r.at[s]]
	n.adding--
	if v.restarts != restarts {
		n.books[s].absorbed -= uint64(pk.size)
		n.drop(q, k, DropLinkDown)
		return
	}
	n.add(v, q, k)
}

// add adds the packet of a child to its slot. A child that has sent before has missed the sum: it gets it if it is known, and else the parent
// is asked once more if everything is there.
func (n *Network) add(v *vertex, q, k uint32) {
	child := v.childOf(n, q)
	pk := n.pool.packets[k]
	a := n.addends[k]
	n.give(k)
	if child < 0 {
		return
	}
	i := int(a.seq % uint64(len(v.slots)))
	sl, seen := &v.slots[i], v.seen[i*v.words:][:v.words]
	switch {
	case sl.seq > a.seq+1:
		return // of a version that everybody is done with
	case sl.seq < a.seq+1:
		*sl = slot{seq: a.seq + 1}
		clear(seen)
	}
	word, bit := child/64, uint64(1)<<(child%64)
	again := seen[word]&bit != 0
	if !again {
		seen[word] |= bit
		sl.count++
		sl.hosts += a.hosts
		sl.value += a.value
	}
	switch {
	case sl.done:
		n.emit(q, v, v.down[child], &pk, addend{a.seq, sl.value, sl.hosts})
	case int(sl.count) < len(v.down):
	case v.up != none:
		n.emit(q, v, v.up, &pk, addend{a.seq, sl.value, sl.hosts})
	default:
		sl.done = true
		n.multicast(q, v, &pk, addend{a.seq, sl.value, sl.hosts})
	}
}

// handDown is the sum from the parent.
func (n *Network) handDown(v *vertex, q, k uint32) {
	pk := n.pool.packets[k]
	a := n.addends[k]
	n.give(k)
	sl := &v.slots[a.seq%uint64(len(v.slots))]
	if sl.seq != a.seq+1 || sl.done {
		return
	}
	sl.done, sl.value, sl.hosts = true, a.value, a.hosts
	n.multicast(q, v, &pk, a)
}

func (n *Network) multicast(q uint32, v *vertex, like *packet, a addend) {
	for _, out := range v.down {
		n.emit(q, v, out, like, a)
	}
}

// emit sends a packet that a switch has made. It is charged to port q, through which the last of what it is made of came in.
func (n *Network) emit(q uint32, v *vertex, out uint32, like *packet, a addend) {
	k := n.take()
	pk := &n.pool.packets[k]
	pk.qp, pk.dst, pk.hash, pk.psn = like.qp, toReduction, like.hash, uint32(a.seq)&psnMask
	pk.size, pk.prio, pk.flags = like.size, like.prio, like.flags&^(marked|corrupt)
	n.addends[k] = a
	n.books[v.sw].made += uint64(pk.size)
	n.forward(q, v.sw, k, out)
}

// forgetReductions empties the slots of a switch that reboots.
func (n *Network) forgetReductions(s uint32) {
	for i := range n.reductions {
		r := &n.reductions[i]
		if r.at[s] < 0 {
			continue
		}
		v := &r.vertices[r.at[s]]
		clear(v.slots)
		clear(v.seen)
		clear(v.free)
		v.restarts++
	}
}
