package claims

// Claims of article 003, the network of an AI cluster in production.

func article003() []Claim {
	const a Article = "003"
	return []Claim{{
		ID: "S3.1a", Article: a, Kind: NoTest,
		Says: "a cluster whose configuration looks right reaches of its peak bandwidth", Figure: "30 to 40 %",
		Reading: `No cause is given with it. Two that are (hash collisions of an all-to-all, ECN that marks too early) come to that order: see S3.4a and S3.5a.`,
	}, {
		ID: "S3.3a", Article: a, Kind: Derived,
		Says: "three tiers instead of two: cost", Figure: "doubles",
		Measure: Measure{"switch ports for 128 hosts without oversubscription, three tiers to two", "ratio", "tiers", "ports", About(2, 1)},
		Beside:  []Measure{{"links", "ratio", "tiers", "links", Rule{}}, {"links between far hosts", "ratio", "tiers", "hops", Rule{}}},
		Reading: `A host needs three switch ports in two tiers (one down, a link of two up) and five in three: 1.67 times as many, with as many more optics. With oversubscription or smaller
switches the factor changes.`,
	}, {
		ID: "S3.4a", Article: a, Kind: Simulated,
		Says: "MoE training under per-flow hashing, where the AllReduce benchmark is fine: speed", Figure: "-40 %",
		Measure: Measure{"training speed lost, against spraying", "%", "moe", "step lost", About(40, 0)},
		Beside: []Measure{
			{"all-to-all bandwidth lost", "%", "moe", "alltoall lost", Rule{}}, {"all_reduce bandwidth lost", "%", "moe", "all_reduce lost", Rule{}},
			{"fullest uplink above its leaf's mean", "%", "moe", "hottest", Rule{}},
		},
		Reading: `The all-to-all loses that much or more and the all_reduce far less, as claimed; how much of it reaches the step is the share of a step that waits for it, which is the job's.`,
	}, {
		ID: "S3.5a", Article: a, Kind: Simulated,
		Says: "an ECN mark of 5 %: a 200G NIC falls to", Figure: "60 Gbit/s",
		Measure: Measure{"rate with 8 KB to 32 KB, 5 %", "Gbit/s", "ecn", "low 5", About(60, 187.5)},
		Beside: []Measure{
			{"8 KB to 32 KB, 1 %", "Gbit/s", "ecn", "low 1", Rule{}}, {"128 KB to 512 KB, 5 %", "Gbit/s", "ecn", "start 5", Rule{}},
			{"no marking", "Gbit/s", "ecn", "off", Rule{}},
		},
		Reading: `The thresholds are not told; two packets are what it takes here. It is they and not the 5 % that decide: between 128 and 512 KB, 5 % and 1 % are alike, and at two packets 1 % is not
much better.`,
	}, {
		ID: "S3.5b", Article: a, Kind: Simulated,
		Says: "128 KB, 512 KB and 1 % are where to start from at 200G and 8 MB", Figure: "throughput comes back",
		Measure: Measure{"rate of a 200 Gbit/s NIC", "Gbit/s", "ecn", "start 1", AtLeast(180)},
		Beside:  []Measure{{"pause frames", "frames", "ecn", "start pauses", Rule{}}, {"no marking", "Gbit/s", "ecn", "off", Rule{}}},
		Reading: `Held to nine tenths of the line. An ordinary burst passes unmarked, and ECN still comes before PFC.`,
	}, {
		ID: "S3.6a", Article: a, Kind: Simulated,
		Says: "hosts of MTU 1500 among hosts of 9000: performance", Figure: "halved",
		Measure: Measure{"bandwidth lost with a path MTU of 1024 instead of 4096", "%", "path-mtu", "lost", About(50, 0)},
		Reading: `RoCE is not fragmented: peers agree on a path MTU, or the connection fails. What a small one costs is headers, some percent. Fragments that halve throughput are IP's, in software.`,
	}, {
		ID: "S3.6b", Article: a, Kind: Derived,
		Says: "ping -M do -s 8972 tests an MTU of 9000", Figure: "8972",
		Measure: Measure{"payload of a ping that fills 9000 bytes, IPv4", "bytes", "arithmetic", "ping ipv4", Exactly(8972)},
		Beside:  []Measure{{"IPv6", "bytes", "arithmetic", "ping ipv6", Rule{}}},
		Reading: `For IPv4. For IPv6 it is 20 less.`,
	}, {
		ID: "S3.7a", Article: a, Kind: Simulated,
		Says: "backup traffic in RoCE's priority stalls the job, in its own it does not", Figure: "no figure",
		Measure: Measure{"longest step longer by, in the same priority", "%", "backup", "same priority", Above(0)},
		Beside:  []Measure{{"in a priority of its own", "%", "backup", "own priority", Rule{}}},
		Reading: `A share of the link is lost either way, as the priorities share it; in a queue of its own the backup cannot pause RoCE or fill its buffer.`,
	}, {
		ID: "S3.8a", Article: a, Kind: Simulated,
		Says: "with slow recovery one ECN mark makes the throughput of the whole cluster collapse", Figure: "no figure",
		Measure: Measure{"a ring longer by, one burst of 90 us, default DCQCN", "%", "recovery", "default", Above(0)},
		Beside: []Measure{
			{"hyper increase 10 Gbit/s", "%", "recovery", "fast recovery", Rule{}}, {"a cut to 3/4 at most", "%", "recovery", "gentle cut", Rule{}},
			{"g 1/1024", "%", "recovery", "slow recovery", Rule{}},
		},
		Reading: `A ring is as fast as its slowest flow, and the one that was cut takes milliseconds to come back. Faster recovery, or a gentler cut, take most of that away.`,
	}, {
		ID: "S3.11a", Article: a, Kind: NoTest,
		Says: "configuration that is applied by script cuts PFC incidents", Figure: "by 90 %",
		Reading: `A count of incidents in one operator's clusters.`,
	}, {
		ID: "S3.12a", Article: a, Kind: Simulated,
		Says: "a link half again as full as the others shows a hash that does not fit", Figure: "over 50 %",
		Measure: Measure{"fullest uplink above its leaf's mean under hashing, MoE step", "%", "moe", "hottest", AtLeast(50)},
		Beside: []Measure{
			{"the same sprayed", "%", "moe", "hottest sprayed", Rule{}}, {"chance that a perfect hash makes such a link, 12 flows on four", "%", "chance", "12 flows", Rule{}},
			{"48 flows", "%", "chance", "48 flows", Rule{}}, {"1024 flows", "%", "chance", "1024 flows", Rule{}},
		},
		Reading: `Under hashing there is such a link, and sprayed there is not. It does not show that the hash is bad: of a few large flows a perfect one makes such a link more often than not. With a
thousand flows it never does, and then a link like that says something.`,
	}, {
		ID: "S3.12b", Article: a, Kind: Simulated,
		Says: "fixing the hash: throughput of MoE training", Figure: "+5 to 15 %",
		Measure: Measure{"gained by hashing the destination QPN, 4 QPs", "%", "moe", "step gained qpn", Between(5, 15, 0)},
		Beside:  []Measure{{"gained by spraying", "%", "moe", "step gained spray", Rule{}}},
		Reading: `The gain depends on how much of a step waits for the all-to-all.`,
	}, {
		ID: "S3.13a", Article: a, Kind: Derived,
		Says: "NCCL_IB_TIMEOUT=5 is a probe of", Figure: "about 50 ms",
		Measure: Measure{"one try", "ms", "arithmetic", "timeout 5", Near(50)},
		Beside: []Measure{
			{"all eight tries", "ms", "arithmetic", "timeout 5 tries", Rule{}}, {"until the QP gives up, simulated", "ms", "timeout", "gives up 5", Rule{}},
			{"the exponent of 50 ms a try", "", "arithmetic", "exponent of 50 ms", Rule{}},
		},
		Reading: `A try is 4.096 us x 2^5 = 131 us, and after about a millisecond the QP has given up: the setting makes every flap fatal. 50 ms a try would be an exponent of 13 or 14.`,
	}, {
		ID: "S3.13b", Article: a, Kind: Simulated,
		Says: "after a flap the job waits for NCCL's retransmission", Figure: "minutes at least",
		Measure: Measure{"from the loss to the end, a flap of 5 ms, defaults of NCCL 2.23", "ms", "timeout", "flap 20", AtLeast(60_000)},
		Beside: []Measure{
			{"with NCCL_IB_TIMEOUT=14", "ms", "timeout", "flap 14", Rule{}}, {"until the QP gives up, path gone for good", "ms", "timeout", "gives up 20", Rule{}},
			{"until the QP gives up, NCCL_IB_TIMEOUT=14", "ms", "timeout", "gives up 14", Rule{}},
		},
		Reading: `A flap that is over costs the rest of one timeout, some seconds by default; a path that stays away ends the QP after half a minute, and then it is the framework's restart that takes
minutes.`,
	}, {
		ID: "S3.13c", Article: a, Kind: Simulated,
		Says: "BFD and rerouting bring traffic to another path", Figure: "within milliseconds",
		Measure: Measure{"outage, BFD at 50 ms x 3 and 10 ms to reroute", "ms", "failover", "outage", AtMost(10)},
		Beside:  []Measure{{"job, BFD 50 ms x 3", "ms", "failover", "bfd 50", Rule{}}, {"job, BFD 10 ms x 3", "ms", "failover", "bfd 10", Rule{}}},
		Reading: `Detection is the multiplier times the interval, 150 ms with common settings, and a QP that lost packets waits for its timeout on top. Milliseconds take BFD in hardware at a few
milliseconds or a link whose end notices by itself.`,
	}, {
		ID: "S3.13d", Article: a, Kind: NoTest,
		Says: "NCCL_TIMEOUT is the longest that a collective may take", Figure: "1.5 to 2 times the step",
		Reading: `NCCL has no such variable in any release; the timeout of collectives is the framework's (init_process_group(timeout=...) in PyTorch, ten minutes by default). shunt explain tells who
sets it that it does nothing.`,
	}, {
		ID: "S3.17a", Article: a, Kind: Simulated,
		Says: "Tree suits a leaf-spine network better than Ring", Figure: "no figure",
		Measure: Measure{"time of a ring to that of a tree, 32 MiB", "ratio", "tree-ring", "large", Above(1)},
		Beside:  []Measure{{"ring to tree, 16 KiB", "ratio", "tree-ring", "small", Rule{}}, {"ring to tree, 32 MiB, one spine", "ratio", "tree-ring", "large narrow", Rule{}}},
		Reading: `Held to a size that gradients have. A tree is ahead for small ones, where steps decide: 2 log2 N of them instead of 2(N-1). For large ones a ring keeps every link busy with one flow
each, while a tree's inner ranks send to two and hear from two, whose flows meet; the more so where the tiers are narrow, which is the article's own proviso.`,
	}, {
		ID: "S3.18a", Article: a, Kind: NoTest,
		Says: "NCCL 2.17 to 2.18 lost performance with old switch firmware", Figure: "2.17 -> 2.18",
		Reading: `Needs those switches and releases, and how much was lost is not told.`,
	}}
}
