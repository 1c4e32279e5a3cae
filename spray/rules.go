package spray

import (
	"fmt"
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// Spraying by rules: article 000 has a switch keep a rule of 16 bytes for each queue pair in its TCAM. Of the first 16384 queue pairs
// it sprays the packets; those that come later it deals by plain ECMP, without a word (S0.11). Nothing about spraying asks for
// that: adaptive routing, a random port or a table of buckets need no rule per queue pair. Public tables of the kind are the flow
// sets of dynamic load balancing (256 entries a group on Junos, 512 flows an object in SONiC's ARS), which fall back in the same
// way. The command `spray-rule-limit` of the article is not public.
//
// Rules counts what a cluster needs. How many nodes it takes to overflow depends on what the article leaves open: whose queue pairs
// a switch keeps rules of, with how many others a NIC talks, and over how many queue pairs. RulesAround lists the sets of
// assumptions under which "past 64 nodes" is so.

// Limits of article 000, section 5.1.
const (
	DefaultRuleLimit = 16 << 10 // rules, as the switch comes
	RaisedRuleLimit  = 32 << 10 // with spray-rule-limit 32768
	RoCEPartition    = 24 << 10 // rules of the TCAM set apart for RoCE, beside the raised limit
	RuleBytes        = 16       // of a rule
)

// RuleScope is whose queue pairs a switch keeps rules of.
type RuleScope string

// Scopes.
const (
	ScopeRail    RuleScope = "rail"    // a leaf has one NIC of each host (rail-optimised), and rules of their queue pairs
	ScopeLeaf    RuleScope = "leaf"    // a leaf has all NICs of some hosts
	ScopeCluster RuleScope = "cluster" // each switch has rules of all queue pairs
)

// Choices lists the scopes.
func (RuleScope) Choices() []string {
	return []string{string(ScopeRail), string(ScopeLeaf), string(ScopeCluster)}
}

// Peers is with whom a NIC has connections, which follows from the collective.
type Peers string

// Kinds of peers.
const (
	PeersRing     Peers = "ring"       // the next and the one before
	PeersTree     Peers = "tree"       // of a double binary tree: three where a node is inside, one where it is a leaf
	PeersAllToAll Peers = "all-to-all" // the NIC of the same rail in every other host (as with NCCL's PXN)
	PeersMesh     Peers = "mesh"       // every NIC of every other host
)

// Choices lists the kinds.
func (Peers) Choices() []string {
	return []string{string(PeersRing), string(PeersTree), string(PeersAllToAll), string(PeersMesh)}
}

// of is how many peers a NIC has.
func (p Peers) of(hosts, nics int) uint64 {
	others := uint64(hosts - 1)
	switch p {
	case PeersRing:
		return min(2, others)
	case PeersTree: // each node is inside one of the two trees and a leaf of the other (Sanders, Speck and Träff, 2009; NCCL 2.4)
		return min(4, others)
	case PeersAllToAll:
		return others
	}
	return others * uint64(nics)
}

// Rules is a cluster, and what its switches can hold.
type Rules struct {
	Hosts        int       `json:"hosts"`
	NICs         int       `json:"nics"` // of a host
	Scope        RuleScope `json:"scope"`
	HostsPerLeaf int       `json:"hosts_per_leaf,omitempty"` // ScopeLeaf: hosts below a leaf
	Ports        int       `json:"ports,omitempty"`          // ScopeRail: NICs that a leaf has ports for; 0: for all
	Peers        Peers     `json:"peers"`
	QPs          int       `json:"qps"`      // of a connection: NCCL_IB_QPS_PER_CONNECTION
	Channels     int       `json:"channels"` // connections to a peer: channels of NCCL that use this NIC
	PerQP        int       `json:"per_qp"`   // rules of a queue pair
	Limit        int       `json:"limit"`    // rules of a switch
}

// DefaultRules is the case of article 000: nodes of eight NICs, an all-to-all within each rail, four queue pairs a connection (NCCL's
// default is one; the article names none), and the switch's default limit.
func DefaultRules() Rules {
	return Rules{Hosts: 64, NICs: 8, Scope: ScopeRail, HostsPerLeaf: 4, Peers: PeersAllToAll, QPs: 4, Channels: 1, PerQP: 1, Limit: DefaultRuleLimit}
}

// mostHosts bounds a cluster: 131072 NICs of two tiers are the largest published (MRC, 2026), and this is eight times that.
const mostHosts = 1 << 20

// Check tells what is wrong.
func (r *Rules) Check() error {
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"hosts", r.Hosts, 1, mostHosts}, {"NICs a host", r.NICs, 1, 256}, {"queue pairs a connection", r.QPs, 1, 1 << 16}, {"channels", r.Channels, 1, 1024},
		{"rules a queue pair", r.PerQP, 1, 1024}, {"rules a switch holds", r.Limit, 1, 1 << 30}, {"ports of a leaf", r.Ports, 0, 1 << 16},
	} {
		if f.value < f.least || f.value > f.most {
			return fmt.Errorf("spray: rules: %s: %d is not between %d and %d", f.name, f.value, f.least, f.most)
		}
	}
	switch r.Scope {
	case ScopeRail, ScopeCluster:
	case ScopeLeaf:
		if r.HostsPerLeaf < 1 {
			return fmt.Errorf("spray: rules: a leaf has %d hosts", r.HostsPerLeaf)
		}
	default:
		return fmt.Errorf("spray: rules: no scope %q; there are %v", r.Scope, r.Scope.Choices())
	}
	switch r.Peers {
	case PeersRing, PeersTree, PeersAllToAll, PeersMesh:
		return nil
	}
	return fmt.Errorf("spray: rules: no peers %q; there are %v", r.Peers, r.Peers.Choices())
}

// RuleNeed is what a switch would have to hold.
type RuleNeed struct {
	NICs  uint64 `json:"nics"`  // whose queue pairs the switch has rules of
	Peers uint64 `json:"peers"` // of each
	QPs   uint64 `json:"qps"`   // in all
	Rules uint64 `json:"rules"`
	// Memory is what the rules take at 16 bytes each.
	Memory units.Bytes `json:"memory"`
	// Fits tells whether all find room. Fallback is how many queue pairs do not, and are dealt by plain ECMP.
	Fits     bool   `json:"fits"`
	Fallback uint64 `json:"fallback_qps"`
}

// Share is the share of the queue pairs that fall back.
func (n RuleNeed) Share() units.Fraction {
	if n.QPs == 0 {
		return 0
	}
	return units.Fraction(float64(n.Fallback) / float64(n.QPs))
}

// Need counts. A queue pair whose rules do not all find room falls back.
func (r *Rules) Need() RuleNeed {
	n := RuleNeed{Peers: r.Peers.of(r.Hosts, r.NICs)}
	hosts, nics := uint64(r.Hosts), uint64(r.NICs)
	switch r.Scope {
	case ScopeRail:
		n.NICs = hosts
		if r.Ports > 0 {
			n.NICs = min(n.NICs, uint64(r.Ports))
		}
	case ScopeLeaf:
		n.NICs = min(hosts, uint64(r.HostsPerLeaf)) * nics
	default:
		n.NICs = hosts * nics
	}
	n.QPs = times(times(times(n.NICs, n.Peers), uint64(r.QPs)), uint64(r.Channels))
	n.Rules = times(n.QPs, uint64(r.PerQP))
	n.Memory = units.Bytes(min(times(n.Rules, RuleBytes), 1<<62))
	room := uint64(r.Limit / r.PerQP)
	n.Fits = n.QPs <= room
	if !n.Fits {
		n.Fallback = n.QPs - room
	}
	return n
}

// times multiplies and stays at the largest number where it would overflow.
func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return 1<<64 - 1
	}
	return low
}

// Bites is the least number of hosts with which the rules do not fit; ok is false where they fit whatever the number.
func (r Rules) Bites() (hosts int, ok bool) {
	low, high := 1, mostHosts // the need never falls as hosts come
	r.Hosts = high
	if r.Need().Fits {
		return 0, false
	}
	for low < high {
		r.Hosts = (low + high) / 2
		if r.Need().Fits {
			low = r.Hosts + 1
		} else {
			high = r.Hosts
		}
	}
	return low, true
}

// RulesAround lists the assumptions, of scope, peers, and queue pairs to a peer (a connection's, times channels), under which rules stop
// fitting once a cluster has more than that number of hosts and no more than a tenth beyond. Of base it takes the rest.
func RulesAround(base Rules, hosts int) []Rules {
	var list []Rules
	for _, scope := range base.Scope.Choices() {
		for _, peers := range base.Peers.Choices() {
			for qps := 1; qps <= 256; qps *= 2 { // 8 queue pairs on 32 channels
				r := base
				r.Scope, r.Peers, r.QPs, r.Channels, r.Ports = RuleScope(scope), Peers(peers), qps, 1, 0
				if at, ok := r.Bites(); ok && at > hosts && at <= hosts+(hosts+9)/10 {
					r.Hosts = at
					list = append(list, r)
				}
			}
		}
	}
	return list
}
