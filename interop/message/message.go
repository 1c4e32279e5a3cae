package message

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Message is one message as a file gives it.
type Message struct {
	Src, Dst fabric.GPUID
	Bytes    units.Bytes
	At       units.Duration // earliest start
	Priority uint8
	Channel  uint16 // messages of equal Src, Dst, Channel and Priority share a connection and keep their order
	Span     workload.SpanID
}

// Writer adds messages to a plan.
type Writer struct {
	*workload.Builder
	Fabric *fabric.Fabric

	channels map[pair]uint32
	ops      int
}

type pair struct{ src, dst fabric.GPUID }

// NewWriter starts a plan on f.
func NewWriter(f *fabric.Fabric) *Writer {
	return &Writer{Builder: &workload.Builder{}, Fabric: f, channels: map[pair]uint32{}}
}

// maxChannels is how many connections of one pair are kept apart: Op.Channel is 16 bits wide.
const maxChannels = 1 << 16

// Connection is the channel of a new connection from src to dst: a flow that shares its path with no other. The
// 65537th of a pair is the first again.
func (w *Writer) Connection(src, dst fabric.GPUID) uint16 {
	n := w.channels[pair{src, dst}]
	w.channels[pair{src, dst}] = n + 1
	return uint16(n % maxChannels)
}

// Room tells whether n more operations fit into a plan, together with those that are in it.
func (w *Writer) Room(n int) bool { return w.ops+n <= workload.MaxOps }

// Add appends an operation, as workload.Builder does, and counts it.
func (w *Writer) Add(op workload.Op, after ...workload.OpID) workload.OpID {
	id := w.Builder.Add(op, after...)
	w.ops = int(id) + 1 // operations are numbered from 0, those of Call too
	return id
}

// Join adds an operation on a GPU that is done as soon as all it waits for is.
func (w *Writer) Join(span workload.SpanID, gpu fabric.GPUID, after ...workload.OpID) workload.OpID {
	return w.Add(workload.Op{Kind: workload.Join, Span: span, Src: gpu, Dst: gpu}, after...)
}

// Send adds a message that waits for the given operations. It begins with operation first and is over with last.
//
// Between GPUs with several NIC ports it is cut into as many parts, which the QPs of a connection take in turn: what
// NCCL does over the devices of a merged NIC. A simulator that hashes whole flows onto one of the ports differs here.
func (w *Writer) Send(m Message, after ...workload.OpID) (first, last workload.OpID) {
	op := workload.Op{
		Kind: workload.Send, Priority: m.Priority, Channel: m.Channel, Span: m.Span,
		Src: m.Src, Dst: m.Dst, Bytes: max(m.Bytes, 1), At: m.At,
	}
	parts := min(w.parts(m), int(op.Bytes))
	if parts == 1 {
		first = w.Add(op, after...)
		return first, first
	}
	share, extra := op.Bytes/units.Bytes(parts), op.Bytes%units.Bytes(parts)
	all := make([]workload.OpID, parts)
	for i := range all {
		op.Bytes = share
		if units.Bytes(i) < extra {
			op.Bytes++
		}
		all[i] = w.Add(op, after...)
	}
	return all[0], w.Join(m.Span, m.Dst, all...)
}

// parts is into how many parts a message is cut: one that never reaches the network stays whole.
func (w *Writer) parts(m Message) int {
	src, dst := &w.Fabric.GPUs[m.Src], &w.Fabric.GPUs[m.Dst]
	if m.Src == m.Dst || w.Fabric.NVLink.Rate > 0 && src.Host == dst.Host {
		return 1
	}
	return max(len(src.NICs), len(dst.NICs), 1)
}

// Cost is the most operations that one message makes.
func (w *Writer) Cost() int {
	if w.Fabric.Planes <= 1 {
		return 1
	}
	return w.Fabric.Planes + 1
}
