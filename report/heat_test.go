package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Critical values are those of NIST's handbook (1.3.6.7.4).
func TestChiSquare(t *testing.T) {
	// Of 400 packets on two paths, 20 more or less than half on each: the statistic is 4, between the 5 % and the 1 % point of 1 degree.
	if u := evenSplit([]uint64{220, 180}); u.statistic != 4 || !(u.p > 0.04 && u.p < 0.05) {
		t.Errorf("220 and 180: %+v", u)
	}
	if u := evenSplit([]uint64{50, 50, 50, 50, 50, 50, 50, 50}); u.p != 1 {
		t.Errorf("nothing deviates: %+v", u)
	}
	// 20 and 30 of 50: the statistic is 2, worked by hand.
	if u := evenSplit([]uint64{20, 30}); u.statistic != 2 || !u.judged {
		t.Errorf("20 and 30: %+v", u)
	}
	if u := evenSplit([]uint64{9, 0}); u.judged {
		t.Error("nine packets over two paths were judged")
	}
}

// fabricOf has leaves of four hosts and so many spines.
func fabricOf(leaves, spines int) *fabric.Fabric {
	w := fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: leaves, HostsPerLeaf: 4, Spines: spines, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// traced is a QP of leaf0 whose packets left by its uplinks as counts say.
func traced(f *fabric.Fabric, src, dst string, qpn uint32, counts ...uint64) netsim.TracedQP {
	port := func(name string) fabric.PortID {
		id, ok := f.NodeByName(name)
		if !ok {
			panic(name)
		}
		return f.Nodes[id].FirstPort
	}
	leaf := f.Ports[f.Ports[port(src)].Peer].Node
	q := netsim.TracedQP{Src: port(src), Dst: port(dst), QPN: qpn, Switch: leaf}
	for i, p := range uplinksOf(f, leaf) {
		if counts[i] > 0 {
			q.Paths = append(q.Paths, netsim.TracedPath{Port: p, Packets: counts[i]})
		}
	}
	return q
}

func TestHeat(t *testing.T) {
	f := fabricOf(2, 4)
	leaf0, _ := f.NodeByName("leaf0")
	up := uplinksOf(f, leaf0)
	occupancy := func(at units.Instant, buckets ...int) netsim.Occupancy {
		o := netsim.Occupancy{At: at, Switch: leaf0}
		for i, n := range buckets {
			o.Paths = append(o.Paths, netsim.SprayPath{Port: up[i], Buckets: n})
		}
		return o
	}
	local := traced(f, "host0", "host5", 9, 0, 0, 0, 0)
	local.Paths = []netsim.TracedPath{{Port: f.Ports[f.Nodes[1].FirstPort].Peer, Packets: 50}} // to a host of its own leaf
	h := NewHeat("three kinds", 7, f, 1000, netsim.SprayTrace{
		QPs: []netsim.TracedQP{
			traced(f, "host0", "host4", 0x11, 25, 26, 24, 25),
			traced(f, "host1", "host5", 0x12, 0, 100, 0, 0),
			traced(f, "host2", "host6", 0x13, 0, 3, 0, 0),
			traced(f, "host4", "host0", 0x14, 60, 140, 100, 100),
			local,
		},
		Occupancy: []netsim.Occupancy{occupancy(units.At(250), 16, 16, 16, 16), occupancy(units.At(400), 16, 16, 16, 16), occupancy(units.At(500), 4, 20, 20, 20)},
	})
	type seen struct {
		Name      string
		Verdict   Evenness
		Imbalance float64
	}
	var got []seen
	for _, q := range h.QPs {
		got = append(got, seen{q.Name, q.Verdict, q.Imbalance})
	}
	// The pinned QP first; the one with three packets last, though all of them took one path.
	want := []seen{{"host1 -> host5", Uneven, 4}, {"host4 -> host0", Uneven, 1.4}, {"host0 -> host4", Even, 1.04}, {"host2 -> host6", TooFew, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"spine0", "spine1", "spine2", "spine3"}, h.Paths); diff != "" {
		t.Error(diff)
	}
	if h.Local != 1 || h.All.Total != 603 || len(h.Sums) != 2 || h.Sums[0].Name != "leaf0" || h.Sums[0].Total != 203 {
		t.Errorf("local %d, all %d, by switch %+v", h.Local, h.All.Total, h.Sums)
	}
	// Three QPs, two switches and the whole are judged.
	if math.Abs(h.Level-0.01/6) > 1e-12 {
		t.Errorf("level %v", h.Level)
	}
	if len(h.Buckets) != 1 || len(h.Buckets[0].TimesPS) != 2 {
		t.Fatalf("buckets %+v", h.Buckets)
	}
	b := &h.Buckets[0]
	if first, middle, last := b.mean(0, 0, 4), b.mean(0, 1, 2), b.mean(0, 3, 4); first != 16 || middle != 4 || last != 4 {
		t.Errorf("spine0 had %v, %v, %v buckets", first, middle, last)
	}
	var back Heat
	src, err := json.Marshal(h)
	if err == nil {
		err = json.Unmarshal(src, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, &back); diff != "" {
		t.Error(diff)
	}
}

// A map fits its width whatever the number of paths; without colour it has no escape sequence, and in ASCII no other character.
func TestHeatText(t *testing.T) {
	for _, spines := range []int{2, 4, 8, 16, 64, 200} {
		f := fabricOf(3, spines)
		var trace netsim.SprayTrace
		for i := range 40 {
			counts := make([]uint64, spines)
			for k := range counts {
				counts[k] = uint64(20 + (i*k)%7)
			}
			if i%10 == 0 {
				counts[i%spines] += 2000
			}
			trace.QPs = append(trace.QPs, traced(f, []string{"host0", "host5", "host9"}[i%3], "host2", uint32(i+1), counts...))
		}
		h := NewHeat("many paths", 1, f, 1000, trace)
		for _, w := range []int{60, 80, 120, 200} {
			var b bytes.Buffer
			if err := HeatText(&b, h, HeatOptions{TextOptions: TextOptions{Width: w, ASCII: true}, Top: 5}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if width(line) > w {
					t.Errorf("%d paths, %d columns: %d wide: %q", spines, w, width(line), line)
				}
				for _, r := range line {
					if r > 126 || r < 32 {
						t.Fatalf("%d paths, %d columns: %q", spines, w, line)
					}
				}
			}
			if got := strings.Count(b.String(), "\n! host"); got != 4 {
				t.Errorf("%d paths, %d columns: %d marks, want 4\n%s", spines, w, got, &b)
			}
			if !strings.Contains(b.String(), "35 more, ") {
				t.Errorf("the others are not told of\n%s", &b)
			}
		}
		g := h.Grid(10)
		if len(g.Rows) != 10+1+3 || len(g.Values[0]) != spines || !strings.HasPrefix(g.Rows[0], "! ") {
			t.Errorf("a picture of %d rows, %d columns: %q", len(g.Rows), len(g.Values[0]), g.Rows)
		}
	}
	var b bytes.Buffer
	if err := HeatText(&b, NewHeat("nothing", 1, fabricOf(2, 2), 0, netsim.SprayTrace{}), HeatOptions{}); err != nil || !strings.Contains(b.String(), "no packet had a choice of paths") {
		t.Errorf("%v: %s", err, &b)
	}
}

// Where a run deals packets to paths at random, what the map counts has the distribution that balls in bins have.
func TestHeatOfRandomPaths(t *testing.T) {
	f := fabricOf(6, 4)
	var b workload.Builder
	for src := range 24 {
		for dst := range 24 {
			if src/4 != dst/4 {
				b.Add(workload.Op{Kind: workload.Send, Priority: workload.RoCEPriority, Src: fabric.GPUID(src), Dst: fabric.GPUID(dst), Bytes: 8 * 4096})
			}
		}
	}
	n, err := netsim.New(f, b.Plan(), netsim.Config{Seed: 1, Path: netsim.Random, Trace: true, NIC: netsim.NICConfig{Transport: netsim.Place, Control: "none"}})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := n.RunUntil(netsim.Forever); err != nil || !done {
		t.Fatalf("done %v, %v", done, err)
	}
	trace, ok := n.Trace()
	if !ok {
		t.Fatal("no trace")
	}
	h := NewHeat("balls in bins", 1, f, 0, trace)
	if len(h.QPs) != 24*20 || h.All.Total != 24*20*8 || len(h.Sums) != 6 {
		t.Fatalf("%d QPs, %d packets, %d switches", len(h.QPs), h.All.Total, len(h.Sums))
	}
	// Of 8 balls in 4 bins the fullest has 2 with probability 8!/(2!^4 4^8) = 0.0385, 3 with 0.5127, 4 with 0.3397 and more with 0.1092: counted out over all 4^8
	// ways. The counts of 480 QPs deviate by sqrt(480 p (1-p)); four of that are a hair's breadth from certain.
	var seen [5]float64
	for _, q := range h.QPs {
		seen[min(int(q.Imbalance*2+0.5), 5)-1]++
	}
	for fullest, p := range map[int]float64{2: 0.03845, 3: 0.51270, 4: 0.33966, 5: 0.10919} {
		want, off := 480*p, 4*math.Sqrt(480*p*(1-p))
		if got := seen[fullest-1]; math.Abs(got-want) > off {
			t.Errorf("%v QPs have %d of 8 packets on one path, want %.0f +- %.0f", got, fullest, want, off)
		}
	}
	if h.All.Verdict != Even {
		t.Errorf("all together: %+v", h.All)
	}
}
