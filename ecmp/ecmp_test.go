package ecmp

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
)

// job is RoCE flows of hosts that count up, all to all, with QPNs and ports as Linux makes them.
func job(hosts int, rng *rand.Rand) *Set {
	s := &Set{Known: FiveTuple | QPN}
	next := make([]uint32, hosts)
	for i := range next {
		next[i] = rng.Uint32() & 0xffff
	}
	for a := range hosts {
		for b := range hosts {
			if a == b {
				continue
			}
			next[a]++
			next[b]++
			s.Flows = append(s.Flows, Flow{Src: host(a), Dst: host(b), Protocol: packet.ProtocolUDP, DstPort: packet.PortRoCE,
				SrcPort: route.SourcePort(next[a], next[b]), QPN: next[b], Conn: uint32(len(s.Flows))})
		}
	}
	return s
}

func host(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}) }

func analyse(t *testing.T, s *Set, o Options) *Report {
	t.Helper()
	r, err := Analyse(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func crc(f Fields) Config {
	return Config{Fields: f, Hash: spray.HashConfig{Algorithm: spray.CRC32}}
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		text string
		want Fields
		back string
	}{
		{"5-tuple", FiveTuple, "5-tuple"},
		{"5-tuple+qpn", FiveTuple | QPN, "5-tuple,qpn"},
		{"SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT", FiveTuple, "5-tuple"},
		{"src-ip, dst-ip", SrcIP | DstIP, "src-ip,dst-ip"},
		{"3-tuple,symmetric", SrcIP | DstIP | Protocol | Symmetric, "src-ip,dst-ip,protocol,symmetric"},
	} {
		f, err := ParseFields(c.text)
		if err != nil || f != c.want || f.String() != c.back {
			t.Errorf("%q: %v (%s), %v", c.text, f, f, err)
		}
		if again, err := ParseFields(f.String()); err != nil || again != f {
			t.Errorf("%s does not read back", f)
		}
	}
	for _, wrong := range []string{"", "symmetric", "5-tuple,mac"} {
		if f, err := ParseFields(wrong); err == nil {
			t.Errorf("%q is read as %s", wrong, f)
		}
	}
}

// The key of a flow, byte by byte, and both directions of one connection.
func TestKey(t *testing.T) {
	f := Flow{Src: host(2), Dst: host(1), Protocol: packet.ProtocolUDP, SrcPort: 0xc001, DstPort: 4791, QPN: 0x123456}
	want := []byte{198, 18, 0, 2, 198, 18, 0, 1, 17, 0xc0, 0x01, 0x12, 0xb7, 0x12, 0x34, 0x56}
	if got := (FiveTuple | QPN).appendKey(nil, &f); !slices.Equal(got, want) {
		t.Errorf("key % x", got)
	}
	back := f
	back.Src, back.Dst, back.SrcPort, back.DstPort = f.Dst, f.Src, f.DstPort, f.SrcPort
	there, here := (FiveTuple|Symmetric).appendKey(nil, &f), (FiveTuple|Symmetric).appendKey(nil, &back)
	if !slices.Equal(there, here) {
		t.Errorf("the two directions: % x and % x", there, here)
	}
	six := Flow{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), Protocol: packet.ProtocolTCP, QPN: 5}
	if n := len((FiveTuple | QPN).appendKey(nil, &six)); n != 37 {
		t.Errorf("the key of a flow of IPv6 and TCP has %d bytes", n)
	}
}

// The simulator's own hash is route's.
func TestSimulatorsHash(t *testing.T) {
	u, err := newUnit(FiveTuple|QPN, spray.HashConfig{Algorithm: Simulator})
	if err != nil {
		t.Fatal(err)
	}
	f := Flow{Src: host(7), Dst: host(9), SrcPort: 50000, QPN: 12}
	a, b := f.Src.As4(), f.Dst.As4()
	if want := route.FlowHash(binary.BigEndian.Uint32(a[:]), binary.BigEndian.Uint32(b[:]), 50000, 12); u.Sum(&f) != want {
		t.Errorf("%#x, and route has %#x", u.Sum(&f), want)
	}
	for _, wrong := range []Config{{Fields: SrcIP}, {Fields: FiveTuple, Hash: spray.HashConfig{Seed: 1}}} {
		wrong.Hash.Algorithm = Simulator
		if _, err := newUnit(wrong.Fields, wrong.Hash); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// A CRC over 5-tuples with ports that differ fills buckets as chance does; over addresses of few hosts it cannot tell flows apart, and the page says
// which of the two is to blame.
func TestOccupancy(t *testing.T) {
	s := job(33, rand.New(rand.NewPCG(1, 1))) // 1056 flows
	good := analyse(t, s, Options{Config: crc(FiveTuple)})
	if o := good.Occupancy; o.Skewed() || o.Keys != 1056 || math.Abs(float64(o.Empty)-o.EmptyExpected) > 4*o.EmptySpread || good.Found() {
		t.Errorf("over 5-tuples: %+v", o)
	}
	bad := analyse(t, s, Options{Config: crc(DstIP | Protocol | DstPort)})
	if o := bad.Occupancy; !o.FieldsToBlame() || o.Keys != 33 || o.Empty < 1024-33 || !bad.Found() {
		t.Errorf("over destinations: keys %d, empty %d, p %v, of keys %v", o.Keys, o.Empty, o.P, o.KeysP)
	}
	if !strings.Contains(bad.Conclusions[0], "tell only 33 of 1056 flows apart") {
		t.Errorf("it concludes %q", bad.Conclusions)
	}
	sum := 0
	for _, c := range good.Occupancy.Counts {
		sum += c
	}
	if width, columns := good.Occupancy.Columns(60); sum != 1056 || width != 18 || len(columns) != 57 {
		t.Errorf("%d flows in the buckets, %d columns of %d", sum, len(columns), width)
	}
}

// Second tiers with the hash of the first see flows that agree on what it chooses by. Another seed moves them all to another link, because a CRC is
// linear; another polynomial and other bits tell them apart.
func TestPolarisation(t *testing.T) {
	s := job(33, rand.New(rand.NewPCG(2, 1)))
	r := analyse(t, s, Options{Config: crc(FiveTuple), Paths: 8, Tiers: 2})
	if len(r.Tiers) != 2 || r.Tiers[0].Polarised() || !r.Tiers[1].Polarised() {
		t.Fatalf("tiers: %+v", r.Tiers)
	}
	if second := r.Tiers[1]; second.Switches != 8 || second.Links != 64 || second.Idle != 56 || second.Expected > 1 {
		t.Errorf("the second tier: %+v", second)
	}
	for _, v := range r.Variants {
		seed := strings.Contains(v.What, "seed")
		if polarised := v.Tier.Polarised(); polarised != seed {
			t.Errorf("%s: %+v", v.What, v.Tier)
		}
		if seed && v.Tier.Idle != 56 {
			t.Errorf("another seed leaves %d idle", v.Tier.Idle)
		}
	}
	if len(r.Variants) != 3 || !r.Found() {
		t.Errorf("%d variants", len(r.Variants))
	}
	// Two paths and four tiers: the switches of every tier are apart.
	deep := analyse(t, s, Options{Config: crc(FiveTuple), Paths: 2, Tiers: 4})
	for i, tier := range deep.Tiers {
		if tier.Switches != min(2, i+1) || i > 0 && tier.Idle != 2 {
			t.Errorf("tier %d of four: %+v", i+1, tier)
		}
	}
	flat := analyse(t, s, Options{Config: Config{Fields: FiveTuple, Hash: spray.HashConfig{Algorithm: spray.CRC32},
		Tiers: []spray.HashConfig{{Algorithm: spray.CRC32, Offset: 4}, {Algorithm: spray.CRC32, Offset: 8}, {Algorithm: spray.CRC32, Offset: 12}}}, Paths: 2, Tiers: 4})
	names := map[string]bool{}
	for _, g := range flat.Groups {
		names[g.Name] = true
	}
	if len(flat.Groups) != 1+2+4+8 || len(names) != 15 || !names["tier 4, switch behind paths 1, 0, 1"] {
		t.Errorf("%d groups with %d names", len(flat.Groups), len(names))
	}
	// A mixer is not linear: its seed is enough.
	mixed := Config{Fields: FiveTuple, Hash: spray.HashConfig{Algorithm: spray.Random}, Tiers: []spray.HashConfig{{Algorithm: spray.Random, Seed: 5}}}
	if m := analyse(t, s, Options{Config: mixed, Paths: 8, Tiers: 2}); m.Tiers[1].Polarised() {
		t.Errorf("a mixer with two seeds: %+v", m.Tiers[1])
	}
}

// Balls into bins: with as many flows as links the fullest holds three on average of eight (exact: 2.66 for 8 in 8), and never less than one.
func TestPerfectHash(t *testing.T) {
	g := newGroup("x", 0, make([]string, 8))
	for i := range 8 {
		g.add(i, 1)
	}
	g.finish()
	g.perfect(rand.New(rand.NewPCG(1, 1)))
	// Mean of the fullest of 8 balls in 8 cells, counted out over all 8^8 deals.
	near(t, "mean", g.Perfect.Mean, fullest(8, 8), 0.1)
	if g.Ratio != 1 || g.Best != 1 || g.P < 0.9 || g.Idle != 0 {
		t.Errorf("%+v", g)
	}
}

// fullest is the mean of the fullest of m cells with n balls: the sum over k of 1 - P(all cells at most k), where that probability is n!/m^n times
// the coefficient of x^n in (1 + x + ... + x^k/k!)^m.
func fullest(n, m int) (mean float64) {
	for k := range n {
		poly := []float64{1}
		for range m {
			next := make([]float64, n+1)
			for i, a := range poly {
				term := 1.0
				for j := 0; j <= k && i+j <= n; j++ {
					if j > 0 {
						term /= float64(j)
					}
					next[i+j] += a * term
				}
			}
			poly = next
		}
		f := poly[n]
		for i := 1; i <= n; i++ {
			f *= float64(i) / float64(m)
		}
		mean += 1 - f
	}
	return mean * float64(m) / float64(n)
}

func TestBestPossible(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		links   int
		want    float64
	}{
		{[]float64{1, 1, 1, 1}, 4, 1},
		{[]float64{1, 1, 1}, 4, 4.0 / 3},            // fewer flows than links
		{[]float64{1, 1, 1, 1, 1}, 4, 2 / 1.25},     // one more than links
		{[]float64{10, 1, 1}, 3, 2.5},               // one large
		{[]float64{4, 4, 4, 1, 1, 1, 1}, 2, 1},      // 8 and 8
		{[]float64{3, 3, 3, 3, 3}, 2, 9 / 7.5},      // three on one of two
		{slices.Repeat([]float64{1}, 1000), 8, 1.0}, // even
		{[]float64{0, 0}, 2, 1},                     // nothing
	} {
		near(t, "best", bestPossible(c.weights, c.links), c.want, 1e-9)
	}
}

// The bound is one: no assignment of a few flows, tried out, is better.
func TestNothingBeatsTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		n, links := 1+rng.IntN(6), 2+rng.IntN(3)
		w := make([]float64, n)
		for i := range w {
			w[i] = 1 + 9*rng.Float64()
		}
		best := math.Inf(1)
		deals := 1
		for range n {
			deals *= links
		}
		for d := range deals {
			load := make([]float64, links)
			for i, rest := 0, d; i < n; i, rest = i+1, rest/links {
				load[rest%links] += w[i]
			}
			best = min(best, slices.Max(load)*float64(links)/sum(w))
		}
		if bound := bestPossible(w, links); bound > best+1e-9 {
			t.Fatalf("%v over %d: the bound %v, and %v is possible", w, links, bound, best)
		}
	}
}
