package workload

import (
	"encoding/binary"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// A hierarchical all_reduce keeps what it can inside the hosts: the GPUs of a host add up among themselves, so that each ends with a shard
// of the sum of its host; the GPUs with the same place in their hosts, which share a rail, add up their shards over the network; and the
// GPUs of a host hand the results out among themselves. Each NIC then carries 2(H-1)/H of a g-th of the data, for H hosts of g GPUs, as in
// the ring, in 2(H-1) steps instead of 2(gH-1).
//
// The middle step is a ring (hierarchical), a double tree (nvls, as NCCL's NVLSTree) or a reduction in the switches (in-network). Inside a
// host every pair exchanges its shards over NVLink, or with nvls the NVSwitch adds up and multicasts.

// hierarchyPieces is into how many pieces a hierarchical call is cut at most, so that one travels the network while the next one is added up in
// the hosts. It is our choice: what is left unhidden is then a sixteenth.
const hierarchyPieces = 16

// nvlsEfficiency is the share of the NVLink rate that NVLS reaches on Hopper; on Blackwell it is 0.74 (NCCL from 2.23 on, src/graph/tuning.cc).
const nvlsEfficiency = 0.85

// fits tells why a call cannot be carried out by its algorithm on a fabric; empty when it can.
func (c Call) fits(f *fabric.Fabric) string {
	hosts := byHost(f, c.Ranks)
	switch c.Algorithm {
	case Hierarchical, NVLS, InNetwork:
	default:
		return ""
	}
	seen := make(map[fabric.NodeID]bool, len(hosts)) // only looked up
	for _, h := range hosts {
		host := f.GPUs[c.Ranks[h[0]]].Host
		switch {
		case len(h) != len(hosts[0]):
			return "the hosts have different numbers of ranks; give each as many"
		case seen[host]:
			return "the ranks of a host do not follow each other; list them host by host"
		}
		seen[host] = true
	}
	if c.Algorithm == NVLS && (f.NVLink.Rate == 0 || len(hosts[0]) < 2) {
		return "it needs two ranks a host and NVLink between them; add nvlink to the fabric"
	}
	return ""
}

// hierarchy is a hierarchical call being written out.
type hierarchy struct {
	*call
	hosts [][]int // rank numbers by host
	of    []int   // host of each rank
	rail  []int   // place of each rank in its host
}

// hierarchical writes out all pieces.
func (x *call) hierarchical() {
	h := hierarchy{call: x, hosts: byHost(x.f, x.Ranks), of: make([]int, len(x.Ranks)), rail: make([]int, len(x.Ranks))}
	for i, host := range h.hosts {
		for j, r := range host {
			h.of[r], h.rail[r] = i, j
		}
	}
	g := len(h.hosts[0])
	if x.Algorithm == InNetwork && x.f.NVLink.Rate == 0 { // nothing is to be gained inside the hosts
		h.hosts, g = nil, 1
		for r := range x.Ranks {
			h.hosts = append(h.hosts, []int{r})
			h.of[r], h.rail[r] = r, 0
		}
	}
	cut := x.hierarchyCut(g, len(h.hosts))
	base := 0
	for i := range cut {
		base = h.piece(share(x.Size, cut, i), base)
	}
}

// hierarchyCut is into how many pieces a call is cut: as long as each ring step is a slot of NCCL's buffers, and every shard of every piece has a
// byte for every rank.
func (c *Call) hierarchyCut(g, hosts int) int {
	cut := c.Chunks
	if cut == 0 {
		cut = min(hierarchyPieces, int(c.Size/(units.Bytes(g*hosts)*stepBytes)))
	}
	return max(1, min(cut, int(c.Size)/(g*hosts)))
}

// piece writes out one piece: add up within hosts, over rails, hand out. base is the number of its first piece of data.
func (h *hierarchy) piece(size units.Bytes, base int) (next int) {
	g := len(h.hosts[0])
	shards := make([]rail, g)
	for s := range shards {
		shards[s] = h.newRail(s, share(size, g, s), base)
		base += shards[s].count
	}
	ready := make([][]OpID, len(h.Ranks)) // by rank: what its shard of the sum of its host waits for
	for _, host := range h.hosts {
		h.within(host, shards, ready, true)
	}
	for s := range shards {
		h.across(&shards[s], ready)
	}
	for _, host := range h.hosts {
		h.within(host, shards, ready, false)
	}
	return base
}

// rail is the shard of a piece that the GPUs at one place of their hosts add up, and who they are.
type rail struct {
	ranks       []int
	size        units.Bytes
	base, count int // pieces of data in it
	call        Call
}

func (h *hierarchy) newRail(s int, size units.Bytes, base int) rail {
	r := rail{size: size, base: base, count: 1}
	for _, host := range h.hosts {
		r.ranks = append(r.ranks, host[s])
	}
	gpus := make([]fabric.GPUID, len(r.ranks))
	for i, rank := range r.ranks {
		gpus[i] = h.Ranks[rank]
	}
	r.call = Call{Collective: AllReduce, Algorithm: Ring, Ranks: gpus, Size: size, Channels: h.f.Planes, Chunks: 1, Priority: h.Priority, Comm: h.Comm}
	switch {
	case len(gpus) < 2:
		return r
	case h.Algorithm == InNetwork:
		r.count = h.planesOf(size)
		return r
	case h.Algorithm == NVLS:
		r.call.Algorithm, r.call.Chunks = Tree, 0
	}
	r.call = r.call.withDefaults(h.f)
	r.count = r.call.piecesOfData()
	return r
}

// piecesOfData is how many pieces of data an all_reduce numbers.
func (c Call) piecesOfData() int {
	if c.Algorithm == Tree {
		most := 0
		for ch := range c.Channels {
			for which := range 2 {
				chunks, _ := c.TreeCut(ch, which)
				most = max(most, chunks)
			}
		}
		return 2 * c.Channels * most
	}
	chunks, slices, _ := c.RingCut()
	return len(c.Ranks) * c.Channels * chunks * slices
}

// planesOf is over how many planes a reduction of size goes.
func (h *hierarchy) planesOf(size units.Bytes) int { return max(1, min(h.f.Planes, int(size))) }

// within adds up among the ranks of a host, each the shard of its place, or hands the shards out again.
func (h *hierarchy) within(host []int, shards []rail, ready [][]OpID, reduce bool) {
	switch {
	case len(host) == 1 && reduce:
		if h.after != nil {
			ready[host[0]] = h.after[host[0]]
		}
	case len(host) == 1:
		h.exits[host[0]] = append(h.exits[host[0]], ready[host[0]]...)
	case h.Algorithm == NVLS:
		h.byNVSwitch(host, shards, ready, reduce)
	default:
		h.byPairs(host, shards, ready, reduce)
	}
}

// byPairs exchanges shards directly: g(g-1) transfers over NVLink.
func (h *hierarchy) byPairs(host []int, shards []rail, ready [][]OpID, reduce bool) {
	done := make([][]OpID, len(host))
	for d := 1; d < len(host); d++ { // so that no two begin with the same receiver
		for i, from := range host {
			j := (i + d) % len(host)
			s := j // the shard that the receiver adds up
			if !reduce {
				s = i
			}
			op := h.transfer(from, host[j], &shards[s], reduce)
			if reduce {
				h.enter(op, from, host[j])
			} else {
				h.b.afterAll(op, ready[from])
			}
			done[j] = append(done[j], op)
		}
	}
	for j, r := range host {
		if reduce {
			ready[r] = done[j]
		} else {
			h.exits[r] = append(append(h.exits[r], done[j]...), ready[r]...)
		}
	}
}

// byNVSwitch is reduction and multicast in the NVSwitch: to be added up, the whole piece leaves every GPU once; to be handed out, a shard does, and
// the others come in. The switch is no GPU, so the transfers are written as to the next GPU.
func (h *hierarchy) byNVSwitch(host []int, shards []rail, ready [][]OpID, reduce bool) {
	var done []OpID
	var whole units.Bytes
	for s := range shards {
		whole += shards[s].size
	}
	for i, from := range host {
		size := shards[i].size
		if reduce {
			size = whole
		}
		op := h.b.Add(Op{
			Kind: Send, Priority: h.Priority, Span: h.span, Src: h.Ranks[from], Dst: h.Ranks[host[(i+1)%len(host)]], Bytes: size,
			Rate: units.Rate(nvlsEfficiency * float64(h.f.NVLink.Rate)),
		})
		if reduce {
			h.enter(op, from, host[(i+1)%len(host)])
		} else {
			h.b.afterAll(op, ready[from])
		}
		done = append(done, op)
	}
	over := []OpID{h.b.join(h.span, h.Ranks[host[0]], done)}
	for _, r := range host {
		if reduce {
			ready[r] = over
		} else {
			h.exits[r] = append(h.exits[r], over...)
		}
	}
}

// transfer moves a shard within a host.
func (h *hierarchy) transfer(from, to int, s *rail, reduce bool) OpID {
	op := h.b.Add(Op{
		Kind: Send, Priority: h.Priority, Channel: h.Comm, Span: h.span, Src: h.Ranks[from], Dst: h.Ranks[to], Bytes: s.size,
	})
	if h.b.trace != nil {
		h.b.trace(op, cargo{span: h.span, piece: s.base, count: s.count, reduce: reduce})
	}
	return op
}

// across adds a shard up over its rail. Afterwards ready is what the sum waits for.
func (h *hierarchy) across(r *rail, ready [][]OpID) {
	if len(r.ranks) < 2 {
		return
	}
	after := make([][]OpID, len(r.ranks))
	for i, rank := range r.ranks {
		after[i] = ready[rank]
	}
	if h.Algorithm == InNetwork {
		for i, rank := range r.ranks {
			ready[rank] = h.reduceAt(r, i, after[i])
		}
		return
	}
	if h.after == nil && len(h.hosts[0]) == 1 {
		after = nil
	}
	y := call{Call: r.call, b: h.b, f: h.f, span: h.span, after: after, exits: make([][]OpID, len(r.ranks)), base: r.base}
	if r.call.Algorithm == Tree {
		y.trees()
	} else {
		y.rings()
	}
	for i, rank := range r.ranks {
		ready[rank] = y.exits[i]
	}
}

// reduceAt adds the part that the i-th rank of a rail has in its reduction, one operation for each plane.
func (h *hierarchy) reduceAt(r *rail, i int, after []OpID) (done []OpID) {
	for plane := range r.count {
		gpu := r.call.Ranks[i]
		op := h.b.Add(Op{
			Kind: Reduce, Priority: h.Priority, Span: h.span, Src: gpu, Dst: gpu, Group: h.b.groupOf(r.call.Ranks, plane),
			Bytes: share(r.size, r.count, plane),
		}, after...)
		if h.b.trace != nil {
			h.b.trace(op, cargo{span: h.span, piece: r.base + plane, reduce: true})
		}
		done = append(done, op)
	}
	return done
}

// groupOf is the group of members on a plane; calls of the same communicator share it.
func (b *Builder) groupOf(members []fabric.GPUID, channel int) GroupID {
	key := binary.AppendUvarint(nil, uint64(channel))
	for _, m := range members {
		key = binary.AppendUvarint(key, uint64(m))
	}
	if id, ok := b.groups[string(key)]; ok {
		return id
	}
	if b.groups == nil {
		b.groups = map[string]GroupID{}
	}
	id := b.Group(Group{Members: members, Channel: channel})
	b.groups[string(key)] = id
	return id
}

// hierarchyOps is at most how many operations a hierarchical call makes.
func (c Call) hierarchyOps(f *fabric.Fabric) int64 {
	hosts := byHost(f, c.Ranks)
	g, n := int64(len(hosts[0])), int64(len(hosts))
	cut := int64(c.hierarchyCut(int(g), int(n)))
	rail := Call{Collective: AllReduce, Algorithm: Ring, Ranks: c.Ranks[:n], Size: max(1, c.Size/units.Bytes(cut*g)), Channels: f.Planes, Chunks: 1}
	if c.Algorithm == NVLS {
		rail.Algorithm, rail.Chunks = Tree, 0
	}
	across := int64(f.Planes) * n
	if c.Algorithm != InNetwork {
		across = rail.ops(f)
	}
	return cut*(2*n*(g*g+1)+g*across) + g*n
}
