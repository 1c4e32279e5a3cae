package route

// Walks deals packets to the ports of each next-hop set in turn: in a random order that is shuffled again after every round, so that switches
// do not fall into step. With equal paths nothing spreads more evenly.
type Walks struct {
	order []uint16 // by member of the table: the order of its set
	at    []uint16 // by first member of a set: how far the round is
}

// Next is the next of the n ports of the set that begins at member first.
func (w *Walks) Next(first, n uint32, s *Stream) uint32 {
	if need := int(first + n); need > len(w.order) { // sets are added when links fail
		w.order = append(w.order, make([]uint16, need-len(w.order))...)
		w.at = append(w.at, make([]uint16, need-len(w.at))...)
	}
	order := w.order[first : first+n]
	i := uint32(w.at[first])
	if i == 0 {
		for j := range order {
			order[j] = uint16(j)
		}
		for j := n - 1; j > 0; j-- { // Fisher and Yates
			k := s.Below(j + 1)
			order[j], order[k] = order[k], order[j]
		}
	}
	w.at[first] = uint16((i + 1) % n)
	return uint32(order[i])
}
