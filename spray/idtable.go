package spray

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// idTable is a receiver's table of path ids, in order of the ids. Where two paths have one id, the first of them has it.
type idTable []idEntry

type idEntry struct {
	id   uint32
	path int
}

// newIDTable makes the table of the ids of the paths.
func newIDTable(ids []uint32) idTable {
	t := make(idTable, len(ids))
	for p, id := range ids {
		t[p] = idEntry{id, p}
	}
	slices.SortStableFunc(t, func(a, b idEntry) int { return cmp.Compare(a.id, b.id) })
	return t
}

// find is the path of an id.
func (t idTable) find(id uint32) (path int, ok bool) {
	i, ok := slices.BinarySearchFunc(t, id, func(e idEntry, id uint32) int { return cmp.Compare(e.id, id) })
	if !ok {
		return -1, false
	}
	return t[i].path, true
}

// count is how many paths have an id.
func (t idTable) count(id uint32) (n int) {
	for _, e := range t {
		if e.id == id {
			n++
		}
	}
	return n
}

// poisson draws a count of events that are independent of each other. Small means multiply uniform numbers (Knuth, The Art of Computer
// Programming, volume 2, section 3.4.1); large ones use transformed rejection (Hörmann, "The transformed rejection method for
// generating Poisson random variables", 1993, algorithm PTRS).
func poisson(rng *rand.Rand, mean float64) uint64 {
	const large = 10 // from which PTRS is defined
	if mean <= 0 {
		return 0
	}
	if mean < large {
		limit, product, n := math.Exp(-mean), rng.Float64(), uint64(0)
		for product > limit {
			product *= rng.Float64()
			n++
		}
		return n
	}
	root, logMean := math.Sqrt(mean), math.Log(mean)
	b := 0.931 + 2.53*root
	a := -0.059 + 0.02483*b
	inverse := 1.1239 + 1.1328/(b-3.4)
	quick := 0.9277 - 3.6224/(b-2)
	for {
		u, v := rng.Float64()-0.5, rng.Float64()
		s := 0.5 - math.Abs(u)
		k := math.Floor((2*a/s+b)*u + mean + 0.43)
		if s >= 0.07 && v <= quick {
			return uint64(k)
		}
		if k < 0 || s < 0.013 && v > s {
			continue
		}
		logFactorial, _ := math.Lgamma(k + 1)
		if math.Log(v)+math.Log(inverse)-math.Log(a/(s*s)+b) <= k*logMean-mean-logFactorial {
			return uint64(k)
		}
	}
}
