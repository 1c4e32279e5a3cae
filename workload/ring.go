package workload

// A ring moves the block of every rank once around: n-1 steps add up (reduce_scatter), n-1 steps hand out
// (all_gather), and all_reduce is the one after the other: 2(n-1) steps of 1/n of the data. Each channel is a
// ring of its own with its share of every block. Within a channel NCCL's kernel works chunk after chunk, and each
// chunk as two slices that follow each other closely, so that sending one overlaps receiving the other.

// rings writes out all channels.
func (x *call) rings() {
	n := len(x.Ranks)
	for ch := range x.Channels {
		order := x.ringOrder(ch)
		block := share(share(x.Size, n, n-1), x.Channels, x.Channels-1)
		chunks, slices := x.ringCut(block)
		var before [][]OpID // by position: the receipts of the chunk before
		for chunk := range chunks {
			ends := make([][]OpID, n)
			for slice := range slices {
				first := x.around(ch, order, before, ends, ringPiece{chunks * slices, chunk*slices + slice})
				// A rank's first send of a chunk waits for its receipts of the chunk before, so that with it the exits
				// cover all chunks.
				if slice == 0 && chunk > 0 && chunk == chunks-1 {
					for p, rank := range order {
						x.exits[rank] = append(x.exits[rank], first[p])
					}
				}
			}
			before = ends
		}
		for p, rank := range order {
			x.exits[rank] = append(x.exits[rank], before[p]...)
		}
	}
}

// ringPiece is the i-th of n parts of a channel's share of each block.
type ringPiece struct{ n, i int }

// around sends one piece of every block around the ring. It adds each position's receipts to ends and returns each
// position's first send. Every receipt is an end of its own: messages of a connection may go over several QPs, so
// that the last one to leave need not be the last to arrive.
func (x *call) around(ch int, order []int, before, ends [][]OpID, piece ringPiece) (first []OpID) {
	n := len(order)
	reduceSteps, gatherSteps := 0, 0
	if x.Collective != AllGather {
		reduceSteps = n - 1
	}
	if x.Collective != ReduceScatter {
		gatherSteps = n - 1
	}
	first = make([]OpID, n)
	var last []OpID // by position: its receipt in the step before
	for step := range reduceSteps + gatherSteps {
		now := make([]OpID, n)
		for p, rank := range order {
			// Position p ends the reduction with the block of its own rank, having sent the others' before.
			at, reduce := p-1-step, step < reduceSteps
			if !reduce {
				at = p - (step - reduceSteps)
			}
			owner := order[(at%n+n)%n]
			to := (p + 1) % n
			bytes := share(share(share(x.Size, n, owner), x.Channels, ch), piece.n, piece.i)
			op := x.send(rank, order[to], ch, bytes, (owner*x.Channels+ch)*piece.n+piece.i, reduce)
			switch {
			case step > 0:
				x.b.After(op, last[p])
				if before == nil && x.after != nil {
					x.b.afterAll(op, x.after[order[to]])
				}
			case before != nil:
				x.b.afterAll(op, before[p])
			default:
				x.enter(op, rank, order[to])
			}
			if step == 0 {
				first[p] = op
			}
			now[to] = op
			ends[to] = append(ends[to], op)
		}
		last = now
	}
	return first
}

// ringOrder is the order of the ranks in the ring of channel ch. The ring enters a host once and leaves it once, at
// GPUs that differ from channel to channel, so that the channels together use every NIC. Every second host is
// passed backwards, which makes the ring leave one host and enter the next at the same GPU index: it stays on a
// rail (NCCL's alternating rings, NCCL_CROSS_NIC=2). Over an odd number of hosts one crossing changes rail.
func (x *call) ringOrder(ch int) []int {
	var order []int
	for h, host := range byHost(x.f, x.Ranks) {
		g := len(host)
		for i := range g {
			at := ch + i
			if h%2 == 1 {
				at = ch + g - 1 - i
			}
			order = append(order, host[at%g])
		}
	}
	return order
}
