package pcap

import (
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
)

func (c *capture) request(s *stream, f *packet.Frame, number int) {
	psn := f.BTH.PSN()
	late := s.sequence.late
	switch s.sequence.see(psn) {
	case skipped:
		c.count(&s.Holes, number)
	case overtaken:
		c.count(&s.OutOfOrder, number)
	case again:
		c.count(&s.Again, number)
	case againAll: // those that looked overtaken were the first of what the sender repeats
		s.OutOfOrder.Count -= late
		if s.OutOfOrder.Count == 0 {
			s.OutOfOrder = evidence.Tally{}
		}
		c.count(&s.Again, number)
		s.Again.Count += late
		s.sequence.late = 0
	}
	if f.BTH.Opcode().Operation() == packet.ReadRequest && f.RETH != nil {
		s.sequence.read(psn, f.RETH.Length())
	}
}

var refusals = map[packet.NAKCode]evidence.RefusalKind{
	packet.NAKSequence: evidence.RefusedSequence, packet.NAKInvalid: evidence.RefusedInvalid, packet.NAKAccess: evidence.RefusedAccess, packet.NAKOperation: evidence.RefusedOperation,
}

func (c *capture) answer(s *stream, f *packet.Frame, number int) {
	op := f.BTH.Opcode().Operation()
	if op >= packet.ReadResponseFirst && op <= packet.ReadResponseOnly {
		if s.response.see(op, f.BTH.PSN()) > 0 {
			c.count(&s.Holes, number)
		}
		return
	}
	if f.AETH == nil {
		return
	}
	if _, late := f.AETH.NotReady(); late {
		c.refused(s, evidence.RefusedNotReady, number)
		return
	}
	code, nak := f.AETH.NAK()
	if s.peer == nil {
		s.peer = c.asked(s, f.BTH.PSN())
	}
	if !nak {
		return
	}
	if kind, ok := refusals[code]; ok {
		c.refused(s, kind, number)
	}
	if code != packet.NAKSequence || s.peer == nil {
		return
	}
	// The number of a sequence NAK is the one the responder waits for (InfiniBand section 9.7.5.2.8).
	if s.peer.sequence.in(f.BTH.PSN()) {
		c.count(&s.peer.LostBefore, number)
	} else {
		c.count(&s.peer.LostBehind, number)
	}
}

func (c *capture) refused(s *stream, kind evidence.RefusalKind, number int) {
	for i := range s.Refusals {
		if s.Refusals[i].Kind == kind {
			s.Refusals[i].Count++
			return
		}
	}
	s.Refusals = append(s.Refusals, evidence.Refusal{Kind: kind, Tally: evidence.Tally{Count: 1, At: c.f.At(number)}})
}

// maxAsked limits the streams of a pair of hosts that an answer is compared with.
const maxAsked = 256

// asked finds the stream an answer is about. An answer names only the queue pair it goes to, so the stream is the one,
// of those the other way, that has sent that number lately; where several have, it stays unknown.
func (c *capture) asked(s *stream, psn uint32) *stream {
	var one *stream
	list := c.between[ends{hosts{s.Dst.Address, s.Src.Address}, lids{uint16(s.Dst.LID), uint16(s.Src.LID)}}]
	for _, o := range list[:min(len(list), maxAsked)] {
		if d := packet.Distance(o.sequence.next, psn); o.V1 != s.V1 || o.Tunnel != s.Tunnel || !o.sequence.started || d < 0 || d > window {
			continue
		}
		if one != nil {
			return nil
		}
		one = o
	}
	return one
}
