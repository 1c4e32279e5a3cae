package flowsim

import (
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// conn is the connection of all Sends with equal source, destination, channel and priority, as in netsim.
type conn struct {
	src, dst   fabric.GPUID
	channel    uint16
	prio       uint8
	first, qps uint32 // its QPs, none before the first message
	turn       uint32 // whose turn the next message is
}

// qp sends one message after the other; while it has one it is a flow under way.
type qp struct {
	a, b        uint32 // endpoints
	there, back uint32 // hashes of the two ways
	head, tail  uint32 // messages
	left        float64
	at          int64 // left is of this time
	since       int64 // the message began
	limit       float64
	way         way
}

type message struct {
	wire  float64
	first units.Bytes // wire size of its first packet
	limit float64     // bytes a picosecond
	op    uint32
	qp    uint32
	next  uint32
}

// connect gives every Send its connection.
func (n *Network) connect() {
	known := map[conn]uint32{} // only looked up, never iterated
	n.opConn = make([]uint32, len(n.plan.Ops))
	for i := range n.plan.Ops {
		op := &n.plan.Ops[i]
		n.opConn[i] = none
		if op.Kind != workload.Send || n.links.local(op.Src, op.Dst) {
			continue
		}
		key := conn{src: op.Src, dst: op.Dst, channel: op.Channel, prio: op.Priority, first: none}
		id, ok := known[key]
		if !ok {
			id = uint32(len(n.conns))
			known[key] = id
			n.conns = append(n.conns, key)
		}
		n.opConn[i] = id
	}
}

// pairsInUse lists the pairs of leaves that any connection joins.
func (n *Network) pairsInUse() *leafPairs {
	p := n.links.newPairs()
	for i := range n.conns {
		c := &n.conns[i]
		for k := range n.links.planes(c.src, c.dst) {
			a, b := n.links.ends(c.src, c.dst, k)
			p.add(n.links, a, b)
		}
	}
	return p
}

// planes is how many planes the QPs of a connection are dealt over.
func (l *links) planes(src, dst fabric.GPUID) int {
	return max(len(l.f.GPUs[src].NICs), len(l.f.GPUs[dst].NICs))
}

// ends are the endpoints of QP k between two GPUs: QPs are dealt plane by plane.
func (l *links) ends(src, dst fabric.GPUID, k int) (a, b uint32) {
	from, to := l.f.GPUs[src].NICs, l.f.GPUs[dst].NICs
	return uint32(l.f.Ports[from[k%len(from)]].Endpoint), uint32(l.f.Ports[to[k%len(to)]].Endpoint)
}

// local tells whether what one GPU sends another stays within its GPU or its host's NVLink.
func (l *links) local(src, dst fabric.GPUID) bool {
	return src == dst || l.f.NVLink.Rate > 0 && l.f.GPUs[src].Host == l.f.GPUs[dst].Host
}

// startReady starts what became ready, in order.
func (n *Network) startReady() {
	for n.todoHead < len(n.todo) {
		op := n.todo[n.todoHead]
		n.todoHead++
		n.start(op)
	}
	n.todo, n.todoHead = n.todo[:0], 0
}

// start is netsim's: computing and NVLink go one after the other out of a GPU.
func (n *Network) start(id uint32) {
	op := &n.plan.Ops[id]
	n.times[id] = OpTime{Start: units.At(n.now), End: units.At(-1)}
	switch {
	case op.Kind == workload.Compute:
		free := &n.gpuFree[op.Src]
		*free = max(*free, n.now) + int64(op.Time)
		n.queue.push(*free, evOpEnd, id)
	case op.Kind == workload.Join, op.Src == op.Dst:
		n.finish(id)
	case n.links.local(op.Src, op.Dst):
		rate := n.f.NVLink.Rate
		if op.Rate > 0 {
			rate = min(rate, op.Rate)
		}
		free := &n.nvlinkFree[op.Src]
		*free = max(*free, n.now) + int64(units.Serialize(op.Bytes, rate))
		n.queue.push(*free+int64(n.f.NVLink.Latency), evOpEnd, id)
	default:
		n.sendOp(id, op)
	}
}

// sendOp deals a message to the QPs of its connection: whole messages in turn, or each message in equal parts.
func (n *Network) sendOp(id uint32, op *workload.Op) {
	c := &n.conns[n.opConn[id]]
	if c.first == none {
		n.open(c)
	}
	parts := uint32(1)
	if n.c.SplitMessages {
		parts = uint32(min(n.c.packets(op.Bytes), units.Bytes(c.qps)))
	}
	n.parts[id] = uint16(parts)
	share, extra := op.Bytes/units.Bytes(parts), op.Bytes%units.Bytes(parts)
	limit := math.Inf(1)
	if op.Rate > 0 {
		limit = float64(op.Rate) / 8e12
	}
	for i := range parts {
		b := share
		if units.Bytes(i) < extra {
			b++
		}
		mi := n.newMessage()
		n.msgs[mi] = message{wire: n.c.wire(b), first: n.c.first(b), limit: limit, op: id, qp: c.first + c.turn, next: none}
		c.turn = (c.turn + 1) % c.qps
		if n.c.NICLatency > 0 {
			n.queue.push(n.now+int64(n.c.NICLatency), evPost, mi)
		} else {
			n.post(mi)
		}
	}
}

func (n *Network) newMessage() uint32 {
	if mi := n.freeMsg; mi != none {
		n.freeMsg = n.msgs[mi].next
		return mi
	}
	n.msgs = append(n.msgs, message{})
	return uint32(len(n.msgs) - 1)
}

// open makes the QPs of a connection, with the numbers and hashes that netsim gives them.
func (n *Network) open(c *conn) {
	c.first, c.qps = uint32(len(n.qps)), uint32(n.c.QPs*n.links.planes(c.src, c.dst))
	for k := range int(c.qps) {
		a, b := n.links.ends(c.src, c.dst, k)
		there, back := n.links.hashes(a, b)
		n.qps = append(n.qps, qp{a: a, b: b, head: none, tail: none, limit: math.Inf(1), there: there, back: back})
		n.join(uint32(len(n.qps) - 1))
	}
	n.ends.grow(len(n.qps))
}

// join makes the flow of a QP: its way there, and that of its acknowledgements back.
func (n *Network) join(id uint32) {
	q := &n.qps[id]
	n.path, q.way = n.links.walk(n.path[:0], q.a, q.b, q.there, 1)
	n.path, _ = n.links.walk(n.path, q.b, q.a, q.back, n.c.ackShare())
	if !q.way.ok {
		q.limit = 0
	}
	n.share.add(merge(n.path), q.limit)
}

// merge adds up hops through one constraint, in place.
func merge(path []hop) []hop {
	out := path[:0]
next:
	for _, h := range path {
		for i := range out {
			if out[i].con == h.con {
				out[i].weight += h.weight
				continue next
			}
		}
		out = append(out, h)
	}
	return out
}

// post appends a message to its QP.
func (n *Network) post(mi uint32) {
	id := n.msgs[mi].qp
	q := &n.qps[id]
	if q.head != none {
		n.msgs[q.tail].next = mi
		q.tail = mi
		return
	}
	q.head, q.tail = mi, mi
	n.launch(id)
}

// launch puts a QP under way with its first message.
func (n *Network) launch(id uint32) {
	q := &n.qps[id]
	m := &n.msgs[q.head]
	q.left, q.at, q.since = m.wire, n.now, n.now
	if q.limit = m.limit; !q.way.ok {
		q.limit = 0
	}
	n.share.limit(id, q.limit)
	n.share.begin(id)
}

// out is the moment at which the last byte of a message has left its NIC, now or, where flows end together, soon.
func (n *Network) out(id uint32, at int64) {
	q := &n.qps[id]
	n.settle(id)
	n.carried(id, q.left)
	q.left = 0
	mi := q.head
	m := &n.msgs[mi]
	n.queue.push(at+q.way.latency+int64(math.Ceil(q.way.store*float64(m.first))), evArrive, m.op)
	q.head = m.next
	m.next = n.freeMsg
	n.freeMsg = mi
	if q.head == none {
		q.tail = none
		n.ends.drop(id)
		n.share.end(id)
		return
	}
	if n.msgs[q.head].limit != q.limit && q.way.ok {
		n.ends.drop(id)
		n.share.end(id)
		n.launch(id)
		return
	}
	q.left, q.at, q.since = n.msgs[q.head].wire, n.now, n.now
	n.schedule(id)
}

// finish ends an operation and makes ready what waited for it.
func (n *Network) finish(id uint32) {
	n.times[id].End = units.At(n.now)
	if !n.plan.Ops[id].Background {
		n.left--
	}
	for _, d := range n.plan.Dependants(workload.OpID(id)) {
		if n.waits[d]--; n.waits[d] > 0 {
			continue
		}
		if at := int64(n.plan.Ops[d].At); at > n.now {
			n.queue.push(at, evOp, uint32(d))
		} else {
			n.todo = append(n.todo, uint32(d))
		}
	}
}
