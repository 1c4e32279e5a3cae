package fragment

import "github.com/shunt-network/shunt/evidence"

// MaxEvents is how many events of one kind are kept of one host. The first ones tell what happened; a broken
// link repeats itself on every queue pair, and 64 is more than the ranks of any host built so far.
const MaxEvents = 64

// MaxText is how much of a line an event keeps. The longest warning known (ibv_modify_qp with both GIDs) has
// under 400 bytes.
const MaxText = 1024

// Events puts events into an inventory, numbered in the order they are met over all inputs, and counts those it
// keeps no copy of.
type Events struct {
	next int
	kept map[eventKey]int
	more map[eventKey]int // index into NCCL.More
}

type eventKey struct {
	kind evidence.EventKind
	host string
}

// NewEvents makes an empty one.
func NewEvents() *Events { return &Events{kept: map[eventKey]int{}, more: map[eventKey]int{}} }

// Add appends an event.
func (s *Events) Add(to *evidence.NCCL, e evidence.Event) {
	s.next++
	key := eventKey{e.Kind, e.Host}
	if s.kept[key] >= MaxEvents {
		i, ok := s.more[key]
		if !ok {
			i = len(to.More)
			s.more[key] = i
			to.More = append(to.More, evidence.MoreEvents{Kind: e.Kind, Host: e.Host})
		}
		to.More[i].Count++
		return
	}
	s.kept[key]++
	e.Sequence = s.next
	e.Text = e.Text[:min(len(e.Text), MaxText)]
	to.Events = append(to.Events, e)
}

// Recount numbers the events of inventories that were filled apart and stand one after the other now, and keeps as many
// of a kind and host as of one.
func Recount(n *evidence.NCCL) {
	events, more := n.Events, n.More
	n.Events, n.More = nil, nil
	s := NewEvents()
	for _, e := range events {
		s.Add(n, e)
	}
	for _, m := range more {
		key := eventKey{m.Kind, m.Host}
		i, ok := s.more[key]
		if !ok {
			i = len(n.More)
			s.more[key] = i
			n.More = append(n.More, evidence.MoreEvents{Kind: m.Kind, Host: m.Host})
		}
		n.More[i].Count += m.Count
	}
}
