package claims

// engineClaims are the figures of article 000 about buckets, weights and what goes by them.
func engineClaims() []Claim {
	const a Article = "000"
	return []Claim{{
		ID: "S0.2a", Article: a, Kind: Computed,
		Says: "hashing QPN, UDP ports and addresses into buckets gives every packet a path of its own", Figure: "each packet",
		Measure: Measure{"paths of four that a QP's 4096 packets take, literal key", "", "buckets", "paths literal", AtLeast(2)},
		Beside:  []Measure{{"with the PSN in the key", "", "buckets", "paths psn", Rule{}}},
		Reading: `None of the listed fields changes within a QP, so the list pins a QP to one bucket: weighted ECMP with the QP number hashed in, and no spraying. With the PSN, or a counter, in
the key it is spraying. Both are in the product (key: flow, flow+psn, counter).`,
	}, {
		ID: "S0.2b", Article: a, Kind: Computed,
		Says: "a link over 85 % busy shrinks from 32 buckets to", Figure: "12, the other 20 to another path",
		Measure: Measure{"buckets left", "", "buckets", "shrunk", Exactly(12)},
		Beside: []Measure{
			{"buckets of the path that takes them", "", "buckets", "receiving", Rule{}}, {"its load, had it been 85 % busy as well", "%", "buckets", "receiving load", Rule{}},
			{"the same, freed buckets spread over three paths", "%", "buckets", "spread load", Rule{}},
		},
		Reading: `The engine does as it is told, so this holds by construction. It is bad advice: where all paths are busy, the one that takes 20 more is asked for more than it has; over
several paths they do less harm.`,
	}, {
		ID: "S0.2c", Article: a, Kind: Computed,
		Says: "finer than per-flow hashing", Figure: "32 times",
		Measure: Measure{"whole QPs to the smallest move of a bucket, literal key", "ratio", "buckets", "finer literal", About(32, 1)},
		Beside:  []Measure{{"with the PSN in the key", "ratio", "buckets", "finer psn", Rule{}}},
		Reading: `With the literal key a bucket holds whole QPs, so nothing smaller than a QP can be moved: no finer than hashing. With the PSN in it the figure holds for four large flows on 128
buckets.`,
	}, {
		ID: "S0.2d", Article: a, Kind: Simulated,
		Says: "weights refreshed each 200 ms follow the load of the links", Figure: "200 ms",
		Measure: Measure{"gained on a link of half the rate for good", "%", "refresh", "gain 200ms", Above(0)},
		Beside: []Measure{
			{"refreshed each 10 ms", "%", "refresh", "gain 10ms", Rule{}}, {"refreshed each 1 ms", "%", "refresh", "gain 1ms", Rule{}},
			{"time without weights", "ms", "refresh", "never", Rule{}},
			{"200 ms, the article's curve, all to one path", "%", "refresh", "gain article 200ms", Rule{}},
			{"10 ms, the slow link behind the spine", "%", "refresh", "gain remote 10ms", Rule{}},
			{"congestions of 10 ms that any refresh of 200 ms meets", "%", "arithmetic", "episodes met", Rule{}},
			{"packets in 200 ms at 200 Gbit/s", "", "arithmetic", "packets in a refresh", Rule{}},
		},
		Reading: `What is slow for good is answered, with a curve that comes to rest; the article's own step, all to one path, swings and gains nothing. No congestion lasts 200 ms: that is more
than a million packets. And a leaf that reads its own ports sees nothing of a link behind the spine.`,
	}, {
		ID: "S0.3a", Article: a, Kind: Simulated,
		Says: "a refresh of 2 s by mistake makes spraying lag", Figure: "2 s instead of 200 ms",
		Measure: Measure{"gained in the first 0.8 s with 2 s", "%", "refresh", "gain 2s", AtMost(0)},
		Beside:  []Measure{{"with 200 ms", "%", "refresh", "gain 200ms", Rule{}}},
		Reading: `Until the first refresh there are no weights. shunt explain finds such a setting where it is told (the pitfalls of examples/pitfalls).`,
	}, {
		ID: "S0.4e", Article: a, Kind: Computed,
		Says: "the UDP checksum has 16 bits to spare for a context id", Figure: "16 bits",
		Measure: Measure{"ids with which the ICRC stays right", "%", "context-id", "icrc", Exactly(100)},
		Beside:  []Measure{{"ids that a standards-following device takes for a wrong checksum", "%", "context-id", "dropped", Rule{}}},
		Reading: `RoCEv2 leaves the checksum at zero and its ICRC takes the field for ones, so an id does no harm end to end. "Reserved" it is not: a checksum that is not zero asks to be verified, and
whoever does finds it wrong in all but one of 65 536 cases.`,
	}, {
		ID: "S0.5a", Article: a, Kind: Simulated,
		Says: "context ids of 16 bits with QP, sequence, path and time, 128 nodes: decode errors", Figure: "0",
		Measure: Measure{"packets that the receiver cannot place, all four things in the id (v1)", "% of packets", "context-ids", "errors v1", AtMost(0)},
		Beside: []Measure{
			{"sequence and path alone (v2)", "% of packets", "context-ids", "errors v2", Rule{}}, {"sent again, v1", "% of packets", "context-ids", "again v1", Rule{}},
			{"sent again, v2", "% of packets", "context-ids", "again v2", Rule{}}, {"packets that v1 can order", "", "context-id", "window v1", Rule{}},
			{"packets that v2 can order", "", "context-id", "window v2", Rule{}}, {"packets to order for 20 us of skew at 400 Gbit/s", "", "context-id", "window needed", Rule{}},
			{"bits of sequence for that", "", "context-id", "bits needed", Rule{}},
		},
		Reading: `n bits of sequence order 2^(n-1) packets. Four things leave five bits, which is too few wherever paths differ by more than a microsecond. Given ten bits, and the QP left to the BTH
that names it anyway, it works: with what the BTH's own 24 bits tell in every packet.`,
	}, {
		ID: "S0.5b", Article: a, Kind: Computed,
		Says: "a hash of the cycles since the last update, of 10 ns each, tells packets' order", Figure: "10 ns",
		Measure: Measure{"longest distance of two packets that eight hashed bits can order", "ns", "context-id", "ordered hash", AtLeast(10)},
		Beside: []Measure{
			{"eight low bits, not hashed", "ns", "context-id", "ordered low", Rule{}}, {"bits of the whole count", "", "context-id", "tick bits", Rule{}},
			{"counts of 200 ms that share a value of eight bits", "", "context-id", "alike", Rule{}},
		},
		Reading: `200 ms are 20 million steps, 25 bits. A hash of them says whether two counts may be equal, never which came first.`,
	}, {
		ID: "S0.6a", Article: a, Kind: Computed,
		Says: "paths named by a fingerprint of bit errors, sampled each 10 ms: decode errors in a failover", Figure: "< 0.0001 %",
		Measure: Measure{"errors in the 100 ms from the failover on", "% of packets", "path-id", "hash", AtMost(0.0001)},
		Beside: []Measure{
			{"at any time", "% of packets", "path-id", "hash always", Rule{}}, {"changes of a path's id", "in a second", "path-id", "changes", Rule{}},
			{"the best that can be made of samples", "% of packets", "path-id", "smooth", Rule{}}, {"named by the switch port", "% of packets", "path-id", "port", Rule{}},
			{"a number given to the path", "% of packets", "path-id", "stable", Rule{}},
			{"samples without any error, after correction", "%", "path-id", "empty post-fec", Rule{}},
		},
		Reading: `A count of errors is never twice the same, so its hash changes with every sample, failover or not, and receivers lag behind. The port number that the article gave up does a hundred
times better, and a number that was given to the path, apart from its quality, makes no errors at all. After error correction there is nothing to sample in 10 ms.`,
	}, {
		ID: "S0.7a", Article: a, Kind: Computed,
		Says: "1024 flow ids of 128 GPUs under per-flow hashing: in the first 128 buckets", Figure: "67 %",
		Measure: Measure{"flows in the first 128 of 1024 buckets", "%", "occupancy", "head", About(67, 12.5)},
		Beside:  []Measure{{"with one source port for all QPs", "%", "occupancy", "head few keys", Rule{}}, {"a perfect hash", "%", "occupancy", "perfect head", Rule{}}},
		Reading: `A working hash deals an eighth into an eighth, for these flows as for others. How many packets a flow has, or how small they are, does not enter it. 67 % would be a hash
that is broken, or a count of something else.`,
	}, {
		ID: "S0.7b", Article: a, Kind: Computed,
		Says: "the same: the last buckets are empty", Figure: "256",
		Measure: Measure{"empty buckets at the end of 1024", "", "occupancy", "tail", Near(256)},
		Beside: []Measure{
			{"with one source port for all QPs", "", "occupancy", "tail few keys", Rule{}}, {"empty buckets anywhere", "", "occupancy", "empty", Rule{}},
			{"probability of it, power of ten", "", "arithmetic", "empty tail", Rule{}},
		},
		Reading: `With as many flows as buckets 37 % are empty, but not in a row. That a whole quarter stays empty happens where a tier in front has chosen by the same bits of the same
hash (polarisation), which shunt hash shows.`,
	}, {
		ID: "S0.9a", Article: a, Kind: Computed,
		Says: "jitter of a spraying decision in software (DPDK)", Figure: "0.3 us -> 2.7 us",
		Measure: Measure{"polling software", "us", "platforms", "jitter polling", About(2.7, 0.3)},
		Beside:  []Measure{{"a pipeline with one clock", "us", "platforms", "jitter pipeline", Rule{}}, {"software with interrupts and a copy", "us", "platforms", "jitter interrupts", Rule{}}},
		Reading: `The order of magnitude holds in the model, most of it from waiting for a burst. The article's list of seven steps has interrupts and copies, which DPDK does not.`,
	}, {
		ID: "S0.9b", Article: a, Kind: Computed,
		Says: "AllReduce with the decision in software", Figure: "45 us -> 210 us",
		Measure: Measure{"all_reduce with interrupts", "us", "platforms", "ring interrupts", About(210, 45)},
		Beside:  []Measure{{"pipeline", "us", "platforms", "ring pipeline", Rule{}}, {"polling", "us", "platforms", "ring polling", Rule{}}},
		Reading: `For a ring that takes the article's 45 us in a pipeline. Its list of steps comes near; three quarters of that are interrupt moderation and the copy, and software that polls, as DPDK
does, has neither.`,
	}, {
		ID: "S0.11a", Article: a, Kind: Computed,
		Says: "16K rules of a switch do not suffice past", Figure: "64 nodes",
		Measure: Measure{"hosts from which the rules do not fit", "", "rules", "bites", Near(65)},
		Beside: []Measure{
			{"with one QP a connection", "", "rules", "bites one qp", Rule{}}, {"with a ring instead of an all-to-all", "", "rules", "bites ring", Rule{}},
		},
		Reading: `Under one set of assumptions (rules for the QPs of a rail's all-to-all, four a connection); the article names none, and other plausible ones give twice that or thousands. Spraying
needs no rules for each QP at all: a design that has them made the problem.`,
	}, {
		ID: "S0.11b", Article: a, Kind: Computed,
		Says: "overflow of the rule table before and after limit 32768 and a partition of 24K", Figure: "100 % -> 0 %",
		Measure: Measure{"QPs without a rule at 65 hosts, 16K", "%", "rules", "overflow 65", About(100, 0)},
		Beside: []Measure{
			{"at 128 hosts, 16K", "%", "rules", "overflow 128", Rule{}}, {"at 128 hosts, 32K", "%", "rules", "overflow 128 raised", Rule{}},
			{"hosts from which 32K do not fit", "", "rules", "bites raised", Rule{}}, {"hosts from which 24K do not fit", "", "rules", "bites partition", Rule{}},
		},
		Reading: `What does not fit is the excess, never all. The need grows with the square of the hosts, so twice the limit lasts for 1.4 times the hosts, and the partition of 24K for less.`,
	}, {
		ID: "S0.12a", Article: a, Kind: Computed,
		Says: "two vendors read bits 15 to 8 differently: packets lost without a word", Figure: "bits 15-8",
		Measure: Measure{"ids whose path the other vendor reads wrong", "%", "context-id", "misread path", Above(0)},
		Beside: []Measure{
			{"ids that it rejects", "%", "context-id", "rejected", Rule{}}, {"messages of the odd host that never end", "%", "context-ids", "mismatch lost", Rule{}},
			{"of these losses, counted by a switch or NIC", "packets", "context-ids", "mismatch told", Rule{}},
		},
		Reading: `All but one in 256 ids name another path, and nothing in them tells: a layout without a version cannot be told from another. Which direction loses packets depends on which
values the reader checks.`,
	}, {
		ID: "S0.12b", Article: a, Kind: NoTest,
		Says: "the least firmware of ConnectX-7", Figure: "24.32.2006",
		Reading: `The family cannot be right: versions of ConnectX-7 begin with 28, those with 24 are BlueField-2's. And ibstat, which is said to show it, knows nothing of context ids.`,
	}, {
		ID: "S0.13a", Article: a, Kind: Simulated,
		Says: "one congested link under spraying: throughput of the cluster", Figure: "over -50 %",
		Measure: Measure{"throughput lost to 1 ms at a twentieth", "%", "storm", "throughput lost", Between(50, 100, 0)},
		Beside:  []Measure{{"with the pause told to the sprayer", "%", "storm", "lost feedback", Rule{}}, {"with per-flow hashing, of a job that is slower already", "%", "storm", "throughput lost hashed", Rule{}}},
		Reading: `Every sprayed flow has a share of its packets on the slow path, so all of them wait for it, as claimed; how much of the job it is depends on how long the link is slow. Hashed
flows that do not take it are spared, but their collisions cost more than the storm.`,
	}, {
		ID: "S0.13b", Article: a, Kind: Simulated,
		Says: "fast feedback of pauses and a threshold of 65 % instead of 80 %: duration of the storm", Figure: "120 ms -> 8 ms",
		Measure: Measure{"time held, after to before", "ratio", "storm", "both to before", About(8.0/120, 1)},
		Beside: []Measure{
			{"feedback alone", "ratio", "storm", "feedback to before", Rule{}}, {"the lower threshold alone", "ratio", "storm", "threshold to before", Rule{}},
			{"before", "ms", "storm", "held", Rule{}},
		},
		Reading: `The feedback does it, and not fifteenfold: it keeps packets off the paused path, but what is in front of the slow link must still drain. A lower threshold alone makes pauses
earlier and more, as it must.`,
	}, {
		ID: "S0.14a", Article: a, Kind: Simulated,
		Says: "link state handled on the wrong core: the split over two NICs of a host", Figure: "7:3",
		Measure: Measure{"share of the fuller NIC, readings of one 300 us late", "%", "nic-split", "late", About(70, 50)},
		Beside: []Measure{
			{"steps longer by", "%", "nic-split", "step", Rule{}},
			{"without bursts: readings of one a period late", "%", "two-nics", "late", Rule{}},
			{"without bursts: readings of one never come", "%", "two-nics", "never", Rule{}},
		},
		Reading: `Where a job sends in bursts, a late reading is of another burst or of the silence between two, and the split leans. Under an even load late readings give no lasting lean, as what was
true a period ago is true now; it takes readings that never come, of a NIC that looks idle for good, to have it carry 7 of 10 at nine tenths of full load.`,
	}, {
		ID: "S0.14b", Article: a, Kind: Simulated,
		Says: "interrupts pinned: deviation", Figure: "30 % -> 1.2 %",
		Measure: Measure{"deviation from an even split, readings in time", "%", "nic-split", "deviation in time", AtMost(1.2)},
		Beside:  []Measure{{"without bursts", "%", "two-nics", "deviation in time", Rule{}}, {"7:3, as a deviation from 5:5", "%", "arithmetic", "deviation 7:3", Rule{}}},
		Reading: `With readings in time the split is nearly even. The 30 % do not fit the 7:3 they are said to be: that is 40 % off, or 20 points.`,
	}, {
		ID: "S0.14c", Article: a, Kind: Derived,
		Says: "net.core.netdev_budget=300 makes the batches more efficient", Figure: "300",
		Measure: Measure{"change from Linux' default", "packets", "arithmetic", "budget", Above(0)},
		Reading: `300 is what Linux starts with. RoCE data does not pass through that loop anyway.`,
	}, {
		ID: "S0.15a", Article: a, Kind: Simulated,
		Says: "a security group that drops what the checksum field carries stops RoCE between nodes", Figure: "all of it",
		Measure: Measure{"messages of a host behind it that never end, with context ids", "%", "context-ids", "checksum lost", Exactly(100)},
		Beside:  []Measure{{"without context ids", "%", "context-ids", "checksum lost without", Rule{}}},
		Reading: `A device that verifies checksums drops all of it; plain RoCEv2 leaves the checksum at zero and passes, as do ICMP and TCP, whose checksums are right. Whether a cloud's security
group verifies checksums, its documents do not say as far as we know; shunt spray renders the rule that lets them through.`,
	}, {
		ID: "S0.16b", Article: a, Kind: Computed,
		Says: "never-seen combinations of path id and time hash name an attack", Figure: "by the 3rd packet",
		Measure: Measure{"attacks flagged within three packets, eight bits each, eight live paths", "%", "detector", "within three wide", AtLeast(99)},
		Beside: []Measure{
			{"packet that is flagged first, mean", "", "detector", "packet", Rule{}}, {"with the bits of layout v1", "%", "detector", "within three v1", Rule{}},
			{"honest packets flagged", "%", "detector", "false wide", Rule{}},
			{"honest packets flagged where path ids follow the link's quality", "%", "detector", "false changing", Rule{}},
		},
		Reading: `It holds for an attacker who sees nothing, few live paths and path ids that stand still. With path ids that are fingerprints of quality, as the article has them, most honest packets are
alarms; and who copies a live id passes.`,
	}, {
		ID: "S0.17a", Article: a, Kind: NoTest,
		Says: "95 % of a suspect QP to a honeypot path, 5 % kept: added latency", Figure: "< 0.3 us",
		Reading: `Neither the simulator nor any public switch weighs the paths of one QP by itself, and the article does not tell whose latency it is. Splitting one QP over two paths needs a receiver
that takes packets out of order; else it does what the attack would.`,
	}}
}
