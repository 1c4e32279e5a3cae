package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// SprayState is what a switch that sprays by buckets tells of itself.
type SprayState struct {
	Rules, RuleLimit int    // of its rule table; the limit is 0 where spraying takes no rules
	RefusedQPs       uint64 // QPs that found the table full and are not sprayed
	RefusedPackets   uint64 // their packets
	Readings         uint64 // of the state of its links
	Moved            uint64 // buckets that changed their port
	AroundPauses     uint64 // packets that pause feedback led to another port
	Age, Oldest      units.Duration
	Paths            []SprayPath // ports that it sprays over, in order of their numbers
}

// SprayPath is a port in the tables of a switch. With more than one table (several sets of ports, or several destination leaves) buckets are those of
// all together.
type SprayPath struct {
	Port    fabric.PortID
	Buckets int
	Score   uint8 // of the last reading that the buckets follow
	Packets uint64
}

// Spraying tells how a switch sprays; ok is false in a run that does not, and for a host.
func (n *Network) Spraying(node fabric.NodeID) (state SprayState, ok bool) {
	x := &n.choice.spray
	if x.state == nil {
		return SprayState{}, false
	}
	for s := range n.switches {
		if n.switches[s].node != node {
			continue
		}
		st := &x.state[s]
		age := units.Duration(n.now - st.followed)
		state = SprayState{Readings: st.readings, Moved: st.moved, AroundPauses: st.paused, Age: age, Oldest: max(age, units.Duration(st.oldest))}
		if !st.due { // at rest; readings went on
			state.Age, state.Oldest = min(age, x.c.Refresh), max(units.Duration(st.oldest), min(age, x.c.Refresh))
		}
		if x.rules != nil {
			t := &x.rules[s]
			state.Rules, state.RuleLimit, state.RefusedQPs, state.RefusedPackets = t.used, x.c.Rules.Limit, t.refusedQPs, t.refused
		}
		state.Paths = n.sprayPaths(uint32(s))
		return state, true
	}
	return SprayState{}, false
}

// sprayPaths lists the ports in the tables of a switch.
func (n *Network) sprayPaths(s uint32) []SprayPath {
	x := &n.choice.spray
	node := &n.f.Nodes[n.switches[s].node]
	buckets := make([]int, node.NumPorts)
	member := make([]bool, node.NumPorts)
	for _, t := range x.owned[s] {
		table := x.buckets.Table(t)
		for i, p := range table.Ports {
			buckets[p-node.FirstPort] += table.Buckets(i)
			member[p-node.FirstPort] = true
		}
	}
	var out []SprayPath
	for i, in := range member {
		if in {
			p := node.FirstPort + fabric.PortID(i)
			out = append(out, SprayPath{Port: p, Buckets: buckets[i], Score: x.c.LinkStateConfig.Score(x.ports[p].followed), Packets: x.ports[p].given})
		}
	}
	return out
}
