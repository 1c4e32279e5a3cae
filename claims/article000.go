package claims

import (
	"math"
	"slices"
)

// Claims of article 000, per-packet spraying for RoCEv2.

// article000 lists them by id.
func article000() []Claim {
	list := slices.Concat(baseline(), engineClaims(), anatomy())
	slices.SortStableFunc(list, func(a, b Claim) int { return compareIDs(a.ID, b.ID) })
	return list
}

// baseline are the figures about what spraying and hashing do to a job.
func baseline() []Claim {
	const a Article = "000"
	return []Claim{{
		ID: "S0.1a", Article: a, Kind: Simulated,
		Says: "a large flow sprayed over four 200G paths to receivers that keep order: all_reduce", Figure: "38 us -> 112 us",
		Measure: Measure{"sprayed to one path", "ratio", "spraying", "ordered to one", About(112.0/38, 1)},
		Beside: []Measure{
			{"one path without contention", "us", "spraying", "one", Rule{}}, {"sprayed, receiver in order", "us", "spraying", "ordered", Rule{}},
			{"sprayed, receiver that places", "us", "spraying", "placed", Rule{}}, {"per-flow hashing", "us", "spraying", "hashed", Rule{}},
		},
		Reading: `The times are for a size that takes 38 us on one path, so what is compared is the factor. Go-back-N throws away everything behind a late packet, which is
what costs; a receiver that merely needs time to sort packets, as the article explains it, loses next to nothing (see the placing one). The factor depends on how far
packets overtake each other, that is on load and fabric, and is no constant.`,
	}, {
		ID: "S0.1b", Article: a, Kind: Simulated,
		Says: "the same: retransmissions", Figure: "x 7",
		Measure: Measure{"packets sent again when sprayed", "% of packets", "spraying", "again ordered", Above(0)},
		Beside:  []Measure{{"with per-flow hashing", "% of packets", "spraying", "again hashed", Rule{}}, {"sprayed, receiver that places", "% of packets", "spraying", "again placed", Rule{}}},
		Reading: `A factor needs a base. Hashed flows keep their order and nothing is lost in a lossless network, so the base is zero and there is no factor to hold the seven
against; that retransmissions rise is all that can be said.`,
	}, {
		ID: "S0.1c", Article: a, Kind: Derived,
		Says: "what took 38 us was a gradient bucket of 128 MB", Figure: "128 MB in 38 us",
		Measure: Measure{"the bucket's bytes at 200 Gbit/s", "us", "arithmetic", "bucket on one link", AtMost(38)},
		Reading: `The figures contradict each other: the bytes alone take 5.1 ms on a link of 200 Gbit/s, 1.3 ms on four. What takes 38 us here is half a megabyte.`,
	}, {
		ID: "S0.1d", Article: a, Kind: Simulated,
		Says: "one path: all_reduce is steady", Figure: "41 +- 0.2 us",
		Measure: Measure{"deviation of the calls", "us", "spraying", "one deviation", AtMost(0.2)},
		Beside:  []Measure{{"all_reduce", "us", "spraying", "one", Rule{}}},
		Reading: `Nothing meets on one path that carries it all, so every call takes the same. Hosts have no jitter of their own here; on a cluster it adds to this.`,
	}, {
		ID: "S0.1e", Article: a, Kind: Simulated,
		Says: "per-flow hashing over four paths: deviation of the calls", Figure: "41 +- 8.7 us",
		Measure: Measure{"deviation over draws of the hash", "us", "spraying", "hashed deviation", About(8.7, 0)},
		Beside:  []Measure{{"all_reduce", "us", "spraying", "hashed", Rule{}}},
		Reading: `The deviation is between draws: flows that hash to one path halve each other's rate and the others do not. Within one draw calls are alike. Four flows on four paths
are few, so the spread is large; with more, smaller flows it falls.`,
	}, {
		ID: "S0.1f", Article: a, Kind: Simulated,
		Says: "per-flow hashing over four paths: peak bandwidth against one path", Figure: "+23 %",
		Measure: Measure{"best call to one path of 200 Gbit/s", "%", "spraying", "hashed peak", About(23, 0)},
		Beside:  []Measure{{"one path of 200 Gbit/s, which two flows of each leaf share", "us", "spraying", "narrow", Rule{}}},
		Reading: `Read literally, as one of the four links with all traffic on it. How much more four links give depends on how many flows share the one: two flows of a leaf each at
full rate gain up to twofold. That the mean stays at 41 us while the peak rises by 23 % fits one flow and a bit to a link.`,
	}, {
		ID: "S0.1g", Article: a, Kind: Simulated,
		Says: "spraying with a receiver that reorders against per-flow hashing: overall efficiency", Figure: "over +40 %",
		Measure: Measure{"throughput gained", "%", "spraying", "efficiency", Between(40, math.Inf(1), 0)},
		Reading: `The gain is what collisions cost under hashing, on the mean over draws of the hash.`,
	}, {
		ID: "S0.1h", Article: a, Kind: Derived,
		Says: "a single flow is far above what one link carries", Figure: "over 80 Gbit/s",
		Measure: Measure{"share of a 200 Gbit/s link", "ratio", "arithmetic", "flow to link", AtLeast(1)},
		Reading: `The links of the article have 200 Gbit/s: 80 fit. What makes large flows hard for hashing is that few of them meet on one link, not that one does not fit.`,
	}, {
		ID: "S0.1i", Article: a, Kind: NoTest,
		Says: "AllReduce is most of the traffic of training a large model", Figure: "over 70 % of bandwidth",
		Reading: `A property of a job that is not described: its parallelism and sizes decide. A job's own shares are in its step: shunt sim lists the time of every collective.`,
	}, {
		ID: "S0.1j", Article: a, Kind: NoTest,
		Says: "what a GPU cluster needs of its network", Figure: "jitter within 0.5 us",
		Reading: `A requirement without a source. No collective library states one, and a step waits for its slowest call whatever the jitter of the others.`,
	}, {
		ID: "S0.4a", Article: a, Kind: Simulated,
		Says: "a sprayed QP with a receiver that keeps order: packets sent again", Figure: "12.7 %",
		Measure: Measure{"go-back-N, all hosts sending", "% of packets", "receivers", "go-back-n", About(12.7, 0)},
		Beside: []Measure{
			{"go-back-N, a quarter of the hosts", "% of packets", "receivers", "go-back-n quarter", Rule{}},
			{"go-back-N, half of the hosts", "% of packets", "receivers", "go-back-n half", Rule{}},
			{"go-back-N with DCQCN", "% of packets", "receivers", "go-back-n dcqcn", Rule{}},
			{"go-back-N, four hosts, 576 KiB all_reduce", "% of packets", "spraying", "again ordered", Rule{}},
			{"selective repeat (IRN), all hosts", "% of packets", "receivers", "irn", Rule{}},
			{"selective repeat (IRN), half", "% of packets", "receivers", "irn half", Rule{}},
			{"selective repeat (IRN), a quarter", "% of packets", "receivers", "irn quarter", Rule{}},
			{"per-flow hashing, go-back-N", "% of packets", "receivers", "hashed", Rule{}},
			{"time with go-back-N", "us", "receivers", "time go-back-n", Rule{}},
			{"time with IRN", "us", "receivers", "time irn", Rule{}},
			{"time with placing", "us", "receivers", "time place", Rule{}},
			{"QPs that gave up with go-back-N, of 16", "", "receivers", "gave up", Rule{}},
		},
		Reading: `No packet is lost in these runs: every retransmission is spurious. The article's share says "traditional ECMP", under which a QP keeps its order and sends nothing
again; it can only be of a sprayed QP. How much then comes again is no constant: from next to nothing where few hosts send, over tens of percent, to more than nine packets in ten
with go-back-N under full load; selective repeat is in between. 12.7 % is one point on that range.`,
	}, {
		ID: "S0.4b", Article: a, Kind: Simulated,
		Says: "the same with PPCID, a receiver that reorders: packets sent again", Figure: "0.03 %",
		Measure: Measure{"placing receiver, all hosts sending", "% of packets", "receivers", "place", AtMost(0.03)},
		Beside:  []Measure{{"placing receiver, 1 in 1000 lost on the uplinks of one leaf of four", "% of packets", "receivers", "place lossy", Rule{}}},
		Reading: `A receiver that places packets where they belong asks for none that is only late, so what is left is real loss: nothing here, and about as much as is lost
where something is. 0.03 % is then what a network loses; it says nothing of the scheme. The sequence bits of PPCID add nothing: every packet has a PSN of 24 bits in its BTH; what helps is
the receiver.`,
	}, {
		ID: "S0.4c", Article: a, Kind: Simulated,
		Says: "a sprayed QP in trouble: NACKs", Figure: "237 in a second",
		Measure: Measure{"NAKs of a QP, go-back-N, sprayed at full rate", "in a second", "spraying", "naks", Near(237)},
		Reading: `Sprayed at full rate a QP gets a NAK every few dozen packets, which at millions of packets a second is orders of magnitude above 237. The figure fits a QP that hardly sends, or
one of which only a few packets in a million take another way.`,
	}, {
		ID: "S0.4d", Article: a, Kind: NoTest,
		Says: "of those NACKs' retransmissions, out of order again because the path changed", Figure: "192 of 237 (81 %)",
		Reading: `Nothing that a NIC or switch counts, and nothing in the simulator's tap, tells a packet that is late for the second time from one that is late for the first. A switch cannot
have logged it either: it does not know which packets were sent before.`,
	}, {
		ID: "S0.8a", Article: a, Kind: Simulated,
		Says: "a loss below 1 in 100 000 on one path keeps PFC pausing", Figure: "one pause each 10 ms",
		Measure: Measure{"pause frames in 10 ms", "frames", "lossy-path", "pauses", About(1, 0)},
		Beside:  []Measure{{"lost", "% of packets", "lossy-path", "lost", Rule{}}, {"sent again", "% of packets", "lossy-path", "again", Rule{}}},
		Reading: `A lost packet fills no buffer, so nobody is paused; PFC knows nothing of losses. Where pauses come at a steady pace, something fills a queue at that pace.`,
	}, {
		ID: "S0.8b", Article: a, Kind: Simulated,
		Says: "delays that differ by 1.8 ns cost equal paths throughput", Figure: "12 to 18 %",
		Measure: Measure{"what the differences of delay cost an all-to-all", "%", "equal-paths", "cost of skew", Between(12, 18, 0)},
		Beside: []Measure{
			{"deviation of what the uplinks carry", "%", "equal-paths", "unevenness", Rule{}}, {"the same with equal delays", "%", "equal-paths", "unevenness alike", Rule{}},
			{"1.8 ns at 200 Gbit/s", "bytes", "arithmetic", "skew", Rule{}},
		},
		Reading: `The 12 to 18 % are real and have another cause: n hashed flows on m paths leave each with a load that deviates by sqrt((m-1)/n), 15 % for 128 flows on four, with
or without a difference in delay. 1.8 ns are 45 bytes of wire and move no packet.`,
	}, {
		ID: "S0.8c", Article: a, Kind: Derived,
		Says: "light in fibre", Figure: "about 5 ns a metre",
		Measure: Measure{"group index over the speed of light", "ns/m", "arithmetic", "fibre", Near(5)},
		Reading: `So 1.8 ns are 37 cm of fibre.`,
	}, {
		ID: "S0.8d", Article: a, Kind: NoTest,
		Says: "the RDMA receive window of a Hopper GPU", Figure: "3.2 ns",
		Reading: `There is no such window. RoCE has none in time: a receiver takes the expected PSN whenever it comes, and 3.2 ns are less than a packet of 4096 bytes takes at any rate
there is.`,
	}, {
		ID: "S0.8e", Article: a, Kind: Derived,
		Says: "the sequence space of a QP", Figure: "usually 64K",
		Measure: Measure{"PSNs", "", "arithmetic", "sequence space", Exactly(65536)},
		Reading: `The PSN has 24 bits (InfiniBand specification, volume 1, 9.2.3). 64K is the space of a 16-bit field, such as PPCID's own.`,
	}}
}

// anatomy are the figures about where spraying runs and who did what.
func anatomy() []Claim {
	const a Article = "000"
	return []Claim{{
		ID: "S0.9c", Article: a, Kind: NoTest,
		Says: "a cache miss in a software data plane", Figure: "300 ns of jitter",
		Reading: `A property of a machine. A line from memory takes 79 ns on a two-socket Xeon E5 (McCalpin), so 300 ns are four in a row.`,
	}, {
		ID: "S0.9d", Article: a, Kind: NoTest,
		Says: "decision and table access of a ConnectX-7", Figure: "12 ns and 0.8 ns",
		Reading: `Needs the NIC, and a way to see inside it. No public document gives either, nor says that the adapter has such an engine: its documented part is out-of-order placement.`,
	}, {
		ID: "S0.16a", Article: a, Kind: NoTest,
		Says: "false alarms of classic packet inspection under spraying", Figure: "63 %",
		Reading: `Neither the product nor what counts as an alarm is told. What a mirror port at one of eight paths sees is an eighth of every flow, with holes by design.`,
	}}
}
