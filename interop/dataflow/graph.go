package dataflow

import (
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Kind is what a node does.
type Kind uint8

// Kinds of node.
const (
	Nothing    Kind = iota // is over as soon as what it waits for is
	Compute                // keeps its rank busy for Time
	Send                   // Bytes to Peer; over when they have arrived
	Recv                   // over when a message that fits has arrived
	Collective             // its rank's part in call Call; over when the call is over on the rank
)

// Any fits every peer or tag of a Recv.
const Any = -1

// Node is one thing that a rank does.
type Node struct {
	source.Place
	Kind    Kind
	Channel uint16 // of a Send: messages of a pair with equal channels share a connection
	Rank    int32
	Peer    int32 // who a Send is for, or a Recv is from
	Call    int32
	Tag     int64 // a message and its receive have the same
	Bytes   units.Bytes
	Time    units.Duration
}

// Call is a collective of several ranks.
type Call struct {
	workload.Call         // without Ranks
	Members       []int32 // ranks in their order

	begun int
	nodes []int32 // by member: its node
}

// Graph is a program under construction.
type Graph struct {
	Nodes []Node
	Calls []Call

	edges []edge
}

// edge makes a node wait for another: for its end, or for its beginning.
type edge struct {
	before, after int32
	start         bool
}

// MaxNodes bounds a program: each node becomes at least one operation, but for receives.
const MaxNodes = 2 * workload.MaxOps

// Add adds a node and returns its number.
func (g *Graph) Add(n Node) int32 {
	g.Nodes = append(g.Nodes, n)
	return int32(len(g.Nodes) - 1)
}

// After makes node wait for the end of before.
func (g *Graph) After(node, before int32) { g.edges = append(g.edges, edge{before, node, false}) }

// WithStart makes node wait until before begins.
func (g *Graph) WithStart(node, before int32) { g.edges = append(g.edges, edge{before, node, true}) }

// list is lists by node, one after the other.
type list struct {
	start []uint32
	edges []edge
}

func (l *list) of(node int32) []edge { return l.edges[l.start[node]:l.start[node+1]] }

// by sorts edges into lists by one of their ends, keeping their order.
func (g *Graph) by(end func(e edge) int32) list {
	l := list{start: make([]uint32, len(g.Nodes)+1), edges: make([]edge, len(g.edges))}
	for _, e := range g.edges {
		l.start[end(e)+1]++
	}
	for i := range g.Nodes {
		l.start[i+1] += l.start[i]
	}
	next := append([]uint32(nil), l.start...)
	for _, e := range g.edges {
		l.edges[next[end(e)]] = e
		next[end(e)]++
	}
	return l
}
