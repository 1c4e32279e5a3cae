package workload

import (
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// cluster is a fabric of hosts with gpus each.
func cluster(hosts, gpus int) *fabric.Fabric {
	w := fabric.Wire{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: hosts, GPUsPerHost: gpus, Access: w, Trunk: w}.Build()
}

func ranksOf(f *fabric.Fabric) []fabric.GPUID {
	out := make([]fabric.GPUID, len(f.GPUs))
	for i := range out {
		out[i] = fabric.GPUID(i)
	}
	return out
}

// flow carries a plan out at unit cost and follows what every rank holds of every piece: how many times each
// rank's contribution has been added. A send takes what its source holds when it starts and changes the
// destination when it ends; between the two anything else may happen. The only order is that of the plan.
type flow struct {
	t     *testing.T
	plan  *Plan
	carry map[OpID]cargo
	rank  map[fabric.GPUID]int
	hold  []map[int][]uint8  // rank -> piece -> contributions by rank
	start map[OpID][][]uint8 // what an operation takes of each of its pieces
	begun map[OpID]bool
	ended map[OpID]bool
}

// run starts and ends operations in an order drawn from r. At the end of each operation it calls done.
func (x *flow) run(r *rand.Rand, n int, done func(op OpID)) {
	waiting := make([]uint32, len(x.plan.Ops))
	var ready, busy []OpID
	for i := range x.plan.Ops {
		if waiting[i] = x.plan.Dependencies(OpID(i)); waiting[i] == 0 {
			ready = append(ready, OpID(i))
		}
	}
	take := func(list *[]OpID) OpID {
		i := r.IntN(len(*list))
		op := (*list)[i]
		(*list)[i] = (*list)[len(*list)-1]
		*list = (*list)[:len(*list)-1]
		return op
	}
	ended := 0
	for len(ready)+len(busy) > 0 {
		if len(busy) == 0 || len(ready) > 0 && r.IntN(2) == 0 {
			op := take(&ready)
			x.begin(op, n)
			busy = append(busy, op)
			continue
		}
		op := take(&busy)
		if x.plan.Ops[op].Kind == Reduce {
			if !x.sum(op, n) {
				busy = append(busy, op)
				continue // the other members have to begin first
			}
		} else if c, ok := x.carry[op]; ok {
			for p, piece := range x.start[op] {
				to := x.of(x.rank[x.plan.Ops[op].Dst], c.piece+p, n)
				for i, times := range piece {
					if c.reduce {
						times += to[i]
					}
					to[i] = times
				}
			}
			delete(x.start, op)
		}
		x.ended[op] = true
		ended++
		done(op)
		for _, d := range x.plan.Dependants(op) {
			if waiting[d]--; waiting[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
	if ended != len(x.plan.Ops) {
		x.t.Fatalf("%d of %d operations ended: the rest waits for itself", ended, len(x.plan.Ops))
	}
}

// begin takes what an operation's source holds.
func (x *flow) begin(op OpID, n int) {
	x.begun[op] = true
	c, ok := x.carry[op]
	if !ok {
		return
	}
	for p := range max(1, c.count) {
		x.start[op] = append(x.start[op], append([]uint8(nil), x.of(x.rank[x.plan.Ops[op].Src], c.piece+p, n)...))
	}
}

// sum ends a Reduce: the member holds what all members had when they began. It is false while one has not begun.
func (x *flow) sum(op OpID, n int) bool {
	o := &x.plan.Ops[op]
	c := x.carry[op]
	total := make([]uint8, n)
	for other, oc := range x.carry {
		if p := &x.plan.Ops[other]; p.Kind != Reduce || p.Group != o.Group || oc.piece != c.piece {
			continue
		}
		if !x.begun[other] {
			return false
		}
		for i, times := range x.start[other][0] {
			total[i] += times
		}
	}
	copy(x.of(x.rank[o.Dst], c.piece, n), total)
	return true
}

// of is what rank holds of piece. Before anything arrives that is its own contribution.
func (x *flow) of(rank, piece, n int) []uint8 {
	h, ok := x.hold[rank][piece]
	if !ok {
		h = make([]uint8, n)
		h[rank] = 1
		x.hold[rank][piece] = h
	}
	return h
}

// check carries c out in several random orders and looks, at the moment the call is over on a rank, whether
// that rank has what the collective promises.
func check(t *testing.T, f *fabric.Fabric, c Call) {
	t.Helper()
	n := len(c.Ranks)
	b := &Builder{}
	carry := map[OpID]cargo{}
	pieceBytes := map[int]units.Bytes{}
	b.trace = func(op OpID, cg cargo) { carry[op] = cg }
	exits := b.Call(f, c, nil)
	plan := b.Plan()
	var sent units.Bytes
	rank := map[fabric.GPUID]int{}
	for i, g := range c.Ranks {
		rank[g] = i
	}
	sources := map[int]int{}  // alltoall, sendrecv: piece -> its sender
	receiver := map[int]int{} // and its receiver
	for op, cg := range carry {
		o := plan.Ops[op]
		if o.Bytes < 1 || o.Src == o.Dst && o.Kind == Send {
			t.Fatalf("operation %+v", o)
		}
		if o.Kind == Send {
			sent += o.Bytes
		}
		if cg.count > 1 { // its pieces are told apart elsewhere
			continue
		}
		if was, ok := pieceBytes[cg.piece]; ok && was != o.Bytes {
			t.Fatalf("piece %d is %d bytes here and %d there", cg.piece, was, o.Bytes)
		}
		pieceBytes[cg.piece] = o.Bytes
		sources[cg.piece], receiver[cg.piece] = rank[o.Src], rank[o.Dst]
	}
	var whole units.Bytes
	for _, size := range pieceBytes {
		whole += size
	}
	for op, cg := range carry {
		if cg.count > 1 {
			var sum units.Bytes
			for p := range cg.count {
				sum += pieceBytes[cg.piece+p]
			}
			if sum != plan.Ops[op].Bytes {
				t.Fatalf("%v %s: an operation of %d bytes carries pieces of %d", c.Collective, c.Algorithm, plan.Ops[op].Bytes, sum)
			}
		}
	}
	size, peers := max(c.Size, units.Bytes(n)), units.Bytes(n-1)
	wantSent, wantWhole := peers*size, size
	switch c.Collective {
	case AllReduce:
		wantSent = 2 * peers * size
		if c.Algorithm == InNetwork { // what the network adds up is no Send
			hosts := units.Bytes(len(byHost(f, c.Ranks)))
			if wantSent = 0; f.NVLink.Rate > 0 {
				wantSent = 2 * (units.Bytes(n) - hosts) * size
			}
		}
	case AllToAll: // rank j's part goes to it from everybody else: all parts n-1 times
		wantWhole = wantSent
	case SendRecv:
		wantSent, wantWhole = units.Bytes(n)*size, units.Bytes(n)*size
	}
	if sent != wantSent || whole != wantWhole {
		t.Errorf("%v %s of %d over %d ranks: %d bytes sent in pieces of %d, want %d and %d", c.Collective, c.Algorithm, c.Size, n, sent, whole, wantSent, wantWhole)
	}
	for seed := range uint64(4) {
		x := flow{t: t, plan: plan, carry: carry, rank: rank, hold: make([]map[int][]uint8, n), start: map[OpID][][]uint8{}, begun: map[OpID]bool{}, ended: map[OpID]bool{}}
		for i := range x.hold {
			x.hold[i] = map[int][]uint8{}
		}
		waits := map[OpID][]int{}
		for i, e := range exits {
			waits[e] = append(waits[e], i)
		}
		over := 0
		x.run(rand.New(rand.NewPCG(seed, 1)), n, func(op OpID) {
			for _, i := range waits[op] {
				over++
				for piece := range pieceBytes {
					got := x.of(i, piece, n)
					for from, times := range got {
						want := uint8(1)
						switch c.Collective {
						case AllGather, ReduceScatter: // piece belongs to a rank: it starts there, or ends there
							owner := pieceOwner(c, pieceBytes, piece)
							if c.Collective == AllGather && from != owner {
								want = 0
							} else if c.Collective == ReduceScatter && i != owner {
								continue
							}
						case AllToAll, SendRecv:
							if receiver[piece] != i {
								continue
							}
							if want = 0; from == sources[piece] {
								want = 1
							}
						}
						if times != want {
							t.Fatalf("%v %s over %d ranks, seed %d: when rank %d is done it holds %d of rank %d in piece %d, want %d",
								c.Collective, c.Algorithm, n, seed, i, times, from, piece, want)
						}
					}
				}
			}
		})
		if over != n {
			t.Fatalf("the call is over on %d of %d ranks", over, n)
		}
	}
}

// pieceOwner is the rank whose block a ring piece is of: pieces are numbered block by block.
func pieceOwner(c Call, all map[int]units.Bytes, piece int) int {
	return piece / (len(all) / len(c.Ranks))
}

func TestCollectives(t *testing.T) {
	for _, shape := range [][2]int{{2, 1}, {3, 1}, {7, 1}, {8, 1}, {1, 4}, {3, 4}, {4, 2}} {
		f := cluster(shape[0], shape[1])
		ranks := ranksOf(f)
		for _, c := range []Call{
			{Collective: AllReduce, Algorithm: Ring}, {Collective: AllReduce, Algorithm: Tree}, {Collective: AllGather},
			{Collective: ReduceScatter}, {Collective: AllToAll}, {Collective: AllToAll, InFlight: 2}, {Collective: SendRecv},
		} {
			c.Ranks = ranks
			for _, size := range []units.Bytes{1, 1000, 3 * units.MiB} {
				c.Size = size
				check(t, f, c)
			}
			c.Channels, c.Chunks, c.Size = 2, 3, 1_000_003
			check(t, f, c)
		}
		// A communicator may be any GPUs in any order.
		if len(ranks) > 3 {
			some := []fabric.GPUID{ranks[3], ranks[0], ranks[2]}
			check(t, f, Call{Collective: AllReduce, Ranks: some, Size: 4096})
			check(t, f, Call{Collective: AllReduce, Algorithm: Tree, Ranks: some, Size: 4096})
		}
	}
	// Hierarchical calls, with NVLink and without, on hosts of one and of several GPUs.
	for _, shape := range [][2]int{{1, 4}, {2, 1}, {3, 1}, {2, 2}, {3, 4}, {4, 3}} {
		for _, nvlink := range []units.Rate{0, 3600 * units.Gbps} {
			f := cluster(shape[0], shape[1])
			f.NVLink.Rate = nvlink
			for _, alg := range []Algorithm{Hierarchical, InNetwork} {
				c := Call{Collective: AllReduce, Algorithm: alg, Ranks: ranksOf(f)}
				for _, size := range []units.Bytes{1, 1000, 3 * units.MiB, 40 * units.MiB} {
					c.Size = size
					check(t, f, c)
				}
				c.Chunks, c.Size = 3, 1_000_003
				check(t, f, c)
			}
		}
	}
	// Many chunks, more than a connection has slots.
	f := cluster(5, 1)
	check(t, f, Call{Collective: AllReduce, Algorithm: Tree, Ranks: ranksOf(f), Size: 20 * units.MiB, Channels: 1})
	check(t, f, Call{Collective: AllReduce, Algorithm: Ring, Ranks: ranksOf(f), Size: 40 * units.MiB, Channels: 1})
}

// A rank that has not entered neither sends nor receives, and is over no sooner than it entered.
func TestCallWaitsForEntry(t *testing.T) {
	f := cluster(2, 2)
	for _, c := range []Call{
		{Collective: AllReduce, Algorithm: Ring}, {Collective: AllReduce, Algorithm: Tree}, {Collective: AllGather},
		{Collective: ReduceScatter}, {Collective: AllToAll}, {Collective: AllToAll, InFlight: 1}, {Collective: SendRecv},
	} {
		c.Ranks, c.Size = ranksOf(f), 8*units.MiB
		b := &Builder{}
		after := make([][]OpID, 4)
		for i, g := range c.Ranks {
			after[i] = []OpID{b.Add(Op{Kind: Compute, Src: g, Time: 1})}
		}
		exits := b.Call(f, c, after)
		plan := b.Plan()
		for i := range c.Ranks {
			reached := reach(plan, after[i][0])
			for op, o := range plan.Ops {
				if o.Kind == Send && (o.Src == c.Ranks[i] || o.Dst == c.Ranks[i]) && !reached[op] {
					t.Errorf("%v %s: %+v does not wait for rank %d", c.Collective, c.Algorithm, o, i)
				}
			}
			if !reached[exits[i]] {
				t.Errorf("%v %s: rank %d can be over before it entered", c.Collective, c.Algorithm, i)
			}
		}
	}
}

// reach marks what depends on op, however indirectly. Operations follow what they wait for, so one pass is enough.
func reach(p *Plan, op OpID) []bool {
	out := make([]bool, len(p.Ops))
	out[op] = true
	for i := range p.Ops {
		if out[i] {
			for _, d := range p.Dependants(OpID(i)) {
				out[d] = true
			}
		}
	}
	return out
}

// Hosts are passed so that the ring crosses on one rail, at another GPU in each channel.
func TestRingOrder(t *testing.T) {
	f := cluster(4, 4)
	crossings := map[int]int{}
	for ch := range 4 {
		x := call{Call: Call{Ranks: ranksOf(f)}, f: f}
		order := x.ringOrder(ch)
		seen := map[int]bool{}
		for p, i := range order {
			j := order[(p+1)%len(order)]
			seen[i] = true
			if a, b := f.GPUs[i], f.GPUs[j]; a.Host != b.Host {
				if a.Index != b.Index {
					t.Errorf("channel %d crosses from GPU %d to GPU %d", ch, a.Index, b.Index)
				}
				crossings[a.Index]++
			}
		}
		if len(seen) != 16 {
			t.Errorf("channel %d visits %d of 16 ranks", ch, len(seen))
		}
	}
	for g := range 4 {
		if crossings[g] != 4 {
			t.Errorf("GPU %d of a host carries %d crossings, want 4 of 16", g, crossings[g])
		}
	}
}

// A collective uses every NIC of a host in every plane, and does not spread little data over many channels.
func TestDefaultChannels(t *testing.T) {
	w := fabric.Wire{Rate: 200 * units.Gbps, Delay: units.Microsecond}
	two := fabric.DualPlane{Rails: 1, LeavesPerRail: 1, HostsPerLeaf: 3, Spines: 1, Bundle: 1, GPUsPerHost: 4, Access: w, Trunk: w}.Build()
	for _, c := range []struct {
		f    *fabric.Fabric
		call Call
		want int
	}{
		{cluster(3, 4), Call{Collective: AllReduce, Size: units.GiB}, 4},
		{two, Call{Collective: AllReduce, Size: units.GiB}, 8},
		{two, Call{Collective: AllToAll, Size: units.GiB}, 2},
		{two, Call{Collective: AllReduce, Size: 100 * units.KiB}, 3},
		{two, Call{Collective: AllReduce, Size: 8}, 1},
		{two, Call{Collective: AllReduce, Size: 1, Channels: 20}, 1},
	} {
		c.call.Ranks = ranksOf(c.f)
		b := &Builder{}
		b.Call(c.f, c.call, nil)
		channels, messages := map[uint16]bool{}, 0
		for _, o := range b.Plan().Ops {
			if o.Kind == Send {
				channels[o.Channel] = true
				if o.Src == 0 && o.Dst == 1 {
					messages++
				}
			}
		}
		got := len(channels)
		if c.call.Collective == AllToAll { // all messages of a pair go over one connection
			got *= messages
		}
		if got != c.want {
			t.Errorf("%v of %v: %d channels, want %d", c.call.Collective, c.call.Size, got, c.want)
		}
	}
}

// Each tree spans all hosts with at most two children, and no host but one is inner in both.
func TestDoubleTree(t *testing.T) {
	for n := 1; n <= 70; n++ {
		inner := make([]int, n)
		for which := range 2 {
			children := make([]int, n)
			roots := 0
			for h := range n {
				steps := 0
				for at := h; at >= 0; at = treeParent(n, at, which) {
					if steps++; steps > n {
						t.Fatalf("n %d tree %d: host %d never reaches the root", n, which, h)
					}
				}
				if steps > 2+log2(n) {
					t.Errorf("n %d tree %d: host %d lies %d deep", n, which, h, steps)
				}
				if p := treeParent(n, h, which); p >= 0 {
					children[p]++
				} else {
					roots++
				}
			}
			for h, c := range children {
				if c > 2 {
					t.Errorf("n %d tree %d: host %d has %d children", n, which, h, c)
				}
				if c > 0 {
					inner[h]++
				}
			}
			if roots != 1 {
				t.Errorf("n %d tree %d has %d roots", n, which, roots)
			}
		}
		both := 0
		for _, i := range inner {
			if i == 2 {
				both++
			}
		}
		if limit := 1; both > limit && n > 2 {
			t.Errorf("n %d: %d hosts are inner in both trees", n, both)
		}
	}
}

func log2(n int) int {
	l := 0
	for n > 1 {
		n >>= 1
		l++
	}
	return l
}
