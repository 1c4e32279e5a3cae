package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Operations that became ready wait in todo until the event under way is over: starting one opens QPs and posts messages, which may
// move the slices that the event still works on, and a chain of instant operations must not become a chain of calls.

// conn is the connection of all Sends with equal source, destination, channel and priority.
type conn struct {
	src, dst   fabric.GPUID
	channel    uint16
	prio       uint8
	first, qps uint32 // its QPs, none before the first message
	turn       uint32 // whose turn the next message is
}

// connect gives every Send its connection.
func (n *Network) connect() {
	known := map[conn]uint32{} // only looked up, never iterated
	n.opConn = make([]uint32, len(n.plan.Ops))
	for i := range n.plan.Ops {
		op := &n.plan.Ops[i]
		n.opConn[i] = none
		if op.Kind != workload.Send || n.local(op) {
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

// local tells whether a Send stays within its GPU or its host's NVLink.
func (n *Network) local(op *workload.Op) bool {
	return op.Src == op.Dst || n.f.NVLink.Rate > 0 && n.f.GPUs[op.Src].Host == n.f.GPUs[op.Dst].Host
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

// ready is an operation whose dependencies are done; it starts now or at its time.
func (n *Network) ready(id uint32) {
	if at := int64(n.plan.Ops[id].At); at > n.now {
		n.queue.push(newEvent(at, evOp, id))
		return
	}
	n.todo = append(n.todo, id)
}

func (n *Network) start(id uint32) {
	op := &n.plan.Ops[id]
	n.times[id] = OpTime{Start: units.At(n.now), End: units.At(-1)}
	if n.probe.OpStart != nil {
		n.probe.OpStart(workload.OpID(id), units.At(n.now))
	}
	switch {
	case op.Kind == workload.Compute: // a GPU computes one thing at a time
		free := &n.gpuFree[op.Src]
		*free = max(*free, n.now) + int64(op.Time)
		n.queue.push(newEvent(*free, evOpEnd, id))
	case op.Kind == workload.Reduce:
		n.enterReduction(id, op)
	case op.Src == op.Dst: // a copy within a GPU is no traffic
		n.finish(id)
	case n.local(op): // out of a GPU goes one transfer after the other
		rate := n.f.NVLink.Rate
		if op.Rate > 0 {
			rate = min(rate, op.Rate)
		}
		free := &n.nvlinkFree[op.Src]
		*free = max(*free, n.now) + int64(units.Serialize(op.Bytes, rate))
		n.queue.push(newEvent(*free+int64(n.f.NVLink.Latency), evOpEnd, id))
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
	if n.split {
		packets := (op.Bytes + units.Bytes(n.mtu) - 1) / units.Bytes(n.mtu)
		parts = uint32(min(max(packets, 1), units.Bytes(c.qps)))
	}
	n.parts[id] = uint16(parts)
	share, extra := op.Bytes/units.Bytes(parts), op.Bytes%units.Bytes(parts)
	for i := range parts {
		b := share
		if units.Bytes(i) < extra {
			b++
		}
		mi := n.newMessage()
		n.msgs[mi] = message{bytes: int64(b), rate: int64(op.Rate), op: id, qp: n.nextQP(c), next: none}
		if n.nicLatency > 0 {
			n.queue.push(newEvent(n.now+n.nicLatency, evPost, mi))
		} else {
			n.post(mi)
		}
	}
}

// nextQP is the QP of a connection that takes the next message: they have their turns, and so have the planes they lie on, unless the host deals by link
// state. QP i lies on plane i modulo the planes.
func (n *Network) nextQP(c *conn) uint32 {
	turn := c.turn
	c.turn = (c.turn + 1) % c.qps
	if nics := uint32(len(n.f.GPUs[c.src].NICs)); n.deal.nics != nil && nics > 1 {
		planes := c.qps / uint32(n.qps)
		nic := uint32(n.dealt(c.src))
		turn = turn/planes*planes + nic
		if planes > nics { // the far end has more NICs: what goes there by the same one of ours has its turn
			turn += (c.turn % (planes / nics)) * nics
		}
	}
	return c.first + turn
}

func (n *Network) newMessage() uint32 {
	if mi := n.freeMsg; mi != none {
		n.freeMsg = n.msgs[mi].next
		return mi
	}
	n.msgs = append(n.msgs, message{})
	return uint32(len(n.msgs) - 1)
}

// open makes the QPs of a connection: n.qps on each plane, dealt plane by plane, as NCCL opens its QPs per connection on every device
// of a merged NIC (src/transport/net_ib).
func (n *Network) open(c *conn) {
	src, dst := n.f.GPUs[c.src].NICs, n.f.GPUs[c.dst].NICs
	c.first = uint32(len(n.snd))
	c.qps = uint32(n.qps * max(len(src), len(dst)))
	for i := range int(c.qps) {
		a := uint32(n.f.Ports[src[i%len(src)]].Endpoint)
		b := uint32(n.f.Ports[dst[i%len(dst)]].Endpoint)
		qa, qb := n.nextQPN(a), n.nextQPN(b)
		sport := route.SourcePort(qa, qb)
		there, back := uint32(0), uint32(0)
		if n.choice.scheme == route.ByECMPQPN {
			there, back = qb, qa
		}
		n.snd = append(n.snd, sender{
			oldest: none, cur: none, newest: none, src: a, dst: b, prio: c.prio,
			psn0: n.rngs[n.nics[a].port].uint32() & psnMask, // random, as connection managers choose it
			hash: route.FlowHash(n.addr[a], n.addr[b], sport, there),
		})
		n.rcv = append(n.rcv, receiver{msg: none, hash: route.FlowHash(n.addr[b], n.addr[a], sport, back)})
		n.qpCounters = append(n.qpCounters, qpCounters{})
		n.openTransport(a, b)
		n.openControl(uint32(len(n.snd)-1), a, b)
		n.openEntropy()
		if n.choice.scheme == route.ByBuckets {
			n.openSpray(a, b, sport, qb)
		}
		if n.trace != nil {
			n.trace.open(qb)
		}
		if n.context.ids != nil {
			n.openContext(qb, i%max(len(src), len(dst)))
		}
	}
}

// nextQPN hands out the QP numbers of an adapter: one after the other from a start that the seed chooses, which is what makes one run's
// ECMP collisions differ from another's.
func (n *Network) nextQPN(ep uint32) uint32 {
	n.qpn[ep] = (n.qpn[ep] + 1) & 0xffffff
	return n.qpn[ep]
}

// partDone is one part of a Send placed at its destination.
func (n *Network) partDone(id uint32) {
	if n.parts[id]--; n.parts[id] == 0 {
		n.finish(id)
	}
}

// finish ends an operation and makes ready what waited for it.
func (n *Network) finish(id uint32) {
	n.times[id].End = units.At(n.now)
	if !n.plan.Ops[id].Background {
		n.left--
	}
	if n.probe.OpDone != nil {
		n.probe.OpDone(workload.OpID(id), units.At(n.now))
	}
	for _, d := range n.plan.Dependants(workload.OpID(id)) {
		if n.waits[d]--; n.waits[d] == 0 {
			n.ready(uint32(d))
		}
	}
}
