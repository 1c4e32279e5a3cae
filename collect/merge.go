package collect

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/evidence"
)

// growth remembers which part of each list of an inventory came from which file, so that the lists of inventories that
// were filled apart can be put together in the order of the files. It goes by the fields and not by a list of them: a
// list that is added later must not be forgotten here.
type growth struct {
	lists []reflect.Value // the slices of the inventory and of what NCCL said
	grew  [][]grown       // of each list
}

// grown says that a list had upto elements once the file at a place had been read.
type grown struct{ at, upto int }

func newGrowth(inv *evidence.Inventory) growth {
	g := growth{lists: slicesOf(inv)}
	g.grew = make([][]grown, len(g.lists))
	return g
}

// slicesOf has the lists of an inventory, in the order of its fields.
func slicesOf(inv *evidence.Inventory) (lists []reflect.Value) {
	for _, v := range [...]reflect.Value{reflect.ValueOf(inv).Elem(), reflect.ValueOf(&inv.NCCL).Elem()} {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Slice {
				lists = append(lists, f)
			}
		}
	}
	return lists
}

// mark notes what the lists have become by the file at a place.
func (g *growth) mark(at int) {
	for i, list := range g.lists {
		n, have := list.Len(), 0
		if k := len(g.grew[i]); k > 0 {
			have = g.grew[i][k-1].upto
		}
		if n > have {
			g.grew[i] = append(g.grew[i], grown{at, n})
		}
	}
}

// merge makes one session of those that read the groups. Lists are put together in the order of the files; hosts and
// switches are in one group only.
func (q *queue) merge(groups []group, sessions []*session) *session {
	read := q.withinLimit(groups, sessions)
	if len(read) == 1 {
		read[0].nccl.Finish()
		return read[0]
	}
	into := newSession(q.opt)
	var logs []*nccl.Log
	for _, s := range read {
		into.inv.Simulated = into.inv.Simulated || s.inv.Simulated
		into.opened += s.opened
		into.parts = append(into.parts, s.parts...)
		for test := range s.tests {
			into.tests[test] = true
		}
		logs = append(logs, s.nccl)
	}
	slices.SortStableFunc(into.parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	mergeLists(into, read)
	into.nccl.Join(logs)
	into.nccl.Finish()
	return into
}

// withinLimit has the sessions that were read, up to where archives unpacked to more than the limit. What one session
// unpacks has that limit by itself.
func (q *queue) withinLimit(groups []group, sessions []*session) (read []*session) {
	unpacked := int64(0)
	for i, s := range sessions {
		switch {
		case s == nil:
		case unpacked > q.opt.MaxUnpacked && s.unpacked > 0:
			left := newSession(q.opt)
			for _, at := range groups[i] {
				left.at = at
				left.unreadable(q.items[at].show, "not read: the archives before it unpack to more than the limit")
				left.growth.mark(at)
			}
			read = append(read, left)
		default:
			unpacked += s.unpacked
			read = append(read, s)
		}
	}
	if len(read) == 0 {
		read = append(read, newSession(q.opt))
	}
	return read
}

// mergeLists puts the lists of inventories together.
func mergeLists(into *session, read []*session) {
	type piece struct {
		at   int
		part reflect.Value
	}
	for i, list := range into.growth.lists {
		var pieces []piece
		total := 0
		for _, s := range read {
			from, have := s.growth.lists[i], 0
			if last := len(s.growth.grew[i]); last > 0 && s.growth.grew[i][last-1].upto != from.Len() || last == 0 && from.Len() > 0 {
				panic(fmt.Sprintf("collect: list %d of an inventory has %d elements, %v were marked", i, from.Len(), s.growth.grew[i]))
			}
			for _, g := range s.growth.grew[i] {
				pieces = append(pieces, piece{g.at, from.Slice(have, g.upto)})
				total += g.upto - have
				have = g.upto
			}
		}
		if total == 0 {
			continue
		}
		slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
		whole := reflect.MakeSlice(list.Type(), 0, total)
		for _, p := range pieces {
			whole = reflect.AppendSlice(whole, p.part)
		}
		list.Set(whole)
	}
}
