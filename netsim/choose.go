package netsim

import (
	"errors"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// How a switch chooses one of several equal-cost ports where a hash alone does not decide. The schemes and their state are in netsim/route;
// here is what they are told of queues, and of packets as they pass. One switch statement over a small number serves all: it is
// predicted, nothing is allocated, and no call goes through a table or an interface.

// chooser is what the path choice of a run keeps.
type chooser struct {
	scheme route.Scheme
	hashed bool // the hash in the packet decides, made once for a QP or, where the sender chooses, for each packet
	atHost bool

	walks      [2]route.Walks   // of data and of control packets, so that neither disturbs the other's round
	flowlets   []route.Flowlets // by switch
	drill      route.DRILL
	candidates []uint32 // buffers of drill
	loads      []int64
	dlb        route.DLB
	perFlowlet bool
	interval   int64
	sampling   []bool // by switch: an evSample is due
	grades     route.Grades
	small      int64
	busy       int64 // bytes of an interval from which a port counts as used, of 2^16 of what its rate allows; 0: not looked at

	congaParams route.CONGAParams
	conga       route.CONGA
	dre         []route.DRE // by port
	tags        []route.Tag // by packet
	leafOf      []uint32    // number of a leaf, by switch; none for those without hosts
	leafAt      []uint32    // number of its leaf, by endpoint
	leafHost    []uint32    // an endpoint of it, by leaf

	spray sprayer
}

// errLeafPorts refuses CONGA where its tables would be of no use or too large.
var errLeafPorts = errors.New("netsim: path conga: more than 1024 leaves, or a leaf with more than 1024 ports")

// buildChoice makes the state that the path choice needs.
func (n *Network) buildChoice(c Config) error {
	x := &n.choice
	x.scheme, _ = route.Parse(string(c.Path))
	x.atHost = x.scheme.AtHost()
	x.hashed = x.atHost || x.scheme == route.ByECMP || x.scheme == route.ByECMPQPN
	p := &c.PathParams
	switch x.scheme {
	case route.ByLetFlow:
		x.newFlowlets(len(n.switches), p.LetFlow.Gap, p.LetFlow.Slots)
	case route.ByDRILL:
		x.drill = route.NewDRILL(p.DRILL)
		x.candidates, x.loads = make([]uint32, 0, 32), make([]int64, 0, 32)
	case route.ByDLB:
		x.sample(n, p.DLB)
		if p.DLB.Mode == route.PerFlowlet {
			x.perFlowlet = true
			x.newFlowlets(len(n.switches), p.DLB.Gap, p.DLB.Slots)
		}
	case route.ByNVIDIAAR:
		x.grades, x.small = route.NewGrades(p.NVIDIAAR), int64(p.NVIDIAAR.Small)
		if u := p.NVIDIAAR.Utilisation; u > 0 {
			x.busy = int64(float64(u) * (1 << 16))
			x.sample(n, p.DLB)
		}
	case route.ByCONGA:
		return x.buildCONGA(n, p.CONGA)
	case route.ByBuckets:
		return x.buildBuckets(n, p.Buckets)
	}
	return nil
}

func (x *chooser) newFlowlets(switches int, gap units.Duration, slots int) {
	x.flowlets = make([]route.Flowlets, switches)
	for i := range x.flowlets {
		x.flowlets[i] = route.NewFlowlets(gap, slots)
	}
}

func (x *chooser) sample(n *Network, c route.DLBConfig) {
	x.dlb = route.NewDLB(c, len(n.ports))
	x.interval = int64(c.Interval)
	x.sampling = make([]bool, len(n.switches))
}

func (x *chooser) buildCONGA(n *Network, c route.CONGAConfig) error {
	x.congaParams = route.NewCONGAParams(c)
	x.newFlowlets(len(n.switches), c.Gap, c.Slots)
	x.dre = make([]route.DRE, len(n.ports))
	x.tags = []route.Tag{}
	leaves, ways := x.numberLeaves(n)
	if leaves > 1024 || ways > 1024 {
		return errLeafPorts
	}
	x.conga = route.NewCONGA(x.congaParams, leaves, ways)
	return nil
}

// numberLeaves numbers the switches that have hosts, and tells how many there are and how many ports the largest has.
func (x *chooser) numberLeaves(n *Network) (leaves, ways int) {
	x.leafOf, x.leafAt = make([]uint32, len(n.switches)), make([]uint32, len(n.nics))
	for i := range x.leafOf {
		x.leafOf[i] = none
	}
	for ep := range n.nics {
		s := n.ports[n.ports[n.nics[ep].port].peer].node
		if x.leafOf[s] == none {
			x.leafOf[s] = uint32(leaves)
			x.leafHost = append(x.leafHost, uint32(ep))
			leaves++
			ways = max(ways, n.f.Nodes[n.switches[s].node].NumPorts)
		}
		x.leafAt[ep] = x.leafOf[s]
	}
	return leaves, ways
}

// choose picks one of several equal-cost ports for packet k that came in at port q of switch s.
func (n *Network) choose(q, s, k, first uint32, ports []fabric.PortID) uint32 {
	x := &n.choice
	pk := &n.pool.packets[k]
	rng := &n.rngs[q].Stream
	count := uint32(len(ports))
	var i uint32
	switch x.scheme {
	case route.ByRandom:
		i = rng.Below(count)
	case route.ByRoundRobin:
		walk := &x.walks[0]
		if pk.kind() != data {
			walk = &x.walks[1]
		}
		i = walk.Next(first, count, rng)
	case route.ByLetFlow:
		var running bool
		if i, running = x.flowlets[s].Running(pk.hash, count, units.At(n.now)); !running {
			i = rng.Below(count)
			x.flowlets[s].Begin(pk.hash, count, i)
		}
	case route.ByDRILL:
		x.candidates = x.drill.Candidates(first, count, rng, x.candidates)
		x.loads = x.loads[:0]
		for _, c := range x.candidates {
			x.loads = append(x.loads, n.load(uint32(ports[c]), pk.prio))
		}
		i = x.drill.Remember(first, x.candidates, x.loads)
	case route.ByDLB:
		n.keepSampling(s)
		if !x.perFlowlet {
			i = x.dlb.Pick(ports, rng)
			break
		}
		var running bool
		if i, running = x.flowlets[s].Running(pk.hash, count, units.At(n.now)); !running {
			i = x.dlb.Pick(ports, rng)
			x.flowlets[s].Begin(pk.hash, count, i)
		}
	case route.ByNVIDIAAR:
		i = n.grade(s, pk, first, ports, rng)
	case route.ByCONGA:
		i = n.leastCongested(s, pk, ports, rng)
	case route.ByBuckets:
		i = n.spread(s, k, first, ports)
	}
	return uint32(ports[i])
}

// load is what a packet of a class would wait for at a port: the queue, and what is left of the packet on the wire.
func (n *Network) load(pi uint32, prio uint8) int64 {
	p := &n.ports[pi]
	b := n.egress[class(pi, prio)].bytes
	if left := p.busy - n.now; left > 0 {
		b += mulDiv(left, int64(p.rate), 8*int64(units.Second))
	}
	return b
}

func (n *Network) grade(s uint32, pk *packet, first uint32, ports []fabric.PortID, rng *route.Stream) uint32 {
	x := &n.choice
	if int64(pk.size) < x.small {
		return route.Pick(pk.hash, n.switches[s].salt, uint32(len(ports)))
	}
	if x.busy > 0 {
		n.keepSampling(s)
	}
	x.grades.Begin()
	for i, p := range ports {
		used := false
		if x.busy > 0 {
			used = x.dlb.Load(uint32(p))<<16 >= n.fullInterval(uint32(p))*x.busy
		}
		x.grades.Offer(uint32(i), n.egress[class(uint32(p), pk.prio)].bytes, used)
	}
	return x.grades.Pick(first, uint32(len(ports)), rng)
}

// keepSampling makes sure that the qualities of a switch's ports are taken at every multiple of the interval while anything moves.
func (n *Network) keepSampling(s uint32) {
	if x := &n.choice; !x.sampling[s] {
		x.sampling[s] = true
		n.queue.push(newEvent((n.now/x.interval+1)*x.interval, evSample, s))
	}
}

// sampleQualities is evSample.
func (n *Network) sampleQualities(s uint32) {
	x := &n.choice
	rest := true
	node := &n.f.Nodes[n.switches[s].node]
	for i := range node.NumPorts {
		pi := uint32(node.FirstPort) + uint32(i)
		var sent uint64
		var queued int64
		for _, e := range n.egress[class(pi, 0):class(pi+1, 0)] {
			sent += e.txBytes
			queued += e.bytes
		}
		if !x.dlb.Sample(pi, sent, queued, n.fullInterval(pi)) {
			rest = false
		}
	}
	x.sampling[s] = false
	if !rest {
		n.keepSampling(s)
	}
}

// fullInterval is what a port sends in a sampling interval at full rate.
func (n *Network) fullInterval(pi uint32) int64 {
	return mulDiv(n.choice.interval, int64(n.ports[pi].rate), 8*int64(units.Second))
}

// leastCongested is CONGA's choice: at the leaf of the source the way with the least worst utilisation, new for each flowlet. Higher switches
// hash, for it knows two tiers.
func (n *Network) leastCongested(s uint32, pk *packet, ports []fabric.PortID, rng *route.Stream) uint32 {
	x := &n.choice
	count := uint32(len(ports))
	leaf := x.leafOf[s]
	if leaf == none {
		return route.Pick(pk.hash, n.switches[s].salt, count)
	}
	now := units.At(n.now)
	i, running := x.flowlets[s].Running(pk.hash, count, now)
	if running {
		return i
	}
	other, base := x.leafAt[pk.dst], n.f.Nodes[n.switches[s].node].FirstPort
	least, ties := uint8(255), uint32(0)
	for j, p := range ports {
		m := max(x.dre[p].Level(now, n.ports[p].rate, &x.congaParams), x.conga.Metric(leaf, other, uint32(p-base), now))
		if m < least {
			least, ties = m, 0
		}
		if m == least { // each of equals with the same chance
			if ties++; ties == 1 || rng.Below(ties) == 0 {
				i = uint32(j)
			}
		}
	}
	x.flowlets[s].Begin(pk.hash, count, i)
	return i
}

// passCONGA is a packet on its way through switch s from port q to port out: its tag is written at the first leaf, raised everywhere, read
// at the last leaf.
func (n *Network) passCONGA(q, s, out, k uint32) {
	x := &n.choice
	pk, tag := &n.pool.packets[k], &x.tags[k]
	now := units.At(n.now)
	here, there := x.leafOf[s], x.leafAt[pk.dst]
	if n.ports[n.ports[q].peer].host {
		*tag = route.Tag{}
		if here != there {
			way := out - uint32(n.f.Nodes[n.switches[s].node].FirstPort)
			*tag = x.conga.Depart(here, there, way, now)
		}
	}
	x.dre[out].Add(units.Bytes(pk.size), now, &x.congaParams)
	if here == there {
		x.conga.Arrive(here, *tag, now)
		return
	}
	tag.Meet(x.dre[out].Level(now, n.ports[out].rate, &x.congaParams))
}
