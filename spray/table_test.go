package spray

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// literal is the table configuration that does exactly what the curve says.
func literal(c Curve, f Freed) TableConfig { return TableConfig{Curve: c, Freed: f} }

func counts(t *Table) []int {
	list := make([]int, t.Paths())
	for p := range list {
		list[p] = t.Buckets(p)
	}
	return list
}

// The articles' example (S0.2): of two paths with 32 buckets each, one is 85 % busy and the other idle.
func TestArticleExample(t *testing.T) {
	scores := []uint8{LinkStateConfig{Utilisation: 255}.Score(Load{Utilisation: 0.85}), 255}
	for _, freed := range []Freed{FreedOne, FreedSpread} {
		table := NewTable(64, 2)
		if moved := table.Reweigh(scores, literal(CurveArticle, freed)); moved != 20 {
			t.Errorf("%s: %d buckets moved, the articles have 20", freed, moved)
		}
		if diff := cmp.Diff([]int{12, 52}, counts(table)); diff != "" {
			t.Errorf("%s: %s", freed, diff)
		}
	}
}

// Four paths, one of them 85 % busy: whether the 20 buckets drown one of the others or lie on all of them.
func TestWhereFreedBucketsGo(t *testing.T) {
	scores := []uint8{38, 255, 200, 200}
	for freed, want := range map[Freed][]int{
		// Scores of 200 keep 27 of 32: 25/0.85/255 of the way to 12 is 5 buckets.
		FreedOne:    {12, 32 + 20 + 10, 27, 27},
		FreedSpread: {12, 32 + 12, 27 + 9, 27 + 9}, // 30 by 255:200:200
	} {
		table := NewTable(128, 4)
		table.Reweigh(scores, literal(CurveArticle, freed))
		if diff := cmp.Diff(want, counts(table)); diff != "" {
			t.Errorf("%s: %s", freed, diff)
		}
	}
}

// Targets by hand: the method of the largest remainder, and the floor.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name   string
		table  *Table
		curve  Curve
		scores []uint8
		want   []int
	}{
		{"in proportion", NewTable(64, 4), CurveHeadroom, []uint8{200, 100, 50, 50}, []int{32, 16, 8, 8}},
		// 32*255/565 = 14.44, 32*155/565 = 8.78 (twice): the two larger remainders round up.
		{"largest remainder", NewTable(32, 3), CurveHeadroom, []uint8{255, 155, 155}, []int{14, 9, 9}},
		{"floor", NewTable(64, 3), CurveHeadroom, []uint8{255, 255, 1}, []int{31, 32, 1}}, // 32, 32 and 0 before
		{"dead", NewTable(64, 3), CurveHeadroom, []uint8{255, 0, 255}, []int{32, 0, 32}},
		{"more paths than buckets", NewTable(2, 4), CurveHeadroom, []uint8{1, 200, 1, 190}, []int{0, 1, 0, 1}},
		{"fixed", NewTable(64, 4), CurveFixed, []uint8{255, 1, 0, 90}, []int{22, 21, 0, 21}},
		// Mean 155: 16 buckets weigh 255+100 or 255-100, of 64*255 in all.
		{"balance", NewTable(64, 4), CurveBalance, []uint8{255, 55, 155, 155}, []int{22, 10, 16, 16}},
	} {
		c.table.Reweigh(c.scores, literal(c.curve, ""))
		if diff := cmp.Diff(c.want, counts(c.table)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestAllDeadMovesNothing(t *testing.T) {
	table := NewTable(64, 4)
	before := slices.Clone(table.owner)
	if moved := table.Reweigh(make([]uint8, 4), literal(CurveHeadroom, "")); moved != 0 || !slices.Equal(before, table.owner) {
		t.Errorf("%d buckets moved", moved)
	}
}

// Whatever happens to the scores, for tables of every shape: the invariants of Reweigh.
func TestReweighInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	curves, freed := Curve("").Choices(), Freed("").Choices()
	for trial := range 400 {
		buckets, paths := 1+random.IntN(300), 1+random.IntN(40)
		c := TableConfig{Curve: Curve(curves[trial%len(curves)]), Freed: Freed(freed[random.IntN(2)]), Hysteresis: random.IntN(4), MaxStep: random.IntN(20)}
		table := NewTable(buckets, paths)
		scores := make([]uint8, paths)
		for round := range 20 {
			for p := range scores {
				switch random.IntN(5) {
				case 0:
					scores[p] = 0
				case 1:
					scores[p] = uint8(random.IntN(256))
				case 2:
					scores[p] = uint8(max(1, min(255, int(scores[p])+random.IntN(9)-4)))
				}
			}
			check(t, table, scores, c)
			if t.Failed() {
				t.Fatalf("trial %d round %d: %d buckets, scores %v, %+v", trial, round, buckets, scores, c)
			}
		}
	}
}

// check reweighs and looks at what happened.
func check(t *testing.T, table *Table, scores []uint8, c TableConfig) {
	t.Helper()
	before, had := slices.Clone(table.owner), counts(table)
	moved := table.Reweigh(scores, c)
	has := counts(table)
	sum, left, changed, evacuated := 0, 0, 0, 0
	for p := range has {
		sum += has[p]
		left += max(0, had[p]-has[p])
		if scores[p] == 0 {
			evacuated += had[p]
		}
	}
	real := make([]int, len(has))
	for b, o := range table.owner {
		real[o]++
		if before[b] != o {
			changed++
		}
	}
	living := len(scores)
	for _, s := range scores {
		if s == 0 {
			living--
		}
	}
	if sum != table.Size() || !slices.Equal(real, has) {
		t.Errorf("the buckets do not add up: %v of %d, counted %v", has, table.Size(), real)
	}
	if changed != moved || left != moved {
		t.Errorf("%d buckets changed hands, told %d, and the paths gave up %d: more moved than had to", changed, moved, left)
	}
	if living == 0 {
		if moved != 0 {
			t.Errorf("%d buckets moved with every path dead", moved)
		}
		return
	}
	for p, s := range scores {
		if s == 0 && has[p] != 0 {
			t.Errorf("the dead path %d has %d buckets", p, has[p])
		}
		if s > 0 && had[p] > 0 && has[p] == 0 && living <= table.Size() {
			t.Errorf("the living path %d lost its last bucket", p)
		}
	}
	if c.MaxStep > 0 && moved > max(c.MaxStep, evacuated) {
		t.Errorf("%d buckets moved, %d of them of dead paths, and no more than %d may", moved, evacuated, c.MaxStep)
	}
	if c.Hysteresis <= 1 && c.MaxStep == 0 && c.Curve != CurveBalance {
		if again := table.Reweigh(scores, c); again != 0 {
			t.Errorf("the same scores move %d buckets more", again)
		}
	}
}

// In steps the table comes to what it would be at once, in no more steps than it has to take.
func TestStepsArrive(t *testing.T) {
	scores := []uint8{255, 40, 120, 255, 0, 9, 255, 200}
	whole, steps := NewTable(512, 8), NewTable(512, 8)
	want := whole.Reweigh(scores, literal(CurveHeadroom, ""))
	c := TableConfig{Curve: CurveHeadroom, MaxStep: 10}
	moved := steps.Reweigh(scores, c) // the dead path's 64 at once
	for rounds := 0; moved < want; rounds++ {
		if rounds > (want-64+9)/10 {
			t.Fatalf("still %d buckets to go", want-moved)
		}
		moved += steps.Reweigh(scores, c)
	}
	if diff := cmp.Diff(counts(whole), counts(steps)); diff != "" || moved != want {
		t.Errorf("moved %d instead of %d: %s", moved, want, diff)
	}
}

// Scores that tremble by a few points move buckets all the time without hysteresis, and none with it.
func TestHysteresisStopsFlapping(t *testing.T) {
	flaps := func(hysteresis int) (moved int) {
		random := rand.New(rand.NewPCG(3, 4))
		table := NewTable(256, 8)
		scores := make([]uint8, 8)
		for range 1000 {
			for p := range scores {
				scores[p] = uint8(120 + random.IntN(7))
			}
			moved += table.Reweigh(scores, TableConfig{Curve: CurveHeadroom, Hysteresis: hysteresis})
		}
		return moved
	}
	if without, with := flaps(1), flaps(2); without < 500 || with != 0 {
		t.Errorf("moved %d buckets without hysteresis and %d with it", without, with)
	}
}

// Hysteresis must not keep a path at the floor: to double is a lot.
func TestHysteresisLetsTheSmallGrow(t *testing.T) {
	table := NewTable(64, 4)
	c := TableConfig{Curve: CurveBalance, Hysteresis: 2}
	table.Reweigh([]uint8{0, 200, 200, 200}, c)
	for range 12 {
		table.Reweigh([]uint8{255, 100, 100, 100}, c)
	}
	if table.Buckets(0) < 16 {
		t.Errorf("a path that came back idle has %d of 64 buckets after twelve refreshes", table.Buckets(0))
	}
}

// What a path keeps and what it gives lie spread over the table: consecutive buckets, as consecutive PSNs meet them, do not stay with one path.
func TestMovesAreSpread(t *testing.T) {
	table := NewTable(256, 4)
	table.Reweigh([]uint8{0, 255, 255, 255}, literal(CurveHeadroom, ""))
	longest, run := 0, 1
	for b := 1; b < table.Size(); b++ {
		if run++; table.owner[b] != table.owner[b-1] {
			run = 1
		}
		longest = max(longest, run)
	}
	if longest > 2 {
		t.Errorf("%d buckets in a row belong to one path", longest)
	}
}

// swing runs the loop that a sprayer closes: load makes scores, scores make buckets, buckets make load. It returns the worst utilisation that
// any path is asked for, and the buckets moved per refresh, once the start is over.
func swing(c TableConfig, load float64, capacity []float64) (worst, moved float64) {
	const rounds = 400
	table := NewTable(256, len(capacity))
	scores := make([]uint8, len(capacity))
	total := 0.0
	for _, v := range capacity {
		total += v
	}
	for r := range rounds {
		for p, v := range capacity {
			u := load * total * float64(table.Buckets(p)) / float64(table.Size()) / v
			scores[p] = LinkStateConfig{Utilisation: 255}.Score(Load{Utilisation: min(u, 1)})
			if r >= rounds/2 {
				worst = max(worst, u)
			}
		}
		if n := table.Reweigh(scores, c); r >= rounds/2 {
			moved += float64(n) / (rounds / 2)
		}
	}
	return worst, moved
}

// In proportion to the headroom 1-u, a path with a share d too large gets u*d/(1-u) too little next time: the loop has the gain u/(1-u) and swings
// from half load on. The correction of CurveBalance has the gain u: it comes to rest at every load, where all utilisations are alike.
func TestLoopGain(t *testing.T) {
	half := []float64{0.5, 1, 1, 1, 1, 1, 1, 1}
	for _, load := range []float64{0.3, 0.45, 0.55, 0.7, 0.9} {
		// Half a bucket of the slow path's 17 is what it cannot see, divided by the gain: 3 % and more where the load is low.
		if worst, moved := swing(literal(CurveBalance, ""), load, half); moved > 0 || worst > load*1.15 {
			t.Errorf("balance at load %v: worst utilisation %.2f, %.1f buckets moved per refresh", load, worst, moved)
		}
	}
	if _, moved := swing(literal(CurveHeadroom, ""), 0.3, half); moved > 2 {
		t.Errorf("headroom at load 0.3 moves %.1f buckets per refresh", moved)
	}
	worst, moved := swing(literal(CurveHeadroom, ""), 0.7, half)
	if worst < 2 || moved < 100 {
		t.Errorf("headroom at load 0.7: worst utilisation %.2f, %.1f buckets moved: it ought to swing", worst, moved)
	}
	damped, _ := swing(TableConfig{Curve: CurveHeadroom, Hysteresis: 2, MaxStep: 8}, 0.7, half)
	if damped > worst/2 {
		t.Errorf("headroom at load 0.7: worst utilisation %.2f with a step of at most 8 buckets, %.2f without", damped, worst)
	}
	one, _ := swing(literal(CurveArticle, FreedOne), 0.7, half)
	if one < 2 {
		t.Errorf("the articles' curve at load 0.7 asks %.2f of a path at most: all freed buckets on one ought to drown it", one)
	}
}

func TestReweighAllocatesNothing(t *testing.T) {
	table := NewTable(4096, 64)
	scores := make([]uint8, 64)
	random := rand.New(rand.NewPCG(5, 6))
	for _, c := range Curve("").Choices() {
		if n := testing.AllocsPerRun(50, func() {
			for p := range scores {
				scores[p] = uint8(random.IntN(256))
			}
			table.Reweigh(scores, TableConfig{Curve: Curve(c)})
		}); n != 0 {
			t.Errorf("%s: %v allocations", c, n)
		}
	}
}

// The curve of the articles at its two known points.
func TestArticleCurve(t *testing.T) {
	for _, c := range []struct {
		busy, want float64
	}{{0, 1}, {0.425, (1 + 0.375) / 2}, {0.85, 0.375}, {1, 0.375}} {
		score := LinkStateConfig{Utilisation: 255}.Score(Load{Utilisation: c.busy})
		if got := float64(articleKeeps(score)) / articleOne; math.Abs(got-c.want) > 0.002 { // half a point of the score
			t.Errorf("%v busy: %.4f kept, want %.4f", c.busy, got, c.want)
		}
	}
}

// Foreign configuration and scores: no panic, and the buckets add up.
func FuzzReweigh(f *testing.F) {
	f.Add(uint16(64), []byte{255, 38, 0, 12}, []byte{1, 2, 3, 200}, 2, 8, "article", "one")
	f.Add(uint16(3), []byte{1, 1, 1, 1, 1}, []byte{0, 0, 9, 0, 1}, -5, -1, "balance", "")
	f.Fuzz(func(t *testing.T, buckets uint16, first, second []byte, hysteresis, step int, curve, freed string) {
		if buckets == 0 || len(first) == 0 || len(first) > 1000 {
			return // no such table
		}
		table := NewTable(int(buckets), len(first))
		c := TableConfig{Curve: Curve(curve), Freed: Freed(freed), Hysteresis: hysteresis, MaxStep: step}
		for _, scores := range [][]byte{first, second, first} {
			padded := make([]byte, len(first))
			copy(padded, scores)
			table.Reweigh(padded, c)
			sum := 0
			for _, n := range counts(table) {
				sum += n
			}
			if sum != int(buckets) {
				t.Fatalf("%d buckets of %d", sum, buckets)
			}
		}
	})
}

// A size that is no power of two takes the remainder, and a path is what its bucket belongs to.
func TestBuckets(t *testing.T) {
	for _, size := range []int{1, 64, 96, 4095} {
		table := NewTable(size, 5)
		for _, hash := range []uint32{0, 1, 95, 96, 0xcbf43926, math.MaxUint32} {
			b := table.Bucket(hash)
			if b != int(hash%uint32(size)) || table.Path(hash) != table.Owner(b) {
				t.Errorf("%d buckets: hash %#x falls into %d, of path %d, and goes to %d", size, hash, b, table.Owner(b), table.Path(hash))
			}
		}
	}
}

func TestTableDefaults(t *testing.T) {
	want := TableConfig{Buckets: 64, Curve: CurveHeadroom, Freed: FreedSpread, Hysteresis: 2, MaxStep: 8}
	if diff := cmp.Diff(want, TableConfig{}.Defaults()); diff != "" {
		t.Error(diff)
	}
	set := TableConfig{Buckets: 4, Curve: CurveArticle, Freed: FreedOne, Hysteresis: 1, MaxStep: 3}
	if diff := cmp.Diff(set, set.Defaults()); diff != "" {
		t.Error(diff)
	}
	if got := (TableConfig{Buckets: 4}).Defaults().MaxStep; got != 1 {
		t.Errorf("a table of 4 moves %d buckets at most", got)
	}
}
