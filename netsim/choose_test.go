package netsim

import (
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// spread is what a path choice made of a permutation: completion times over the ideal one, and how far packets overtook each other.
type spread struct {
	worst, mean, late, p99 float64
	peak                   int64 // longest queue of a switch, packets
}

// How spine0 is worse than the others.
type damage int

const (
	symmetric damage = iota
	halfSpine        // all its links run at half their rate
	halfDown         // only those that leave it, which no leaf can see in its own queues
)

// permute runs the experiment of docs/models/path-choice.md: 64 hosts on 8 leaves and 8 spines, everyone sends packets full packets to one other, with
// a window of 96 packets and no congestion control, lossless, to a receiver that takes any order.
func permute(t *testing.T, path PathChoice, d damage, packets, seeds int, more func(*Config)) (out spread) {
	t.Helper()
	f := leafSpine(8, 8, 8)
	for seed := range uint64(seeds) {
		c := Config{Seed: seed + 1, Path: path}
		c.NIC.Control, c.NIC.Transport, c.NIC.AckEvery = NoControl, UEC, 1
		c.NIC.Window = 96 * 4096
		c.Switch.ECN = ECNConfig{KMin: 20 * 4160, KMax: 80 * 4160, PMax: 1} // 0.2 and 0.8 of a round trip at line rate
		for p := range f.Ports {
			from, to := f.Node(fabric.PortID(p)).Name, f.Node(f.Ports[p].Peer).Name
			if d != symmetric && (from == "spine0" || d == halfSpine && to == "spine0") {
				c.Faults = append(c.Faults, Fault{Kind: RateDegraded, Port: uint32(p), Rate: 200 * units.Gbps})
			}
		}
		if more != nil {
			more(&c)
		}
		n, s := run(t, f, permutation(64, units.Bytes(packets)*4096, seed+1), c)
		s.Drops[DropStale] = 0 // sent again although not lost: uec guesses so when a packet is a window late
		if s.Drops != [DropReasons]uint64{} {
			t.Errorf("%s: drops %v in a lossless network", path, s.Drops)
		}
		ideal := float64(packets*full + 3*full + 4_000_000)
		worst := 0.0
		for i := range n.Ops() {
			x := float64(took(n, i)) / ideal
			worst = max(worst, x)
			out.mean += x / 64 / float64(seeds)
		}
		out.worst += worst / float64(seeds)
		r := n.reorderingOf(n.reordering)
		out.late += float64(r.Late) / float64(64*packets) / float64(seeds)
		out.p99 += float64(r.P99) / float64(seeds)
		for i := range n.egress {
			if !n.ports[i/Priorities].host {
				out.peak = max(out.peak, n.egress[i].peak/4160)
			}
		}
	}
	t.Logf("%-12s worst %.2f mean %.2f late %2.0f %% p99 %3.0f peak %3d", path, out.worst, out.mean, 100*out.late, out.p99, out.peak)
	return out
}

// less asks for an ordering with a margin of a tenth.
func less(t *testing.T, what string, a, b float64) {
	t.Helper()
	if a > 0.9*b {
		t.Errorf("%s: %.2f is not clearly below %.2f", what, a, b)
	}
}

// With equal paths, everything that spreads packets beats everything that pins flows, and queues tell less than even dealing.
func TestPathsSymmetric(t *testing.T) {
	of := func(p PathChoice) spread { return permute(t, p, symmetric, 400, 2, nil) }
	ecmp := of(ECMP)
	for _, p := range []PathChoice{LetFlow, CONGA} { // flows of an adapter have no gaps, so a flowlet is the whole flow
		s := of(p)
		if s.late != 0 || s.worst < 0.7*ecmp.worst {
			t.Errorf("%s: %+v, but without gaps it should be like ecmp %+v", p, s, ecmp)
		}
	}
	qps := permute(t, ECMPQPN, symmetric, 400, 2, func(c *Config) {
		c.NIC.QPs, c.NIC.Split, c.NIC.Window = 16, true, 6*4096
	})
	less(t, "16 QPs against one", qps.worst, ecmp.worst)
	random, even := of(Random), of(RoundRobin)
	if even.worst > random.worst || even.p99 > random.p99 || even.peak > random.peak {
		t.Errorf("round-robin %+v is not as even as random %+v", even, random)
	}
	for _, p := range []PathChoice{DRILL, DLB, NVIDIAAR, Buckets, EVRandom, Oblivious, REPS, Bitmap, Mixed} {
		s := of(p)
		less(t, string(p)+" against 16 QPs", s.worst, qps.worst)
		if s.late < 0.1 {
			t.Errorf("%s: only %.0f %% of the packets were overtaken", p, 100*s.late)
		}
	}
	// Entropy values are dealt evenly, but the switches hash them, so paths are not.
	less(t, "dealing ports against dealing entropy values", even.p99, of(Oblivious).p99)
}

// With a spine at half rate, blind spreading waits for it; whoever looks at the queues in front of it, or at marks, does not.
func TestPathsHalfSpine(t *testing.T) {
	of := func(p PathChoice) spread { return permute(t, p, halfSpine, 400, 2, nil) }
	ecmp, random, oblivious := of(ECMP), of(Random), of(Oblivious)
	less(t, "random against ecmp", random.worst, ecmp.worst)
	for _, p := range []PathChoice{DRILL, NVIDIAAR, DLB, REPS, Mixed} {
		s := of(p)
		less(t, string(p)+" against random", s.worst, random.worst)
		less(t, string(p)+" against random, mean", s.mean, random.mean)
	}
	less(t, "bitmap against oblivious", of(Bitmap).worst, oblivious.worst)
	even := of(RoundRobin)
	if even.worst < 0.9*random.worst {
		t.Errorf("round-robin %+v is blind and should wait as random does %+v", even, random)
	}
}

// When only the links down from the spine are at half rate, a leaf's own queues tell nothing: schemes that look at them are as bad as
// blind ones, and only those that hear from the end of the path go around it.
func TestPathsHalfDown(t *testing.T) {
	of := func(p PathChoice) spread { return permute(t, p, halfDown, 400, 2, nil) }
	random := of(Random)
	for _, p := range []PathChoice{DRILL, NVIDIAAR, DLB} {
		if s := of(p); s.worst < 0.9*random.worst {
			t.Errorf("%s: %+v, but it cannot see what is wrong; random is %+v", p, s, random)
		}
	}
	for _, p := range []PathChoice{REPS, Mixed, Bitmap} {
		s := of(p)
		less(t, string(p)+" against random", s.worst, random.worst)
		less(t, string(p)+" against random, mean", s.mean, random.mean)
	}
}

// The longer DLB waits between two looks, the longer everybody crowds into the port that was best at the last one.
func TestDLBSampling(t *testing.T) {
	interval := func(d units.Duration) spread {
		return permute(t, DLB, symmetric, 1500, 1, func(c *Config) { c.PathParams.DLB.Interval = d })
	}
	often, seldom := interval(units.Microsecond), interval(16*units.Microsecond)
	less(t, "longest queue, sampling every 1 us against every 16 us", float64(often.peak), float64(seldom.peak))
	less(t, "worst flow, sampling every 1 us against every 16 us", often.worst, seldom.worst)
}

// bursts sends messages at half the line rate with pauses between them, to one other host each, and returns how long they took.
func bursts(t *testing.T, path PathChoice, d damage) (mean float64) {
	t.Helper()
	f := leafSpine(4, 8, 4)
	for seed := range uint64(3) {
		mean += burstsOf(t, f, path, d, seed+1) / 3
	}
	t.Logf("%-8s mean %.0f us", path, mean)
	return mean
}

func burstsOf(t *testing.T, f *fabric.Fabric, path PathChoice, d damage, seed uint64) (mean float64) {
	t.Helper()
	var b workload.Builder
	for i, op := range permutation(32, 1, seed).Ops {
		var last workload.OpID
		for m := range 10 {
			pause := workload.Op{Kind: workload.Compute, Src: op.Src, Time: units.Duration(150+(i*37+m*11)%50) * units.Microsecond}
			if m == 0 {
				last = b.Add(pause)
			} else {
				last = b.Add(pause, last)
			}
			msg := send(int(op.Src), int(op.Dst), 2_000_000)
			msg.Rate = 200 * units.Gbps
			last = b.Add(msg, last)
		}
	}
	c := Config{Seed: seed, Path: path}
	c.NIC.Control, c.NIC.Transport, c.NIC.Window = NoControl, UEC, 96*4096
	for p := range f.Ports {
		from, to := f.Node(fabric.PortID(p)).Name, f.Node(f.Ports[p].Peer).Name
		if from == "spine0" || d == halfSpine && to == "spine0" {
			c.Faults = append(c.Faults, Fault{Kind: RateDegraded, Port: uint32(p), Rate: 100 * units.Gbps})
		}
	}
	n, _ := run(t, f, b.Plan(), c)
	for i := range n.plan.Ops {
		if n.plan.Ops[i].Kind == workload.Send {
			mean += took(n, i).Seconds() * 1e6 / 320
		}
	}
	return mean
}

// With pauses longer than the gap flowlets do move: at random with LetFlow, which leaves bad paths since their packets spread out, and away
// from congestion with CONGA, wherever it is.
func TestFlowletsMove(t *testing.T) {
	for _, d := range []damage{halfSpine, halfDown} {
		ecmp, let, conga := bursts(t, ECMP, d), bursts(t, LetFlow, d), bursts(t, CONGA, d)
		less(t, "letflow against ecmp", let, ecmp)
		less(t, "conga against letflow", conga, let)
	}
}

// A QP that PLB keeps on a congested path leaves it after twelve congested round trips, and finds an idle one sooner or later.
func TestPLBMoves(t *testing.T) {
	f := leafSpine(2, 4, 4)
	worst := func(path PathChoice) units.Duration {
		var sum units.Duration
		for seed := range uint64(4) {
			c := Config{Seed: seed, Path: path}
			c.NIC.Control, c.NIC.Transport, c.NIC.Window = NoControl, UEC, 64*4096
			c.Switch.ECN = ECNConfig{KMin: 10 * 4160, KMax: 20 * 4160, PMax: 1}
			var b workload.Builder
			for i := range 4 {
				b.Add(send(i, 4+i, 40_000_000))
			}
			n, _ := run(t, f, b.Plan(), c)
			var most units.Duration
			for i := range n.Ops() {
				most = max(most, took(n, i))
			}
			sum += most
		}
		return sum
	}
	less(t, "plb against ecmp", float64(worst(PLB)), float64(worst(ECMP)))
}

// When a link dies before the switches route around it, REPS keeps to what works: after the timeout it uses only entropy values that came back.
func TestREPSAvoidsADeadLink(t *testing.T) {
	f := leafSpine(2, 4, 4)
	retransmitted := func(path PathChoice) (again uint64) {
		c := Config{Seed: 3, Path: path}
		c.NIC.Control, c.NIC.Transport, c.NIC.Window = NoControl, UEC, 96*4096
		c.NIC.UEC.RTO = 30 * units.Microsecond
		spine, _ := f.NodeByName("spine1")
		c.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.Nodes[spine].FirstPort), At: 50 * units.Microsecond, For: 400 * units.Microsecond, Detect: units.Millisecond}}
		var b workload.Builder
		for i := range 4 {
			b.Add(send(i, 4+i, 20_000_000))
		}
		n, _ := run(t, f, b.Plan(), c)
		for ep := range n.nics {
			again += n.NIC(int32(ep)).RetransmitPackets
		}
		return again
	}
	less(t, "reps against oblivious", float64(retransmitted(REPS)), float64(retransmitted(Oblivious)))
}

// The constants of netsim and the table of schemes are one list, and so are those of congestion control.
func TestNamesAreOneList(t *testing.T) {
	paths := []PathChoice{ECMP, ECMPQPN, Random, RoundRobin, LetFlow, CONGA, DRILL, DLB, NVIDIAAR, Buckets, EVRandom, Oblivious, REPS, Bitmap, Mixed, PLB}
	if got := PathChoice("").Choices(); len(got) != len(paths) {
		t.Errorf("%d constants, table %v", len(paths), got)
	}
	for _, p := range paths {
		if !slices.Contains(p.Choices(), string(p)) {
			t.Errorf("no scheme is called %s", p)
		}
	}
	controls := []Control{NoControl, FixedWindow, DCQCN, HPCC, TIMELY, Swift, NSCC}
	if got := Control("").Choices(); len(got) != len(controls) {
		t.Errorf("%d constants, table %v", len(controls), got)
	}
	for _, c := range controls {
		if !slices.Contains(c.Choices(), string(c)) {
			t.Errorf("no law is called %s", c)
		}
	}
}

// Every scheme and every law carries traffic to its end on three tiers and on two planes, while a link between switches flaps, and nothing is
// lost but what was on that link, or had climbed to where only it led down.
func TestEverySchemeOnEveryFabric(t *testing.T) {
	tree := fabric.KAry(4, 1)
	tree.Access, tree.Trunk = wire, wire
	planes := fabric.DualPlane{Rails: 1, LeavesPerRail: 4, HostsPerLeaf: 4, Spines: 2, Bundle: 2, GPUsPerHost: 1, Access: wire, Trunk: wire}
	for _, f := range []*fabric.Fabric{tree.Build(), planes.Build()} {
		var b workload.Builder
		for i := range 16 {
			for j := 1; j <= 3; j++ {
				op := send(i, (i+5*j)%16, 300_000)
				op.At = units.Duration(j) * 10 * units.Microsecond
				b.Add(op)
			}
		}
		trunk := uint32(slices.IndexFunc(f.Ports, func(p fabric.Port) bool { return p.Endpoint < 0 && p.Uplink }))
		check := func(c Config) {
			c.Faults = []Fault{{Kind: LinkDown, Port: trunk, At: 15 * units.Microsecond, For: 20 * units.Microsecond, Detect: 5 * units.Microsecond}}
			c.NIC.Timeout = 5
			n, s := run(t, f, b.Plan(), c)
			name := string(c.Path) + " " + string(c.NIC.Control)
			if s.Stalled || n.left > 0 {
				t.Errorf("%s: %d operations did not end", name, n.left)
			}
			for why, drops := range s.Drops {
				if r := DropReason(why); drops > 0 && r != DropLinkDown && r != DropNoRoute && r != DropStale && r != DropOutOfOrder {
					t.Errorf("%s: %d packets dropped: %v", name, drops, r)
				}
			}
		}
		for _, path := range PathChoice("").Choices() {
			check(Config{Seed: 1, Path: PathChoice(path), NIC: NICConfig{Transport: UEC, Control: HPCC}})
		}
		for _, control := range Control("").Choices() {
			check(Config{Seed: 1, Path: REPS, NIC: NICConfig{Transport: UEC, Control: Control(control)}})
		}
	}
}
