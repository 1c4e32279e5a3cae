package netsim

import "math"

// What leaves a port may be lost on the way: by bit errors, which the far end counts; by a port that loses packets and counts nothing (gray
// failure: Huang et al., Gray Failure: The Achilles' Heel of Cloud-Scale Systems, HotOS 2017); or because one direction is dead.

// losses is how a port loses what leaves it.
type losses struct {
	ber    float64
	size   uint16
	p      uint64 // chance that a packet of the last size is wrong, of 2^53
	silent uint64 // chance that one is lost without a trace, of 2^53
	flows  uint64 // flows concerned: those whose hash is below, of 2^32
	strict bool   // a middlebox loses packets whose UDP checksum is not 0
}

// spoil decides whether a packet arrives wrong, 1-(1-BER)^bits, or not at all. The floats decide only whether, never when. A packet that is
// lost flies on, so that the order of events is that of an undisturbed link; its destination is none, and its PSN says why.
func (n *Network) spoil(pi uint32, pk *packet, k uint32) {
	b := &n.ber[pi]
	if n.deaf[pi] > 0 {
		pk.flags |= corrupt
		pk.dst, pk.psn = none, uint32(DropLinkDown)
		return
	}
	if b.strict && n.context.ids != nil && pk.kind() == data && n.context.ids[k] != 0 {
		pk.flags |= corrupt
		pk.dst, pk.psn = none, uint32(DropChecksum)
		return
	}
	if b.silent > 0 && uint64(pk.hash*0x9e3779b1) < b.flows && n.rngs[pi].Uint64()>>11 < b.silent {
		pk.flags |= corrupt
		pk.dst, pk.psn = none, uint32(DropSilent)
		return
	}
	if b.ber == 0 {
		return
	}
	if b.size != pk.size {
		b.size = pk.size
		b.p = uint64(-math.Expm1(float64(pk.size)*8*math.Log1p(-b.ber)) * (1 << 53))
	}
	if n.rngs[pi].Uint64()>>11 < b.p {
		pk.flags |= corrupt
	}
}

// arriveLost is a packet that does not arrive at port q, or not whole. It left through port pi.
func (n *Network) arriveLost(pi, q, k uint32) {
	pk := &n.pool.packets[k]
	if pk.dst != none {
		n.cold[q].crcErrors++
		n.drop(q, k, DropCorrupt)
		return
	}
	why := DropReason(pk.psn)
	if why == DropLinkDown {
		n.cold[pi].wireLost += uint64(pk.size)
	}
	n.drop(pi, k, why)
}

func (n *Network) setBER(pi uint32, ber float64) {
	n.ber[pi].ber, n.ber[pi].size = ber, 0
	n.markDirty(pi)
}

// setStrict makes a port lose the packets that carry a UDP checksum other than 0, as a security group does that knows of RoCEv2 no more than
// that it leaves the checksum out (S0.15). Only the ppcid transport sends any.
func (n *Network) setStrict(pi uint32, on bool) {
	n.ber[pi].strict = on
	n.markDirty(pi)
}

// setLoss makes a port lose a share of the packets of a share of the flows, 0 for all flows.
func (n *Network) setLoss(pi uint32, loss, flows float64) {
	b := &n.ber[pi]
	b.silent, b.flows = uint64(loss*(1<<53)), uint64(flows*(1<<32))
	if flows == 0 {
		b.flows = 1 << 32
	}
	n.markDirty(pi)
}

func (n *Network) markDirty(pi uint32) {
	n.ports[pi].dirty = n.ber[pi].ber > 0 || n.ber[pi].silent > 0 || n.ber[pi].strict || n.deaf[pi] > 0
}

// deafen loses all that leaves a port, what flies included. Pauses sent from there are lost too: one that holds the peer has to be repeated,
// so that it ends.
func (n *Network) deafen(pi uint32) {
	n.deaf[pi]++
	n.markDirty(pi)
	p := &n.ports[pi]
	n.loseFlying(pi, p)
	if n.quanta > 0 {
		return // it runs out
	}
	for prio := range uint8(Priorities) {
		n.setPaused(p.peer, &n.ports[p.peer], prio, false)
	}
	n.kick(p.peer, &n.ports[p.peer])
}

// undeafen ends it. The pauses that still hold are repeated, and so reach the peer again.
func (n *Network) undeafen(pi uint32) {
	n.deaf[pi]--
	n.markDirty(pi)
	if n.deaf[pi] > 0 {
		return
	}
	for prio := range uint8(Priorities) {
		if n.ingress[class(pi, prio)].xoff {
			n.pauses[class(pi, prio)].tx++
			n.sendPause(pi, prio|pauseOn)
		}
	}
}
