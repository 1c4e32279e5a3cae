package validation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// The schemes of spraying side by side: 4 leaves, 8 spines, 32 hosts, a permutation between leaves, a window of 96 packets, no loss, no congestion control,
// marks between 20 and 80 packets, receivers that place. Flows of 800 packets, three seeds; the time of the longest flow in those of a flow alone.
//
// An independent model of the same experiment (8 leaves, 1500 packets, no time for acknowledgements) gave what theirs has below; it is an oracle of orderings, with
// margins of a tenth, and not of numbers.
const (
	schemePackets = 800
	schemeSeeds   = 3
	margin        = 1.1
)

// damage is one of the three fabrics.
type damage int

const (
	unharmed  damage = iota
	halfSpine        // all links of spine0 at half rate, in both directions
	halfDown         // only what spine0 sends to leaves
	damages
)

func (d damage) String() string {
	return [damages]string{"symmetric", "spine0 at half rate", "spine0 to leaves at half rate"}[d]
}

func (d damage) fabric() *fabric.Fabric {
	f := leafSpine(4, 8, 8, wire)
	switch d {
	case halfSpine:
		return slowSpine(f)
	case halfDown:
		id, _ := f.NodeByName("spine0")
		for p := f.Nodes[id].FirstPort; p < f.Nodes[id].FirstPort+fabric.PortID(f.Nodes[id].NumPorts); p++ {
			f.Ports[p].Rate /= 2
		}
	}
	return f
}

type scheme struct {
	name   string
	theirs [damages]float64
	set    func(c *netsim.Config)
}

func choose(p netsim.PathChoice) func(*netsim.Config) {
	return func(c *netsim.Config) { c.Path = p }
}

// buckets are the articles' weighted buckets, refreshed after so many packet times; 0: never while the flows last.
func buckets(packetTimes int, view route.View, curve spray.Curve) func(*netsim.Config) {
	return func(c *netsim.Config) {
		c.Path = netsim.Buckets
		b := &c.PathParams.Buckets
		b.View, b.Curve, b.Refresh = view, curve, units.Second
		if packetTimes > 0 {
			b.Refresh = units.Duration(packetTimes) * units.Serialize(full, wire.Rate)
		}
	}
}

// none is where they have no number.
var none = math.NaN()

var schemes = []scheme{
	{"ecmp", [damages]float64{3.68, 5.35, none}, choose(netsim.ECMP)},
	{"e-ecmp 4 QPs", [damages]float64{none, none, none}, qps(4)},
	{"e-ecmp 16 QPs", [damages]float64{2.57, 4.40, none}, qps(16)},
	{"flowlet", [damages]float64{3.68, 6.01, none}, choose(netsim.LetFlow)},
	{"random", [damages]float64{1.09, 2.10, 2.11}, choose(netsim.Random)},
	{"round-robin", [damages]float64{1.02, 2.02, 2.02}, choose(netsim.RoundRobin)},
	{"oblivious", [damages]float64{none, none, none}, choose(netsim.Oblivious)},
	{"buckets by flow", [damages]float64{none, none, none}, func(c *netsim.Config) {
		buckets(0, route.ViewLocal, spray.CurveHeadroom)(c)
		c.PathParams.Buckets.Key = spray.KeyFlow
	}},
	{"buckets never", [damages]float64{1.04, 2.06, none}, buckets(0, route.ViewLocal, spray.CurveHeadroom)},
	{"buckets 500", [damages]float64{1.07, 1.51, none}, buckets(500, route.ViewLocal, spray.CurveHeadroom)},
	{"buckets 100", [damages]float64{1.10, 1.50, 2.07}, buckets(100, route.ViewLocal, spray.CurveHeadroom)},
	{"buckets 20", [damages]float64{1.10, 1.43, none}, buckets(20, route.ViewLocal, spray.CurveHeadroom)},
	{"buckets 100 article", [damages]float64{none, none, none}, buckets(100, route.ViewLocal, spray.CurveArticle)},
	{"buckets 100 balance", [damages]float64{none, none, none}, buckets(100, route.ViewLocal, spray.CurveBalance)},
	{"buckets 100 path", [damages]float64{none, none, none}, buckets(100, route.ViewPath, spray.CurveHeadroom)},
	{"buckets 100 balance path", [damages]float64{none, none, none}, buckets(100, route.ViewPath, spray.CurveBalance)},
	{"dlb", [damages]float64{none, none, none}, choose(netsim.DLB)},
	{"nvidia-ar", [damages]float64{1.07, 1.50, 2.08}, choose(netsim.NVIDIAAR)},
	{"drill", [damages]float64{none, none, none}, choose(netsim.DRILL)},
	{"bitmap", [damages]float64{none, none, none}, choose(netsim.Bitmap)},
	{"reps", [damages]float64{1.05, 1.63, 1.62}, choose(netsim.REPS)},
}

// qps cuts every message over QPs, which share the window.
func qps(n int) func(*netsim.Config) {
	return func(c *netsim.Config) {
		c.Path, c.NIC.QPs, c.NIC.Split = netsim.ECMPQPN, n, true
		c.NIC.Window /= units.Bytes(n)
	}
}

// seen is a scheme on a fabric, over seeds.
type seen struct {
	worst, mean float64 // flow, mean over seeds
	least, most float64 // of the worst
	late, p99   float64 // share of packets that were overtaken, and by how many of their QP
}

func TestLadderSprayingSchemes(t *testing.T) {
	t.Parallel()
	got := map[string][damages]seen{}
	var table strings.Builder
	table.WriteString("| scheme |")
	for d := range damages {
		fmt.Fprintf(&table, " %s | mean |", d)
	}
	table.WriteString(" late, p99 of by how many |\n|---|" + strings.Repeat("---|", 2*int(damages)+1) + "\n")
	for _, s := range schemes {
		var list [damages]seen
		fmt.Fprintf(&table, "| %s |", s.name)
		for d := range damages {
			list[d] = sideBySide(t, s, d)
			x := list[d]
			theirs := ""
			if !math.IsNaN(s.theirs[d]) {
				theirs = fmt.Sprintf(", *%.2f*", s.theirs[d])
			}
			fmt.Fprintf(&table, " %.2f (%.2f to %.2f)%s | %.2f |", x.worst, x.least, x.most, theirs, x.mean)
		}
		fmt.Fprintf(&table, " %.0f %%, %.0f |\n", 100*list[unharmed].late, list[unharmed].p99)
		got[s.name] = list
	}
	t.Log("\n" + table.String())
	shownIn(t, "../docs/spraying.md", "schemes", table.String())
	of := func(d damage, pick func(seen) float64, names ...string) (list []float64) {
		for _, name := range names {
			x, ok := got[name]
			if !ok {
				t.Fatalf("no scheme %s", name)
			}
			list = append(list, pick(x[d]))
		}
		return list
	}
	worst, average := func(x seen) float64 { return x.worst }, func(x seen) float64 { return x.mean }
	least := func(name string, lo float64, got float64, why string) {
		check(t, within(peers, "spraying, "+name, "ratio", lo, math.Inf(1), why), got)
	}
	blind := []string{"random", "round-robin", "oblivious", "buckets never"}
	local := []string{"buckets 500", "buckets 100", "buckets 20", "buckets 100 balance", "nvidia-ar", "drill"}
	global := []string{"buckets 100 path", "buckets 100 balance path", "reps", "bitmap"}

	// All paths alike: the worst flow, since that is what hashing makes slow.
	d := unharmed
	sprayed := slices.Concat(blind, local, global)
	hashed, rr := of(d, worst, "ecmp")[0], of(d, worst, "round-robin")[0]
	least("symmetric: ecmp to the worst that sprays, worst flow", 2, hashed/slices.Max(of(d, worst, sprayed...)), "3.3 to 3.6 there: hashed flows meet, sprayed ones do not")
	least("symmetric: the best that sprays to round-robin, worst flow", 0.98, slices.Min(of(d, worst, sprayed...))/rr, "1.02 there: dealing in turn is the best where all paths are alike")
	least("symmetric: ecmp to 4 QPs, worst flow", margin, hashed/of(d, worst, "e-ecmp 4 QPs")[0], "more and smaller flows meet less")
	least("symmetric: 4 QPs to 16 QPs, worst flow", margin, of(d, worst, "e-ecmp 4 QPs")[0]/of(d, worst, "e-ecmp 16 QPs")[0], "more and smaller flows meet less")
	least("symmetric: 16 QPs to random, worst flow", margin, of(d, worst, "e-ecmp 16 QPs")[0]/of(d, worst, "random")[0], "2.36 there")
	least("symmetric: buckets by flow to random, worst flow", 2, of(d, worst, "buckets by flow")[0]/of(d, worst, "random")[0], "what does not change within a QP pins it: no spraying")
	check(t, within(peers, "spraying, symmetric: flowlet to ecmp, worst flow", "ratio", 0.7, 1.3, "1.00 there: a NIC that sends without gaps has no flowlets"), of(d, worst, "flowlet")[0]/hashed)
	least("symmetric: buckets 100 to balance, worst flow", margin, of(d, worst, "buckets 100")[0]/of(d, worst, "buckets 100 balance")[0], "weights by raw utilisation swing, also without a reason")

	// A slow spine: the mean flow, since it makes all of a blind scheme's slow.
	for d := halfSpine; d < damages; d++ {
		dull := slices.Min(of(d, average, blind...))
		least(fmt.Sprintf("%s: the best blind to the worst that sees paths, mean flow", d), margin, dull/slices.Max(of(d, average, global...)), "1.25 there: acknowledgements and remote links tell")
		if d == halfSpine {
			least(fmt.Sprintf("%s: the best blind to the worst that sees its ports, mean flow", d), margin, dull/slices.Max(of(d, average, local...)), "1.37 there: the slow link is the leaf's own")
			continue
		}
		lo, hi := slices.Min(of(d, average, local...))/dull, slices.Max(of(d, average, local...))/dull
		check(t, within(peers, fmt.Sprintf("spraying, %s: the best that sees its ports to the best blind, mean flow", d), "ratio", 1/margin, margin, "0.98 there: a leaf's ports do not show what is slow behind the spine"), lo)
		check(t, within(peers, fmt.Sprintf("spraying, %s: the worst that sees its ports to the best blind, mean flow", d), "ratio", 1/margin, margin, "1.03 there: a leaf's ports do not show what is slow behind the spine"), hi)
	}
}

// sideBySide runs a scheme on a fabric with all seeds.
func sideBySide(t *testing.T, s scheme, d damage) seen {
	t.Helper()
	f := d.fabric()
	alone := us(run(t, leafSpine(4, 8, 8, wire), planOf(send(0, 31, schemePackets*mtu)), quiet()).took(0))
	x := seen{least: math.Inf(1)}
	for seed := range uint64(schemeSeeds) {
		c := plain()
		c.Seed = seed + 1
		c.NIC.Transport, c.NIC.Window, c.NIC.Timeout = netsim.Place, 96*mtu, -1
		c.Switch.Buffer = units.GiB
		c.Switch.ECN = netsim.ECNConfig{KMin: 20 * full, KMax: 80 * full, PMax: 1}
		s.set(&c)
		o := run(t, f, crossing(4, 8, schemePackets*mtu, seed), c)
		l := o.completions()
		w := slices.Max(l) / alone
		x.worst += w / schemeSeeds
		x.mean += mean(l) / alone / schemeSeeds
		x.least, x.most = min(x.least, w), max(x.most, w)
		r := o.sum.Reordering
		x.late += float64(r.Late) / float64(32*schemePackets) / schemeSeeds
		x.p99 += float64(r.P99) / schemeSeeds
	}
	return x
}
