package workload

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Algorithm is how a collective is carried out.
type Algorithm string

// Algorithms, under NCCL's names where NCCL has one.
const (
	Ring   Algorithm = "ring"   // all_reduce, all_gather, reduce_scatter
	Tree   Algorithm = "tree"   // all_reduce: double binary tree
	Direct Algorithm = "direct" // alltoall, sendrecv: every pair on its own

	Hierarchical Algorithm = "hierarchical" // all_reduce: within hosts over NVLink, a ring on every rail, within hosts again
	NVLS         Algorithm = "nvls"         // all_reduce: as hierarchical, with NVSwitches that add up and multicast, and a tree on every rail
	InNetwork    Algorithm = "in-network"   // all_reduce: as hierarchical, with the switches of the network adding up
	Auto         Algorithm = "auto"         // what NCCL would take for the size
)

// Choices lists the algorithms.
func (Algorithm) Choices() []string {
	return []string{string(Ring), string(Tree), string(Direct), string(Hierarchical), string(NVLS), string(InNetwork), string(Auto)}
}

// algorithms lists what each collective can be carried out by, its default first.
var algorithms = [...][]Algorithm{
	AllReduce: {Ring, Tree, Hierarchical, NVLS, InNetwork, Auto}, AllGather: {Ring, Auto}, ReduceScatter: {Ring, Auto},
	AllToAll: {Direct}, SendRecv: {Direct},
}

// Call is one call of a collective by all ranks of a communicator.
type Call struct {
	Collective Collective
	Algorithm  Algorithm // empty: the default of the collective; ring where the ranks do not suit it
	Protocol   Protocol  // empty: simple; auto chooses it too
	Ranks      []fabric.GPUID
	// Size is what nccl-tests prints as size: the bytes of the buffer of a rank for all_reduce and sendrecv, of the
	// receive buffer for all_gather, of the send buffer for reduce_scatter and alltoall. Less than a byte a rank
	// counts as a byte a rank.
	Size units.Bytes
	// Channels are parallel rings or tree pairs. alltoall and sendrecv cut what a pair exchanges into as many messages, and
	// put those of all planes on one connection, whose QPs take the planes in turn. 0: for rings and trees one for each
	// GPU of a host and plane, else one for each plane; fewer for a small Size.
	Channels int
	Chunks   int // pieces that a rank's share of a channel is cut into; 0: as many as NCCL's buffers make
	InFlight int // alltoall: peers a rank exchanges with at once; 0: all
	Priority uint8
	// Comm separates communicators: calls of different ones share no connection. A communicator takes the channel numbers
	// from Comm on.
	Comm   uint16
	Name   string
	Step   int
	Warmup bool
}

// Sizes that NCCL cuts data by, for its Simple protocol.
const (
	// stepBytes is one of the NCCL_STEPS (8) slots of a connection's buffer of 4 MiB (DEFAULT_BUFFSIZE, NCCL_BUFFSIZE).
	stepBytes = 512 * units.KiB
	// chunkBytes is what a ring hands on at once: ALLREDUCE_CHUNKSTEPS, NCCL_STEPS/2 slots. It goes in slicesPerChunk
	// slices, of ALLREDUCE_SLICESTEPS slots each, so that a rank forwards one while it receives the other.
	chunkBytes     = 4 * stepBytes
	slicesPerChunk = 2
	// leastSlice is the smallest slice: a 32nd of a full one (prims_simple.h).
	leastSlice = chunkBytes / slicesPerChunk / 32
	// leastChannel is the least a channel carries before fewer channels are used: NCCL_SIMPLE_THREAD_THRESHOLD (64)
	// bytes for each of 512 threads.
	leastChannel = 64 * 512
	// treeSlots is how many chunks of stepBytes a connection buffers before its sender waits: NCCL_STEPS.
	treeSlots = 8
)

// MaxChannels bounds Call.Channels: NCCL's MAXCHANNELS is 64, and the blocks of channel numbers of the communicators of
// a training step are this wide.
const MaxChannels = 64

// Call adds the operations of c. Rank i enters when the operations after[i] are done; after may be nil. It returns,
// for each rank, the operation at whose end the call is over on that rank.
func (b *Builder) Call(f *fabric.Fabric, c Call, after [][]OpID) []OpID {
	c = c.withDefaults(f)
	x := call{Call: c, b: b, f: f, after: after, exits: make([][]OpID, len(c.Ranks))}
	x.span = b.Span(Span{
		Name: c.Name, Collective: c.Collective, Algorithm: string(c.Algorithm), Protocol: string(c.Protocol), Bytes: c.Size,
		Ranks: len(c.Ranks), Step: c.Step, Warmup: c.Warmup,
	})
	switch {
	case len(c.Ranks) < 2:
		// Alone, a rank has nothing to say and is done at once.
	case c.Algorithm == Tree:
		x.trees()
	case c.Algorithm == Hierarchical || c.Algorithm == NVLS || c.Algorithm == InNetwork:
		x.hierarchical()
	case c.Collective == AllToAll:
		x.allToAll()
	case c.Collective == SendRecv:
		x.sendRecv()
	default:
		x.rings()
	}
	return x.join()
}

func (c Call) withDefaults(f *fabric.Fabric) Call {
	n := len(c.Ranks)
	c.Size = max(c.Size, units.Bytes(n))
	if c.Algorithm == "" {
		c.Algorithm = algorithms[c.Collective][0]
	}
	if c.Name == "" {
		c.Name = c.Collective.String()
	}
	if c.Algorithm == Auto && n > 1 {
		c.Algorithm, c.Protocol = c.tuned(f)
	}
	if c.Algorithm == Auto || c.fits(f) != "" {
		c.Algorithm = Ring
	}
	if c.Protocol == "" {
		c.Protocol = Simple
	}
	if c.Channels == 0 {
		c.Channels = 1
		if c.Algorithm != Direct {
			for _, host := range byHost(f, c.Ranks) {
				c.Channels = max(c.Channels, len(host))
			}
		}
		c.Channels = max(1, min(c.Channels*f.Planes, int(c.Size/leastChannel)))
	}
	c.Channels = min(c.Channels, MaxChannels, int(c.Size)/n) // every piece has a byte
	return c
}

// call is a Call being written out.
type call struct {
	Call
	b     *Builder
	f     *fabric.Fabric
	span  SpanID
	after [][]OpID
	exits [][]OpID // by rank: what must be done before the call is over there
	base  int      // number of the first piece of data
}

// send adds a transfer from rank i to rank j.
func (x *call) send(i, j int, channel int, bytes units.Bytes, piece int, reduce bool) OpID {
	op := x.b.Add(Op{
		Kind: Send, Priority: x.Priority, Channel: x.Comm + uint16(channel), Span: x.span,
		Src: x.Ranks[i], Dst: x.Ranks[j], Bytes: x.Protocol.onWire(bytes),
	})
	if x.b.trace != nil {
		x.b.trace(op, cargo{span: x.span, piece: x.base + piece, reduce: reduce})
	}
	return op
}

// enter makes op wait until ranks i and j have entered: a receiver posts its buffers when it calls, and the
// sender's proxy waits for them.
func (x *call) enter(op OpID, i, j int) {
	if x.after == nil {
		return
	}
	x.b.afterAll(op, x.after[i])
	x.b.afterAll(op, x.after[j])
}

// join gives every rank one operation that ends the call there.
func (x *call) join() []OpID {
	out := make([]OpID, len(x.Ranks))
	for i, exits := range x.exits {
		if len(exits) == 1 {
			out[i] = exits[0]
			continue
		}
		out[i] = x.b.join(x.span, x.Ranks[i], exits)
		if len(exits) == 0 && x.after != nil {
			x.b.afterAll(out[i], x.after[i])
		}
	}
	return out
}

func (b *Builder) afterAll(op OpID, deps []OpID) {
	for _, d := range deps {
		b.After(op, d)
	}
}

// share is the i-th of n parts of size; the parts differ by at most a byte and add up to size.
func share(size units.Bytes, n, i int) units.Bytes {
	q, r := size/units.Bytes(n), size%units.Bytes(n)
	if units.Bytes(i) < r {
		return q + 1
	}
	return q
}

// pieces is into how many parts of at most most bytes size is cut; at least 1.
func pieces(size, most units.Bytes) int { return max(1, int((size+most-1)/most)) }

// byHost groups rank numbers whose GPUs follow each other on one host.
func byHost(f *fabric.Fabric, ranks []fabric.GPUID) [][]int {
	var hosts [][]int
	for i, g := range ranks {
		if i == 0 || f.GPUs[g].Host != f.GPUs[ranks[i-1]].Host {
			hosts = append(hosts, nil)
		}
		last := len(hosts) - 1
		hosts[last] = append(hosts[last], i)
	}
	return hosts
}
