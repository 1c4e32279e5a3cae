package netsim

import (
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// The fabric of most tests: every link 400 Gbit/s and 1 us, so a full packet of 4096+64 bytes lasts 83.2 ns.
var wire = fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}

const full = 83_200 // ps

func leafSpine(leaves, hosts, spines int) *fabric.Fabric {
	return fabric.LeafSpine{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
}

// plain is a run without congestion control, on lossless priority 3.
func plain() Config { return Config{Seed: 1, NIC: NICConfig{Control: "none"}} }

func send(src, dst int, b units.Bytes) workload.Op {
	return workload.Op{Kind: workload.Send, Priority: 3, Src: fabric.GPUID(src), Dst: fabric.GPUID(dst), Bytes: b}
}

func planOf(ops ...workload.Op) *workload.Plan {
	var b workload.Builder
	for _, op := range ops {
		b.Add(op)
	}
	return b.Plan()
}

// permutation sends bytes from every host to one other, each host receiving once, drawn by seed.
func permutation(hosts int, bytes units.Bytes, seed uint64) *workload.Plan {
	rng := rand.New(rand.NewPCG(seed, 0))
	to := rng.Perm(hosts)
	var b workload.Builder
	for i := range to {
		if to[i] == i { // nobody sends to itself
			j := (i + 1) % hosts
			to[i], to[j] = to[j], to[i]
		}
	}
	for i, dst := range to {
		if dst != i {
			b.Add(send(i, dst, bytes))
		}
	}
	return b.Plan()
}

const never = 1 << 62 // Forever

func start(t testing.TB, f *fabric.Fabric, p *workload.Plan, c Config) *Network {
	t.Helper()
	n, err := New(f, p, c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run carries a plan out to its end and checks conservation.
func run(t testing.TB, f *fabric.Fabric, p *workload.Plan, c Config) (*Network, Summary) {
	t.Helper()
	n := start(t, f, p, c)
	done, err := n.RunUntil(units.At(never))
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if !done && !s.Stalled {
		t.Fatalf("not done at %v and not stalled", n.Now())
	}
	return n, s
}

// took is how long operation i ran.
func took(n *Network, i int) units.Duration { return n.Ops()[i].End.Sub(n.Ops()[i].Start) }
