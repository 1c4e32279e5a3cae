package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
)

// The spraying of article 000 takes rules for each QP in the TCAM of a switch (S0.11); public designs take none. A QP takes its rules at the first
// packet with a choice of ports and keeps them. One that finds no room stays a flow of plain ECMP there, silently: its packets are hashed
// as if there were no spraying.

// ruleTable is the rule table of one switch.
type ruleTable struct {
	used            int
	refusedQPs      uint64
	refused         uint64   // packets
	seen, installed []uint64 // by QP, a bit each
}

// ruled tells whether a QP has its rules at switch s, and installs them for one that the switch has not seen.
func (n *Network) ruled(s, q uint32) bool {
	t := &n.choice.spray.rules[s]
	w, bit := q/64, uint64(1)<<(q%64)
	if int(w) >= len(t.seen) {
		more := make([]uint64, len(n.snd)/64+1-len(t.seen))
		t.seen, t.installed = append(t.seen, more...), append(t.installed, more...)
	}
	if t.seen[w]&bit == 0 {
		t.seen[w] |= bit
		rules := &n.choice.spray.c.Rules
		if t.used+rules.PerQP <= rules.Limit {
			t.used += rules.PerQP
			t.installed[w] |= bit
		} else {
			t.refusedQPs++
		}
	}
	if t.installed[w]&bit == 0 {
		t.refused++
		return false
	}
	return true
}

// Rules tells how many rules the table of a switch holds and how many fit; the limit is 0 where spraying takes none.
func (n *Network) Rules(node fabric.NodeID) (used, limit int) {
	x := &n.choice.spray
	for s := range x.rules {
		if n.switches[s].node == node {
			return x.rules[s].used, x.c.Rules.Limit
		}
	}
	return 0, 0
}

// plainECMP is the port of a flow that is not sprayed.
func (n *Network) plainECMP(s uint32, pk *packet, count int) uint32 {
	return route.Pick(pk.hash, n.switches[s].salt, uint32(count))
}
