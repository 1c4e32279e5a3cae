package flowsim

import "math"

// Max-min fair sharing by progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise together
// until a constraint is full; its flows stay at that, the others rise on. When flows begin or end only those are filled again
// that the change can reach: from flow to flow through constraints that could become full. A constraint that could carry all its
// flows at the most each can have anywhere else couples nobody.

// flow is what shares: the QP under way.
type flow struct {
	first, n uint32  // its entries
	most     float64 // bytes a picosecond it could have if it were alone
	rate     float64
	going    bool   // under way
	frozen   bool   // during a fill: has its rate
	mark     uint32 // the fill it was last part of
}

// entry is one constraint of one flow, chained to the other flows under way through that constraint.
type entry struct {
	con, flow  uint32
	prev, next uint32
	weight     float64
}

// constraint is a port, or a class of ports that are loaded alike.
type constraint struct {
	capacity float64 // bytes a picosecond
	head     uint32  // entries of flows under way
	flows    uint32
	demand   float64 // what they could load it with at their most
	bytes    float64 // carried so far
	mark     uint32

	free   float64 // during a fill: what is left
	weight float64 // during a fill: of the flows that still rise
	rising uint32
}

// sharing is the state of all flows.
type sharing struct {
	flows   []flow
	entries []entry
	cons    []constraint

	going int // flows under way
	fill  uint32
	part  []uint32 // flows of the fill
	touch []uint32 // constraints of the fill
	seeds []uint32 // constraints that a flow has left or whose capacity changed
	begun []uint32 // flows that began
	full  minHeap  // constraints by the rate at which they are full
	tops  minHeap  // flows by the most they can have
}

// slack is the share of a capacity by which rounding may overrun it.
const slack = 1e-9

// add makes a flow from a path. It is not under way yet.
func (s *sharing) add(path []hop, limit float64) uint32 {
	id := uint32(len(s.flows))
	f := flow{first: uint32(len(s.entries)), n: uint32(len(path))}
	for _, h := range path {
		s.entries = append(s.entries, entry{con: h.con, flow: id, prev: none, next: none, weight: h.weight})
	}
	s.flows = append(s.flows, f)
	s.limit(id, limit)
	return id
}

// limit sets the most a flow can have: its own limit or that of the narrowest constraint.
func (s *sharing) limit(id uint32, limit float64) {
	f := &s.flows[id]
	f.most = limit
	for _, e := range s.entries[f.first : f.first+f.n] {
		f.most = min(f.most, s.cons[e.con].capacity/e.weight)
	}
}

// begin puts a flow under way.
func (s *sharing) begin(id uint32) {
	f := &s.flows[id]
	for i := f.first; i < f.first+f.n; i++ {
		e := &s.entries[i]
		c := &s.cons[e.con]
		e.prev, e.next = none, c.head
		if c.head != none {
			s.entries[c.head].prev = i
		}
		c.head = i
		c.flows++
		c.demand += float64(e.weight * f.most)
	}
	f.going = true
	s.going++
	s.begun = append(s.begun, id)
}

// end takes a flow away.
func (s *sharing) end(id uint32) {
	f := &s.flows[id]
	for i := f.first; i < f.first+f.n; i++ {
		e := &s.entries[i]
		c := &s.cons[e.con]
		if e.prev == none {
			c.head = e.next
		} else {
			s.entries[e.prev].next = e.next
		}
		if e.next != none {
			s.entries[e.next].prev = e.prev
		}
		c.flows--
		if c.demand -= float64(e.weight * f.most); c.flows == 0 {
			c.demand = 0 // what rounding left
		}
		s.seeds = append(s.seeds, e.con)
	}
	f.going, f.rate = false, 0
	s.going--
}

// pending tells whether rates have to be worked out again.
func (s *sharing) pending() bool { return len(s.seeds)+len(s.begun) > 0 }

// couples tells whether a constraint can become full through the flows under way.
func (c *constraint) couples() bool { return c.flows > 1 && c.demand > c.capacity*(1+slack) }

// reach collects the flows whose rate may change into part, and the constraints they share into touch.
func (s *sharing) reach() {
	s.fill++
	s.part, s.touch = s.part[:0], s.touch[:0]
	for _, id := range s.begun {
		s.take(id)
	}
	for _, con := range s.seeds {
		// The flows it held back may be free now, even if it couples nobody any more.
		for i := s.cons[con].head; i != none; i = s.entries[i].next {
			s.take(s.entries[i].flow)
		}
	}
	for at := 0; at < len(s.part); at++ {
		f := &s.flows[s.part[at]]
		for i := f.first; i < f.first+f.n; i++ {
			con := s.entries[i].con
			c := &s.cons[con]
			if c.mark == s.fill || !c.couples() {
				continue
			}
			c.mark = s.fill
			s.touch = append(s.touch, con)
			for k := c.head; k != none && len(s.part) < s.going; k = s.entries[k].next {
				s.take(s.entries[k].flow)
			}
		}
	}
	s.seeds, s.begun = s.seeds[:0], s.begun[:0]
}

// take adds a flow to the fill. A flow that began and ended within one instant is not under way.
func (s *sharing) take(id uint32) {
	f := &s.flows[id]
	if f.mark == s.fill || !f.going {
		return
	}
	f.mark = s.fill
	f.frozen = false
	s.part = append(s.part, id)
}

// share gives the flows of the fill their rates (W1, W2).
func (s *sharing) share() {
	s.full.reset()
	s.tops.reset()
	for _, con := range s.touch {
		c := &s.cons[con]
		c.free, c.weight, c.rising = c.capacity, 0, 0
	}
	for _, id := range s.part {
		f := &s.flows[id]
		for i := f.first; i < f.first+f.n; i++ {
			if c := &s.cons[s.entries[i].con]; c.mark == s.fill {
				c.weight += s.entries[i].weight
				c.rising++
			}
		}
		s.tops.push(f.most, id)
	}
	for _, con := range s.touch {
		s.full.push(s.cons[con].level(), con)
	}
	s.tops.heapify()
	s.full.heapify()
	for left := len(s.part); left > 0; {
		con, level := s.fullest()
		for s.tops.len() > 0 && s.flows[s.tops.items[0].id].frozen {
			s.tops.pop()
		}
		if id := s.tops.items[0].id; con == none || s.tops.items[0].key <= level {
			s.freeze(id, s.flows[id].most)
			left--
			continue
		}
		for i := s.cons[con].head; i != none; i = s.entries[i].next {
			if id := s.entries[i].flow; !s.flows[id].frozen {
				s.freeze(id, level)
				left--
			}
		}
	}
}

// level is the rate at which the flows that still rise fill the constraint.
func (c *constraint) level() float64 {
	if c.rising == 0 {
		return math.Inf(1)
	}
	return max(0, c.free) / c.weight
}

// fullest is the constraint that is full first, and at which rate. Levels only rise while flows freeze below them, so an old key
// is never too high, and one that is too low is put back.
func (s *sharing) fullest() (con uint32, level float64) {
	for s.full.len() > 0 {
		top := s.full.items[0]
		c := &s.cons[top.id]
		if c.rising == 0 {
			s.full.pop()
			continue
		}
		if level := c.level(); level > top.key {
			s.full.replace(level)
			continue
		}
		return top.id, top.key
	}
	return none, math.Inf(1)
}

// freeze leaves a flow at a rate.
func (s *sharing) freeze(id uint32, rate float64) {
	f := &s.flows[id]
	f.frozen, f.rate = true, rate
	for i := f.first; i < f.first+f.n; i++ {
		e := &s.entries[i]
		if c := &s.cons[e.con]; c.mark == s.fill {
			c.free -= float64(e.weight * rate)
			c.weight -= e.weight
			c.rising--
		}
	}
}
