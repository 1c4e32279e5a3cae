package netsim

import (
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// How far packets overtake each other is known to a simulator alone: no adapter counts it. It belongs to the truth of a run and
// must not reach a diagnosis.

// reordering is what one NIC saw of it. Packets that were sent again are late by nature and not counted.
type reordering struct {
	late     uint64
	most     uint64
	span     uint64
	held     int // packets beyond gaps now, over all QPs
	heldPeak int
	distance [distances]uint64
}

// distances is the number of classes of distance: 1 to 15 exact, then four to each power of two, up to 2^24.
const distances = 16 + 20*4

func distanceClass(d uint64) int {
	if d < 16 {
		return int(d)
	}
	top := bits.Len64(d) - 1
	return min(16+(top-4)*4+int(d>>(top-2)&3), distances-1)
}

// classLimit is the largest distance of a class.
func classLimit(class int) uint64 {
	if class < 16 {
		return uint64(class)
	}
	top := (class-16)/4 + 4
	return uint64((class-16)%4+5)<<(top-2) - 1
}

// overtaken counts a packet that is behind the newest of its QP by d packets.
func (r *reordering) overtaken(d uint64) {
	r.late++
	r.most = max(r.most, d)
	r.distance[distanceClass(d)]++
}

// hold counts a packet that is taken beyond a gap; span is how far it lies from the expected one.
func (r *reordering) hold(span uint64) {
	r.held++
	r.heldPeak = max(r.heldPeak, r.held)
	r.span = max(r.span, span)
}

// Reordering is how far packets of a QP overtook each other before they arrived, at one NIC or over all of them. A packet's distance is
// how many sequence numbers it is behind the newest that has arrived of its QP. Only the simulator knows it: it is truth, and no
// telemetry.
type Reordering struct {
	Late                uint64 // packets that something sent after them had overtaken
	Max, P50, P99, P999 uint64 // distances of the late ones; percentiles at most a quarter too large
	// HeldPeak is the most payload that had arrived beyond a gap at one moment, at the NIC where it was most: what a reorder
	// buffer would have to hold.
	HeldPeak units.Bytes
	// Span is the farthest that a packet was taken from the expected one: a receiver needs as many bits of state for each QP.
	Span uint64
}

// StateBytes is the size of the bitmap that a receiver needs for each QP to tell what has arrived.
func (r Reordering) StateBytes() units.Bytes { return units.Bytes(r.Span+7) / 8 }

// Reordering tells what the NIC at endpoint ep saw.
func (n *Network) Reordering(ep int32) Reordering { return n.reorderingOf(n.reordering[ep : ep+1]) }

func (n *Network) reorderingOf(nics []reordering) Reordering {
	var sum reordering
	var out Reordering
	for i := range nics {
		r := &nics[i]
		out.Late += r.late
		out.Max = max(out.Max, r.most)
		out.Span = max(out.Span, r.span)
		out.HeldPeak = max(out.HeldPeak, units.Bytes(r.heldPeak)*units.Bytes(n.mtu))
		for c, count := range r.distance {
			sum.distance[c] += count
		}
	}
	at := func(perMille uint64) uint64 {
		need, seen := (out.Late*perMille+999)/1000, uint64(0)
		for c, count := range sum.distance {
			if seen += count; seen >= need && count > 0 {
				return min(classLimit(c), out.Max)
			}
		}
		return 0
	}
	out.P50, out.P99, out.P999 = at(500), at(990), at(999)
	return out
}
