package netsim

import (
	"errors"
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Switches can add up what hosts send (SwitchML: Sapio et al., Scaling Distributed Machine Learning with In-Network Aggregation, NSDI 2021;
// SHARP: Graham et al., COM-HPC 2016). The switches between the members of a group form a tree. A host sends its data in chunks, each bound to
// one of Slots slots; a switch adds what its children send for a slot, and when all have, sends the sum to its parent, or at the root to
// all children. The sum of a chunk is the permission to send the next one of its slot, so that no more than Slots chunks are under way. What is
// lost is sent again by the host after a timeout; a switch keeps two versions of every slot, so that the sum of the version before can
// still be told to a child that missed it.
//
// No data is carried. Instead each chunk of each host has a number that a switch adds up with the others, together with how many hosts are in
// it, and whoever gets a sum compares it with what it must be: a contribution that is lost or added twice ends the run with an error.

// toReduction is the destination of packets that the next switch or NIC of a tree takes out of the network.
const toReduction = none - 1

// addend is what such a packet carries besides its size. It lies beside the packets, by their index.
type addend struct {
	seq   uint64 // chunk
	value uint64
	hosts uint32 // hosts in it
}

// valueOf stands for what host id contributes to a chunk.
func valueOf(id uint32, seq uint64) uint64 { return (uint64(id)+1)*fnvPrime + seq }

// sumOf is what n hosts must add up to.
func sumOf(n int, seq uint64) uint64 { return uint64(n)*uint64(n+1)/2*fnvPrime + uint64(n)*seq }

// reduction is one group and its tree.
type reduction struct {
	vertices []vertex
	at       []int32  // by switch: its vertex, -1 for those outside of the tree
	member   []int32  // by endpoint: its worker, -1 for others
	workers  []worker // in the order of the members
}

// vertex is a switch of a tree.
type vertex struct {
	sw       uint32
	up       uint32   // port towards the parent, none at the root
	down     []uint32 // ports towards the children
	child    []int16  // by port of the switch: which child, -1 for none
	slots    []slot   // two versions of each
	seen     []uint64 // a bit for each child, words for each slot
	words    int
	free     []int64 // by child: until when the switch is busy adding what it brings
	restarts uint16
}

// slot is what a switch has of one chunk.
type slot struct {
	seq   uint64 // chunk + 1, 0 for none
	value uint64
	hosts uint32
	count uint32 // children that have sent
	done  bool   // the sum over all hosts is known
}

// buildReductions makes the trees of the groups of the plan.
func (n *Network) buildReductions(c ReductionConfig) error {
	if len(n.plan.Groups) == 0 {
		return nil
	}
	n.addends = []addend{}
	n.slots, n.chunk = uint64(c.Slots), int64(c.Chunk)
	n.addRate, n.convertRate, n.chunkTimeout = c.Rate, c.Convert, int64(c.Timeout)
	n.reductions = make([]reduction, len(n.plan.Groups))
	chunks := make([]uint64, len(n.plan.Groups)) // of the first member
	for i := range n.plan.Ops {
		if op := &n.plan.Ops[i]; op.Kind == workload.Reduce && op.Src == n.plan.Groups[op.Group].Members[0] {
			chunks[op.Group] += n.chunksOf(op.Bytes)
		}
	}
	var errs []error
	for i := range n.plan.Groups {
		if err := n.buildReduction(uint32(i), min(n.slots, max(1, chunks[i]))); err != nil {
			errs = append(errs, fmt.Errorf("netsim: reduction group %d: %w", i, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for i := range n.plan.Ops {
		op := &n.plan.Ops[i]
		if op.Kind != workload.Reduce {
			continue
		}
		r := &n.reductions[op.Group]
		ports := n.f.GPUs[op.Src].NICs
		w := &r.workers[r.member[n.f.Ports[ports[n.plan.Groups[op.Group].Channel%len(ports)]].Endpoint]]
		w.order, w.ready = append(w.order, uint32(i)), append(w.ready, false)
	}
	return nil
}

func (n *Network) chunksOf(b units.Bytes) uint64 { return max(1, uint64((int64(b)+n.chunk-1)/n.chunk)) }

var errNoTree = errors.New("no switch reaches all members over a tree of shortest paths")

// buildReduction makes one tree: of the switches that reach all members with the fewest hops to the farthest, the Channel-th.
func (n *Network) buildReduction(id uint32, slots uint64) error {
	g := &n.plan.Groups[id]
	r := &n.reductions[id]
	r.at, r.member = make([]int32, len(n.switches)), make([]int32, len(n.nics))
	for i := range r.member {
		r.member[i] = -1
	}
	for w, gpu := range g.Members {
		ports := n.f.GPUs[gpu].NICs
		ep := n.f.Ports[ports[g.Channel%len(ports)]].Endpoint
		if r.member[ep] >= 0 {
			return fmt.Errorf("GPUs %d and %d share the NIC port %s", g.Members[r.member[ep]], gpu, n.f.PortName(n.f.Endpoints[ep]))
		}
		r.member[ep] = int32(w)
		r.workers = append(r.workers, newWorker(id, uint32(w), uint32(ep), slots))
	}
	var roots []uint32
	best := -1
	for s := range n.switches {
		d := n.depthFrom(r, uint32(s))
		if d < 0 || best >= 0 && d > best {
			continue
		}
		if d < best || best < 0 {
			best, roots = d, roots[:0]
		}
		roots = append(roots, uint32(s))
	}
	if len(roots) == 0 {
		return errNoTree
	}
	return n.growTree(r, roots[g.Channel%len(roots)], g.Channel, slots)
}

// depthFrom is how many hops the farthest member is away from a switch, -1 where one cannot be reached.
func (n *Network) depthFrom(r *reduction, s uint32) int {
	depth := 0
	for i := range r.workers {
		d, at := 0, n.switches[s].node
		for n.f.Nodes[at].Role != fabric.Host {
			ports := n.f.NextHops(at, int32(r.workers[i].ep))
			if len(ports) == 0 {
				return -1
			}
			at = n.f.Ports[n.f.Ports[ports[0]].Peer].Node
			d++
		}
		depth = max(depth, d)
	}
	return depth
}

// growTree adds the way from the root to every member. Where a switch has several ways it takes one that is in the tree, else one by
// channel.
func (n *Network) growTree(r *reduction, root uint32, channel int, slots uint64) error {
	for i := range r.at {
		r.at[i] = -1
	}
	n.addVertex(r, root, none)
	for i := range r.workers {
		at := int32(0)
		for {
			v := &r.vertices[at]
			ports := n.f.NextHops(n.switches[v.sw].node, int32(r.workers[i].ep))
			out := uint32(ports[channel%len(ports)])
			for _, p := range ports {
				if v.childOf(n, uint32(p)) >= 0 {
					out = uint32(p)
					break
				}
			}
			peer := &n.ports[n.ports[out].peer]
			known := v.childOf(n, out) >= 0
			if !known {
				v.child[n.offset(v.sw, out)] = int16(len(v.down))
				v.down = append(v.down, out)
			}
			if peer.host {
				break
			}
			if !known {
				if r.at[peer.node] >= 0 {
					return errNoTree
				}
				n.addVertex(r, peer.node, n.ports[out].peer)
			}
			at = r.at[peer.node]
		}
	}
	for i := range r.vertices {
		v := &r.vertices[i]
		v.words = (len(v.down) + 63) / 64
		v.slots, v.seen = make([]slot, 2*slots), make([]uint64, 2*int(slots)*v.words)
		v.free = make([]int64, len(v.down))
	}
	return nil
}

func (n *Network) addVertex(r *reduction, s, up uint32) {
	v := vertex{sw: s, up: up, child: make([]int16, n.f.Nodes[n.switches[s].node].NumPorts)}
	for i := range v.child {
		v.child[i] = -1
	}
	r.at[s] = int32(len(r.vertices))
	r.vertices = append(r.vertices, v)
}

// offset is the place of a port among those of its switch.
func (n *Network) offset(s, p uint32) uint32 {
	return p - uint32(n.f.Nodes[n.switches[s].node].FirstPort)
}

// childOf is which child is behind port p, -1 for none.
func (v *vertex) childOf(n *Network, p uint32) int { return int(v.child[n.offset(v.sw, p)]) }
