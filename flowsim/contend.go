package flowsim

import (
	"encoding/binary"
	"math"
	"slices"
)

// Phases of a step overlap: gradients are added up while experts exchange tokens, and stages of a pipeline do different things at one
// time. Each phase goes at a pace of 1 when it is alone; its flows then go at its PerFlow, and it uses a share of every link, its
// Busy. The flows of phases under way together are max-min fair, each with each, so that a phase of many flows gets more of a link
// than one of few. What only one of the groups of a phase meets slows all of the phase, which is right for what waits for the slowest
// and pessimistic for the rest.

// contention tells the paces of phases that run together.
type contention struct {
	rows  []row
	flow  []float64            // by kind: what each of its flows gets when it is alone
	known map[string][]float64 // by set of phases; only looked up, never iterated
	key   []byte
}

// row is a link that phases together can fill: what each of them uses of it.
type row struct {
	kinds []uint16
	use   []float32
}

// maxRows bounds the links kept with one set of phases upon them; of more, those that are used most are kept.
const maxRows = 64

// newContention looks for the links that can become full. A link that all kinds of phase together do not fill never does, unless
// one of them is under way several times, which pipelines of one stage do not do.
func newContention(phases []Phase) *contention {
	c := &contention{known: map[string][]float64{}}
	if len(phases) == 0 {
		return c
	}
	for k := range phases {
		c.flow = append(c.flow, max(phases[k].PerFlow, minFlow))
	}
	type group struct {
		kinds []uint16
		rows  [][]float32
	}
	var groups []group
	byKinds := map[string]int{} // only looked up, never iterated
	var key []byte
	for p := range phases[0].Busy {
		var kinds []uint16
		var use []float32
		sum := float32(0)
		for k := range phases {
			if u := phases[k].Busy[p]; u > 0 {
				kinds, use = append(kinds, uint16(k)), append(use, u)
				sum += u
			}
		}
		if sum <= 1 || len(kinds) < 2 {
			continue
		}
		key = key[:0]
		for _, k := range kinds {
			key = binary.LittleEndian.AppendUint16(key, k)
		}
		i, ok := byKinds[string(key)]
		if !ok {
			i = len(groups)
			byKinds[string(key)] = i
			groups = append(groups, group{kinds: kinds})
		}
		groups[i].rows = keepRow(groups[i].rows, use)
	}
	for _, g := range groups {
		for _, use := range g.rows {
			c.rows = append(c.rows, row{g.kinds, use})
		}
	}
	return c
}

// keepRow adds a row unless another uses as much everywhere, and drops those it covers.
func keepRow(rows [][]float32, use []float32) [][]float32 {
	covers := func(a, b []float32) bool {
		for i := range a {
			if a[i] < b[i] {
				return false
			}
		}
		return true
	}
	for _, r := range rows {
		if covers(r, use) {
			return rows
		}
	}
	rows = slices.DeleteFunc(rows, func(r []float32) bool { return covers(use, r) })
	if len(rows) < maxRows {
		return append(rows, slices.Clone(use))
	}
	total := func(r []float32) (sum float32) {
		for _, u := range r {
			sum += u
		}
		return sum
	}
	least := 0
	for i := range rows {
		if total(rows[i]) < total(rows[least]) {
			least = i
		}
	}
	if total(use) > total(rows[least]) {
		rows[least] = slices.Clone(use)
	}
	return rows
}

// paces gives each phase of a sorted list of kinds its pace. The slice is shared: do not change it.
func (c *contention) paces(kinds []uint16) []float64 {
	c.key = c.key[:0]
	for _, k := range kinds {
		c.key = binary.LittleEndian.AppendUint16(c.key, k)
	}
	if p, ok := c.known[string(c.key)]; ok {
		return p
	}
	p := c.fill(kinds)
	c.known[string(c.key)] = p
	return p
}

// fill raises the flows of all phases together, each until its phase is at a pace of 1 or a full link holds it back, as share.go does.
func (c *contention) fill(kinds []uint16) []float64 {
	pace := make([]float64, len(kinds))
	held := make([]bool, len(kinds))
	type link struct {
		fixed float64
		use   []float64 // by place in kinds: of the link at a pace of 1
	}
	var links []link
	for _, r := range c.rows {
		l := link{use: make([]float64, len(kinds))}
		busy := 0
		for i, k := range kinds {
			if at, ok := slices.BinarySearch(r.kinds, k); ok {
				l.use[i] = float64(r.use[at])
				busy++
			}
		}
		if busy > 1 {
			links = append(links, l)
		}
	}
	hold := func(k int, p float64) {
		held[k], pace[k] = true, min(1, max(p, minPace))
		for i := range links {
			links[i].fixed += float64(links[i].use[k] * pace[k])
		}
	}
	for {
		flow, at, alone := math.Inf(1), -1, -1
		for k, id := range kinds {
			if !held[k] && c.flow[id] < flow {
				flow, alone = c.flow[id], k
			}
		}
		if alone < 0 {
			return pace
		}
		for i := range links {
			rising := 0.0 // of the link, for one byte a picosecond of each flow
			for k, id := range kinds {
				if !held[k] {
					rising += links[i].use[k] / c.flow[id]
				}
			}
			if rising > 0 {
				if f := max(0, 1-links[i].fixed) / rising; f < flow {
					flow, at = f, i
				}
			}
		}
		if at < 0 {
			hold(alone, 1)
			continue
		}
		for k, id := range kinds {
			if !held[k] && links[at].use[k] > 0 {
				hold(k, flow/c.flow[id])
			}
		}
	}
}

// minPace and minFlow keep rounding from stopping a phase for good.
const (
	minPace = 1e-6
	minFlow = 1e-9 // bytes a picosecond: 8 kbit/s
)

// ceil is a time in whole picoseconds.
func ceil(ps float64) int64 { return int64(math.Ceil(ps)) }
