package netsim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// busy is a run in which everything happens: incast, spray or ECMP, marking, pauses, loss, a flapping link, a slow host, two classes.
func busy(f *fabric.Fabric, seed uint64) (*workload.Plan, Config) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b workload.Builder
	var last workload.OpID
	hosts := len(f.GPUs)
	for i := range 60 {
		op := send(rng.IntN(hosts), rng.IntN(hosts), units.Bytes(rng.IntN(600_000)))
		if rng.IntN(3) == 0 {
			op.Dst = 0
		}
		if rng.IntN(4) == 0 {
			op.Priority, op.Background = 0, rng.IntN(2) == 0
		}
		if rng.IntN(5) == 0 {
			op.Rate = 50 * units.Gbps
		}
		op.At = units.Duration(rng.Int64N(int64(30 * units.Microsecond)))
		if i > 0 && rng.IntN(2) == 0 && !op.Background {
			last = b.Add(op, last)
		} else if id := b.Add(op); !op.Background {
			last = id
		}
	}
	c := Config{Seed: seed}
	c.Path = PathChoice(pick(rng, PathChoice("").Choices()))
	c.NIC.Transport = Transport(pick(rng, Transport("").Choices()))
	if c.NIC.Transport == UEC || c.NIC.Transport == Place {
		c.Switch.Trim = TrimConfig{On: rng.IntN(2) == 0, Coin: rng.IntN(2) == 0}
	}
	if rng.IntN(3) == 0 {
		c.Switch.Lossless = []int{}
		c.Switch.Queue = units.Bytes(50_000 + rng.IntN(300_000))
	}
	c.Switch.ECN.At = []MarkTime{AtDequeue, AtEnqueue}[rng.IntN(2)]
	c.NIC.Control = Control(pick(rng, Control("").Choices()))
	c.NIC.QPs, c.NIC.Split = 1+rng.IntN(3), rng.IntN(2) == 0
	c.NIC.AckEvery = 1 + rng.IntN(5)
	c.NIC.Window = units.Bytes(rng.IntN(2)) * 300_000
	c.NIC.Timeout, c.NIC.RetryCount, c.NIC.LossDistance = 5, 7, 64
	c.NIC.Latency = units.Duration(rng.IntN(2)) * units.Microsecond
	c.NIC.DCQCN.MinRate = units.Gbps // the adapter's 1 Mbit/s makes the tail of a run very long
	c.Switch.Buffer = 4 * units.MB
	c.Switch.XOFF = units.Bytes(rng.IntN(2)) * 20 * 4160
	c.Switch.ECN.KMin, c.Switch.ECN.KMax, c.Switch.ECN.PMax = 50_000, 200_000, 0.2
	c.Switch.Latency = units.Duration(rng.IntN(2)) * 600 * units.Nanosecond
	ep := func() uint32 { return uint32(f.Endpoints[rng.IntN(hosts)]) }
	any := func() uint32 { return uint32(rng.IntN(len(f.Ports))) }
	c.Faults = []Fault{
		{Kind: LinkDown, Port: any(), At: 12 * units.Microsecond, For: 30 * units.Microsecond, Detect: 8 * units.Microsecond, Every: 400 * units.Microsecond},
		{Kind: BitErrors, Port: any(), At: 5 * units.Microsecond, BER: 1e-7},
		{Kind: RateDegraded, Port: any(), At: 20 * units.Microsecond, For: 50 * units.Microsecond, Rate: 100 * units.Gbps},
		{Kind: SlowReceiver, Port: ep(), At: 8 * units.Microsecond, For: 60 * units.Microsecond, Rate: 60 * units.Gbps},
	}
	// What is rarer: gray losses, a dead direction, a reboot; noticed soon, late or by BFD.
	for i, rare := range []Fault{
		{Kind: SilentDrop, Port: any(), At: 3 * units.Microsecond, For: 80 * units.Microsecond, Loss: 0.01, Flows: float64(rng.IntN(2)) / 2},
		{Kind: OneWayDown, Port: any(), At: 15 * units.Microsecond, For: 25 * units.Microsecond, Recover: 10 * units.Microsecond},
		{Kind: SwitchReboot, Port: uint32(f.Nodes[f.Switches()[rng.IntN(len(f.Switches()))]].FirstPort), At: 25 * units.Microsecond, For: 20 * units.Microsecond},
	} {
		rare.Detect = units.Duration(rng.IntN(2)*10) * units.Microsecond
		if rng.IntN(3) == i {
			c.Faults = append(c.Faults, rare)
		}
	}
	if rng.IntN(2) == 0 {
		c.Switch.BFD = BFDConfig{Interval: 5 * units.Microsecond, Reroute: 2 * units.Microsecond}
	}
	c.Switch.PauseQuanta = []int{0, 0, 1000, 65535}[rng.IntN(4)]
	if rng.IntN(3) == 0 {
		c.Switch.Watchdog = WatchdogConfig{On: true, Poll: 5 * units.Microsecond, Detection: 20 * units.Microsecond, Restoration: 10 * units.Microsecond,
			Action: StormAction(pick(rng, StormAction("").Choices()))}
	}
	if reboots := len(c.Faults) > 4 && c.Faults[len(c.Faults)-1].Kind == SwitchReboot; !reboots && rng.IntN(2) == 0 { // which may lose a reduction for good
		addReduction(&b, f, rng)
		c.Switch.Reduction = ReductionConfig{Slots: 1 + rng.IntN(100), Chunk: 4096, Timeout: 30 * units.Microsecond}
		if rng.IntN(2) == 0 {
			c.Switch.Reduction.Rate, c.Switch.Reduction.Convert = 200*units.Gbps, 300*units.Gbps
		}
	}
	return b.Plan(), c
}

// addReduction has some hosts add up in the switches, twice.
func addReduction(b *workload.Builder, f *fabric.Fabric, rng *rand.Rand) {
	var members []fabric.GPUID
	for _, g := range rng.Perm(len(f.GPUs))[:2+rng.IntN(len(f.GPUs)-2)] {
		members = append(members, fabric.GPUID(g))
	}
	id := b.Group(workload.Group{Members: members, Channel: rng.IntN(3)})
	for range 2 {
		size := units.Bytes(1 + rng.IntN(300_000))
		for _, m := range members {
			at := units.Duration(rng.Int64N(int64(20 * units.Microsecond)))
			b.Add(workload.Op{Kind: workload.Reduce, Priority: 3, Src: m, Dst: m, Group: id, Bytes: size, At: at})
		}
	}
}

func pick(rng *rand.Rand, of []string) string { return of[rng.IntN(len(of))] }

// carry runs to the end, in slices when slice is set, and checks conservation after every slice.
func carry(t *testing.T, f *fabric.Fabric, p *workload.Plan, c Config, slice units.Duration) Summary {
	t.Helper()
	n := start(t, f, p, c)
	at := units.Duration(never)
	if slice > 0 {
		at = slice
	}
	for {
		done, err := n.RunUntil(units.At(int64(at)))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.conserved(); err != nil {
			t.Fatalf("at %v: %v", n.Now(), err)
		}
		if done || n.Stalled() {
			break
		}
		at += slice
	}
	s, err := n.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The same seed gives the same bits: twice, in slices of any length, with one thread or two; another seed gives others. Conservation holds
// at every stop.
func TestSameSeedSameBits(t *testing.T) {
	f := leafSpine(3, 4, 2)
	seen := map[uint64]uint64{}
	for seed := range uint64(80) {
		p, c := busy(f, seed)
		first := carry(t, f, p, c, 0)
		if first.Stalled {
			t.Errorf("seed %d stalled", seed)
		}
		if other, ok := seen[first.Fingerprint]; ok {
			t.Errorf("seeds %d and %d have the same fingerprint", seed, other)
		}
		seen[first.Fingerprint] = seed
		for _, slice := range []units.Duration{0, 977 * units.Nanosecond, 50 * units.Microsecond} {
			if got := carry(t, f, p, c, slice); !reflect.DeepEqual(got, first) {
				t.Errorf("seed %d in slices of %v: %+v\nat once: %+v", seed, slice, got, first)
			}
		}
		threads := runtime.GOMAXPROCS(1)
		if got := carry(t, f, p, c, 0); !reflect.DeepEqual(got, first) {
			t.Errorf("seed %d with one thread: %+v\nwith %d: %+v", seed, got, threads, first)
		}
		runtime.GOMAXPROCS(threads)
	}
}

// Doubling every rate and halving every time and period halves every operation's time: the simulator has no scale of its own.
func TestScaling(t *testing.T) {
	times := func(scale int64) []OpTime {
		w := fabric.Wire{Rate: units.Rate(200 * scale * int64(units.Gbps)), Delay: units.Duration(2_000_000 / scale)}
		f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 4, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
		n, _ := run(t, f, permutation(8, 1_000_000, 5), plain())
		return n.Ops()
	}
	slow, fast := times(1), times(2)
	for i := range slow {
		if slow[i].End.PS() != 2*fast[i].End.PS() {
			t.Errorf("operation %d ends at %v, and at twice the speed at %v", i, slow[i].End, fast[i].End)
		}
	}
}

// An idle host and its port change nothing for the others.
func TestIdleHostChangesNothing(t *testing.T) {
	p := permutation(8, 1_000_000, 5)
	times := func(spare int) string {
		w := wire
		f := fabric.LeafSpine{Leaves: 2 + spare, HostsPerLeaf: 4, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
		n, _ := run(t, f, p, plain())
		return fmt.Sprint(n.Ops())
	}
	if a, b := times(0), times(1); a != b {
		t.Errorf("without the idle leaf %s\nwith it %s", a, b)
	}
}

// In the middle of a run no packet costs an allocation: what grows has grown.
func TestNoAllocationPerPacket(t *testing.T) {
	for _, tr := range []Transport{GoBackN, Place, IRN, UEC} {
		cfg := Config{Seed: 1}
		cfg.NIC.Transport = tr
		if tr != GoBackN {
			cfg.Path = Random
		}
		noAllocation(t, cfg)
	}
	for _, path := range PathChoice("").Choices() {
		cfg := Config{Seed: 1, Path: PathChoice(path)}
		cfg.NIC.Transport, cfg.NIC.Control = UEC, NSCC
		cfg.Switch.ECN = ECNConfig{KMin: 80_000, KMax: 300_000, PMax: 1}
		noAllocation(t, cfg)
	}
	cfg := Config{Seed: 1, Path: Buckets}
	cfg.NIC.Transport = PPCID
	cfg.PathParams.Buckets.Refresh, cfg.PathParams.Buckets.Jitter = 5*units.Microsecond, units.Microsecond
	cfg.PathParams.Buckets.View, cfg.PathParams.Buckets.PauseFeedback = route.ViewPath, true
	cfg.PathParams.Buckets.Rules.Limit = 2
	noAllocation(t, cfg)
	for _, control := range Control("").Choices() {
		cfg := Config{Seed: 1}
		cfg.NIC.Control = Control(control)
		noAllocation(t, cfg)
	}
}

func noAllocation(t *testing.T, cfg Config) {
	t.Helper()
	n := start(t, leafSpine(2, 4, 4), permutation(8, 200_000_000, 2), cfg)
	at := int64(400_000_000)
	step := func() {
		at += 20_000_000
		if _, err := n.RunUntil(units.At(at)); err != nil {
			t.Fatal(err)
		}
	}
	step()
	before := n.hops
	allocs := testing.AllocsPerRun(20, step)
	if hops := n.hops - before; allocs > 0 || hops < 1000 {
		t.Errorf("%s %s %s: %.1f allocations per 20 us, %d packet-hops in all", cfg.NIC.Transport, cfg.Path, cfg.NIC.Control, allocs, hops)
	}
}
