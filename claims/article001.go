package claims

import "slices"

// Claims of article 001, heterogeneous networks, in-network computing, AI for the network.

func article001() []Claim {
	const a Article = "001"
	list := []Claim{{
		ID: "S1.1a", Article: a, Kind: Simulated,
		Says: "interrupts of two 100G NICs on one core: gradient synchronisation", Figure: "3 times as long",
		Measure: Measure{"all_reduce, one host's NICs at half rate", "ratio", "shared-core", "half", About(3, 1)},
		Beside:  []Measure{{"the same without DCQCN", "ratio", "shared-core", "half uncontrolled", Rule{}}, {"all_reduce, one host's NICs at a third", "ratio", "shared-core", "third", Rule{}}},
		Reading: `A job is as slow as its slowest host. Where one core serves two NICs that it could serve one by one, each gets half and the job takes at least twice as long; what comes on top is that
the ring waits for every block of the slow host, and DCQCN's cuts. The simulator has no interrupts: it is given what a core lets through. RoCE moves data without interrupts, so it is mostly sockets that this
befalls.`,
	}, {
		ID: "S1.5a", Article: a, Kind: Simulated,
		Says: "AllReduce in the switch instead of a ring", Figure: "+40 %",
		Measure: Measure{"bandwidth gained, 32 MiB over eight hosts", "%", "in-network", "large", About(40, 0)},
		Beside:  []Measure{{"the bound 2(N-1)/N for eight", "%", "in-network", "bound", Rule{}}, {"gained at 64 KiB", "%", "in-network", "small", Rule{}}},
		Reading: `Of a collective, 40 % is modest: where bytes decide up to 2(N-1)/N can be gained, and where steps do, more. Of a job it is a lot: with communication a share f of the step
and a collective s times as fast the step gains 1/(1-f+f/s), so 40 % at s = 2 takes 57 % of exposed communication. The article does not say which it means.`,
	}, {
		ID: "S1.10a", Article: a, Kind: Derived,
		Says: "a detector whose explanations agree with the engineers may be given permissions", Figure: "past 90 %",
		Measure: Measure{"agreement of one that never speaks, faults in 1 of 100 windows", "%", "arithmetic", "idle detector", Below(90)},
		Reading: `Agreement alone proves nothing where faults are rare: who never says anything agrees almost always. Precision and recall on labelled events, and false alarms a day, tell more.`,
	}, {
		ID: "S1.11a", Article: a, Kind: Derived,
		Says: "mirroring 1 % of key links leads back to the way of a single packet", Figure: "1 %",
		Measure: Measure{"packets seen at all of five hops", "%", "arithmetic", "mirror whole path", AtLeast(1)},
		Beside:  []Measure{{"seen at any of five hops", "%", "arithmetic", "mirror any hop", Rule{}}, {"1 % of a 51.2 Tbit/s switch", "Gbit/s", "arithmetic", "mirror rate", Rule{}}},
		Reading: `Drawn apart at each hop, 1 % of the packets are seen at one, one in ten thousand millions at all five. It takes sampling by a hash of the packet, the same at every hop, for the 1 % that
are kept to have their whole way; and truncation, or one switch fills an SSD in a minute.`,
	}, {
		ID: "S1.9a", Article: a, Kind: NoTest,
		Says: "advice that ran beside the human rule is safe to execute", Figure: "after a week",
		Reading: `A rule of prudence. How much a week proves depends on how many of the events it was to decide came by in it.`,
	}, {
		ID: "S1.7a", Article: a, Kind: NoTest,
		Says: "ten samples of history predict the next load", Figure: "the last 10",
		Reading: `A line of pseudo-code, without a time between samples or a result.`,
	}}
	slices.SortStableFunc(list, func(a, b Claim) int { return compareIDs(a.ID, b.ID) })
	return list
}

// notClaims are figures of the articles that can be neither true nor false of a network.
var notClaims = []string{
	"000: 128 A100 GPUs and ResNet-50, 128 nodes, 17 clusters in two years, 2 hours until a fault shows: where and when something was seen.",
	"000: packets 1023, 1024, 1025; the order 1, 3, 2, 4; QP 0x1234; ports A to D: examples.",
	"000: UDP port 4791, 16 bits of checksum, bits 8 to 15: definitions (IANA; RFC 768).",
	"000: CRC32 and CRC64, 8-bit scores, hashes of 32 bits, rules of 16 bytes, 16K of them, a pause threshold of 80 % by default: settings.",
	"000: spray-rule-limit 32768, a partition of 24K, netdev_budget 300, smp_affinity 2: settings, tested where something is claimed of them.",
	"001: 100G, eth0, mlx5_0:1, tens of idle GPUs: examples.",
	"001: loss_rate < 0.01, buffer * 1.2, history[-10:]: pseudo-code.",
	"003: 200G NICs and 400G switches, hundreds of thousands a day, half a night in the machine room, two weeks until it was found: circumstances.",
	"003: x16 slots, priority 3, RS-FEC at 200G, timeouts of a database in tens of seconds: settings and comparisons.",
	"003: 60 % skill and 40 % calm, records of 20 to 30 lines, a drill each quarter: advice.",
}
