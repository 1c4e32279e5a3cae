package netsim

import "github.com/shunt-network/shunt/fabric"

// qpCounters is what the sender of one QP counted, as rdma statistic tells of a QP with counters of its own.
type qpCounters struct{ timeouts, sequenceErrors uint32 }

// sequenceError counts a NAK, or what stands for one, at the sender of a QP.
func (n *Network) sequenceError(q uint32, s *sender) {
	n.nicCounters[s.src].PacketSeqErr++
	n.qpCounters[q].sequenceErrors++
}

// Pair is what the QPs from one NIC port to another counted together.
type Pair struct {
	Src, Dst       fabric.PortID
	QPs            int
	Packets        uint64 // data packets sent, each counted once
	Timeouts       uint64
	SequenceErrors uint64
	GaveUp         int // QPs
}

// Pairs adds up the QPs by their two ends, in the order in which the first of each pair was opened.
func (n *Network) Pairs() []Pair {
	index := map[[2]uint32]int{} // only looked up, never iterated
	var out []Pair
	for q := range n.snd {
		s := &n.snd[q]
		key := [2]uint32{s.src, s.dst}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, Pair{Src: portID(n.nics[s.src].port), Dst: portID(n.nics[s.dst].port)})
		}
		p, c := &out[i], &n.qpCounters[q]
		p.QPs++
		p.Packets += s.top
		p.Timeouts += uint64(c.timeouts)
		p.SequenceErrors += uint64(c.sequenceErrors)
		if s.flags&dead != 0 {
			p.GaveUp++
		}
	}
	return out
}
