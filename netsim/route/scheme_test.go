package route

import (
	"math"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

func stream(seed uint64) *Stream {
	var s Stream
	s.Seed(seed, 1)
	return &s
}

func at(us float64) units.Instant { return units.At(int64(us * 1e6)) }

func TestNames(t *testing.T) {
	for i, name := range Names() {
		s, ok := Parse(name)
		if !ok || int(s) != i || s.String() != name || name == "" {
			t.Errorf("scheme %d is called %q, which parses as %v, %v", i, name, s, ok)
		}
	}
	if _, ok := Parse("spray"); ok {
		t.Error("a name that is none was taken")
	}
}

// Every port once in a round, in an order that changes from round to round; two sets do not disturb each other.
func TestWalks(t *testing.T) {
	var w Walks
	s := stream(1)
	orders := map[[4]uint32]bool{}
	for range 100 {
		var round [4]uint32
		for i := range round {
			round[i] = w.Next(10, 4, s)
			w.Next(14, 3, s)
		}
		orders[round] = true
		slices.Sort(round[:])
		if round != [4]uint32{0, 1, 2, 3} {
			t.Fatalf("round %v", round)
		}
	}
	if len(orders) < 20 { // 24 orders, 100 draws
		t.Errorf("only %d orders in 100 rounds", len(orders))
	}
}

// A flowlet runs while its packets follow within the gap and the set of ports stays; its slot knows nothing else.
func TestFlowlets(t *testing.T) {
	f := NewFlowlets(100*units.Microsecond, 64)
	if _, ok := f.Running(7, 4, at(0)); ok {
		t.Error("a flow that was never seen has a flowlet")
	}
	f.Begin(7, 4, 3)
	for _, us := range []float64{100, 200, 299} {
		if p, ok := f.Running(7, 4, at(us)); !ok || p != 3 {
			t.Errorf("at %v us port %d, %v", us, p, ok)
		}
	}
	if _, ok := f.Running(7, 4, at(399.1)); ok {
		t.Error("runs after a pause longer than the gap")
	}
	f.Begin(7, 4, 2)
	if _, ok := f.Running(7, 3, at(400)); ok {
		t.Error("runs although the ports are others")
	}
	used := map[*flowlet]bool{}
	for i := range uint32(64) {
		used[f.slot(i)] = true
	}
	if len(used) < 40 {
		t.Errorf("64 neighbouring hashes share %d slots", len(used))
	}
}

// DRILL takes the shortest of its candidates and remembers it; of equals the remembered one.
func TestDRILL(t *testing.T) {
	d := NewDRILL(DRILLDefaults(DRILLConfig{}))
	s := stream(2)
	buf := make([]uint32, 0, 8)
	loads := map[uint32]int64{0: 50, 1: 10, 2: 30, 3: 40}
	pick := func() uint32 {
		buf = d.Candidates(8, 4, s, buf)
		if len(buf) != 3 {
			t.Fatalf("candidates %v", buf)
		}
		var l []int64
		for _, c := range buf {
			l = append(l, loads[c])
		}
		return d.Remember(8, buf, l)
	}
	for range 50 {
		pick()
	}
	if got := pick(); got != 1 {
		t.Errorf("picked %d after 50 packets, the shortest is 1", got)
	}
	loads[1] = 30 // as long as 2 now: no reason to leave
	for range 20 {
		if got := pick(); got != 1 {
			t.Fatalf("left for %d, which is no better", got)
		}
	}
	loads[1] = 100
	for range 50 {
		pick()
	}
	if got := pick(); got != 2 {
		t.Errorf("picked %d after 50 packets, the shortest is 2", got)
	}
}

// At a constant rate the estimator holds rate x period x (1-decay)/decay just after it decayed, and a decay more just before: level 8 x
// share of the line, less one where rounding bites.
func TestDRE(t *testing.T) {
	c := NewCONGAParams(CONGADefaults(CONGAConfig{}))
	for _, share := range []float64{0.1, 0.3, 0.6, 0.95, 2} {
		var d DRE
		for us := range 3000 {
			d.Add(units.Bytes(share*50_000), at(float64(us)), &c) // 400 Gbit/s are 50 000 bytes a microsecond
		}
		got := float64(d.Level(at(2999), 400*units.Gbps, &c))
		want := math.Min(8*share, 7)
		if math.Abs(got-want) > 1 {
			t.Errorf("at %.0f %% of the line the level is %v, want about %.1f", 100*share, got, want)
		}
		if d.Level(at(10_000), 400*units.Gbps, &c) != 0 {
			t.Error("a port that rests for 7 ms still counts as used")
		}
	}
}

// A metric met on the way goes to the far leaf, and from there with a packet the other way back to the leaf that can use it; it ages.
func TestCONGAFeedback(t *testing.T) {
	t0 := at(10)
	conga := NewCONGA(NewCONGAParams(CONGADefaults(CONGAConfig{})), 3, 8)
	tag := conga.Depart(0, 2, 5, t0)
	tag.Meet(3)
	tag.Meet(6)
	tag.Meet(2)
	conga.Arrive(2, tag, t0)
	if m := conga.Metric(0, 2, 5, t0); m != 0 {
		t.Errorf("leaf 0 knows %d before anybody told it", m)
	}
	conga.Arrive(0, conga.Depart(2, 0, 1, t0), t0)
	if m := conga.Metric(0, 2, 5, t0); m != 6 {
		t.Errorf("leaf 0 was told %d, the worst on the way was 6", m)
	}
	for _, other := range [][3]uint32{{0, 2, 4}, {0, 1, 5}, {2, 0, 5}, {1, 2, 5}} {
		if m := conga.Metric(other[0], other[1], other[2], t0); m != 0 {
			t.Errorf("leaf %d has metric %d to leaf %d by way %d", other[0], m, other[1], other[2])
		}
	}
	if m := conga.Metric(0, 2, 5, at(511)); m != 0 {
		t.Errorf("still %d after 501 us", m)
	}
	conga.Arrive(1, Tag{}, t0) // a packet that stayed below its leaf
}

// The quality is 7 less the mean band of load and queue; a sample weighs an eighth; a port that rests comes to rest.
func TestDLBQuality(t *testing.T) {
	c := DLBDefaults(DLBConfig{Exponent: 0})
	c.Exponent = 0
	for _, k := range []struct {
		load, queue float64 // of the rate; bytes
		want        uint8
	}{{0.05, 0, 7}, {1, 300e3, 0}, {1, 0, 3}, {0.55, 0, 5}, {0.1, 150e3, 5}, {0.6, 120e3, 4}} {
		d := NewDLB(c, 2)
		d.Sample(1, uint64(k.load*1e6), int64(k.queue), 1e6)
		if d.quality[1] != k.want {
			t.Errorf("load %.0f %%, queue %.0f: quality %d, want %d", 100*k.load, k.queue, d.quality[1], k.want)
		}
	}
	d := NewDLB(DLBDefaults(DLBConfig{}), 1)
	d.Sample(0, 800_000, 0, 1e6)
	if d.Load(0) != 100_000 {
		t.Errorf("first sample of 800000 gives an average of %d", d.Load(0))
	}
	samples := 0
	for !d.Sample(0, 800_000, 0, 1e6) {
		if samples++; samples > 200 {
			t.Fatal("never at rest")
		}
	}
	ports := []fabric.PortID{0, 1, 2, 3}
	d = NewDLB(c, 4)
	d.quality = []uint8{3, 6, 5, 6}
	seen := map[uint32]int{}
	for range 1000 {
		seen[d.Pick(ports, stream(uint64(len(seen)+seen[1])))]++
	}
	if len(seen) != 2 || seen[1] == 0 || seen[3] == 0 {
		t.Errorf("picked %v, the best are 1 and 3", seen)
	}
}

// Grades by thresholds; those beyond the free one are alike; a used port is a grade worse; the turn goes round the best.
func TestGrades(t *testing.T) {
	c := NVIDIAARDefaults(NVIDIAARConfig{Cell: 100, Low: 10, Medium: 20, High: 40, Select: TurnPort})
	offer := func(g *Grades, queues []int64, used int) {
		g.Begin()
		for i, q := range queues {
			g.Offer(uint32(i), q, i == used)
		}
	}
	g := NewGrades(c)
	for _, k := range []struct {
		queues []int64
		used   int
		best   []uint16
	}{
		{[]int64{999, 1000, 0}, -1, []uint16{0, 2}},
		{[]int64{2500, 1500, 1999}, -1, []uint16{1, 2}},
		{[]int64{4000, 9000, 4000}, -1, []uint16{0, 1, 2}},
		{[]int64{0, 0, 1000}, 0, []uint16{1}},
	} {
		offer(&g, k.queues, k.used)
		if !slices.Equal(g.best, k.best) {
			t.Errorf("queues %v: best %v, want %v", k.queues, g.best, k.best)
		}
	}
	c.Free = 1
	g = NewGrades(c)
	offer(&g, []int64{1000, 4000, 2000}, -1)
	if len(g.best) != 3 {
		t.Errorf("with one grade to count, best %v", g.best)
	}
	var turns []uint32
	for range 6 {
		turns = append(turns, g.Pick(4, 3, nil))
	}
	if !slices.Equal(turns, []uint32{0, 1, 2, 0, 1, 2}) {
		t.Errorf("turns %v", turns)
	}
}

// Oblivious spray deals every entropy value once in a round, and rounds differ.
func TestEvenly(t *testing.T) {
	var e Evenly
	s := stream(5)
	starts := map[EV]bool{}
	for range 40 {
		seen := map[EV]bool{}
		for i := range 64 {
			ev := e.Next(64, s)
			if i == 0 {
				starts[ev] = true
			}
			seen[ev] = true
		}
		if len(seen) != 64 {
			t.Fatalf("%d entropy values in a round", len(seen))
		}
	}
	if len(starts) < 20 {
		t.Errorf("40 rounds began with %d different values", len(starts))
	}
}

// REPS uses again what came back unmarked, oldest first and once; else it draws. Frozen, it walks over what it has; thawed, it explores.
func TestREPS(t *testing.T) {
	c := REPSDefaults(REPSConfig{})
	var r REPS
	s := stream(7)
	for _, ev := range []EV{100, 101, 102} {
		r.Heard(ev, false)
	}
	r.Heard(103, true)
	for _, want := range []EV{100, 101, 102} {
		if got := r.Next(64, at(0), s); got != want {
			t.Errorf("entropy value %d, want %d", got, want)
		}
	}
	if r.Recycles() {
		t.Error("something is left to be used again")
	}
	if got := r.Next(64, at(0), s); got >= 64 {
		t.Errorf("drew %d of 64", got)
	}
	for ev := range EV(12) { // the four oldest are overwritten
		r.Heard(200+ev, false)
	}
	if got := r.Next(64, at(0), s); got != 204 {
		t.Errorf("oldest of a full ring is %d, want 204", got)
	}
	r.TimedOut(at(1), &c)
	seen := map[EV]int{}
	for range 16 {
		seen[r.Next(64, at(2), s)]++
	}
	if len(seen) != 8 {
		t.Errorf("frozen, it used %v", seen)
	}
	for ev, n := range seen {
		if ev < 200 || n != 2 {
			t.Errorf("frozen, it used %d %d times", ev, n)
		}
	}
	for range repsExplore {
		if got := r.Next(64, at(102), s); got >= 64 {
			t.Errorf("thawed, it used %d", got)
		}
		r.Heard(300, false)
	}
	if got := r.Next(64, at(102), s); got != 300 {
		t.Errorf("after exploring it used %d", got)
	}
}

// An entropy value with a penalty is passed over as many times as the penalty says, and the rest share its packets.
func TestPenalties(t *testing.T) {
	var b Penalties
	counts := make([]uint8, 8)
	s := stream(9)
	b.Heard(counts, 3, Missing)
	b.Heard(counts, 3, Marked)
	if counts[3] != 5 {
		t.Errorf("penalty %d, want 4 for a missing packet and 1 for a mark", counts[3])
	}
	used := 0
	for range 5 * 8 {
		if b.Next(counts, s) == 3 {
			used++
		}
	}
	if used != 0 && counts[3] != 0 {
		t.Errorf("used %d times with penalty %d left", used, counts[3])
	}
	for range 3 {
		b.Heard(counts, 5, TimedOut)
	}
	if counts[5] != penaltyMost {
		t.Errorf("penalty %d, the most is %d", counts[5], penaltyMost)
	}
	for i := range counts {
		counts[i] = 15
	}
	for range 200 { // all are bad: one is taken all the same
		if ev := b.Next(counts, s); ev > 7 {
			t.Fatal(ev)
		}
	}
}

// Twelve congested round trips in a row move a QP, three when it is idle; one good round trip starts the count again.
func TestPLB(t *testing.T) {
	c := PLBDefaults(PLBConfig{})
	s := stream(11)
	var p PLB
	acked := uint64(0)
	round := func(marks int) { // ten acknowledgements, the last one of a packet sent when the round began
		for i := range 10 {
			if i == 9 {
				acked += 100
			}
			p.Heard(i < marks, acked, acked+100, 1<<16, &c, s)
		}
	}
	ev := p.Next(1<<16, true, &c, s)
	round(5)
	for range 10 {
		round(5)
	}
	round(4)
	for range 11 {
		round(10)
	}
	if got := p.Next(1<<16, false, &c, s); got != ev {
		t.Errorf("moved after eleven congested round trips and a good one before")
	}
	if got := p.Next(1<<16, true, &c, s); got == ev {
		t.Errorf("stayed when idle after eleven congested round trips")
	}
	ev = p.Next(1<<16, false, &c, s)
	for range 13 {
		round(5)
	}
	if got := p.Next(1<<16, false, &c, s); got == ev {
		t.Errorf("stayed after thirteen congested round trips")
	}
	ev = p.ev
	p.TimedOut(1<<16, s)
	if p.ev == ev {
		t.Error("stayed after a timeout")
	}
}
