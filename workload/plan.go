package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// OpID names an operation of a plan, SpanID a named group of them, GroupID the GPUs of a reduction. Dense from 0.
type (
	OpID    uint32
	SpanID  uint32
	GroupID uint32
)

// OpKind is what an operation does.
type OpKind uint8

// Kinds of operation.
const (
	Send    OpKind = iota // moves Bytes from Src to Dst; done when the last byte is placed at Dst
	Compute               // keeps GPU Src busy for Time; a GPU computes one thing at a time
	Join                  // does nothing: done as soon as all it waits for is, whatever else its GPU does; Dst is Src
	Reduce                // adds Bytes up over a group in the switches; done when the sum is at Src; Dst is Src
)

// Op is one operation. It starts when all operations it depends on are done, and not before At.
type Op struct {
	Kind     OpKind
	Priority uint8 // traffic class of a Send, 0..7
	// Background marks traffic of others: the run does not wait for it.
	Background bool
	Channel    uint16 // Sends with equal (Src, Dst, Channel, Priority) share one connection and keep their order
	Span       SpanID
	Src, Dst   fabric.GPUID // Dst is of no meaning to Compute
	Group      GroupID      // of a Reduce
	Bytes      units.Bytes  // of a Send, at least 1
	Time       units.Duration
	At         units.Duration // earliest start, from the start of the run
	Rate       units.Rate     // cap on a Send's rate at the source, 0 for none
}

// Collective is the operation a span carries out, under NCCL's names.
type Collective uint8

// Collectives and the kinds of span that are none.
const (
	NoCollective Collective = iota
	AllReduce
	AllGather
	ReduceScatter
	AllToAll
	SendRecv
)

var collectiveNames = [...]string{"", "all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv"}

func (c Collective) String() string { return collectiveNames[c] }

// Choices lists the collectives a job can name.
func (Collective) Choices() []string { return collectiveNames[1:] }

// UnmarshalText reads the name that String prints.
func (c *Collective) UnmarshalText(text []byte) error {
	for i, name := range collectiveNames {
		if i > 0 && name == string(text) {
			*c = Collective(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no collective; known: %s", text, strings.Join(collectiveNames[1:], ", "))
}

// BusFactor turns algorithm bandwidth (size / time) into bus bandwidth for n ranks, as nccl-tests define
// it (doc/PERFORMANCE.md): AllReduce 2(n-1)/n; AllGather, ReduceScatter and AllToAll (n-1)/n; SendRecv 1.
func (c Collective) BusFactor(n int) float64 {
	switch c {
	case AllReduce:
		return 2 * float64(n-1) / float64(n)
	case AllGather, ReduceScatter, AllToAll:
		return float64(n-1) / float64(n)
	}
	return 1
}

// Span is a group of operations that people have a name for: one call of a collective, the computing of a
// phase, a stream of background traffic. It lasts from the start of its first operation to the end of its last.
type Span struct {
	Name       string     // "dp all_reduce", "storage", "forward"
	Collective Collective // NoCollective for compute and background traffic
	Algorithm  string     // "ring", "tree", "direct"; empty for compute
	Protocol   string     // of NCCL: "simple", "ll", "ll128"; empty for compute and background traffic
	Bytes      units.Bytes
	Ranks      int
	Step       int  // training step the span belongs to, from 0; -1 when none
	Warmup     bool // left out of measurements, as the warm-up iterations of nccl-tests are
	Background bool
}

// Group is GPUs whose data the switches of the network add up. Every member has the same number of Reduce operations, and the first ones of
// all members are one reduction, the second ones another; they have the same size. The network carries them out in that order.
type Group struct {
	Members []fabric.GPUID
	Channel int // which plane of the fabric, and which of several like trees of switches
}

// Plan is what is to be done: operations, and for each the operations that wait for it.
type Plan struct {
	Ops    []Op
	Spans  []Span
	Groups []Group
	Steps  int // training steps in the plan, 0 when it is no training job

	// Operations that depend on op i are after[start[i]:start[i+1]].
	start []uint32
	after []OpID
	deps  []uint32
}

// Dependants lists the operations that wait for op. The slice is shared: do not change it.
func (p *Plan) Dependants(op OpID) []OpID { return p.after[p.start[op]:p.start[op+1]] }

// Dependencies is how many operations op waits for.
func (p *Plan) Dependencies(op OpID) uint32 { return p.deps[op] }

// Builder puts a plan together. Operations may depend only on operations added before, so that a plan
// can hold no cycle.
type Builder struct {
	plan  Plan
	edges []edge

	groups map[string]GroupID // only looked up

	// trace tells what a Send carries, so that a test can follow the data; nil outside of tests.
	trace func(op OpID, c cargo)
}

// cargo is a piece of the buffer of a collective, numbered within the call, and whether its arrival adds to
// what the receiver holds or replaces it.
type cargo struct {
	span   SpanID
	piece  int
	count  int // pieces from there on, 0 for one
	reduce bool
}

type edge struct{ from, to OpID }

// Span adds a span.
func (b *Builder) Span(s Span) SpanID {
	b.plan.Spans = append(b.plan.Spans, s)
	return SpanID(len(b.plan.Spans) - 1)
}

// Ops is how many operations have been added.
func (b *Builder) Ops() int { return len(b.plan.Ops) }

// Group adds a group.
func (b *Builder) Group(g Group) GroupID {
	b.plan.Groups = append(b.plan.Groups, g)
	return GroupID(len(b.plan.Groups) - 1)
}

// join appends a Join at gpu.
func (b *Builder) join(span SpanID, gpu fabric.GPUID, after []OpID) OpID {
	return b.Add(Op{Kind: Join, Span: span, Src: gpu, Dst: gpu}, after...)
}

// Add appends an operation that waits for the given ones, which must have been added before.
func (b *Builder) Add(op Op, after ...OpID) OpID {
	id := OpID(len(b.plan.Ops))
	b.plan.Ops = append(b.plan.Ops, op)
	for _, dep := range after {
		b.After(id, dep)
	}
	return id
}

// grow makes room for about ops more operations: appending to a plan of millions would copy it many times over.
func (b *Builder) grow(ops int64) {
	b.plan.Ops = slices.Grow(b.plan.Ops, int(ops))
	b.edges = slices.Grow(b.edges, 2*int(ops)) // a forwarded message waits for its receipt, and is waited for at the end
}

// After makes op wait for dep as well. It panics unless dep was added before op.
func (b *Builder) After(op, dep OpID) {
	if dep >= op {
		panic("workload: an operation can only wait for one added before it")
	}
	b.edges = append(b.edges, edge{dep, op})
}

// Plan finishes the plan. The builder must not be used afterwards.
func (b *Builder) Plan() *Plan {
	p := &b.plan
	p.start = make([]uint32, len(p.Ops)+1)
	p.deps = make([]uint32, len(p.Ops))
	for _, e := range b.edges {
		p.start[e.from+1]++
		p.deps[e.to]++
	}
	for i := range p.Ops {
		p.start[i+1] += p.start[i]
	}
	p.after = make([]OpID, len(b.edges))
	next := slices.Clone(p.start)
	for _, e := range b.edges {
		p.after[next[e.from]] = e.to
		next[e.from]++
	}
	return p
}
