package workload

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// A ring over 10^5 GPUs is 10^11 sends, which nobody writes out. What follows is the shape of a call without its operations,
// for whoever works its time out otherwise (flowsim). Call writes out the very same.

// Resolved is c with everything it leaves open filled in for a fabric.
func (c Call) Resolved(f *fabric.Fabric) Call { return c.withDefaults(f) }

// Ops is at most how many operations the call is when it is written out.
func (c Call) Ops(f *fabric.Fabric) int64 { return c.ops(f) }

// RingOrder is the order of the rank numbers in the ring of a channel.
func (c Call) RingOrder(f *fabric.Fabric, channel int) []int {
	return (&call{Call: c, f: f}).ringOrder(channel)
}

// RingCut is how a ring's share of every rank's block is cut: into chunks that follow each other, of slices that overlap; each slice
// is of at most the given size on the wire.
func (c Call) RingCut() (chunks, slices int, slice units.Bytes) {
	n := len(c.Ranks)
	block := share(share(c.Size, n, n-1), c.Channels, c.Channels-1)
	chunks, slices = c.ringCut(block)
	most := share(share(c.Size, n, 0), c.Channels, 0)
	return chunks, slices, c.Protocol.onWire(share(most, chunks*slices, 0))
}

// ringCut is how a block is cut. The cut is the same for all blocks, by the smallest, so that every piece exists in every block.
func (c *Call) ringCut(block units.Bytes) (chunks, slices int) {
	chunks = c.Chunks
	if chunks == 0 {
		chunks = pieces(block, chunkBytes)
	}
	chunks = min(chunks, int(block))
	slices = 1
	if block/units.Bytes(chunks) >= 2*leastSlice {
		slices = slicesPerChunk
	}
	return chunks, slices
}

// RingSteps is how many steps a ring makes: n-1 to add up, n-1 to hand out.
func (c Call) RingSteps() int {
	steps := len(c.Ranks) - 1
	if c.Collective == AllReduce {
		steps *= 2
	}
	return steps
}

// Tree gives every rank number its parent in one of the two trees of a channel, -1 for the root, and the rank numbers in an order
// that has parents first.
func (c Call) Tree(f *fabric.Fabric, channel, which int) (up, order []int) {
	return (&call{Call: c, f: f}).treeOf(channel, which)
}

// TreeCut is how the half of a channel's data that one tree carries is cut: chunks of at most the given size on the wire, 0 where the tree has
// nothing to carry.
func (c Call) TreeCut(channel, which int) (chunks int, chunk units.Bytes) {
	bytes := share(c.Size, c.Channels, channel)
	half := share(bytes, 2, 0)
	if which == 1 {
		half = bytes - half
	}
	if half == 0 {
		return 0, 0
	}
	if chunks = c.Chunks; chunks == 0 {
		chunks = pieces(half, stepBytes)
	}
	chunks = min(chunks, int(half))
	return chunks, c.Protocol.onWire(share(half, chunks, 0))
}

// Part is the most that one rank sends another in an alltoall, all messages together.
func (c Call) Part() units.Bytes { return share(c.Size, len(c.Ranks), 0) }
