package netsim

import (
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// Spraying by weighted buckets (article 000): a switch hashes each data packet into a bucket, buckets belong to its equal-cost ports by weight, and
// weights follow the state of the links, which the switch reads now and then. The hash, the tables and the scores are in package spray;
// here is what they are told of ports, and when. Control packets keep the path of their flow's hash, as they do with nvidia-ar: they weigh
// nothing, and a receiver that answers gains nothing by answers that overtake each other.

// sprayer is what all switches that spray keep.
type sprayer struct {
	c       route.BucketsConfig
	buckets route.Buckets
	hashers []*spray.Hasher // by tier
	tier    []uint8         // by switch
	qps     []sprayedQP     // by QP
	counter []uint32        // by switch: packets it has sprayed (key counter)
	path    bool            // the view reaches beyond the switch

	owned  [][]uint32 // by switch: its tables
	state  []linkState
	ports  []portState // by port
	scores []uint8     // buffer

	rules []ruleTable // by switch; nil where spraying takes no rules
}

// sprayedQP is what the hash of a QP's packets begins with.
type sprayedQP struct {
	state  uint64
	pinned uint32
}

// linkState is the link state table of one switch.
type linkState struct {
	due       bool  // a reading is scheduled
	settled   bool  // no bucket moved when its tables last followed a reading
	readAt    int64 // when its ports were last read
	followed  int64 // when the reading that its buckets follow was made
	waiting   bool  // a reading was made that they do not follow yet
	waitingAt int64
	oldest    int64 // the oldest that a state was when it was replaced
	readings  uint64
	moved     uint64
	paused    uint64 // packets that pause feedback led elsewhere
}

// portState is what the last reading found at a port.
type portState struct {
	load     spray.Load
	followed spray.Load // what the buckets of its own switch follow
	sent     uint64     // bytes up to then
	received uint64     // packets
	broken   uint64     // packets
	given    uint64     // packets sprayed to it, ever
}

// errSprayTables refuses a network whose tables by destination leaf would be too many.
var errSprayTables = fmt.Errorf("netsim: path buckets: view path needs a table for each switch and leaf, here more than %d; use view local", maxSprayTables)

// maxSprayTables bounds the tables by destination leaf: at 32 ports and 64 buckets one takes 1.2 KB, so that all stay within 300 MB.
const maxSprayTables = 1 << 18

// buildBuckets makes the state of a run that sprays by buckets.
func (x *chooser) buildBuckets(n *Network, c route.BucketsConfig) error {
	s := &x.spray
	s.c = c
	s.path = c.View == route.ViewPath
	leaves := 1
	if s.path {
		leaves, _ = x.numberLeaves(n)
		if leaves*len(n.switches) > maxSprayTables {
			return errSprayTables
		}
	}
	s.buckets = route.NewBuckets(c, leaves)
	s.tier = make([]uint8, len(n.switches))
	top := uint8(0)
	for i := range n.switches {
		s.tier[i] = uint8(n.f.Nodes[n.switches[i].node].Role - fabric.Leaf)
		top = max(top, s.tier[i])
	}
	for t := range int(top) + 1 {
		h, err := tierHasher(c, t)
		if err != nil {
			return err
		}
		s.hashers = append(s.hashers, h)
	}
	s.counter = make([]uint32, len(n.switches))
	s.owned = make([][]uint32, len(n.switches))
	s.state = make([]linkState, len(n.switches))
	s.ports = make([]portState, len(n.ports))
	s.scores = make([]uint8, 0, 1<<10)
	if c.Rules.Limit > 0 {
		s.rules = make([]ruleTable, len(n.switches))
	}
	return nil
}

// tierHasher is the hash unit of a tier: each takes other bits of the hash than the tier below, because with the same bits a switch would see
// only those values that the switch below sent its way (polarisation). A hash with too few bits left polarises.
func tierHasher(c route.BucketsConfig, tier int) (*spray.Hasher, error) {
	up := c.Hash
	up.Offset += tier * bits.Len(uint(c.Buckets-1))
	if h, err := spray.NewHasher(up); err == nil {
		return h, nil
	}
	return spray.NewHasher(c.Hash)
}

// openSpray begins the hash of a new QP. Endpoints have addresses in a row from 10.0.0.0 on, as sites number their hosts.
func (n *Network) openSpray(a, b uint32, sport uint16, qpn uint32) {
	s := &n.choice.spray
	address := func(ep uint32) netip.Addr {
		return netip.AddrFrom4([4]byte{10, byte(ep >> 16), byte(ep >> 8), byte(ep)})
	}
	f := spray.Flow{Src: address(a), Dst: address(b), SrcPort: sport, DstPort: 4791, QPN: qpn} // IANA: RoCEv2
	s.qps = append(s.qps, sprayedQP{state: s.hashers[0].Flow(f), pinned: s.hashers[0].Pinned(f)})
}

// spread is the choice by buckets for packet k at switch s.
func (n *Network) spread(s, k, first uint32, ports []fabric.PortID) uint32 {
	x := &n.choice.spray
	pk := &n.pool.packets[k]
	if pk.kind() != data || x.rules != nil && !n.ruled(s, pk.qp) {
		return n.plainECMP(s, pk, len(ports))
	}
	leaf := uint32(0)
	if x.path {
		leaf = n.choice.leafAt[pk.dst]
	}
	t, ok := x.buckets.Find(first, leaf)
	if !ok {
		t = x.buckets.Make(first, leaf, ports)
		x.owned[s] = append(x.owned[s], t)
		n.followTable(s, t)
	}
	if !x.state[s].due {
		n.resumeReading(s)
	}
	table := x.buckets.Table(t)
	var hash uint32
	switch x.c.Key {
	case spray.KeyFlow:
		hash = bits.RotateLeft32(x.qps[pk.qp].pinned, -int(x.tier[s])*bits.Len(uint(x.c.Buckets-1))) // as tierHasher
	case spray.KeyCounter:
		hash = x.hashers[x.tier[s]].Packet(x.qps[pk.qp].state, x.counter[s])
		x.counter[s]++
	default:
		hash = x.hashers[x.tier[s]].Packet(x.qps[pk.qp].state, pk.psn)
	}
	i := table.Path(hash)
	if x.c.PauseFeedback && n.ports[ports[i]].paused>>pk.prio&1 != 0 {
		i = n.aroundPause(s, table, hash, pk.prio, i)
	}
	x.ports[ports[i]].given++
	return uint32(i)
}

// aroundPause is the path for a packet whose own is paused: that of a bucket which a second hash names, so that what is led away is spread by
// the weights of the others, and if a dozen of those are paused too, the next that is not.
func (n *Network) aroundPause(s uint32, t *route.BucketTable, hash uint32, prio uint8, otherwise int) int {
	free := func(i int) bool { return n.ports[t.Ports[i]].paused>>prio&1 == 0 }
	st := &n.choice.spray.state[s]
	h := uint64(hash)
	for range 12 {
		h = route.Mix64(h + 0x9e3779b97f4a7c15)
		if i := t.Path(uint32(h)); free(i) {
			st.paused++
			return i
		}
	}
	for i := range t.Ports {
		if j := (otherwise + i) % len(t.Ports); free(j) && t.Buckets(j) > 0 {
			st.paused++
			return j
		}
	}
	return otherwise
}

// passSprayer keeps the ports of a switch being read that is part of the view of others.
func (n *Network) passSprayer(s uint32) {
	if x := &n.choice.spray; x.path && !x.state[s].due {
		n.resumeReading(s)
	}
}

// resumeReading schedules the next reading of a switch where nothing had moved. Hardware would have gone on: the last of the readings left out is made up
// for, so that its tables follow what changed elsewhere.
func (n *Network) resumeReading(s uint32) {
	x := &n.choice.spray
	st := &x.state[s]
	period := int64(x.c.Refresh)
	if last := n.now / period * period; last > st.readAt {
		n.readPorts(s, period)
		st.readAt = last
		n.follow(s, last)
	}
	n.scheduleReading(s)
}

// scheduleReading schedules a reading at the next multiple of the period, or late by chance. It is idle in the sense of the queue: it changes nothing
// for packets that stand still.
func (n *Network) scheduleReading(s uint32) {
	x := &n.choice.spray
	period := int64(x.c.Refresh)
	at := (n.now/period + 1) * period
	if x.c.Jitter > 0 {
		rng := &n.rngs[n.f.Nodes[n.switches[s].node].FirstPort].Stream
		at += int64(rng.Uint64() % uint64(x.c.Jitter+1))
	}
	x.state[s].due = true
	n.queue.idle++
	n.queue.push(newEvent(at, evLinkState, s))
}

// readLinks is evLinkState: switch s reads the state of its links, or lets its buckets follow what it has read.
func (n *Network) readLinks(s uint32, follow bool) {
	n.queue.idle--
	x := &n.choice.spray
	st := &x.state[s]
	if follow {
		st.waiting = false
		n.follow(s, st.waitingAt)
		return
	}
	moves := n.readPorts(s, n.now-st.readAt)
	st.readAt = n.now
	st.readings++
	if x.c.Staleness == 0 {
		n.follow(s, n.now)
	} else {
		st.waiting, st.waitingAt = true, n.now
		n.queue.idle++
		n.queue.push(newEvent(n.now+int64(x.c.Staleness), evLinkState, s).of(1, 0))
	}
	st.due = false
	if moves || !st.settled {
		n.scheduleReading(s)
	}
}

// readPorts takes the state of the ports of a switch over the time since the last reading, and tells whether anything moves there.
func (n *Network) readPorts(s uint32, elapsed int64) (moves bool) {
	node := &n.f.Nodes[n.switches[s].node]
	for i := range node.NumPorts {
		moves = n.readPort(uint32(node.FirstPort)+uint32(i), elapsed) || moves
	}
	return moves
}

// readPort is readPorts for one port.
func (n *Network) readPort(pi uint32, elapsed int64) (moves bool) {
	x := &n.choice.spray
	st, p, cold := &x.ports[pi], &n.ports[pi], &n.cold[pi]
	var sent, received uint64
	var queued int64
	for c := class(pi, 0); c < class(pi+1, 0); c++ {
		sent += n.egress[c].txBytes
		queued += n.egress[c].bytes
		received += n.ingress[c].rxPacket
	}
	broken := cold.crcErrors
	full := int64(x.c.FullQueue)
	if full == 0 {
		full = n.ecn[pi].kmax
	}
	load := spray.Load{Queue: float64(queued) / float64(full), Down: p.down}
	if elapsed > 0 {
		load.Utilisation = float64(sent-st.sent) / float64(max(1, mulDiv(elapsed, int64(p.rate), 8*int64(units.Second))))
	}
	if got := received - st.received + broken - st.broken; got > 0 {
		load.Errors = float64(broken-st.broken) / float64(got) / float64(x.c.Unusable)
	}
	moves = sent != st.sent || queued > 0 || load.Down != st.load.Down
	st.load, st.sent, st.received, st.broken = load, sent, received, broken
	return moves
}

// follow lets the buckets of a switch follow the reading of its ports that was made at a time.
func (n *Network) follow(s uint32, at int64) {
	x := &n.choice.spray
	st := &x.state[s]
	st.oldest = max(st.oldest, n.now-st.followed)
	st.followed = at
	node := &n.f.Nodes[n.switches[s].node]
	for i := range node.NumPorts {
		p := &x.ports[uint32(node.FirstPort)+uint32(i)]
		p.followed = p.load
	}
	before := st.moved
	for _, t := range x.owned[s] {
		n.followTable(s, t)
	}
	st.settled = st.moved == before
	if n.trace != nil {
		n.trace.occupied(n, s)
	}
}

// followTable gives a table the scores of its ports. A table that is new, and has no reading to go by, stays even.
func (n *Network) followTable(s, t uint32) {
	x := &n.choice.spray
	table := x.buckets.Table(t)
	x.scores = x.scores[:0]
	for _, p := range table.Ports {
		load := x.ports[p].followed
		if x.path {
			load = n.wayLoad(uint32(p), table.Leaf, load)
		}
		x.scores = append(x.scores, x.c.LinkStateConfig.Score(load))
	}
	x.state[s].moved += uint64(x.buckets.Reweigh(t, x.scores))
}

// wayLoad is the load of the way to a leaf that begins with port p, whose own load is given: that of the worst link on it. Where the next switch
// has a choice of ports itself, the least loaded of them counts, because it will lead packets there.
func (n *Network) wayLoad(p, leaf uint32, load spray.Load) spray.Load {
	x := &n.choice
	far := n.ports[p].peer
	next := &n.ports[far]
	if !next.host { // what breaks on a link is counted at its far end
		load.Errors = max(load.Errors, x.spray.ports[far].followed.Errors)
	}
	if next.host || x.leafOf[next.node] == leaf {
		return load
	}
	ports := n.routes.Ports(n.switches[next.node].node, x.leafHost[leaf])
	if len(ports) == 0 {
		load.Down = true
		return load
	}
	best, bestScore := spray.Load{}, -1
	for _, q := range ports {
		on := n.wayLoad(uint32(q), leaf, x.spray.ports[q].followed)
		if score := int(x.spray.c.LinkStateConfig.Score(on)); score > bestScore {
			best, bestScore = on, score
		}
	}
	return load.Worst(best)
}
