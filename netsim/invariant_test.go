package netsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// lossless is a run in which nothing is broken but everything is full: incasts on two lossless priorities, links of unequal length and rate, small
// buffers, reductions, slow hosts.
func lossless(seed uint64) (*fabric.Fabric, *workload.Plan, Config) {
	rng := rand.New(rand.NewPCG(seed, 7))
	f := leafSpine(3, 4, 2)
	for i := range f.Ports {
		p := &f.Ports[i]
		if uint32(i) < uint32(p.Peer) { // the same both ways
			delay := units.Duration(1+rng.IntN(3000)) * units.Nanosecond
			rate := []units.Rate{100, 200, 400}[rng.IntN(3)] * units.Gbps
			p.Delay, f.Ports[p.Peer].Delay = delay, delay
			p.Rate, f.Ports[p.Peer].Rate = rate, rate
		}
	}
	var b workload.Builder
	for range 40 {
		op := send(rng.IntN(12), rng.IntN(12), units.Bytes(1+rng.IntN(1_000_000)))
		if rng.IntN(2) == 0 {
			op.Dst = fabric.GPUID(rng.IntN(2))
		}
		op.Priority = []uint8{3, 4}[rng.IntN(2)]
		op.At = units.Duration(rng.Int64N(int64(20 * units.Microsecond)))
		b.Add(op)
	}
	if rng.IntN(2) == 0 {
		addReduction(&b, f, rng)
	}
	c := Config{Seed: seed}
	c.Path = []PathChoice{ECMP, Random}[rng.IntN(2)]
	c.NIC.Transport = []Transport{Place, UEC}[rng.IntN(2)] // those that resend nothing for packets out of order
	c.NIC.Control = "none"
	c.NIC.Timeout = 20
	c.NIC.UEC.RTO = units.Second
	c.Switch.Lossless = []int{3, 4}
	c.Switch.Buffer = []units.Bytes{8, 16, 32}[rng.IntN(3)] * units.MiB
	c.Switch.Alpha = []float64{1.0 / 64, 1.0 / 8, 1}[rng.IntN(3)]
	c.Switch.XOFF = units.Bytes(rng.IntN(2)) * units.Bytes(4+rng.IntN(30)) * 4160
	c.Switch.XON = 4160
	c.Switch.Latency = units.Duration(rng.IntN(1000)) * units.Nanosecond
	c.Switch.PauseQuanta = []int{0, 65535, 2000}[rng.IntN(3)]
	c.Switch.Reduction = ReductionConfig{Slots: 1 + rng.IntN(200), Chunk: 4096, Timeout: units.Second}
	c.Faults = []Fault{{Kind: SlowReceiver, Port: uint32(f.Endpoints[rng.IntN(12)]), At: 5 * units.Microsecond, For: 50 * units.Microsecond, Rate: 40 * units.Gbps}}
	return f, b.Plan(), c
}

// N3 on random networks: with the computed headroom a lossless class loses nothing, and so nothing is sent twice.
func TestLosslessLosesNothing(t *testing.T) {
	pauses := uint64(0)
	for seed := range uint64(60) {
		f, p, c := lossless(seed)
		n, s := run(t, f, p, c)
		if s.Stalled || s.Drops != [DropReasons]uint64{} {
			t.Errorf("seed %d: stalled %v, drops %v", seed, s.Stalled, s.Drops)
		}
		if r := again(n); r != 0 || s.Reductions.Resent != 0 {
			t.Errorf("seed %d: %.3f sent again, %d chunks", seed, r, s.Reductions.Resent)
		}
		for i := range f.Ports {
			pauses += n.Port(fabric.PortID(i)).PauseRx[3]
		}
	}
	if pauses < 1000 {
		t.Errorf("%d pauses in all, the test tests little", pauses)
	}
}

// everything is a configuration with what has a time of its own.
func everything(tr Transport, scale int64) Config {
	c := plain()
	ns := func(d int64) units.Duration { return units.Duration(d*2/scale) * units.Nanosecond }
	c.NIC.Transport = tr
	c.NIC.Timeout = 7 - int(scale-1) // 4.096 us x 2^n halves by one less
	c.NIC.LossDistance = 64
	c.NIC.IRN = IRNConfig{RTOLow: ns(60_000), RTOHigh: ns(200_000)}
	c.NIC.UEC.RTO = ns(60_000)
	c.NIC.Latency = ns(600)
	c.Switch.Latency = ns(400)
	c.Switch.XOFF, c.Switch.XON = 20*4160, 4160
	c.Switch.PauseQuanta = 3000 // bits: it scales by itself
	c.Switch.Watchdog = WatchdogConfig{On: true, Poll: ns(20_000), Detection: ns(60_000), Restoration: ns(40_000)}
	c.Switch.BFD = BFDConfig{Interval: ns(10_000), Reroute: ns(4_000)}
	c.Switch.Reduction = ReductionConfig{Slots: 20, Timeout: ns(80_000), Rate: units.Rate(100*scale) * units.Gbps, Convert: units.Rate(160*scale) * units.Gbps}
	if tr == PPCID {
		c.Path = Buckets
		b := &c.PathParams.Buckets
		b.Refresh, b.Staleness, b.View, b.PauseFeedback, b.FullQueue = ns(5_000), ns(1_000), route.ViewPath, true, 1_000_000
	}
	c.Faults = []Fault{
		{Kind: LinkDown, Port: 16, At: ns(20_000), For: ns(60_000)},
		{Kind: OneWayDown, Port: 29, At: ns(30_000), For: ns(50_000), Recover: ns(10_000)},
		{Kind: SilentDrop, Port: 12, At: ns(10_000), For: ns(100_000), Loss: 0.01},
		{Kind: BitErrors, Port: 21, BER: 1e-7},
		{Kind: SlowReceiver, Port: 3, At: ns(10_000), For: ns(40_000), Rate: units.Rate(40*scale) * units.Gbps},
	}
	return c
}

// everywhere is traffic for it.
func everywhere() *workload.Plan {
	rng := rand.New(rand.NewPCG(11, 0))
	var b workload.Builder
	for range 60 {
		b.Add(send(rng.IntN(12), rng.IntN(12), units.Bytes(1+rng.IntN(600_000))))
	}
	id := b.Group(workload.Group{Members: []fabric.GPUID{0, 3, 5, 9, 11}})
	for _, m := range []fabric.GPUID{0, 3, 5, 9, 11} {
		b.Add(workload.Op{Kind: workload.Reduce, Priority: 3, Src: m, Dst: m, Group: id, Bytes: 200_000})
	}
	return b.Plan()
}

// Doubling every rate and halving every time halves every operation's time, whatever else happens: no model has a scale of its own.
func TestEverythingScales(t *testing.T) {
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC, PPCID} {
		times := func(scale int64) []OpTime {
			w := fabric.Wire{Rate: units.Rate(200 * scale * int64(units.Gbps)), Delay: units.Duration(2_000_000 / scale)}
			f := fabric.LeafSpine{Leaves: 3, HostsPerLeaf: 4, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
			n, s := run(t, f, everywhere(), everything(tr, scale))
			if s.Stalled || s.Drops[DropLinkDown] == 0 || s.Drops[DropSilent] == 0 {
				t.Errorf("%s: stalled %v, drops %v", tr, s.Stalled, s.Drops)
			}
			return n.Ops()
		}
		slow, fast := times(1), times(2)
		for i := range slow {
			if slow[i].End.PS() != 2*fast[i].End.PS() {
				t.Errorf("%s: operation %d ends at %v, and at twice the speed at %v", tr, i, slow[i].End, fast[i].End)
				break
			}
		}
	}
}

// Another leaf with idle hosts changes nothing for the others, with all that can go wrong.
func TestIdleLeafChangesNothing(t *testing.T) {
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC, PPCID} {
		end := func(spare int) string {
			f := leafSpine(3+spare, 4, 2)
			c := everything(tr, 2)
			// The ports of hosts are numbered first: those of the spare ones shift the rest.
			for i := range c.Faults {
				if c.Faults[i].Port >= 12 {
					c.Faults[i].Port = portNamed(t, f, leafSpine(3, 4, 2).PortName(fabric.PortID(c.Faults[i].Port)))
				}
			}
			n, _ := run(t, f, everywhere(), c)
			return fmt.Sprint(n.Ops())
		}
		if a, b := end(0), end(1); a != b {
			t.Errorf("%s: without the idle leaf %s\nwith it %s", tr, a, b)
		}
	}
}

func portNamed(t *testing.T, f *fabric.Fabric, name string) uint32 {
	t.Helper()
	for i := range f.Ports {
		if f.PortName(fabric.PortID(i)) == name {
			return uint32(i)
		}
	}
	t.Fatalf("no port is called %s", name)
	return 0
}

// Names seed the dice and nothing else: where no dice fall and there is one path, other names change nothing.
func TestNamesDoNotMatter(t *testing.T) {
	plan := func() *workload.Plan {
		var b workload.Builder
		for i := range 8 {
			b.Add(send(i, (i+3)%8, 1_000_000))
			b.Add(send(i, 0, 300_000))
		}
		return b.Plan()
	}
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC} {
		end := func(rename bool) string {
			f := leafSpine(2, 4, 1)
			if rename {
				for i := range f.Nodes {
					f.Nodes[i].Name = fmt.Sprintf("n%d", 1000-i)
				}
			}
			c := plain()
			c.NIC.Transport = tr
			c.Switch.ECN.Off = true
			n, s := run(t, f, plan(), c)
			return fmt.Sprint(n.Ops(), s.Drops, s.PacketHops)
		}
		if a, b := end(false), end(true); a != b {
			t.Errorf("%s: %s\nrenamed %s", tr, a, b)
		}
	}
}

// Hosts of one leaf are alike: exchanging them exchanges their times.
func TestHostsAreAlike(t *testing.T) {
	f := leafSpine(1, 6, 1)
	rng := rand.New(rand.NewPCG(3, 0))
	type flow struct{ src, dst, bytes int }
	var flows []flow
	for range 12 {
		flows = append(flows, flow{rng.IntN(6), rng.IntN(6), 1 + rng.IntN(500_000)})
	}
	to := rng.Perm(6)
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC} {
		ends := func(place func(int) int) []units.Duration {
			var b workload.Builder
			for i, fl := range flows {
				op := send(place(fl.src), place(fl.dst), units.Bytes(fl.bytes))
				op.At = units.Duration(i) * 7 * units.Microsecond // apart, so that no two packets tie
				b.Add(op)
			}
			c := plain()
			c.NIC.Transport = tr
			n, _ := run(t, f, b.Plan(), c)
			var out []units.Duration
			for i := range flows {
				out = append(out, took(n, i))
			}
			return out
		}
		if a, b := ends(func(i int) int { return i }), ends(func(i int) int { return to[i] }); !slices.Equal(a, b) {
			t.Errorf("%s: %v\nexchanged %v", tr, a, b)
		}
	}
}

// Unequal paths (a detour, a path with other optics): packets sprayed over a short and a long one come as far out of order as the difference is long.
// Go-back-N stops moving; selective repeat pays a round trip for each detour; placement and unordered delivery pay nothing but the state, whose size is
// the difference in bytes.
func TestUnequalPaths(t *testing.T) {
	for _, extra := range []units.Duration{0, 500 * units.Nanosecond, 5 * units.Microsecond} {
		spec := fabric.Spec{
			Topology: fabric.TopologyLeafSpine, Leaves: 2, HostsPerLeaf: 2, Spines: 4, Link: wire,
		}
		if extra > 0 {
			longer := wire.Delay + extra
			spec.Links = []fabric.Override{{Between: [2]string{"leaf0", "spine0"}, Delay: &longer}}
		}
		f := spec.Build(func(path, text string) { t.Fatal(path, text) })
		share := map[Transport]float64{}
		for _, tr := range []Transport{GoBackN, IRN, Place, UEC} {
			cfg := plain()
			cfg.Path, cfg.NIC.Transport, cfg.NIC.Timeout = Random, tr, 8
			cfg.NIC.Window = 2_000_000 // several round trips of the longer path
			n, s := run(t, f, planOf(send(0, 2, 8_000_000), send(1, 3, 8_000_000)), cfg)
			share[tr] = again(n)
			t.Logf("%-9s %v longer: %5.1f %% sent again, %v, distance p99 %d max %d, %v beyond gaps",
				tr, extra, 100*share[tr], slowest(n), s.Reordering.P99, s.Reordering.Max, s.Reordering.HeldPeak)
			if s.Stalled {
				t.Errorf("%s stalled with a path that is %v longer", tr, extra)
			}
			if tr == Place || tr == UEC {
				// A packet on the longer path is overtaken by what leaves within the difference, and by what queues.
				if most := uint64(extra)/full + 40; share[tr] != 0 || s.Reordering.Max > most || extra > 0 && s.Reordering.Max < uint64(extra)/full {
					t.Errorf("%s, %v longer: %.1f %% sent again, distance %d", tr, extra, 100*share[tr], s.Reordering.Max)
				}
			}
		}
		if share[IRN] >= share[GoBackN] || extra > 0 && share[IRN] == 0 {
			t.Errorf("%v longer: irn sent %.1f %% again, go-back-n %.1f %%", extra, 100*share[IRN], 100*share[GoBackN])
		}
	}
}

func FuzzNCCLDefaults(f *testing.F) {
	for _, s := range []string{"2.21", "2.13.4-1", "", "2.", "3.0", "2.99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, version string) {
		s, err := NCCLDefaults(version)
		if err == nil && (s.Timeout < 14 || s.Timeout > 20 || s.RetryCount != 7 || s.QPs != 1) {
			t.Errorf("%q: %+v", version, s)
		}
	})
}
