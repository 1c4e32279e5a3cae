package netsim

// The buffer of a switch is shared by all ports but for the headroom of each lossless class. A queue may grow to alpha times
// what is free (dynamic thresholds, Choudhury and Hahne, IEEE/ACM Transactions on Networking 1998). For a lossless class the queue is
// what came in through one port, and the answer is pause; for another it is what waits at the egress, and the answer is loss.

// alphaBits is the precision of alpha in thresholds.
const alphaBits = 16

// threshold is how much a queue may hold of the shared buffer.
func (n *Network) threshold(sw *swtch) int64 {
	return (sw.shared - sw.used) * n.alpha >> alphaBits
}

// admit charges a packet from ingress port q to the buffer, or drops it. A lossless class that crosses its threshold pauses its peer;
// from then on its packets go to its headroom, until it is resumed.
func (n *Network) admit(q uint32, sw *swtch, out uint32, k uint32) bool {
	pk := &n.pool.packets[k]
	size := int64(pk.size)
	if pk.dst == toReduction {
		n.books[n.ports[out].node].sums += size
		return true
	}
	if n.lossless>>pk.prio&1 == 0 {
		if n.egress[class(out, pk.prio)].bytes+size > min(n.threshold(sw), n.queueCap) {
			if n.trim && pk.kind() == data && size > n.trimSize && pk.prio != n.trimPriority {
				n.trimOne(sw, out, k)
				return n.admit(q, sw, out, k)
			}
			n.drop(out, k, DropBufferFull)
			return false
		}
		sw.used += size
		return true
	}
	c := class(q, pk.prio)
	in := &n.ingress[c]
	pk.at = int64(c)
	if !in.xoff {
		limit := n.threshold(sw)
		if n.xoff > 0 {
			limit = min(limit, n.xoff)
		}
		crosses := in.used+size > limit
		if crosses {
			n.pausePeer(q, pk.prio, in)
		}
		if !crosses || sw.used+size <= sw.shared {
			in.used += size
			sw.used += size
			return true
		}
	}
	if int64(in.headroom)+size > n.pauses[c].headroomCap {
		n.drop(q, k, DropHeadroomFull)
		return false
	}
	in.headroom += int32(size)
	return true
}

// release gives the buffer of a packet back, the headroom of its ingress first whichever packet it is: packets leave in order, and
// those that came last would else hold the headroom until everything in front has gone. The peer is resumed once the headroom is empty
// and the queue has fallen far enough below the threshold.
func (n *Network) release(s uint32, pk *packet) {
	sw := &n.switches[s]
	size := int64(pk.size)
	if pk.dst == toReduction {
		n.books[s].sums -= size
		return
	}
	if n.lossless>>pk.prio&1 == 0 {
		sw.used -= size
		return
	}
	in := &n.ingress[pk.at]
	room := min(int64(in.headroom), size)
	in.headroom -= int32(room)
	in.used -= size - room
	sw.used -= size - room
	if !in.xoff || in.headroom > 0 {
		return
	}
	limit := n.threshold(sw)
	if n.xoff > 0 {
		limit = min(limit, n.xoff)
	}
	if in.used == 0 || in.used <= limit-n.xon {
		n.resumePeer(uint32(pk.at)/Priorities, pk.prio, in)
	}
}
