package dataflow

import "slices"

// key is what a receive asks for, or what a message would have to be asked for as.
type key struct {
	dst, src int32
	tag      int64
}

// matcher pairs messages with receives as MPI does: a message takes the receive that was posted first of those it fits,
// a receive the message that was sent first. Time is the order in which the plan is written.
type matcher struct {
	any    bool // some receive takes any peer or tag
	posted map[key]*fifo
	sent   map[key]*fifo
	order  int64
	number map[int32]int64 // receive -> when it was posted
	taken  map[int32]bool  // messages taken under another key
}

type fifo struct{ nodes []int32 }

func (q *fifo) pop() int32 {
	n := q.nodes[0]
	q.nodes = q.nodes[1:]
	return n
}

func newMatcher(nodes []Node) *matcher {
	m := &matcher{posted: map[key]*fifo{}, sent: map[key]*fifo{}, number: map[int32]int64{}, taken: map[int32]bool{}}
	for i := range nodes {
		if n := &nodes[i]; n.Kind == Recv && (n.Peer == Any || n.Tag == Any) {
			m.any = true
		}
	}
	return m
}

// keys lists what a message may be asked for as.
func (m *matcher) keys(dst, src int32, tag int64) []key {
	exact := key{dst, src, tag}
	if !m.any {
		return []key{exact}
	}
	return []key{exact, {dst, Any, tag}, {dst, src, Any}, {dst, Any, Any}}
}

func push(in map[key]*fifo, k key, node int32) {
	q := in[k]
	if q == nil {
		q = &fifo{}
		in[k] = q
	}
	q.nodes = append(q.nodes, node)
}

// pop takes the first of k; queues that ran out are forgotten, so that memory follows what is under way.
func pop(in map[key]*fifo, k key) int32 {
	q := in[k]
	n := q.pop()
	if len(q.nodes) == 0 {
		delete(in, k)
	}
	return n
}

// send finds the receive of a message, -1 when none is posted yet.
func (m *matcher) send(node int32, n *Node) int32 {
	var best key
	first := int64(-1)
	keys := m.keys(n.Peer, n.Rank, n.Tag)
	for _, k := range keys {
		if q := m.posted[k]; q != nil {
			if at := m.number[q.nodes[0]]; first < 0 || at < first {
				best, first = k, at
			}
		}
	}
	if first >= 0 {
		recv := pop(m.posted, best)
		delete(m.number, recv)
		return recv
	}
	for _, k := range keys {
		push(m.sent, k, node)
	}
	return -1
}

// recv finds the message of a receive, -1 when none is there yet.
func (m *matcher) recv(node int32, n *Node) int32 {
	k := key{n.Rank, n.Peer, n.Tag}
	for m.sent[k] != nil {
		s := pop(m.sent, k)
		if m.any && m.taken[s] {
			continue
		}
		if m.any {
			m.taken[s] = true
		}
		return s
	}
	push(m.posted, k, node)
	m.number[node] = m.order
	m.order++
	return -1
}

// unreceived lists the messages that no receive was for, in their order.
func (m *matcher) unreceived() []int32 {
	var out []int32
	for k, q := range m.sent {
		if k.src == Any || k.tag == Any {
			continue // each is there under what it was sent as, too
		}
		for _, s := range q.nodes {
			if !m.taken[s] {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return out
}
