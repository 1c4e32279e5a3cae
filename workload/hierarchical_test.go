package workload

import (
	"strings"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// gpuCluster is hosts of eight GPUs with NVLink of Hopper on rails of 400 Gbit/s.
func gpuCluster(hosts int) *fabric.Fabric {
	w := fabric.Wire{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: hosts, GPUsPerHost: 8, Access: w, Trunk: w,
		NVLink: fabric.NVLink{Rate: 3600 * units.Gbps, Latency: units.Microsecond}}.Build()
}

// Over the network a hierarchical all_reduce sends on every rail what a ring of the hosts sends of an eighth, and no message changes rail.
func TestHierarchicalStaysOnRails(t *testing.T) {
	f := gpuCluster(4)
	for _, alg := range []Algorithm{Hierarchical, NVLS} {
		b := &Builder{}
		b.Call(f, Call{Collective: AllReduce, Algorithm: alg, Ranks: ranksOf(f), Size: 64 * units.MiB}, nil)
		perGPU := make([]units.Bytes, len(f.GPUs))
		for _, o := range b.Plan().Ops {
			src, dst := f.GPUs[o.Src], f.GPUs[o.Dst]
			if o.Kind != Send || src.Host == dst.Host {
				continue
			}
			if src.Index != dst.Index {
				t.Fatalf("%s: GPU %d sends to GPU %d of another rail", alg, o.Src, o.Dst)
			}
			perGPU[o.Src] += o.Bytes
		}
		var sum units.Bytes
		for _, bytes := range perGPU {
			sum += bytes
		}
		// 8 rails of 8 MiB; a ring of 4 hosts sends 2 x 3/4 of that at each, a double tree altogether 2 x 3 times.
		if want := units.Bytes(8 * 2 * 3 * 8 * units.MiB); sum != want {
			t.Errorf("%s: %v over the network, want %v", alg, sum, want)
		}
		for g, bytes := range perGPU {
			if want := 12 * units.MiB; alg == Hierarchical && (bytes < want-units.KiB || bytes > want+units.KiB) {
				t.Errorf("GPU %d sends %v, want %v", g, bytes, want)
			}
		}
	}
}

// Calls of one communicator share their groups, and with them the slots in the switches.
func TestReductionGroupsAreShared(t *testing.T) {
	f := gpuCluster(4)
	b := &Builder{}
	c := Call{Collective: AllReduce, Algorithm: InNetwork, Ranks: ranksOf(f), Size: 64 * units.MiB}
	first := b.Call(f, c, nil)
	b.Call(f, c, each(first))
	p := b.Plan()
	if len(p.Groups) != 8 {
		t.Errorf("%d groups, want one for each rail", len(p.Groups))
	}
	for i, g := range p.Groups {
		if len(g.Members) != 4 {
			t.Errorf("group %d has %d members", i, len(g.Members))
		}
	}
}

// Inside a host NVLS sends the data once out of every GPU and a shard more, at the share of the rate that it reaches; exchanging shards sends
// 2(g-1)/g of it at the full rate.
func TestNVLSInAHost(t *testing.T) {
	f := gpuCluster(1)
	for _, c := range []struct {
		alg  Algorithm
		want float64 // bytes out of a GPU, of the size
		rate units.Rate
	}{{NVLS, 9.0 / 8, 3060 * units.Gbps}, {Hierarchical, 14.0 / 8, 0}} {
		b := &Builder{}
		b.Call(f, Call{Collective: AllReduce, Algorithm: c.alg, Ranks: ranksOf(f), Size: 64 * units.MiB}, nil)
		out := make([]units.Bytes, 8)
		for _, o := range b.Plan().Ops {
			if o.Kind != Send {
				continue
			}
			out[o.Src] += o.Bytes
			if o.Rate != c.rate {
				t.Fatalf("%s: rate %v, want %v", c.alg, o.Rate, c.rate)
			}
		}
		for g, bytes := range out {
			if got := float64(bytes) / float64(64*units.MiB); got < c.want*0.999 || got > c.want*1.001 {
				t.Errorf("%s: GPU %d sends %.3f of the size, want %.3f", c.alg, g, got, c.want)
			}
		}
	}
}

// Calls that do not suit an algorithm are told so in a file, and fall back to the ring within a step.
func TestHierarchicalMisfits(t *testing.T) {
	f := gpuCluster(2)
	for _, c := range []struct {
		alg   Algorithm
		ranks Ranks
		want  string
	}{
		{Hierarchical, Ranks{0, 1, 2, 8}, "different numbers of ranks"},
		{InNetwork, Ranks{0, 8, 1, 9}, "do not follow each other"},
		{NVLS, Ranks{0, 8}, "two ranks a host"},
	} {
		var said []string
		s := Spec{Job: Job{Collective: &CollectiveJob{Kind: AllReduce, Algorithm: c.alg, Size: units.MiB, Ranks: c.ranks}}}
		if p := s.Plan(f, 1, func(path, text string) { said = append(said, path+": "+text) }); p != nil || len(said) != 1 || !strings.Contains(said[0], c.want) {
			t.Errorf("%s on %v: %q", c.alg, c.ranks, said)
		}
		var gpus []fabric.GPUID
		for _, r := range c.ranks {
			gpus = append(gpus, fabric.GPUID(r))
		}
		if got := (Call{Collective: AllReduce, Algorithm: c.alg, Ranks: gpus, Size: units.MiB}).Resolved(f).Algorithm; got != Ring {
			t.Errorf("%s on %v becomes %s", c.alg, c.ranks, got)
		}
	}
}

// The number of operations that a call is said to make bounds what it makes.
func TestHierarchicalOps(t *testing.T) {
	for _, hosts := range []int{1, 2, 5} {
		f := gpuCluster(hosts)
		for _, alg := range []Algorithm{Hierarchical, NVLS, InNetwork} {
			for _, size := range []units.Bytes{1, units.MiB, 300 * units.MiB} {
				c := Call{Collective: AllReduce, Algorithm: alg, Ranks: ranksOf(f), Size: size}
				b := &Builder{}
				b.Call(f, c, nil)
				if got, most := int64(len(b.Plan().Ops)), c.Ops(f); got > most || most > 6*got+1000 {
					t.Errorf("%s of %v over %d hosts: %d operations, said to be at most %d", alg, size, hosts, got, most)
				}
			}
		}
	}
}

// What auto takes follows NCCL's reckoning. The expected figures are worked out by hand from tuning.cc: on one host of eight Hopper GPUs with
// 370.8 GB/s, 1 KiB by ring LL is 6.6 + 14 x 0.6 = 15.0 us, by tree LL 6.8 + 2 x 7 x 0.6 = 15.2; NVLS begins at 23 us.
func TestAutoOneHost(t *testing.T) {
	f := gpuCluster(1)
	c := Call{Collective: AllReduce, Algorithm: Auto, Ranks: ranksOf(f), Size: 1024}
	tn := newTuning(f, c)
	if got := tn.ring(llIndex); got < 15.0 || got > 15.1 {
		t.Errorf("ring LL of 1 KiB: %.2f us, want 15.0", got)
	}
	if got := tn.tree(llIndex); got < 15.2 || got > 15.3 {
		t.Errorf("tree LL of 1 KiB: %.2f us, want 15.2", got)
	}
	// 1 GiB: ring simple 8.4 + 14 x 3.4 + 1 GiB / (370.8 x 8/14) = 56 + 5067; NVLS 23 + 1 GiB / (370.8 x 5/6) = 23 + 3475.
	tn = newTuning(f, Call{Collective: AllReduce, Ranks: ranksOf(f), Size: units.GiB})
	if got := tn.ring(simpleIndex); got < 5110 || got > 5135 {
		t.Errorf("ring simple of 1 GiB: %.0f us, want 5123", got)
	}
	if got := tn.nvls(); got < 3490 || got > 3505 {
		t.Errorf("NVLS of 1 GiB: %.0f us, want 3498", got)
	}
	for size, want := range map[units.Bytes]Algorithm{1024: Ring, units.GiB: NVLS} {
		c.Size = size
		if got := c.Resolved(f); got.Algorithm != want {
			t.Errorf("%v: %s %s, want %s", size, got.Algorithm, got.Protocol, want)
		}
	}
}

// Over many hosts small sizes go by tree and large ones by ring or NVLSTree, small protocols give way to simple ones, and a longer message never takes
// less time by the reckoning.
func TestAutoManyHosts(t *testing.T) {
	f := gpuCluster(32)
	c := Call{Collective: AllReduce, Algorithm: Auto, Ranks: ranksOf(f)}
	order := map[Protocol]int{LL: 0, LL128: 1, Simple: 2}
	last := 0
	for size := units.Bytes(64); size <= 8*units.GiB; size *= 4 {
		c.Size = size
		r := c.Resolved(f)
		if order[r.Protocol] < last {
			t.Errorf("%v: %s after a heavier protocol", size, r.Protocol)
		}
		last = order[r.Protocol]
		if size <= 64*units.KiB && (r.Algorithm != Tree || r.Protocol != LL) {
			t.Errorf("%v goes by %s %s, want tree ll", size, r.Algorithm, r.Protocol)
		}
		if size >= units.GiB && (r.Algorithm == Tree || r.Protocol != Simple) {
			t.Errorf("%v goes by %s %s", size, r.Algorithm, r.Protocol)
		}
	}
	c.Collective = AllGather
	for size := units.Bytes(64); size <= units.GiB; size *= 16 {
		c.Size = size
		if r := c.Resolved(f); r.Algorithm != Ring {
			t.Errorf("all_gather of %v by %s", size, r.Algorithm)
		}
	}
}

// The flags of LL are as much as the data, those of LL128 a sixteenth of the whole.
func TestProtocolsOnTheWire(t *testing.T) {
	f := cluster(4, 1)
	sent := func(p Protocol) (sum units.Bytes) {
		b := &Builder{}
		b.Call(f, Call{Collective: AllReduce, Protocol: p, Ranks: ranksOf(f), Size: 480_000}, nil)
		for _, o := range b.Plan().Ops {
			if o.Kind == Send {
				sum += o.Bytes
			}
		}
		return sum
	}
	simple := sent(Simple)
	if simple != 2*3*480_000 || sent(LL) != 2*simple || sent(LL128) != simple*16/15 {
		t.Errorf("simple %d, ll %d, ll128 %d", simple, sent(LL), sent(LL128))
	}
}
