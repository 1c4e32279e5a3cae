package astrasim

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Options say what traces leave open.
type Options struct {
	Groups   *Groups // communicators that nodes name; nil: none
	System   *System // nil: collectives as NCCL does them, and no roofline
	Dims     []int   // sizes of the logical dimensions, which involved_dim speaks of
	Priority uint8
}

// longest is the longest that a node computes.
const longest = 10 * 24 * 3600 * units.Second

// collectives are the kinds of CollectiveCommType in et_def.proto that are carried out. A barrier is an all_reduce of as
// good as nothing.
var collectives = map[uint64]workload.Collective{0: workload.AllReduce, 2: workload.AllGather, 6: workload.AllToAll, 7: workload.ReduceScatter, 9: workload.AllReduce}

// Kinds with a meaning of their own.
const (
	commAllGather = 2
	commBroadcast = 5
	commBarrier   = 9
)

var commNames = []string{"ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"}

// Job writes the traces of ranks 0 to n-1 out for a fabric: rank i is GPU i. Problems and notes go to report; the result is
// nil when something is wrong, and the error a spec.Problems. Traces can be written out once.
func Job(traces []*Trace, f *fabric.Fabric, o Options, report *source.Report) (*dataflow.Result, error) {
	b := builder{Options: o, traces: traces, report: report, calls: map[string][]*pending{}, told: map[workload.Collective]bool{}}
	for rank := range traces {
		b.all = append(b.all, int32(rank))
	}
	for rank, t := range traces {
		if t.Rank != rank {
			report.Wrong(source.Place{}, "the traces are of ranks 0 to %d without %d; give one file for each rank", max(t.Rank, len(traces)-1), rank)
			return nil, report.Err()
		}
		b.trace(t)
	}
	b.gather()
	if !report.OK() {
		return nil, report.Err()
	}
	b.notes()
	r := b.graph.Plan(f, dataflow.Options{Span: workload.Span{Name: "trace"}, Ranks: len(traces), Priority: o.Priority, Steps: 1}, report)
	return r, report.Err()
}

// builder makes traces into a program.
type builder struct {
	Options
	graph  dataflow.Graph
	traces []*Trace
	report *source.Report
	calls  map[string][]*pending // by group: its calls in their order
	order  []string              // the groups in the order they were met

	all   []int32            // every rank
	known map[string]members // of the rank under way, by what its nodes say
	told  map[workload.Collective]bool

	onCPU, memory, replayed int // nodes that stand for less than they say
	firstOf                 [3]string
}

// members are the ranks of a group and its name; none when there is something wrong with it.
type members struct {
	key   string
	ranks []int32
}

// pending is a call that ranks come to one by one.
type pending struct {
	call    dataflow.Call
	comm    uint64
	size    uint64
	members []int32
	nodes   []int32 // of the graph, in the order of coming
	where   string  // of the first
}

// where names a node in messages.
func where(t *Trace, n *traceNode) string { return fmt.Sprintf("rank %d node %d", t.Rank, n.id) }

func (b *builder) wrong(t *Trace, n *traceNode, format string, args ...any) {
	b.report.Wrong(source.Place{}, "%s (%s, byte %d): %s", where(t, n), t.Report.File, n.offset, fmt.Sprintf(format, args...))
}

// trace adds the nodes of a rank.
func (b *builder) trace(t *Trace) {
	ids := make(map[uint64]int32, len(t.nodes))
	b.known = map[string]members{}
	come := map[string]int{} // group -> calls this rank has come to
	for i := range t.nodes {
		if b.report.Full() {
			return
		}
		n := &t.nodes[i]
		id := b.graph.Add(b.node(t, n))
		if _, twice := ids[n.id]; twice {
			b.wrong(t, n, "the number is another node's too; nodes of a rank have their own")
		}
		ids[n.id] = id
		if b.graph.Nodes[id].Kind == dataflow.Collective {
			b.join(t, n, id, come)
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		for _, d := range n.deps {
			before, ok := ids[d]
			if !ok {
				b.wrong(t, n, "it depends on node %d, which the trace does not have", d)
				continue
			}
			b.graph.After(ids[n.id], before)
		}
	}
}

// node is what a node does.
func (b *builder) node(t *Trace, n *traceNode) dataflow.Node {
	out := dataflow.Node{Rank: int32(t.Rank)}
	peer := func(v uint64, what string) {
		if v >= uint64(len(b.traces)) {
			b.wrong(t, n, "%s is rank %d; the ranks are 0 to %d", what, v, len(b.traces)-1)
			v = 0
		}
		out.Peer = int32(v)
	}
	switch n.kind {
	case nodeInvalid, nodeMetadata:
	case nodeLoad, nodeStore:
		b.count(1, &b.memory, t, n)
	case nodeCompute:
		out.Kind, out.Time = dataflow.Compute, b.time(t, n)
	case nodeSend:
		out.Kind, out.Bytes, out.Tag = dataflow.Send, b.size(t, n), int64(n.tag&(1<<62-1))
		peer(n.dst, "comm_dst")
		if n.hasSrc && n.src != uint64(t.Rank) {
			b.wrong(t, n, "comm_src is rank %d; a rank sends what is its own", n.src)
		}
	case nodeRecv:
		out.Kind, out.Tag = dataflow.Recv, int64(n.tag&(1<<62-1))
		peer(n.src, "comm_src")
	case nodeCall:
		switch _, known := collectives[n.comm]; {
		case n.comm == commBroadcast: // replayed with its time in ASTRA-sim too
			out.Kind, out.Time = dataflow.Compute, b.time(t, n)
			b.count(2, &b.replayed, t, n)
		case !known:
			name := fmt.Sprint(n.comm)
			if n.comm < uint64(len(commNames)) {
				name = commNames[n.comm]
			}
			b.wrong(t, n, "collectives of comm_type %s are not carried out, by ASTRA-sim neither; it is one of ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, BROADCAST, BARRIER", name)
		default:
			out.Kind = dataflow.Collective
		}
	default:
		b.wrong(t, n, "it is of type %d; there are 0 to 7, and storage is not modelled", n.kind)
	}
	return out
}

// count remembers a node that stands for less than it says.
func (b *builder) count(which int, counter *int, t *Trace, n *traceNode) {
	if *counter++; *counter == 1 {
		b.firstOf[which] = where(t, n)
	}
}

// time is how long a node computes.
func (b *builder) time(t *Trace, n *traceNode) units.Duration {
	if n.cpu && n.micros > 0 {
		b.count(0, &b.onCPU, t, n)
	} else if d, ok := b.System.compute(float64(n.operations), float64(n.tensor)); ok && n.kind == nodeCompute {
		return d
	}
	if n.micros > uint64(longest/units.Microsecond) {
		b.wrong(t, n, "it takes %d us; at most %s can be run", n.micros, longest)
		return 0
	}
	return units.Duration(n.micros) * units.Microsecond
}

func (b *builder) size(t *Trace, n *traceNode) units.Bytes {
	if n.size > 1<<50 {
		b.wrong(t, n, "comm_size is %d bytes; at most 2^50 can be", n.size)
		return 1
	}
	return units.Bytes(n.size)
}

// members are the ranks of a call of rank t, and the name of their group. What is wrong with a group is said once.
func (b *builder) members(t *Trace, n *traceNode) (string, []int32) {
	name := n.group
	if !n.hasGroup {
		name = fmt.Sprint(n.dims)
	}
	m, ok := b.known[name]
	if !ok {
		m.key, m.ranks = b.find(t, n)
		b.known[name] = m
	}
	return m.key, m.ranks
}

// find finds the ranks of a call.
func (b *builder) find(t *Trace, n *traceNode) (string, []int32) {
	if n.hasGroup {
		ranks := b.Groups.of(n.group)
		if ranks == nil {
			b.wrong(t, n, "it names the group %q, which the communicator groups do not have; give a file of groups like {%q: [0, 1]}", n.group, n.group)
			return "", nil
		}
		for _, r := range ranks {
			if int(r) >= len(b.traces) {
				b.wrong(t, n, "its group %q has rank %d; the ranks are 0 to %d", n.group, r, len(b.traces)-1)
				return "", nil
			}
		}
		if !slices.Contains(ranks, int32(t.Rank)) {
			b.wrong(t, n, "rank %d is not in its group %q", t.Rank, n.group)
			return "", nil
		}
		return "group " + n.group, ranks
	}
	if !slices.Contains(n.dims, false) {
		return "all", b.all
	}
	whole := 1
	for _, d := range b.Dims {
		whole *= max(d, 1)
	}
	if whole != len(b.traces) {
		b.wrong(t, n, "it is of some dimensions alone (involved_dim), and the dimensions %v do not make the %d ranks; give a network, or its logical dimensions", b.Dims, len(b.traces))
		return "", nil
	}
	// The ranks that differ from this one in the dimensions involved alone, the first dimension fastest.
	var out []int32
	for r := range len(b.traces) {
		same := true
		for k, stride := 0, 1; k < len(b.Dims); k++ {
			size := max(b.Dims[k], 1)
			involved := k < len(n.dims) && n.dims[k]
			same = same && (involved || r/stride%size == t.Rank/stride%size)
			stride *= size
		}
		if same {
			out = append(out, int32(r))
		}
	}
	return fmt.Sprintf("dims %v of %d", n.dims, out[0]), out
}

// join brings a rank to the next call of its group.
func (b *builder) join(t *Trace, n *traceNode, id int32, come map[string]int) {
	key, members := b.members(t, n)
	if members == nil {
		b.graph.Nodes[id].Kind = dataflow.Nothing
		return
	}
	k := come[key]
	come[key]++
	list := b.calls[key]
	if list == nil {
		b.order = append(b.order, key)
	}
	if k == len(list) {
		list = append(list, &pending{comm: n.comm, size: n.size, members: members, where: where(t, n)})
		b.calls[key] = list
		list[k].call.Call = b.call(t, n, len(members), len(b.order))
	}
	p := list[k]
	if p.comm != n.comm || p.size != n.size {
		b.wrong(t, n, "call %d of %s is another than that of %s: comm_type %d and %d, comm_size %d and %d; the ranks of a group make the same calls in the same order", k, key, p.where, n.comm, p.comm, n.size, p.size)
	}
	p.nodes = append(p.nodes, id)
}

// call is the collective of a node.
func (b *builder) call(t *Trace, n *traceNode, members, group int) workload.Call {
	c := workload.Call{Collective: collectives[n.comm], Size: b.size(t, n), Comm: uint16(256 * (group % 128))}
	if n.comm == commAllGather { // of one rank (Ring.cc)
		c.Size *= units.Bytes(members)
	}
	if n.comm == commBarrier {
		c.Size, c.Name = 1, "barrier"
	}
	algorithm, as := b.System.algorithm(c.Collective)
	c.Algorithm = algorithm
	if !as && !b.told[c.Collective] {
		b.told[c.Collective] = true
		b.System.Report.Note(source.Place{}, "%s as %v is not modelled; it is carried out as %s, as NCCL does", c.Collective, b.System.Implementations[c.Collective], algorithm)
	}
	return c
}

// gather makes calls of what all members have come to.
func (b *builder) gather() {
	for _, key := range b.order {
		for k, p := range b.calls[key] {
			if len(p.nodes) != len(p.members) {
				b.report.Wrong(source.Place{}, "%s: %d of the %d ranks of %s make their call %d; the ranks of a group make the same calls", p.where, len(p.nodes), len(p.members), key, k)
				return
			}
			p.call.Members = p.members
			for _, id := range p.nodes {
				b.graph.Nodes[id].Call = int32(len(b.graph.Calls))
			}
			b.graph.Calls = append(b.graph.Calls, p.call)
		}
	}
}

// notes says what stands for less than its node says.
func (b *builder) notes() {
	for i, note := range []struct {
		count int
		text  string
	}{
		{b.onCPU, "computing on the CPU keeps the GPU of its rank busy"},
		{b.memory, "loads and stores of remote memory take no time"},
		{b.replayed, "BROADCAST takes the time in the trace and sends nothing, as in ASTRA-sim"},
	} {
		if note.count > 0 {
			b.report.Note(source.Place{}, "%s, and %d more: %s", b.firstOf[i], note.count-1, note.text)
		}
	}
}
