package workload

import (
	"math"
	"math/bits"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Protocol is how NCCL hands data over within a transfer.
type Protocol string

// Protocols.
const (
	Simple Protocol = "simple" // bulk data, then a flag
	LL     Protocol = "ll"     // 4 bytes of flag with every 4 bytes
	LL128  Protocol = "ll128"  // 8 bytes of flag with every 120
)

// onWire is what b bytes of data take on the wire with the flags that travel among them.
func (p Protocol) onWire(b units.Bytes) units.Bytes {
	switch p {
	case LL:
		return 2 * b
	case LL128:
		return (b*16 + 14) / 15
	}
	return b
}

// What follows is how NCCL chooses algorithm and protocol for a size: it reckons latency + bytes / bandwidth for each and takes the least. Formulas
// and constants are those of src/graph/tuning.cc of NCCL 2.21 for GPUs on NVLink and Intel hosts; later versions changed some. Times are in
// microseconds and bandwidths in GB/s, as there. What NCCL knows of the machine is read off the fabric: the GPUs are taken to be of the
// generation that its NVLink rate belongs to, and an algorithm's channels together to carry what NVLink, and over several hosts the NICs, carry.

// generation is an index into the constants by compute capability.
type generation int

const (
	volta generation = iota
	ampere
	hopper
)

// generationOf guesses the GPUs by the NVLink rate of one: 150 GB/s on Volta, 300 on Ampere, 450 on Hopper.
func generationOf(f *fabric.Fabric) generation {
	switch r := f.NVLink.Rate; {
	case r == 0 || r >= 3000*units.Gbps:
		return hopper
	case r >= 2000*units.Gbps:
		return ampere
	}
	return volta
}

const (
	treeIndex = iota
	ringIndex
	nvlsIndex
	nvlsTreeIndex
)

const (
	llIndex = iota
	ll128Index
	simpleIndex
)

var protocols = [...]Protocol{LL, LL128, Simple}

var (
	// baseLatency is by algorithm and protocol; hopLatency by kind of hop (NVLink, network) as well.
	baseLatency = [4][3]float64{treeIndex: {6.8, 14, 0}, ringIndex: {6.6, 14, 8.4}}
	hopLatency  = [2][4][3]float64{
		{treeIndex: {.6, 1.25, 28}, ringIndex: {.6, 1.9, 3.4}, nvlsIndex: {0, 0, 23}, nvlsTreeIndex: {0, 0, 23}},
		{treeIndex: {5, 8.5, 28}, ringIndex: {2.7, 4, 14}, nvlsIndex: {0, 0, 18}, nvlsTreeIndex: {0, 0, 14}},
	}
	// By generation, then one host, two, more. llBandwidth over several hosts goes by the CPU: the first row is Intel's.
	llBandwidth        = [3][3]float64{{39, 39, 20.4}, {87.7, 22.5, 19}, {87.7, 22.5, 19}}
	ringLL128Bandwidth = [3]float64{20, 20, 36.7} // of a channel
	treeLL128Bandwidth = [3][3]float64{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}}
	treeBandwidth      = [3][3]float64{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}}
	// treeCorrection is by protocol and power of two of the size, from 64 bytes.
	treeCorrection = [3][23]float64{
		{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
		{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
		{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
	}
)

const (
	nvlinkShare     = 20.6 / 25 // of the NVLink rate that NCCL reckons with: SM90_NVLINK_BW 20.6 of 25 GB/s a link (src/graph/topo.h)
	netOverhead     = 1.0       // of posting to the network, for Intel hosts
	plateau         = 1.4       // of a ring over several hosts in its plateau
	nvlsRatio       = 5.0 / 6
	treeShare       = .92
	ringLL128Share  = .92
	ringLL128Single = .7 // with one GPU a host
)

// tuned is the algorithm and protocol that NCCL would take.
func (c Call) tuned(f *fabric.Fabric) (Algorithm, Protocol) {
	t := newTuning(f, c)
	best, algorithm, protocol := math.Inf(1), Ring, Simple
	consider := func(a Algorithm, p int, time float64) {
		if time < best {
			best, algorithm, protocol = time, a, protocols[p]
		}
	}
	for p := range protocols {
		consider(Ring, p, t.ring(p))
		if c.Collective == AllReduce {
			consider(Tree, p, t.tree(p))
		}
	}
	if nvls := (Call{Algorithm: NVLS, Ranks: c.Ranks}); c.Collective == AllReduce && t.generation == hopper && nvls.fits(f) == "" {
		consider(NVLS, simpleIndex, t.nvls())
	}
	return algorithm, protocol
}

// tuning is what the choice for one call goes by.
type tuning struct {
	generation
	collective        Collective
	ranks, hosts      int
	perHost, channels float64
	bytes             float64
	bus, inter        float64 // GB/s: of the bus, of the NICs of a host
	scale             int     // one host, two, more
}

func newTuning(f *fabric.Fabric, c Call) tuning {
	hosts := byHost(f, c.Ranks)
	t := tuning{generation: generationOf(f), collective: c.Collective, ranks: len(c.Ranks), hosts: len(hosts), bytes: float64(c.Size)}
	t.perHost = float64(t.ranks) / float64(t.hosts)
	t.scale = min(t.hosts, 3) - 1
	t.bus = f.NVLink.Rate.BytesPerSecond() / 1e9 * nvlinkShare
	for _, r := range hosts[0] {
		for _, p := range f.GPUs[c.Ranks[r]].NICs {
			t.inter += f.Ports[p].Nominal.BytesPerSecond() / 1e9
		}
	}
	if t.hosts > 1 && (t.perHost < 2 || t.bus == 0) || t.bus == 0 {
		t.bus = t.inter
	}
	c.Algorithm, c.Size = Ring, units.Bytes(MaxChannels*leastChannel*len(c.Ranks)) // small sizes use fewer, which the model does not look at
	t.channels = float64(c.withDefaults(f).Channels)
	return t
}

// bandwidth is what the channels of a ring or tree carry together.
func (t *tuning) bandwidth() float64 {
	if t.hosts > 1 {
		return min(t.bus, t.inter)
	}
	return t.bus
}

// llMost is the most that LL carries.
func (t *tuning) llMost() float64 {
	if t.hosts == 1 {
		return llBandwidth[t.generation][0]
	}
	return llBandwidth[0][t.scale]
}

func (t *tuning) ring(p int) float64 {
	bw, steps, netSteps := t.bandwidth(), float64(t.ranks-1), float64(t.hosts-1)
	if t.collective == AllReduce {
		steps *= 2
		netSteps = 0
		if t.hosts > 1 {
			netSteps = 2 * float64(t.hosts)
		}
	}
	switch p {
	case llIndex:
		share := 1.0 / 3
		if t.hosts > 1 || t.collective == AllReduce {
			share = 1.0 / 4
		}
		bw = min(t.llMost(), bw*share)
	case ll128Index:
		share := ringLL128Share
		if t.perHost < 2 {
			share = ringLL128Single
		}
		bw = min(bw*share, t.channels*ringLL128Bandwidth[t.generation])
	}
	bw *= float64(t.ranks) / steps
	hop, overhead := hopLatency[0][ringIndex][p], 0.0
	if t.hosts > 1 {
		if overhead = netOverhead; p == simpleIndex {
			overhead *= 3
		}
	}
	latency := baseLatency[ringIndex][p] + max(0, steps-netSteps)*max(hop, overhead) + netSteps*hopLatency[1][ringIndex][p]
	if p == simpleIndex && t.hosts > 1 && t.collective == AllReduce && t.bytes/(t.channels*float64(t.ranks)) >= 64 {
		latency *= plateau
	}
	return latency + t.bytes/(1000*bw)
}

func (t *tuning) tree(p int) float64 {
	g := t.generation
	bw := min(t.bandwidth()*treeShare, t.channels*treeBandwidth[g][t.scale])
	switch p {
	case llIndex:
		bw = min(bw/3.8, t.llMost())
	case ll128Index:
		share := 120.0 / 128
		if t.hosts == 1 {
			share = 7.0 / 9
		}
		bw = min(bw*share, t.channels*treeLL128Bandwidth[g][t.scale])
	}
	bw *= .5
	if size := bits.Len64(uint64(t.bytes)>>6) - 1; size < len(treeCorrection[p]) {
		bw *= treeCorrection[p][max(0, size)]
	}
	hops := float64(bits.Len(uint(t.hosts)) - 1)
	latency := baseLatency[treeIndex][p] + 2*((t.perHost-1)*hopLatency[0][treeIndex][p]+hops*hopLatency[1][treeIndex][p])
	return latency + t.bytes/(1000*bw)
}

// nvls is NVLS on one host, and NVLSTree over several.
func (t *tuning) nvls() float64 {
	bw := t.bus
	if t.hosts == 1 {
		return hopLatency[0][nvlsIndex][simpleIndex] + t.bytes/(1000*bw*nvlsRatio)
	}
	inter := t.inter
	if t.hosts > 2 {
		inter /= 2
	}
	hops := float64(bits.Len(uint(t.hosts)) - 1)
	latency := hopLatency[0][nvlsTreeIndex][simpleIndex] + 2*hops*hopLatency[1][nvlsTreeIndex][simpleIndex]
	return latency + t.bytes/(1000*min(bw, inter)*nvlsRatio)
}
