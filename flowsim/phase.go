package flowsim

import (
	"errors"
	"fmt"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// A collective over 10^5 GPUs has too many operations to be carried out one by one, and no need to be: it is a few phases in which
// every flow carries as much as every other.
//
// For flows of equal size that begin together, max-min fairness ends the last one when the most loaded link has carried its load:
// on that link every flow gets the least share there is anywhere; none of them ends before the others, and no flow elsewhere
// ever falls below that share, since flows only go. So the time of the phase is the largest of load / capacity over the links, and
// for one group among several it is at most the largest over the links that the group uses. Loads are added up flow by flow
// without keeping the flows: 10^7 of them take seconds and no memory.
//
// In a ring or a tree all flows are held in step by the slowest, so the same holds step by step (ring.go, tree.go).

// MaxFlows bounds the flows of one phase: this many take about two minutes.
const MaxFlows = 1 << 28

// carriedOps is how many operations a phase may have to be carried out flow by flow instead: what takes no time need not be worked
// out.
const carriedOps = 1 << 15

// ErrTooMany refuses a phase of more flows.
var ErrTooMany = errors.New("flowsim: too many flows to work out")

// Estimator works out whole phases on one fabric. The same calls in the same order give the same times.
//
// Loads and times are by site: a port, the way of a GPU into NVLink, or, where flows are split over all ports, a pair of leaves.
type Estimator struct {
	f     *fabric.Fabric
	links *links
	ack   float64 // what a byte and its acknowledgement put on a link, in bytes; both ways carry as much

	load  []float64 // bytes by site
	time  []float64 // ps by site: how long it takes to carry its load
	gpus  uint32    // first site of NVLink
	pairs uint32    // first site of pairs of leaves

	usedPairs []pairFlow // pairs with a load
	pairOf    []int32    // leaf * leaves + leaf -> place in usedPairs, -1 for none
	walker    *walker
	path      []hop
	sites     []uint32
	start     []uint32 // QP numbers at the beginning of the pass
	flows     int64
	carried   int64 // a phase of fewer operations is carried out
	messages  int   // that a connection carries at a time, dealt to its QPs in turn; 0: many
}

// pairFlow is a pair of leaves and an endpoint below each, for the routes.
type pairFlow struct{ a, b uint32 }

// NewEstimator prepares a fabric. Faults have no place in it: what a link carries is what the fabric says.
func NewEstimator(f *fabric.Fabric, c Config) (*Estimator, error) {
	c = c.withDefaults()
	if len(c.Faults) > 0 {
		return nil, fmt.Errorf("flowsim: phases are worked out for links that stay as they are; %d faults cannot be", len(c.Faults))
	}
	if err := c.validate(len(f.Ports)); err != nil {
		return nil, err
	}
	e := &Estimator{f: f, links: newLinks(f, c), ack: 1 + c.ackShare(), carried: carriedOps, gpus: uint32(len(f.Ports)), pairs: uint32(len(f.Ports) + len(f.GPUs))}
	sites := len(f.Ports) + len(f.GPUs)
	if c.Path == Split {
		if e.links.count > 1<<13 {
			return nil, fmt.Errorf("%w: they are split over all ports of %d leaves; at most %d leaves can be", ErrTooMany, e.links.count, 1<<13)
		}
		e.walker = newWalker(e.links)
		e.pairOf = make([]int32, e.links.count*e.links.count)
		for i := range e.pairOf {
			e.pairOf[i] = -1
		}
	}
	e.load, e.time = make([]float64, sites), make([]float64, sites)
	return e, nil
}

// begin starts a pass that adds loads up; the QPs opened in it are opened again in the pass that reads the times.
func (e *Estimator) begin() {
	clear(e.load)
	for _, p := range e.usedPairs {
		e.pairOf[e.pairIndex(p.a, p.b)] = -1
	}
	e.usedPairs = e.usedPairs[:0]
	e.load, e.time = e.load[:e.pairs], e.time[:e.pairs]
	e.start = append(e.start[:0], e.links.id.qpn...)
	e.flows = 0
}

// again goes back to the beginning of the pass.
func (e *Estimator) again() { copy(e.links.id.qpn, e.start) }

func (e *Estimator) pairIndex(a, b uint32) int {
	l := e.links
	return int(l.leafs[l.leaf[a]])*l.count + int(l.leafs[l.leaf[b]])
}

// cross is where a flow between two endpoints goes, as sites, and the time it takes to get there. The slice is reused.
func (e *Estimator) cross(a, b uint32) ([]uint32, way) {
	there, _ := e.links.hashes(a, b)
	e.sites = e.sites[:0]
	if e.walker == nil {
		var w way
		e.path, w = e.links.walk(e.path[:0], a, b, there, 1)
		for _, h := range e.path {
			e.sites = append(e.sites, h.con)
		}
		return e.sites, w
	}
	i := e.pairIndex(a, b)
	if e.pairOf[i] < 0 {
		e.pairOf[i] = int32(len(e.usedPairs))
		e.usedPairs = append(e.usedPairs, pairFlow{a, b})
		e.load, e.time = append(e.load, 0), append(e.time, 0)
	}
	last := e.f.Ports[e.f.Endpoints[b]].Peer
	e.sites = append(e.sites, uint32(e.f.Endpoints[a]), e.pairs+uint32(e.pairOf[i]), uint32(last))
	// The ways of a pair differ by their cables alone; the first stands for all, and it is short enough to walk.
	w := way{latency: int64(e.f.Ports[e.f.Endpoints[a]].Delay), ok: true}
	for at := e.links.leaf[a]; at != e.links.leaf[b]; {
		ports := e.links.next(at, b)
		if len(ports) == 0 {
			w.ok = false
			return e.sites, w
		}
		w.pass(e.links, ports[0])
		at = e.f.Ports[e.f.Ports[ports[0]].Peer].Node
	}
	w.pass(e.links, last)
	return e.sites, w
}

// edge is what one GPU sends another in a phase: how long the busiest site of its way takes for its whole load, and the time from
// the last byte sent to the last received.
type edge struct {
	ps      float64
	planes  float64
	latency float64
	broken  bool
}

// add loads what src sends dst, a message of the given payload in parallel parts over the QPs of their connection.
func (e *Estimator) add(src, dst fabric.GPUID, payload units.Bytes) {
	e.flows++
	if e.links.local(src, dst) {
		if src != dst {
			e.load[e.gpus+uint32(src)] += float64(payload)
		}
		return
	}
	n, used := e.qps(src, dst)
	each := float64(e.links.c.wire(payload)*e.ack) / float64(used)
	for k := range n {
		a, b := e.links.ends(src, dst, k)
		sites, _ := e.cross(a, b)
		if k >= used {
			continue
		}
		for _, s := range sites {
			e.load[s] += each
		}
	}
}

// qps is how many QPs a connection opens, and how many of them what is loaded now uses.
func (e *Estimator) qps(src, dst fabric.GPUID) (n, used int) {
	n = e.links.c.QPs * e.links.planes(src, dst)
	if used = n; e.messages > 0 && !e.links.c.SplitMessages {
		used = min(n, e.messages)
	}
	return n, used
}

// look reads back what add has loaded, in a second pass in the same order.
func (e *Estimator) look(src, dst fabric.GPUID, payload units.Bytes) edge {
	if e.links.local(src, dst) {
		if src == dst {
			return edge{planes: 1}
		}
		return edge{ps: e.time[e.gpus+uint32(src)], planes: 1, latency: float64(e.f.NVLink.Latency)}
	}
	out := edge{planes: float64(e.links.planes(src, dst))}
	first := float64(e.links.c.first(payload))
	n, used := e.qps(src, dst)
	for k := range n {
		a, b := e.links.ends(src, dst, k)
		sites, w := e.cross(a, b)
		if k >= used {
			continue
		}
		for _, s := range sites {
			out.ps = max(out.ps, e.time[s])
		}
		out.latency = max(out.latency, float64(w.latency)+float64(w.store*first))
		out.broken = out.broken || !w.ok
	}
	out.latency += float64(e.links.c.NICLatency)
	return out
}

// settle turns loads into times.
func (e *Estimator) settle() {
	for i, p := range e.usedPairs {
		e.walker.walk(p.a, p.b)
		bytes := e.load[e.pairs+uint32(i)]
		for _, h := range e.walker.out {
			e.load[h.con] += float64(bytes * h.weight)
		}
	}
	for p := range e.f.Ports {
		e.time[p] = e.load[p] / e.links.capacityOf(fabric.PortID(p))
	}
	if rate := e.f.NVLink.Rate; rate > 0 {
		for g := range e.f.GPUs {
			s := e.gpus + uint32(g)
			e.time[s] = e.load[s] * 8e12 / float64(rate)
		}
	}
	for i, p := range e.usedPairs {
		e.walker.walk(p.a, p.b)
		worst := 0.0
		for _, h := range e.walker.out {
			worst = max(worst, e.time[h.con])
		}
		e.time[e.pairs+uint32(i)] = worst
	}
}

// capacityOf is what a port carries, in bytes a picosecond.
func (l *links) capacityOf(p fabric.PortID) float64 { return float64(l.rate[p]) / 8e12 }

// Phase is a collective carried out by several groups at once.
type Phase struct {
	Times []units.Duration // by group
	Time  units.Duration   // of the slowest
	// Busy is by port: the share of Time that it sends.
	Busy []float32
	// PerFlow is what each of its flows gets, in bytes a picosecond, while it is under way.
	PerFlow float64
	Flows   int64 // that were worked out
}

// Collective works out a call by every one of the groups, all at the same time. Call.Ranks is of no meaning; the groups share no GPU.
func (e *Estimator) Collective(c workload.Call, groups [][]fabric.GPUID) (Phase, error) {
	if len(groups) > 0 {
		r := c
		r.Ranks = groups[0]
		switch r = r.Resolved(e.f); r.Algorithm {
		case workload.Hierarchical, workload.NVLS, workload.InNetwork:
			if countOps(e.f, c, groups) >= e.carried {
				return Phase{}, fmt.Errorf("flowsim: %w: the algorithm %s with so many ranks; use ring or tree, or fewer ranks", ErrPackets, r.Algorithm)
			}
		default:
			c.Algorithm, c.Protocol = r.Algorithm, r.Protocol
		}
	}
	if flows := countFlows(e.f, c, groups); flows > MaxFlows {
		return Phase{}, fmt.Errorf("%w: %d in one phase, at most %d", ErrTooMany, flows, int64(MaxFlows))
	}
	if ops := countOps(e.f, c, groups); ops < e.carried {
		return e.carry(c, groups)
	}
	return e.work(c, groups)
}

// work works the phase out as a whole.
func (e *Estimator) work(c workload.Call, groups [][]fabric.GPUID) (Phase, error) {
	p := Phase{Times: make([]units.Duration, len(groups)), Busy: make([]float32, len(e.f.Ports))}
	times := make([]float64, len(groups))
	e.messages = 0
	var err error
	switch c.Collective {
	case workload.AllReduce, workload.AllGather, workload.ReduceScatter:
		if c.Algorithm == workload.Tree {
			err = e.trees(c, groups, times, p.Busy)
		} else {
			err = e.rings(c, groups, times, p.Busy)
		}
	case workload.AllToAll, workload.SendRecv:
		err = e.exchange(c, groups, times, p.Busy)
	default:
		err = fmt.Errorf("flowsim: %v is no collective", c.Collective)
	}
	if err != nil {
		return Phase{}, err
	}
	p.Flows, p.PerFlow = e.flows, 0
	for g, t := range times {
		p.Times[g] = units.Duration(math.Ceil(t))
		p.Time = max(p.Time, p.Times[g])
	}
	if p.Time > 0 {
		for i := range p.Busy {
			p.Busy[i] /= float32(p.Time)
		}
	}
	p.PerFlow = e.perFlow(c, groups, p.Time)
	return p, nil
}

// perFlow is what every flow of a phase gets: the bytes of a connection over the time it is used.
func (e *Estimator) perFlow(c workload.Call, groups [][]fabric.GPUID, time units.Duration) float64 {
	for _, g := range groups {
		if len(g) < 2 || time <= 0 {
			continue
		}
		c.Ranks = g
		r := c.Resolved(e.f)
		var sent units.Bytes
		share := 1.0 // of the time that a connection is used
		switch {
		case r.Collective == workload.AllToAll:
			sent = r.Part()
			if r.InFlight > 0 {
				share = min(1, float64(r.InFlight)/float64(len(g)-1))
			}
		case r.Collective == workload.SendRecv:
			sent = r.Size
		case r.Algorithm == workload.Tree:
			sent = r.Size / units.Bytes(2*r.Channels)
		default:
			sent = r.Part() * units.Bytes(r.RingSteps()) / units.Bytes(r.Channels)
		}
		qps := float64(e.links.c.QPs)
		return e.links.c.wire(max(1, sent)) * e.ack / qps / (float64(time) * share)
	}
	return 0
}

// carry carries the phase out flow by flow.
func (e *Estimator) carry(c workload.Call, groups [][]fabric.GPUID) (Phase, error) {
	p := Phase{Times: make([]units.Duration, len(groups)), Busy: make([]float32, len(e.f.Ports))}
	var b workload.Builder
	first := make([]int, len(groups)+1)
	for i, g := range groups {
		c.Ranks = g
		b.Call(e.f, c, nil)
		first[i+1] = b.Ops()
	}
	plan := b.Plan()
	n, err := New(e.f, plan, e.links.c)
	if err != nil {
		return Phase{}, err
	}
	copy(n.links.id.qpn, e.links.id.qpn)
	if done, err := n.RunUntil(units.At(forever)); err != nil {
		return Phase{}, err
	} else if !done {
		return Phase{}, errBroken
	}
	copy(e.links.id.qpn, n.links.id.qpn)
	for i := range groups {
		for _, t := range n.times[first[i]:first[i+1]] {
			p.Times[i] = max(p.Times[i], t.End.Sub(units.At(0)))
		}
		p.Time = max(p.Time, p.Times[i])
	}
	p.Flows = int64(len(n.qps))
	for i := range p.Busy {
		if id := fabric.PortID(i); p.Time > 0 {
			p.Busy[i] = float32(float64(n.Bytes(id)) / e.links.capacityOf(id) / float64(p.Time))
		}
	}
	p.PerFlow = e.perFlow(c, groups, p.Time)
	return p, nil
}

// sent adds to out how long each port sends when what was loaded passes the given number of times, in ps.
func (e *Estimator) sent(out []float32, times float64) {
	for i := range out {
		out[i] += float32(e.time[i] * times)
	}
}

// errBroken is a flow that no switch has a way for.
var errBroken = errors.New("flowsim: some GPUs have no way to each other")

// countOps is at most how many operations a phase would be.
func countOps(f *fabric.Fabric, c workload.Call, groups [][]fabric.GPUID) int64 {
	var sum int64
	for _, g := range groups {
		c.Ranks = g
		sum += c.Ops(f)
	}
	return sum
}

// countFlows is how many flows a phase is made of.
func countFlows(f *fabric.Fabric, c workload.Call, groups [][]fabric.GPUID) int64 {
	var sum int64
	for _, g := range groups {
		n := int64(len(g))
		c.Ranks = g
		switch r := c.Resolved(f); {
		case n < 2:
		case c.Collective == workload.AllToAll:
			sum += n * (n - 1)
		case c.Collective == workload.SendRecv:
			sum += n
		case c.Algorithm == workload.Tree:
			sum += 4 * n * int64(r.Channels)
		default:
			sum += n * int64(r.Channels)
		}
	}
	return sum
}
