package msccl

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Job writes one call of the algorithm out for a fabric: GPU i of the algorithm is GPU i. size is as nccl-tests count it;
// a chunk is a part of Chunks of it. MSCCL goes through the steps again where its buffers are smaller than that; here the
// chunks are larger. The error is a spec.Problems.
//
// A block goes on from a send at once, as MSCCL's does while the connection has buffers, and from a receive when it is there.
func (a *Algorithm) Job(f *fabric.Fabric, size units.Bytes, priority uint8) (*dataflow.Result, error) {
	if size <= 0 || size > 1<<50 {
		a.Report.Wrong(blockOf(a), "the algorithm does not say how much it moves; set size to the bytes of the call, as nccl-tests count them")
		return nil, a.Report.Err()
	}
	if units.Bytes(a.Chunks) > size {
		a.Report.Wrong(blockOf(a), "%s in %d chunks leaves chunks without a byte; set a size of at least %d bytes", size, a.Chunks, a.Chunks)
		return nil, a.Report.Err()
	}
	b := builder{Algorithm: a, chunk: size / units.Bytes(a.Chunks), blocks: map[[2]int]*written{}}
	for i := range a.Blocks {
		b.block(&a.Blocks[i])
	}
	for i := 0; i < len(a.Blocks) && a.Report.OK(); i++ {
		b.depend(&a.Blocks[i])
	}
	if err := a.Report.Err(); err != nil {
		return nil, err
	}
	algorithm := a.Name
	if algorithm == "" {
		algorithm = "msccl"
	}
	r := b.graph.Plan(f, dataflow.Options{
		Span:  workload.Span{Name: a.Collective.String(), Collective: a.Collective, Algorithm: algorithm, Bytes: size},
		Ranks: a.GPUs, Priority: priority,
	}, a.Report)
	return r, a.Report.Err()
}

func blockOf(a *Algorithm) *Block {
	if len(a.Blocks) > 0 {
		return &a.Blocks[0]
	}
	return &Block{}
}

// builder makes steps into nodes.
type builder struct {
	*Algorithm
	graph  dataflow.Graph
	chunk  units.Bytes
	blocks map[[2]int]*written // by GPU and number
}

// written is the nodes of a block, by step: what of the step waits first, and what is over when the step is.
type written struct{ first, last []int32 }

// block writes the steps of a block, each after the one before.
func (b *builder) block(t *Block) {
	key := [2]int{t.GPU, t.ID}
	if b.blocks[key] != nil {
		b.Report.Wrong(t, "GPU %d has a block %d already; write another id", t.GPU, t.ID)
		return
	}
	w := &written{}
	b.blocks[key] = w
	before, sent := int32(-1), false // the step before, and whether it only has to have begun
	add := func(n dataflow.Node) int32 {
		id := b.graph.Add(n)
		switch {
		case before < 0:
		case sent:
			b.graph.WithStart(id, before)
		default:
			b.graph.After(id, before)
		}
		before, sent = id, n.Kind == dataflow.Send
		return id
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		n := dataflow.Node{
			Place: s.Place, Rank: int32(t.GPU), Tag: int64(t.Channel), Channel: uint16(t.Channel), Bytes: units.Bytes(s.Count) * b.chunk,
		}
		first, last := int32(-1), int32(-1)
		if s.Receives {
			n.Kind, n.Peer = dataflow.Recv, int32(t.Recv)
			first = add(n)
			last = first
		}
		if s.Sends {
			n.Kind, n.Peer = dataflow.Send, int32(t.Send)
			id := add(n)
			if first < 0 {
				first, last = id, id
			}
		}
		if first < 0 {
			n.Kind = dataflow.Nothing
			first = add(n)
			last = first
		}
		w.first, w.last = append(w.first, first), append(w.last, last)
	}
}

// depend adds what steps of other blocks of a GPU a block waits for.
func (b *builder) depend(t *Block) {
	own := b.blocks[[2]int{t.GPU, t.ID}]
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.DepBlock < 0 {
			continue
		}
		other := b.blocks[[2]int{t.GPU, s.DepBlock}]
		if other == nil || s.DepStep < 0 || s.DepStep >= len(other.last) {
			b.Report.Wrong(s, "the step depends on step %d of block %d, which GPU %d does not have; write one that it has, or depid -1", s.DepStep, s.DepBlock, t.GPU)
			continue
		}
		on := other.last[s.DepStep]
		if b.graph.Nodes[on].Kind == dataflow.Send { // its chunk is in the buffer of the connection
			b.graph.WithStart(own.first[i], on)
		} else {
			b.graph.After(own.first[i], on)
		}
	}
}
