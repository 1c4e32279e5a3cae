package flowsim

import (
	"errors"
	"fmt"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Network is one run: a plan being carried out on a fabric. As in netsim, all state lies in flat slices by id.
type Network struct {
	f     *fabric.Fabric
	plan  *workload.Plan
	c     Config
	links *links

	now   int64
	share sharing
	queue events
	ends  ends

	conns   []conn
	opConn  []uint32
	qps     []qp // by flow
	msgs    []message
	freeMsg uint32
	path    []hop // scratch

	times               []OpTime
	waits               []uint32
	parts               []uint16
	gpuFree, nvlinkFree []int64
	todo                []uint32
	todoHead            int
	left, total         int

	down      []uint8   // by port: link-down faults upon it
	before    []float64 // by port: bytes carried before the last change of paths
	recurring int       // events that only repeat a fault
	returned  []bool    // fault i has begun before
	fills     uint64
	err       error
}

// OpTime is when an operation ran; End lies before Start as long as it has not ended.
type OpTime struct{ Start, End units.Instant }

// New prepares a run. It fails when the plan names GPUs that the fabric has not, or the configuration cannot be.
func New(f *fabric.Fabric, plan *workload.Plan, c Config) (*Network, error) {
	c = c.withDefaults()
	if err := errors.Join(c.validate(len(f.Ports)), checkPlan(f, plan)); err != nil {
		return nil, err
	}
	n := &Network{
		f: f, plan: plan, c: c, links: newLinks(f, c), freeMsg: none,
		times: make([]OpTime, len(plan.Ops)), waits: make([]uint32, len(plan.Ops)), parts: make([]uint16, len(plan.Ops)),
		gpuFree: make([]int64, len(f.GPUs)), nvlinkFree: make([]int64, len(f.GPUs)),
		down: make([]uint8, len(f.Ports)), before: make([]float64, len(f.Ports)), returned: make([]bool, len(c.Faults)),
	}
	n.connect()
	n.setConstraints()
	for i := range plan.Ops {
		if !plan.Ops[i].Background {
			n.left++
			n.total++
		}
		n.times[i].End = units.At(-1)
		if n.waits[i] = plan.Dependencies(workload.OpID(i)); n.waits[i] == 0 {
			n.queue.push(int64(plan.Ops[i].At), evOp, uint32(i))
		}
	}
	for i := range c.Faults {
		n.queue.push(int64(c.Faults[i].At), evFault, uint32(i))
	}
	return n, nil
}

// maxPlanErrors bounds the errors of one plan; the rest would say the same.
const maxPlanErrors = 20

func checkPlan(f *fabric.Fabric, plan *workload.Plan) error {
	var errs []error
	for i := range plan.Ops {
		op := &plan.Ops[i]
		if op.Kind == workload.Reduce {
			return fmt.Errorf("flowsim: %w: sums in the switches are simulated packet by packet alone", ErrPackets)
		}
		var text string
		switch {
		case int(op.Src) >= len(f.GPUs) || op.Kind == workload.Send && int(op.Dst) >= len(f.GPUs):
			text = fmt.Sprintf("names GPU %d, the fabric has %d", max(op.Src, op.Dst), len(f.GPUs))
		case op.Bytes < 0 || op.Time < 0 || op.At < 0 || op.Rate < 0:
			text = "has a negative size, time or rate"
		case op.Kind == workload.Send && (len(f.GPUs[op.Src].NICs) == 0 || len(f.GPUs[op.Dst].NICs) == 0):
			text = fmt.Sprintf("sends between GPUs %d and %d, of which one has no NIC", op.Src, op.Dst)
		default:
			continue
		}
		if errs = append(errs, fmt.Errorf("flowsim: operation %d %s", i, text)); len(errs) == maxPlanErrors {
			break
		}
	}
	return errors.Join(errs...)
}

// setConstraints makes the constraints for the links as they are. No flow may be under way.
func (n *Network) setConstraints() {
	if n.c.Path == Split {
		n.links.spreadOver(n.pairsInUse())
	}
	n.share.cons = make([]constraint, n.links.constraints())
	for i := range n.share.cons {
		n.share.cons[i] = constraint{capacity: n.links.capacity(uint32(i)), head: none}
	}
}

// RunUntil carries the run on until every operation that is not background has finished or the clock reaches t, and tells which.
func (n *Network) RunUntil(t units.Instant) (done bool, err error) {
	limit := t.PS()
	for n.left > 0 && n.err == nil {
		at, ok := n.next()
		if n.share.pending() && (!ok || at > n.now) {
			n.refill()
			continue
		}
		if !ok || at > limit {
			if ok {
				n.now = max(n.now, limit)
			}
			n.settleAll()
			return false, nil
		}
		n.now = at
		if len(n.queue.list) > 0 && n.queue.list[0].at == at {
			n.handle(n.queue.pop())
		} else {
			n.out(n.ends.heap[0], n.now)
		}
		n.startReady()
	}
	n.settleAll()
	return n.left == 0, n.err
}

// next is the time of what happens next.
func (n *Network) next() (at int64, ok bool) {
	at = math.MaxInt64
	if l := n.queue.list; len(l) > 0 && len(l) > n.recurring || len(l) > 0 && len(n.ends.heap) > 0 {
		at, ok = l[0].at, true
	}
	if h := n.ends.heap; len(h) > 0 {
		at, ok = min(at, n.ends.at[h[0]]), true
	}
	return at, ok
}

func (n *Network) handle(e event) {
	switch e.kind {
	case evOp:
		n.todo = append(n.todo, e.arg)
	case evOpEnd:
		n.finish(e.arg)
	case evPost:
		n.post(e.arg)
	case evArrive:
		if n.parts[e.arg]--; n.parts[e.arg] == 0 {
			n.finish(e.arg)
		}
	case evFault:
		n.strike(e.arg)
	case evHeal:
		n.mend(e.arg)
	case evDetect:
		n.reroute()
	}
}

// refill gives the flows that a change can reach their new rates.
func (n *Network) refill() {
	s := &n.share
	n.fills++
	s.reach()
	for _, id := range s.part {
		n.settle(id)
	}
	if len(s.part) > wholeBelow && n.c.Together > 0 {
		n.endTogether()
	}
	s.share()
	for _, id := range s.part {
		n.schedule(id)
	}
}

// endTogether ends the flows of the fill that would end soon anyway; each message keeps the time at which it would have been out.
func (n *Network) endTogether() {
	s := &n.share
	kept := s.part[:0]
	for _, id := range s.part {
		q := &n.qps[id]
		soon := n.now + int64(n.c.Together*float64(n.now-q.since))
		if n.ends.pos[id] >= 0 && n.ends.at[id] <= soon && n.msgs[q.head].next == none {
			n.out(id, n.ends.at[id])
			continue
		}
		kept = append(kept, id)
	}
	s.part, s.seeds = kept, s.seeds[:0] // whoever shares with them is in the fill already
}

// settle brings what a flow has sent up to now (W3).
func (n *Network) settle(id uint32) {
	q, f := &n.qps[id], &n.share.flows[id]
	if q.at == n.now {
		return
	}
	sent := min(q.left, float64(f.rate*float64(n.now-q.at)))
	q.at = n.now
	if sent > 0 {
		q.left -= sent
		n.carried(id, sent)
	}
}

// carried counts bytes on the constraints of a flow.
func (n *Network) carried(id uint32, bytes float64) {
	f := &n.share.flows[id]
	for i := f.first; i < f.first+f.n; i++ {
		e := &n.share.entries[i]
		n.share.cons[e.con].bytes += float64(e.weight * bytes)
	}
}

func (n *Network) settleAll() {
	for id := range n.share.flows {
		if n.share.flows[id].going {
			n.settle(uint32(id))
		}
	}
}

// forever is a time that no run reaches, 26 days, with room to add to it.
const forever = 1 << 61

// schedule notes when a flow has sent what it is sending.
func (n *Network) schedule(id uint32) {
	q, f := &n.qps[id], &n.share.flows[id]
	time := q.left / f.rate
	if !(time < forever) { // no rate, or next to none
		n.ends.drop(id)
		return
	}
	n.ends.set(id, n.now+int64(math.Ceil(time)))
}

// Now is how far the run has come.
func (n *Network) Now() units.Instant { return units.At(n.now) }

// Ops returns start and end of every operation.
func (n *Network) Ops() []OpTime { return n.times }

// Fills is how often rates were worked out: what the time of a run is made of.
func (n *Network) Fills() uint64 { return n.fills }

// Stalled tells that operations are left and nothing is under way that could finish them.
func (n *Network) Stalled() bool {
	_, ok := n.next()
	return n.left > 0 && !ok && !n.share.pending()
}

// Bytes is what has left port p, headers and acknowledgements included, up to where RunUntil came.
func (n *Network) Bytes(p fabric.PortID) uint64 {
	b := n.before[p]
	if con, factor, ok := n.links.of(p); ok {
		b += float64(n.share.cons[con].bytes * factor)
	}
	return uint64(math.Round(b))
}

// Rate is what port p runs at now, 0 while its link is down.
func (n *Network) Rate(p fabric.PortID) units.Rate { return n.links.rate[p] }

// Done is the share of the operations that the run waits for which have ended.
func (n *Network) Done() float64 {
	if n.total == 0 {
		return 1
	}
	return 1 - float64(n.left)/float64(n.total)
}

// Fingerprint folds start and end of every operation and the bytes of every port into 64 bits.
func (n *Network) Fingerprint() uint64 {
	h := uint64(fnvOffset)
	add := func(v uint64) { h = (h ^ v) * fnvPrime; h ^= h >> 29 }
	for _, t := range n.times {
		add(uint64(t.Start.PS()))
		add(uint64(t.End.PS()))
	}
	for p := range n.f.Ports {
		add(n.Bytes(fabric.PortID(p)))
	}
	return h
}
