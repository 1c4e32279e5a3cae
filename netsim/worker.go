package netsim

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// worker is one member of a reduction group at its NIC.
type worker struct {
	reduction, id, ep uint32

	order  []uint32 // the operations of the member, in the order of the plan
	ready  []bool   // which of them have been started
	turn   int      // first one that is not under way
	jobs   []reduceJob
	posted uint64   // chunks of the operations that have started
	next   []uint64 // by slot: the chunk that is out, or goes out next
	out    []bool   // by slot: whether it is out
	sentAt []int64  // by slot

	waiting  []uint32 // slots whose chunks are being converted, in order
	head     int      // first of them
	free     int64    // until when the host converts
	outs     int      // chunks that are out
	progress int64    // when the last sum came, or the first chunk went out
	resent   uint64
	timing   bool // an evChunkTimeout is due
	dead     bool
}

// reduceJob is an operation under way.
type reduceJob struct {
	op         uint32
	prio       uint8
	first, end uint64 // its chunks
	left       uint64
	bytes      int64
}

func newWorker(reduction, id, ep uint32, slots uint64) worker {
	w := worker{reduction: reduction, id: id, ep: ep}
	w.next, w.out, w.sentAt = make([]uint64, slots), make([]bool, slots), make([]int64, slots)
	for i := range w.next {
		w.next[i] = uint64(i)
	}
	return w
}

// enterReduction starts a Reduce at one of its members, when those of the same group before it have been: chunks are numbered in the order of the
// plan, which is the same at all members.
func (n *Network) enterReduction(id uint32, op *workload.Op) {
	g := &n.plan.Groups[op.Group]
	r := &n.reductions[op.Group]
	ports := n.f.GPUs[op.Src].NICs
	w := &r.workers[r.member[n.f.Ports[ports[g.Channel%len(ports)]].Endpoint]]
	i, _ := slices.BinarySearch(w.order, id)
	w.ready[i] = true
	for w.turn < len(w.order) && w.ready[w.turn] {
		n.postReduction(w, w.order[w.turn])
		w.turn++
	}
}

// postReduction adds an operation to a worker: all slots that are free begin.
func (n *Network) postReduction(w *worker, id uint32) {
	op := &n.plan.Ops[id]
	chunks := n.chunksOf(op.Bytes)
	w.jobs = append(w.jobs, reduceJob{op: id, prio: op.Priority, first: w.posted, end: w.posted + chunks, left: chunks, bytes: int64(op.Bytes)})
	w.posted += chunks
	if w.dead {
		n.hopeless = n.hopeless || !op.Background
		return
	}
	for i := range w.next {
		if !w.out[i] && w.next[i] < w.posted {
			n.sendChunk(w, uint32(i))
		}
	}
}

// jobOf is the operation that a chunk belongs to.
func (w *worker) jobOf(seq uint64) *reduceJob {
	for i := range w.jobs {
		if w.jobs[i].end > seq {
			return &w.jobs[i]
		}
	}
	return nil
}

func (n *Network) payloadOf(j *reduceJob, seq uint64) int64 {
	return min(n.chunk, j.bytes-int64(seq-j.first)*n.chunk)
}

// sendChunk sends the next chunk of a slot, when the host has converted it.
func (n *Network) sendChunk(w *worker, slot uint32) {
	if w.outs == 0 {
		w.progress = n.now
	}
	w.outs++
	w.out[slot] = true
	if n.convertRate == 0 {
		n.launchChunk(w, slot)
		return
	}
	seq := w.next[slot]
	w.sentAt[slot] = forever // not before it is converted
	w.free = max(w.free, n.now) + int64(units.Serialize(units.Bytes(n.payloadOf(w.jobOf(seq), seq)), n.convertRate))
	w.waiting = append(w.waiting, slot)
	n.queue.push(newEvent(w.free, evConverted, n.workerID(w)))
}

// forever is later than anything.
const forever = int64(1) << 62

// workerID names a worker in an event: 12 bits of member below the group.
func (n *Network) workerID(w *worker) uint32 { return w.reduction<<workerBits | w.id }

const workerBits = 14

func (n *Network) workerAt(id uint32) *worker {
	return &n.reductions[id>>workerBits].workers[id&(1<<workerBits-1)]
}

// converted is evConverted.
func (n *Network) converted(id uint32) {
	w := n.workerAt(id)
	slot := w.waiting[w.head]
	if w.head++; w.head == len(w.waiting) {
		w.waiting, w.head = w.waiting[:0], 0
	}
	if !w.dead {
		n.launchChunk(w, slot)
	}
}

// launchChunk hands the chunk of a slot to the NIC.
func (n *Network) launchChunk(w *worker, slot uint32) {
	seq := w.next[slot]
	j := w.jobOf(seq)
	payload := n.payloadOf(j, seq)
	k := n.take()
	pk := &n.pool.packets[k]
	pk.qp, pk.dst, pk.hash, pk.psn = w.reduction, toReduction, 0, uint32(seq)&psnMask
	pk.size, pk.prio, pk.flags = uint16(payload+headerBytes), j.prio, ack
	n.addends[k] = addend{seq: seq, value: valueOf(w.id, seq), hosts: 1}
	n.nicCounters[w.ep].TxDataBytes += uint64(payload)
	w.sentAt[slot] = n.now
	if !w.timing {
		w.timing = true
		n.queue.push(newEvent(n.now+n.chunkTimeout, evChunkTimeout, n.workerID(w)))
	}
	n.launch(n.nics[w.ep].port, k)
}

// sumArrives is the sum of a chunk at the NIC of endpoint ep.
func (n *Network) sumArrives(ep, k uint32) {
	pk := &n.pool.packets[k]
	r := &n.reductions[pk.qp]
	a := n.addends[k]
	payload := uint64(pk.size - headerBytes)
	n.give(k)
	if r.member[ep] < 0 {
		return
	}
	w := &r.workers[r.member[ep]]
	slot := uint32(a.seq % uint64(len(w.next)))
	if w.dead || !w.out[slot] || w.next[slot] != a.seq {
		n.nicCounters[ep].DuplicateRequest++
		return
	}
	n.nicCounters[ep].RxDataBytes += payload
	if hosts := len(r.workers); int(a.hosts) != hosts || a.value != sumOf(hosts, a.seq) {
		n.fail(fmt.Errorf("netsim: reduction group %d: chunk %d adds up to %#x over %d hosts, should be %#x over %d",
			w.reduction, a.seq, a.value, a.hosts, sumOf(hosts, a.seq), hosts))
		return
	}
	w.out[slot] = false
	w.next[slot] += uint64(len(w.next))
	w.outs--
	w.progress = n.now
	j := w.jobOf(a.seq)
	if j.left--; j.left == 0 {
		op := j.op
		for len(w.jobs) > 0 && w.jobs[0].left == 0 {
			w.jobs = append(w.jobs[:0], w.jobs[1:]...)
		}
		n.finish(op)
	}
	if w.next[slot] < w.posted {
		n.sendChunk(w, slot)
	}
}

// chunkTimeout is evChunkTimeout: chunks whose sums have not come in time are sent again. A worker gives up when an InfiniBand requester
// would; the group is of no more use then.
func (n *Network) chunkTimedOut(id uint32) {
	w := n.workerAt(id)
	w.timing = false
	if w.dead || w.outs == 0 {
		return
	}
	c := &n.nicCounters[w.ep]
	if n.rto > 0 && n.now-w.progress >= int64(n.retryCount+1)*n.rto {
		w.dead = true
		c.RetryExceeded++
		for i := range w.jobs {
			n.hopeless = n.hopeless || !n.plan.Ops[w.jobs[i].op].Background
		}
		return
	}
	w.timing = true
	n.queue.push(newEvent(n.now+n.chunkTimeout, evChunkTimeout, id))
	late := false
	for slot := range w.out {
		if w.out[slot] && w.sentAt[slot]+n.chunkTimeout <= n.now {
			late = true
			c.RetransmitPackets++
			w.resent++
			n.launchChunk(w, uint32(slot))
		}
	}
	if late {
		c.LocalAckTimeout++
	}
}

// Reductions is what adding up in the switches came to.
type Reductions struct {
	Chunks uint64 // sums that arrived, counted once for each host
	Resent uint64 // chunks that hosts sent again
	// ErrorBound is the largest error of a sum, as a share of the largest value of its block: floats become integers of 32 bits with
	// one exponent for a block of all hosts, and each host rounds once. n hosts leave log2(n) bits less for the value: n x n / 2^32.
	ErrorBound float64
}

func (n *Network) reduced() Reductions {
	var out Reductions
	for i := range n.reductions {
		r := &n.reductions[i]
		hosts := float64(len(r.workers))
		out.ErrorBound = max(out.ErrorBound, hosts*hosts/(1<<32))
		for j := range r.workers {
			w := &r.workers[j]
			out.Resent += w.resent
			for slot, next := range w.next {
				out.Chunks += (next - uint64(slot)) / uint64(len(w.next))
			}
		}
	}
	return out
}
