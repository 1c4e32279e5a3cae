package dataflow

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Options say how a program is carried out.
type Options struct {
	Span     workload.Span // of all that is in no call; its Bytes are worked out where they are 0
	Ranks    int           // rank i is GPU i
	Priority uint8
	Steps    int // training steps that the whole program is, 0 or 1
}

// Result is a program as operations.
type Result struct {
	Plan *workload.Plan
	// Done is by node the operation at whose end it is over.
	Done []workload.OpID
	// Flows are the messages in the order of the plan, but for those of calls.
	Flows []message.Flow
}

const noOp = workload.OpID(1<<32 - 1)

// Plan writes the program out for fabric f. What is wrong is reported at the place of the node; the result is nil when
// something was. The graph must not be used afterwards.
func (g *Graph) Plan(f *fabric.Fabric, o Options, report *source.Report) *Result {
	if o.Ranks > len(f.GPUs) {
		report.Wrong(source.Place{}, "the program has %d ranks and the fabric %d GPUs; use a fabric of at least as many", o.Ranks, len(f.GPUs))
		return nil
	}
	if len(g.Nodes) > MaxNodes {
		report.Wrong(source.Place{}, "the program has %d nodes; at most %d can be run", len(g.Nodes), MaxNodes)
		return nil
	}
	p := planner{Graph: g, o: o, report: report, w: message.NewWriter(f), match: newMatcher(g.Nodes)}
	p.prepare()
	p.run()
	if report.OK() {
		p.check()
	}
	if !report.OK() {
		return nil
	}
	plan := p.w.Plan()
	plan.Steps = o.Steps
	return &Result{Plan: plan, Done: p.done, Flows: p.flows}
}

// planner writes a program out. A node begins when all it waits for is written; what its operations wait for are the
// operations of those. A receive is over when its message is written too, a call when all its members have begun.
type planner struct {
	*Graph
	o      Options
	report *source.Report
	w      *message.Writer
	match  *matcher

	into, out list
	left      []uint32 // edges into a node whose other end is not written
	begun     []bool
	over      []bool
	done      []workload.OpID // noOp: at the start of the run, or not yet
	start     []workload.OpID // what a node waited for as one operation, where another waits for its beginning
	wanted    []bool          // another node waits for the beginning
	queue     []int32
	span      workload.SpanID
	flows     []message.Flow
	deps      []workload.OpID // scratch
	seen      map[workload.OpID]bool
	full      bool
}

func (p *planner) prepare() {
	n := len(p.Nodes)
	p.into, p.out = p.by(func(e edge) int32 { return e.after }), p.by(func(e edge) int32 { return e.before })
	p.left, p.begun, p.over, p.wanted = make([]uint32, n), make([]bool, n), make([]bool, n), make([]bool, n)
	p.done, p.start, p.seen = make([]workload.OpID, n), make([]workload.OpID, n), map[workload.OpID]bool{}
	var sum units.Bytes
	for i := range p.Nodes {
		p.done[i], p.start[i] = noOp, noOp
		p.left[i] = uint32(len(p.into.of(int32(i))))
		if p.Nodes[i].Kind == Send {
			sum += p.Nodes[i].Bytes
		}
		if p.Nodes[i].Kind == Collective {
			c := &p.Calls[p.Nodes[i].Call]
			if c.nodes == nil {
				c.nodes = make([]int32, len(c.Members))
			}
			for k, r := range c.Members {
				if r == p.Nodes[i].Rank {
					c.nodes[k] = int32(i)
				}
			}
		}
	}
	for _, e := range p.edges {
		p.wanted[e.before] = p.wanted[e.before] || e.start
	}
	s := p.o.Span
	if s.Bytes == 0 {
		s.Bytes = sum
	}
	if s.Ranks, s.Step = p.o.Ranks, -1; p.o.Steps > 0 {
		s.Step = 0
	}
	p.span = p.w.Span(s)
}

func (p *planner) run() {
	for i := range p.Nodes {
		if p.left[i] == 0 {
			p.queue = append(p.queue, int32(i))
		}
	}
	for head := 0; head < len(p.queue) && !p.full; head++ {
		p.begin(p.queue[head])
		if head > 1<<16 && head > len(p.queue)/2 { // let go of what is behind
			p.queue = append(p.queue[:0], p.queue[head+1:]...)
			head = -1
		}
	}
}

// waitsFor lists the operations that node waits for, each once. The slice is valid until the next call.
func (p *planner) waitsFor(node int32) []workload.OpID {
	p.deps = p.deps[:0]
	into := p.into.of(node)
	for _, e := range into {
		op := p.done[e.before]
		if e.start {
			op = p.start[e.before]
		}
		if op == noOp || len(into) > 1 && p.seen[op] {
			continue
		}
		p.deps = append(p.deps, op)
		if len(into) > 1 {
			p.seen[op] = true
		}
	}
	for _, op := range p.deps {
		delete(p.seen, op)
	}
	return p.deps
}

// begin writes a node out, all that it waits for being written.
func (p *planner) begin(node int32) {
	n := &p.Nodes[node]
	p.begun[node] = true
	if cost := p.cost(n); !p.w.Room(cost) {
		p.report.Wrong(n, "the plan has more than the %d operations that can be run; simulate a shorter program", workload.MaxOps)
		p.full = true
		return
	}
	deps := p.waitsFor(node)
	if p.wanted[node] {
		if len(deps) == 1 {
			p.start[node] = deps[0]
		} else if len(deps) > 1 {
			p.start[node] = p.w.Join(p.span, fabric.GPUID(n.Rank), deps...)
		}
		p.release(node, true)
	}
	switch n.Kind {
	case Nothing:
		if len(deps) == 1 {
			p.finish(node, deps[0])
		} else if len(deps) == 0 {
			p.finish(node, noOp)
		} else {
			p.finish(node, p.w.Join(p.span, fabric.GPUID(n.Rank), deps...))
		}
	case Compute:
		p.finish(node, p.w.Add(workload.Op{Kind: workload.Compute, Span: p.span, Src: fabric.GPUID(n.Rank), Time: n.Time}, deps...))
	case Send:
		first, last := p.w.Send(message.Message{
			Src: fabric.GPUID(n.Rank), Dst: fabric.GPUID(n.Peer), Bytes: n.Bytes, Priority: p.o.Priority, Channel: n.Channel, Span: p.span,
		}, deps...)
		p.flows = append(p.flows, message.Flow{ID: int64(node), Src: fabric.GPUID(n.Rank), Dst: fabric.GPUID(n.Peer), Bytes: n.Bytes, First: first, Last: last})
		p.finish(node, last)
		if recv := p.match.send(node, n); recv >= 0 {
			p.arrive(recv, last)
		}
	case Recv:
		if send := p.match.recv(node, n); send >= 0 {
			p.arrive(node, p.done[send])
		}
	case Collective:
		c := &p.Calls[n.Call]
		if c.begun++; c.begun == len(c.Members) {
			p.call(c)
		}
	}
}

// cost is about how many operations a node may make.
func (p *planner) cost(n *Node) int {
	if n.Kind != Collective {
		return p.w.Cost() + 2
	}
	c := &p.Calls[n.Call]
	if c.begun+1 < len(c.Members) {
		return 2
	}
	return int(min(CallCost(p.w.Fabric, c.Collective, c.Size, len(c.Members)), workload.MaxOps+1))
}

// arrive ends a receive whose message is placed by operation op.
func (p *planner) arrive(recv int32, op workload.OpID) {
	if deps := p.waitsFor(recv); len(deps) > 0 {
		op = p.w.Join(p.span, fabric.GPUID(p.Nodes[recv].Rank), append(deps, op)...)
	}
	p.finish(recv, op)
}

// call writes a collective out, all its members having begun.
func (p *planner) call(c *Call) {
	c.Call.Priority = p.o.Priority
	c.Call.Ranks = make([]fabric.GPUID, len(c.Members))
	after := make([][]workload.OpID, len(c.Members))
	for i, r := range c.Members {
		c.Call.Ranks[i] = fabric.GPUID(r)
		after[i] = append([]workload.OpID(nil), p.waitsFor(c.nodes[i])...)
	}
	out := p.w.Call(p.w.Fabric, c.Call, after)
	for i, op := range out {
		p.finish(c.nodes[i], op)
	}
}

// finish ends a node with operation op.
func (p *planner) finish(node int32, op workload.OpID) {
	p.done[node], p.over[node] = op, true
	p.release(node, false)
}

// release lets what waits for the end or the beginning of a node begin, where that was the last it waited for.
func (p *planner) release(node int32, start bool) {
	for _, e := range p.out.of(node) {
		if e.start != start {
			continue
		}
		if p.left[e.after]--; p.left[e.after] == 0 {
			p.queue = append(p.queue, e.after)
		}
	}
}

// check reports what never ended, and messages that nobody received.
func (p *planner) check() {
	const most = 10 // one mistake leaves a whole program waiting
	told := 0
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if p.over[i] || !p.begun[i] || told == most {
			continue
		}
		told++
		if n.Kind == Recv {
			p.report.Wrong(n, "rank %d receives from %s with tag %s, and no such message is sent; add its send, or remove the receive", n.Rank, anyOf(int64(n.Peer)), anyOf(n.Tag))
			continue
		}
		c := &p.Calls[n.Call]
		for k, r := range c.Members {
			if !p.begun[c.nodes[k]] {
				p.report.Wrong(n, "the %s of %d ranks waits for rank %d, which never comes to it", c.Collective, len(c.Members), r)
				break
			}
		}
	}
	for i := range p.Nodes {
		if !p.begun[i] && told == 0 {
			told++
			p.report.Wrong(&p.Nodes[i], "what rank %d does here waits for something that waits for it in turn; remove one of the dependencies", p.Nodes[i].Rank)
		}
	}
	if told > 0 {
		return
	}
	for _, s := range p.match.unreceived() {
		if told++; told <= most {
			n := &p.Nodes[s]
			p.report.Wrong(n, "rank %d sends to %d with tag %d and nobody receives it; add its receive, or remove the send", n.Rank, n.Peer, n.Tag)
		}
	}
}

func anyOf(v int64) string {
	if v == Any {
		return "anyone"
	}
	return fmt.Sprint(v)
}

// CallCost is about how many operations workload.Builder.Call makes: a ring moves each of n parts 2(n-1) times, in two
// slices of each chunk of 2 MiB of each channel, and has a channel for each GPU of a host and plane.
func CallCost(f *fabric.Fabric, c workload.Collective, size units.Bytes, ranks int) int64 {
	n, planes := int64(ranks), int64(max(f.Planes, 1))
	if c == workload.AllToAll {
		return n*(n-1)*planes + n
	}
	perHost := int64(1)
	if hosts := len(f.Hosts()); hosts > 0 {
		perHost = int64(len(f.GPUs) / hosts)
	}
	return 2*(n-1)*2*(n*min(perHost*planes, workload.MaxChannels)+int64(size/(2*units.MiB))) + n
}
