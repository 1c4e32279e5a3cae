package claims

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// modelExperiments are models of what is not a network: where decisions are made, and hash tables.
func modelExperiments() []Experiment {
	return []Experiment{{
		Name: "platforms", Version: 1, Seeds: 10, Cost: 0.3,
		Method: `The product's cost models (package spray, cost.go, with the source of every figure): an adapter's pipeline with the article's 12 ns, software that polls as DPDK does,
and software with the article's own list of steps, interrupts among them. 100 000 decisions, whose jitter is the 99th percentile above the least (RFC 5481), and 500 runs of
an all_reduce of eight ranks, 256 KiB at 200 Gbit/s with 2 us a step, which takes about the article's 45 us with the pipeline. The article gives neither ranks nor size.`,
		Values: []string{"jitter pipeline", "jitter polling", "jitter interrupts", "ring pipeline", "ring polling", "ring interrupts"},
		run:    platforms,
	}, {
		Name: "occupancy", Version: 1, Seeds: 20, Cost: 0.05,
		Method: `The product's hash analyser (package ecmp): the 1024 flows of 128 hosts in a ring, eight QPs to each neighbour, hashed into 1024 buckets by CRC-32 of the 5-tuple as
Linux chooses the source port; and by addresses and fixed ports alone, as of a NIC that has one source port for all. A seed draws QP numbers.`,
		Values: []string{"head", "tail", "empty", "head few keys", "tail few keys", "perfect head"},
		run:    occupancy,
	}, {
		Name: "chance", Version: 1, Seeds: 5, Cost: 0.1,
		Method: `A perfect hash: every flow falls on each of four uplinks with the same probability. 10 000 deals of the 12 flows that a leaf of the MoE scenario sends at a time,
of the 48 of an all-to-all of its 16 hosts, and of 1024; in how many of them the fullest link has more than half again its fair share.`,
		Values: []string{"12 flows", "48 flows", "1024 flows"},
		run:    chance,
	}}
}

func chance(t *Trial) (Values, error) {
	rng := rand.New(rand.NewPCG(t.Seed, 5))
	const links, uneven = 4, 1.5
	v := Values{}
	for _, c := range []struct {
		name  string
		flows int
	}{{"12 flows", 12}, {"48 flows", 48}, {"1024 flows", 1024}} {
		deals := t.pick(10_000, 200)
		over := 0.0
		for range deals {
			var load [links]int
			for range c.flows {
				load[rng.IntN(links)]++
			}
			if float64(slices.Max(load[:])) > uneven*float64(c.flows)/links {
				over++
			}
		}
		v[c.name] = 100 * over / float64(deals)
	}
	return v, nil
}

func platforms(t *Trial) (Values, error) {
	ring := spray.Ring{Ranks: 8, Size: 256 * units.KiB, MTU: 4096, Rate: 200 * units.Gbps, Latency: 2 * units.Microsecond}
	v := Values{}
	for _, p := range []spray.Platform{spray.Pipeline(), spray.Polling(), spray.Interrupts(4096)} {
		v["jitter "+p.Name] = micros(p.Decisions(t.pick(100_000, 2000), t.Seed).Jitter())
		v["ring "+p.Name] = micros(ring.Times(p, t.pick(500, 20), t.Seed).Mean)
	}
	return v, nil
}

func occupancy(t *Trial) (Values, error) {
	const hosts, qps = 128, 8
	rng := rand.New(rand.NewPCG(t.Seed, 4))
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}) }
	set := func(fixed bool) *ecmp.Set {
		s := &ecmp.Set{Known: ecmp.FiveTuple | ecmp.QPN}
		next := make([]uint32, hosts)
		for i := range next {
			next[i] = rng.Uint32N(1 << 16)
		}
		for a := range hosts {
			b := (a + 1) % hosts
			for range qps {
				next[a]++
				next[b]++
				port := route.SourcePort(next[a], next[b])
				if fixed {
					port = 0xc000
				}
				s.Flows = append(s.Flows, ecmp.Flow{Src: address(a), Dst: address(b), Protocol: packet.ProtocolUDP, SrcPort: port, DstPort: packet.PortRoCE, QPN: next[b], Conn: uint32(a)})
			}
		}
		return s
	}
	analyse := func(fixed bool) (*ecmp.Occupancy, error) {
		r, err := ecmp.Analyse(t.ctx, set(fixed), ecmp.Options{Config: ecmp.Config{Fields: ecmp.FiveTuple, Hash: spray.HashConfig{Algorithm: spray.CRC32, Seed: t.Seed}}})
		if err != nil {
			return nil, err
		}
		return &r.Occupancy, nil
	}
	usual, err := analyse(false)
	if err != nil {
		return nil, err
	}
	few, err := analyse(true)
	if err != nil {
		return nil, err
	}
	share := func(o *ecmp.Occupancy) float64 { return 100 * float64(o.Head) / float64(o.Flows) }
	return Values{
		"head": share(usual), "tail": float64(usual.Tail), "empty": float64(usual.Empty),
		"head few keys": share(few), "tail few keys": float64(few.Tail), "perfect head": 100.0 / 8,
	}, nil
}
