package spray

import (
	"fmt"
	"slices"
)

// MaxPaths is the most paths that a table can tell apart: an owner is 16 bits. MaxBuckets keeps the arithmetic of weights within 64 bits. No hardware
// comes near either: next-hop groups have hundreds of members, and articles and vendors speak of thousands of buckets at most.
const (
	MaxPaths   = 1 << 16
	MaxBuckets = 1 << 20
)

// TableConfig says how weights become buckets.
type TableConfig struct {
	Buckets    int   `yaml:"count" min:"1" max:"65536" doc:"buckets of the table"`
	Curve      Curve `yaml:"curve" doc:"how many buckets a path of a given health deserves"`
	Freed      Freed `yaml:"freed" doc:"curve article: where the buckets go that busy paths give up"`
	Hysteresis int   `yaml:"hysteresis" min:"1" doc:"smallest change of a path's buckets that is acted upon"`
	MaxStep    int   `yaml:"max_step" min:"1" doc:"most buckets that one update moves, but for those of paths that died; unset: an eighth of them"`
}

// Defaults fills in what is unset. 64 buckets are the 32 a path of two paths of the articles' example; the damping (two buckets, an eighth) is ours:
// without any, tables that are refreshed fast chase their own load (docs/models/spray.md).
func (c TableConfig) Defaults() TableConfig {
	if c.Buckets == 0 {
		c.Buckets = 64
	}
	if c.Curve == "" {
		c.Curve = CurveHeadroom
	}
	if c.Freed == "" {
		c.Freed = FreedSpread
	}
	if c.Hysteresis == 0 {
		c.Hysteresis = 2
	}
	if c.MaxStep == 0 {
		c.MaxStep = max(1, c.Buckets/8)
	}
	return c
}

// Table maps buckets to paths. The sum of the paths' buckets is the size of the table at all times.
type Table struct {
	owner  []uint16 // bucket -> path
	counts []int32  // path -> buckets
	mask   uint32   // size-1 when that is a power of two, else 0
	// Scratch of Reweigh, by path.
	target, give, take, leastGive, leastTake []int32
	weight, rest                             []uint64
}

// NewTable deals the buckets to the paths in turn, so that they differ by one bucket at most. It panics when there is no bucket or no path, or more
// than there may be.
func NewTable(buckets, paths int) *Table {
	if buckets <= 0 || buckets > MaxBuckets || paths <= 0 || paths > MaxPaths {
		panic(fmt.Sprintf("spray: a table of %d buckets over %d paths", buckets, paths))
	}
	t := &Table{
		owner: make([]uint16, buckets), counts: make([]int32, paths),
		target: make([]int32, paths), give: make([]int32, paths), take: make([]int32, paths),
		leastGive: make([]int32, paths), leastTake: make([]int32, paths),
		weight: make([]uint64, paths), rest: make([]uint64, paths),
	}
	if buckets&(buckets-1) == 0 {
		t.mask = uint32(buckets - 1)
	}
	for b := range t.owner {
		p := b % paths
		t.owner[b] = uint16(p)
		t.counts[p]++
	}
	return t
}

// Size is the number of buckets.
func (t *Table) Size() int { return len(t.owner) }

// Paths is the number of paths, with and without buckets.
func (t *Table) Paths() int { return len(t.counts) }

// Bucket is the bucket of a hash: its low bits, or the remainder where the size is no power of two.
func (t *Table) Bucket(hash uint32) int {
	if t.mask != 0 {
		return int(hash & t.mask)
	}
	return int(hash % uint32(len(t.owner)))
}

// Path is the path of a hash.
func (t *Table) Path(hash uint32) int { return int(t.owner[t.Bucket(hash)]) }

// Owner is the path of a bucket.
func (t *Table) Owner(bucket int) int { return int(t.owner[bucket]) }

// Buckets is how many buckets a path holds.
func (t *Table) Buckets(path int) int { return int(t.counts[path]) }

// Reweigh moves buckets so that the paths get what the curve gives them for their scores (0: dead, 255: best), and tells how many it moved.
//
// Only surplus buckets move. A path with a score above 0 keeps at least one bucket as long as there are as many buckets as such paths. A dead
// path loses all of its buckets at once, and gets none. When every path is dead nothing moves: no way is better than the one that is there.
// c is taken as it stands: without MaxStep everything moves at once, and hysteresis 0 and 1 act upon every change.
func (t *Table) Reweigh(scores []uint8, c TableConfig) (moved int) {
	if len(scores) != len(t.counts) {
		panic(fmt.Sprintf("spray: %d scores for %d paths", len(scores), len(t.counts)))
	}
	if !t.aim(scores, c) {
		return 0
	}
	return t.move(t.plan(scores, c))
}

// plan fills give and take from the targets and returns how many buckets are to move.
//
// A path counts when its change reaches the hysteresis; one that holds less than half of an even share counts with any gain, or it would stay
// small where its gains are. As many buckets move as the paths that count give or take, whichever is more; small changes fill up the other
// side, so that one path can change a lot at the cost of many that change a little.
func (t *Table) plan(scores []uint8, c TableConfig) int32 {
	living := 0
	for _, s := range scores {
		if s > 0 {
			living++
		}
	}
	var dead, giving, taking int32
	for p, have := range t.counts {
		t.leastGive[p] = int32(max(1, min(c.Hysteresis, len(t.owner))))
		t.leastTake[p] = t.leastGive[p]
		if 2*int(have)*living < len(t.owner) {
			t.leastTake[p] = 1
		}
		change := t.target[p] - have
		t.give[p], t.take[p] = max(-change, 0), max(change, 0)
		switch {
		case scores[p] == 0:
			dead += t.give[p]
		case -change >= t.leastGive[p]:
			giving -= change
		case change >= t.leastTake[p]:
			taking += change
		}
	}
	n := max(dead+giving, taking)
	if c.MaxStep > 0 {
		n = max(dead, min(n, int32(min(c.MaxStep, len(t.owner)))))
	}
	t.ration(t.give, t.leastGive, n-dead, scores)
	t.ration(t.take, t.leastTake, n, scores)
	return n
}

// ration cuts the changes in list down to n in all: those that reach the least that counts come first, the smaller ones share what is left. The
// list of a dead path stays as it is and does not count.
func (t *Table) ration(list, least []int32, n int32, scores []uint8) {
	var large int32
	for p, v := range list {
		if scores[p] != 0 && v >= least[p] {
			large += v
		}
	}
	whole := n >= large // all of the large ones fit
	if whole {
		n -= large
	}
	for p, v := range list {
		t.weight[p] = 0
		small := v < least[p]
		if scores[p] == 0 || whole && !small {
			continue
		}
		if small == whole {
			t.weight[p] = uint64(v)
		}
		list[p] = 0
	}
	t.apportion(list, n)
}

// move carries out the plan. Of a path that gives g of its c buckets, those go that lie evenly among the c: what stays and what moves are
// both spread over the table, so that consecutive hashes do not meet one path in a row.
func (t *Table) move(n int32) int {
	if n == 0 {
		return 0
	}
	due, had := t.target, t.leastGive // both have served: now what each path owes, in parts of a bucket, and what it had
	clear(due)
	copy(had, t.counts)
	for p := range t.counts {
		t.counts[p] += t.take[p] - t.give[p]
	}
	takers := t.leastTake[:0] // it has served too
	for p, n := range t.take {
		if n > 0 {
			takers = append(takers, int32(p))
		}
	}
	turn := 0
	for b, o := range t.owner {
		if due[o] += t.give[o]; due[o] < had[o] {
			continue
		}
		due[o] -= had[o]
		if turn >= len(takers) {
			turn = 0
		}
		taker := takers[turn]
		t.owner[b] = uint16(taker)
		if t.take[taker]--; t.take[taker] > 0 {
			turn++
			continue
		}
		takers[turn] = takers[len(takers)-1]
		takers = takers[:len(takers)-1]
	}
	return int(n)
}

// apportion adds n to the list in proportion to t.weight by the method of the largest remainder (Hamilton's); of equal remainders the lower
// path goes first.
func (t *Table) apportion(list []int32, n int32) {
	var sum uint64
	for _, w := range t.weight {
		sum += w
	}
	if n == 0 || sum == 0 {
		return
	}
	left := n
	for p, w := range t.weight {
		share := w * uint64(n)
		list[p] += int32(share / sum)
		left -= int32(share / sum)
		t.rest[p] = share%sum<<16 | uint64(MaxPaths-1-p) // sum is below 2^30: all weights are below 2^9 times the buckets
	}
	if left == 0 {
		return
	}
	slices.Sort(t.rest)
	for _, r := range t.rest[len(t.rest)-int(left):] {
		list[MaxPaths-1-r&(MaxPaths-1)]++
	}
}
