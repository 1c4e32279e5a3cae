package netsim

import (
	"runtime"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// refreshed makes buckets that are refreshed every period.
func refreshed(period units.Duration, view route.View) func(*Config) {
	return func(c *Config) {
		b := &c.PathParams.Buckets
		b.Refresh, b.View = period, view
	}
}

// shares is how the packets that a switch sprayed divide over its paths.
func shares(t *testing.T, n *Network, name string) (out []float64) {
	t.Helper()
	id, ok := n.f.NodeByName(name)
	if !ok {
		t.Fatalf("no switch %s", name)
	}
	s, ok := n.Spraying(id)
	if !ok {
		t.Fatalf("%s does not spray", name)
	}
	sum := uint64(0)
	for _, p := range s.Paths {
		sum += p.Packets
	}
	for _, p := range s.Paths {
		out = append(out, float64(p.Packets)/float64(sum))
	}
	return out
}

// Equal weights that are never refreshed are an even split, whatever the hash; the literal key of the articles pins a QP and is as uneven as ECMP.
func TestBucketsEven(t *testing.T) {
	f, plan := leafSpine(4, 4, 4), permutation(16, 4*units.MiB, 1)
	// Not xor and crc-xor, whose lowest bits are those of the counter, so that flows in step share a path; nor crc64-iso, whose low bits the
	// last bytes of a key do not reach.
	for _, algorithm := range []spray.Algorithm{spray.CRC32, spray.CRC32C, spray.CRC64, spray.CRC32Lo, spray.CRC32Hi, spray.CRCCCITT, spray.Random} {
		for _, key := range []spray.Key{spray.KeyFlowPSN, spray.KeyCounter} {
			c := Config{Seed: 1, Path: Buckets}
			c.NIC.Transport, c.NIC.Control = Place, NoControl
			c.PathParams.Buckets.Key, c.PathParams.Buckets.Hash.Algorithm = key, algorithm
			n, _ := run(t, f, plan, c)
			for i, s := range shares(t, n, "leaf0") {
				if s < 0.22 || s > 0.28 {
					t.Errorf("%s %s: path %d has %.3f of the packets, want a quarter", algorithm, key, i, s)
				}
			}
		}
	}
	c := Config{Seed: 1, Path: Buckets, Trace: true}
	c.NIC.Transport, c.NIC.Control = Place, NoControl
	c.PathParams.Buckets.Key = spray.KeyFlow
	n, s := run(t, f, plan, c)
	if s.Reordering.Late != 0 {
		t.Errorf("key flow: %d packets overtaken within a QP", s.Reordering.Late)
	}
	trace, _ := n.Trace()
	if len(trace.QPs) == 0 {
		t.Fatal("nothing was traced")
	}
	for _, q := range trace.QPs {
		if len(q.Paths) != 1 {
			t.Errorf("key flow: QP %#x took %d paths", q.QPN, len(q.Paths))
		}
	}
}

// With a spine at half rate, weights that are refreshed beat even ones; with a slow link behind the spine only a view of the path does.
func TestBucketsOrdering(t *testing.T) {
	of := func(d damage, more func(*Config)) spread { return permute(t, Buckets, d, 400, 2, more) }
	fast := 8 * units.Microsecond
	ecmp := permute(t, ECMP, symmetric, 400, 2, nil)
	even := of(symmetric, refreshed(units.Second, route.ViewLocal))
	less(t, "buckets against ecmp", even.worst, ecmp.worst)
	stale := of(halfSpine, refreshed(units.Second, route.ViewLocal))
	local := of(halfSpine, refreshed(fast, route.ViewLocal))
	less(t, "half spine: refreshed against stale", local.worst, stale.worst)
	blind := of(halfDown, refreshed(fast, route.ViewLocal))
	seeing := of(halfDown, refreshed(fast, route.ViewPath))
	less(t, "half down: view path against view local", seeing.worst, blind.worst)
}

// A run does not depend on how many processors there are, nor on being cut in pieces.
func TestBucketsDeterministic(t *testing.T) {
	f, plan := leafSpine(4, 4, 4), permutation(16, units.MiB, 1)
	c := Config{Seed: 1, Path: Buckets}
	c.NIC.Transport = Place
	c.PathParams.Buckets.Refresh, c.PathParams.Buckets.Jitter, c.PathParams.Buckets.Staleness = 5*units.Microsecond, units.Microsecond, units.Microsecond
	c.PathParams.Buckets.View, c.PathParams.Buckets.PauseFeedback = route.ViewPath, true
	_, want := run(t, f, plan, c)
	before := runtime.GOMAXPROCS(1)
	_, got := run(t, f, plan, c)
	runtime.GOMAXPROCS(before)
	if got.Fingerprint != want.Fingerprint || got.Events != want.Events {
		t.Errorf("with one processor: fingerprint %x, %d events; want %x, %d", got.Fingerprint, got.Events, want.Fingerprint, want.Events)
	}
	n := start(t, f, plan, c)
	for at := units.At(0); ; at = at.Add(7 * units.Microsecond) {
		done, err := n.RunUntil(at)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
	}
	if got, err := n.Finish(); err != nil || got.Fingerprint != want.Fingerprint {
		t.Errorf("cut in pieces: %v, fingerprint %x, want %x", err, got.Fingerprint, want.Fingerprint)
	}
}

// A QP that finds the rule table full is not sprayed, and is counted; its packets keep one path.
func TestRuleTable(t *testing.T) {
	f := leafSpine(2, 8, 4)
	plan := permutation(16, units.MiB, 1)
	c := Config{Seed: 1, Path: Buckets, Trace: true}
	c.NIC.Transport, c.NIC.QPs = Place, 4
	c.NIC.Split = true
	c.PathParams.Buckets.Rules = route.RulesConfig{Limit: 10, PerQP: 2}
	n, _ := run(t, f, plan, c)
	pinned := map[fabric.NodeID]uint64{}
	across := map[fabric.NodeID]uint64{}
	trace, _ := n.Trace()
	for _, q := range trace.QPs {
		across[q.Switch]++
		if len(q.Paths) == 1 {
			pinned[q.Switch]++
		}
	}
	for _, name := range []string{"leaf0", "leaf1"} {
		id, _ := f.NodeByName(name)
		s, _ := n.Spraying(id)
		if s.Rules != 10 || s.RuleLimit != 10 {
			t.Errorf("%s: %d of %d rules used", name, s.Rules, s.RuleLimit)
		}
		if across[id] < 6 {
			t.Fatalf("%s: only %d QPs leave it", name, across[id])
		}
		if want := across[id] - 5; s.RefusedQPs != want || pinned[id] != want {
			t.Errorf("%s: %d QPs refused and %d pinned, want %d", name, s.RefusedQPs, pinned[id], want)
		}
	}
}

// A leaf whose uplink is paused goes on filling it until the next reading, unless pauses are fed back: then packets go elsewhere at once, and
// the hosts behind it are paused for a shorter time.
func TestPauseFeedback(t *testing.T) {
	f := leafSpine(4, 4, 4)
	far, _ := f.NodeByName("spine1")
	leaf, _ := f.NodeByName("leaf3")
	slow := f.Between(far, leaf)[0] // what leads from spine1 to leaf3 alone
	stood := map[bool]uint64{}
	around := map[bool]uint64{}
	var ends [2]units.Instant
	for i, feedback := range []bool{false, true} {
		c := Config{Seed: 1, Path: Buckets}
		c.NIC.Transport, c.NIC.Control = Place, NoControl
		c.Switch.ECN.Off = true
		c.Switch.XOFF = 100 * 4160
		c.PathParams.Buckets.PauseFeedback = feedback
		c.Faults = []Fault{{Kind: RateDegraded, Port: uint32(slow), Rate: 40 * units.Gbps}}
		n, s := run(t, f, permutation(16, 8*units.MiB, 3), c)
		ends[i] = s.End
		for _, p := range f.Endpoints {
			stood[feedback] += n.Port(p).PauseRxTime[3]
		}
		for _, name := range []string{"leaf0", "leaf1", "leaf2"} {
			id, _ := f.NodeByName(name)
			st, _ := n.Spraying(id)
			around[feedback] += st.AroundPauses
		}
	}
	if around[false] != 0 || around[true] == 0 {
		t.Errorf("packets led around pauses: %d without feedback, %d with it", around[false], around[true])
	}
	if stood[false] == 0 || stood[true] >= stood[false]/2 {
		t.Errorf("hosts stood paused for %v with feedback, %v without", units.Duration(stood[true]), units.Duration(stood[false]))
	}
	if !ends[1].Before(ends[0]) {
		t.Errorf("ends at %v with feedback, at %v without", ends[1], ends[0])
	}
}

// A leaf whose own uplink runs at half the rate gives it about half of what the others get, once its weights follow; a view of its own ports does not
// see the same behind the spine, and a view of the path does.
func TestBucketsShareOfSlowLink(t *testing.T) {
	f := leafSpine(4, 8, 4)
	leaf0, _ := f.NodeByName("leaf0")
	leaf1, _ := f.NodeByName("leaf1")
	spine, _ := f.NodeByName("spine0")
	up, down := uint32(f.Between(leaf0, spine)[0]), uint32(f.Between(spine, leaf1)[0])
	var b workload.Builder
	for i := range 8 {
		op := send(i, 8+i, 8*units.MiB)
		op.Rate = 160 * units.Gbps // 8 of them load four uplinks to 80 %, or three and a half to 91 %
		b.Add(op)
	}
	plan := b.Plan()
	share := func(slow uint32, view route.View) float64 {
		c := Config{Seed: 1, Path: Buckets}
		c.NIC.Transport, c.NIC.Control = Place, NoControl
		c.PathParams.Buckets.Refresh, c.PathParams.Buckets.View = 10*units.Microsecond, view
		c.PathParams.Buckets.Buckets = 256
		c.PathParams.Buckets.Curve = spray.CurveBalance
		c.Faults = []Fault{{Kind: RateDegraded, Port: slow, Rate: 200 * units.Gbps}}
		n, _ := run(t, f, plan, c)
		s := shares(t, n, "leaf0")
		return s[0] / ((s[1] + s[2] + s[3]) / 3)
	}
	if got := share(up, route.ViewLocal); got < 0.4 || got > 0.7 {
		t.Errorf("own link at half rate: %.2f of what the others get, want about half", got)
	}
	if got := share(down, route.ViewLocal); got < 0.9 {
		t.Errorf("remote link at half rate, view local: %.2f of what the others get, want as much", got)
	}
	if got := share(down, route.ViewPath); got < 0.4 || got > 0.7 {
		t.Errorf("remote link at half rate, view path: %.2f of what the others get, want about half", got)
	}
}

// What a burst did to the weights is gone before the next, as in hardware, which goes on reading ports at rest.
func TestBucketsComeToRest(t *testing.T) {
	f := leafSpine(2, 4, 4)
	var b workload.Builder
	for i := range 4 {
		b.Add(send(i, 4+i, 4*units.MiB))
		late := send(i, 4+i, 4096)
		late.At = 20 * units.Millisecond
		b.Add(late)
	}
	c := Config{Seed: 1, Path: Buckets, Trace: true}
	c.NIC.Transport = Place
	c.PathParams.Buckets.Refresh, c.PathParams.Buckets.MaxStep = 10*units.Microsecond, 1
	leaf, _ := f.NodeByName("leaf0")
	spine, _ := f.NodeByName("spine0")
	c.Faults = []Fault{{Kind: RateDegraded, Port: uint32(f.Between(leaf, spine)[0]), Rate: 100 * units.Gbps, For: units.Millisecond}}
	n, _ := run(t, f, b.Plan(), c)
	trace, _ := n.Trace()
	least, readings := 16, 0
	for _, o := range trace.Occupancy {
		if o.Switch == leaf {
			least = min(least, o.Paths[0].Buckets)
			readings++
		}
	}
	if least > 12 {
		t.Fatalf("the slow path never held less than %d buckets", least)
	}
	s, _ := n.Spraying(leaf)
	for _, p := range s.Paths {
		if p.Buckets < 15 || p.Buckets > 17 {
			t.Errorf("%s holds %d buckets at the end, want 16", f.PortName(p.Port), p.Buckets)
		}
	}
	if readings > 200 {
		t.Errorf("%d readings in 20 ms of which less than 1 are traffic", readings)
	}
}

// Three tiers: with the same bits of the hash in both tiers that choose, the upper one would use a part of its ports only.
func TestBucketsTiersDoNotPolarise(t *testing.T) {
	tree := fabric.KAry(8, 1)
	tree.Access, tree.Trunk = wire, wire
	f := tree.Build()
	var b workload.Builder
	for i := range len(f.GPUs) / 2 {
		b.Add(send(i, i+len(f.GPUs)/2, units.MiB)) // all to another pod, over the cores
	}
	c := Config{Seed: 1, Path: Buckets}
	c.NIC.Transport, c.NIC.Control = Place, NoControl
	n, _ := run(t, f, b.Plan(), c)
	for _, name := range []string{"leaf0", "spine0"} {
		for i, s := range shares(t, n, name) {
			if s < 0.2 || s > 0.3 {
				t.Errorf("%s: path %d has %.3f of the packets, want a quarter", name, i, s)
			}
		}
	}
}
