package claims

import (
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

func arithmetic() []Experiment {
	return []Experiment{{
		Name: "arithmetic", Version: 1, Exact: true, Cost: 0.01,
		Method: `Closed forms; each derivation stands above its line in claims/arithmetic.go.`,
		Values: []string{"bucket on one link", "flow to link", "fibre", "skew", "sequence space", "timeout 5", "timeout 5 tries", "exponent of 50 ms",
			"packets in a refresh", "mirror any hop", "mirror whole path", "idle detector", "ping ipv4", "ping ipv6", "deviation 7:3", "mirror rate", "empty tail", "episodes met", "budget"},
		run: closedForms,
	}, {
		Name: "tiers", Version: 1, Exact: true, Cost: 0.1,
		Method: `The network of 128 hosts without oversubscription, of switches with 16 ports, as two tiers and as a fat-tree of three: switch ports and
links are counted in the fabric that the product builds.`,
		Values: []string{"ports", "links", "hops"},
		run:    tiers,
	}}
}

func closedForms(*Trial) (Values, error) {
	v := Values{}
	// The bytes of a bucket at the rate of the link they leave by: in an all_reduce every rank sends at least its bucket once (2(N-1)/N of it, 1 for
	// two ranks).
	v["bucket on one link"] = micros(units.Serialize(128*units.MB, 200*units.Gbps))
	// A flow of 80 Gbit/s in shares of a link of 200.
	v["flow to link"] = 80.0 / 200
	// Light takes n/c: 1.4682 is the group index at 1550 nm of ITU-T G.652 fibre (Corning SMF-28e, product information PI1463).
	v["fibre"] = 1.4682 / 299_792_458 * 1e9
	// What 1.8 ns are in bytes at 200 Gbit/s.
	v["skew"] = 1.8e-9 * 200e9 / 8
	// The PSN of a base transport header has 24 bits (InfiniBand specification, volume 1, 9.2.3).
	v["sequence space"] = 1 << 24
	// A try waits 4.096 us x 2^n (InfiniBand specification, 9.7.6.1.3); retry_cnt 7 makes eight tries.
	try := func(n float64) float64 { return 4.096 * math.Pow(2, n) }
	v["timeout 5"], v["timeout 5 tries"] = try(5)/1000, 8*try(5)/1000
	v["exponent of 50 ms"] = math.Log2(50_000 / 4.096)
	// Packets of 4096 bytes and 64 of headers that pass a busy port of 200 Gbit/s in 200 ms.
	v["packets in a refresh"] = 0.2 * 200e9 / 8 / (4096 + 64)
	// A packet crosses five ports between hosts below two leaves and up to seven in three tiers; of each 1 % are kept, drawn apart.
	const hops = 5
	v["mirror any hop"], v["mirror whole path"] = 100*(1-math.Pow(0.99, hops)), 100*math.Pow(0.01, hops)
	v["mirror rate"] = 0.01 * 51_200
	// Where 1 in 100 windows has a fault, a detector that never speaks agrees with the engineers in the other 99.
	v["idle detector"] = 100 * (1 - 0.01)
	// What ping -s may carry in an MTU of 9000: less 8 of ICMP and 20 of IPv4 or 40 of IPv6 (RFC 791, 792, 8200).
	v["ping ipv4"], v["ping ipv6"] = 9000-20-8, 9000-40-8
	// Shares of 70 and 30 deviate from 50 by 20 points, which is 40 % of it.
	v["deviation 7:3"] = 100 * (0.7 - 0.5) / 0.5
	// 1024 flows that a perfect hash deals all miss the last 256 of 1024 buckets with probability (3/4)^1024: its power of ten.
	v["empty tail"] = 1024 * math.Log10(0.75)
	// A congestion of 10 ms that begins at any time meets a refresh every 200 ms in one of twenty cases.
	v["episodes met"] = 100 * 10.0 / 200
	// Linux starts with a budget of 300 (net/core/hotdata.c, netdev_budget; net/core/dev.c before 6.9): by how much setting it to 300 changes it.
	const advised, byDefault = 300.0, 300.0
	v["budget"] = advised - byDefault
	return v, nil
}

// tiers counts what 128 hosts need: a leaf of 16 ports has 8 hosts and 8 uplinks; a spine of 16 ports 16 leaves; in a fat-tree of k = 8
// ports a switch, 128 hosts are k^3/4, so the same switch stands for two.
func tiers(*Trial) (Values, error) {
	wire := fabric.Wire{Rate: 200 * units.Gbps, Delay: 500 * units.Nanosecond}
	two := fabric.Spec{Topology: fabric.TopologyLeafSpine, Leaves: 16, HostsPerLeaf: 8, Spines: 8, Link: wire}.Build(nil)
	three := fabric.Spec{Topology: fabric.TopologyFatTree, K: 8, Link: wire}.Build(nil)
	ports := func(f *fabric.Fabric) (n float64) {
		for _, s := range f.Switches() {
			n += float64(f.Nodes[s].NumPorts)
		}
		return n
	}
	links := func(f *fabric.Fabric) float64 { return float64(len(f.Ports)) / 2 }
	return Values{"ports": ports(three) / ports(two), "links": links(three) / links(two), "hops": 6.0 / 4}, nil
}
