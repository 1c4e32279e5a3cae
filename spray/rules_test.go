package spray

import (
	"math/rand/v2"
	"testing"
)

// The counts of Need, against connections counted one by one.
func TestRulesAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		r := Rules{Hosts: 1 + rng.IntN(20), NICs: 1 + rng.IntN(4), HostsPerLeaf: 1 + rng.IntN(6), QPs: 1 + rng.IntN(4), Channels: 1 + rng.IntN(3), PerQP: 1 + rng.IntN(2), Limit: 1 + rng.IntN(500)}
		r.Scope = RuleScope(r.Scope.Choices()[rng.IntN(3)])
		r.Peers = []Peers{PeersRing, PeersAllToAll, PeersMesh}[rng.IntN(3)]
		type nic struct{ host, index int }
		var all []nic
		for h := range r.Hosts {
			for n := range r.NICs {
				all = append(all, nic{h, n})
			}
		}
		qps := 0
		for _, a := range all {
			if r.Scope == ScopeRail && a.index != 0 || r.Scope == ScopeLeaf && a.host >= r.HostsPerLeaf {
				continue // not below this switch
			}
			for _, b := range all {
				next, before := (a.host+1)%r.Hosts == b.host, (b.host+1)%r.Hosts == a.host
				switch {
				case a.host == b.host:
				case r.Peers == PeersRing && (a.index != b.index || !next && !before):
				case r.Peers == PeersAllToAll && a.index != b.index:
				default:
					qps += r.QPs * r.Channels
				}
			}
		}
		fallback := max(0, qps-r.Limit/r.PerQP)
		n := r.Need()
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		if n.QPs != uint64(qps) || n.Rules != uint64(qps*r.PerQP) || n.Fallback != uint64(fallback) || n.Fits != (fallback == 0) || int(n.Memory) != 16*qps*r.PerQP {
			t.Fatalf("%+v: %+v, counted %d queue pairs", r, n, qps)
		}
	}
}

// S0.11, "past 64 nodes": with one NIC of each node below a leaf, an all-to-all in the rail and four queue pairs a connection, 64 nodes need
// 64 x 63 x 4 = 16128 of 16384 rules and 65 need 16640. The raised limit holds to 91 nodes, the partition of 24576 to 78: it moves the
// end, and does not take it away.
func TestRulesOfTheArticle(t *testing.T) {
	r := DefaultRules()
	if n := r.Need(); !n.Fits || n.Rules != 16128 || n.Memory != 16128*16 {
		t.Errorf("64 nodes: %+v", n)
	}
	for limit, want := range map[int]int{DefaultRuleLimit: 65, RoCEPartition: 79, RaisedRuleLimit: 92} {
		r.Limit = limit
		if at, ok := r.Bites(); !ok || at != want {
			t.Errorf("%d rules last until %d hosts, want %d", limit, at, want)
		}
	}
	r = DefaultRules()
	r.Hosts = 65
	if n := r.Need(); n.Fits || n.Fallback != 256 || n.Share() < 0.015 || n.Share() > 0.016 {
		t.Errorf("65 nodes: %+v, %s", n, n.Share())
	}
}

// Other assumptions that make it 64 as well, and some that do not come near.
func TestRulesAround(t *testing.T) {
	found := map[RuleScope]map[Peers]int{}
	for _, r := range RulesAround(DefaultRules(), 64) {
		if found[r.Scope] == nil {
			found[r.Scope] = map[Peers]int{}
		}
		found[r.Scope][r.Peers] = r.QPs
		if n := r.Need(); n.Fits {
			t.Errorf("%+v fits", r)
		}
		if r.Hosts--; !r.Need().Fits {
			t.Errorf("%+v does not fit", r)
		}
	}
	for _, want := range []struct {
		scope RuleScope
		peers Peers
		qps   int
	}{{ScopeRail, PeersAllToAll, 4}, {ScopeRail, PeersRing, 128}, {ScopeLeaf, PeersMesh, 1}, {ScopeCluster, PeersRing, 16}} {
		if got := found[want.scope][want.peers]; got != want.qps {
			t.Errorf("%s, %s: %d queue pairs a peer, want %d", want.scope, want.peers, got, want.qps)
		}
	}
	ring := DefaultRules() // one ring with NCCL's one queue pair: a leaf of a rail never runs out below 8192 nodes
	ring.Peers, ring.QPs = PeersRing, 1
	if at, ok := ring.Bites(); !ok || at != 8193 {
		t.Errorf("%d, %t", at, ok)
	}
	ring.Ports = 32
	if at, ok := ring.Bites(); ok {
		t.Errorf("32 NICs with two queue pairs each overflow at %d hosts", at)
	}
}

func TestRulesCheck(t *testing.T) {
	for name, change := range map[string]func(*Rules){
		"hosts":    func(r *Rules) { r.Hosts = 0 },
		"too many": func(r *Rules) { r.Hosts = mostHosts + 1 },
		"NICs":     func(r *Rules) { r.NICs = 0 },
		"limit":    func(r *Rules) { r.Limit = 0 },
		"scope":    func(r *Rules) { r.Scope = "rack" },
		"leaf":     func(r *Rules) { r.Scope, r.HostsPerLeaf = ScopeLeaf, 0 },
		"peers":    func(r *Rules) { r.Peers = "star" },
	} {
		r := DefaultRules()
		change(&r)
		if r.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	huge := Rules{Hosts: mostHosts, NICs: 256, Scope: ScopeCluster, Peers: PeersMesh, QPs: 1 << 16, Channels: 1024, PerQP: 1024, Limit: 1}
	if n := huge.Need(); huge.Check() != nil || n.Fits || n.Rules != 1<<64-1 || n.Memory <= 0 {
		t.Errorf("%+v", n)
	}
}
