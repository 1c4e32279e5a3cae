package netsim

import (
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// note is what a packet carries for the congestion control and path choice of its sender and no switch looks at. It lies beside the packet, by
// its index, and only in runs that need it, so that a packet itself stays half a cache line. An acknowledgement carries the note of the packet
// that it answers.
type note struct {
	sent int64    // when that packet was sent
	ev   route.EV // its entropy value
	hops uint8    // switches that wrote telemetry into it
}

// echo is the note of the data packet that is being received, with what switches wrote: acknowledgements made meanwhile take it along.
type echo struct {
	note
	marked bool
	hops   []cc.Hop
}

// needNotes makes room beside the packets.
func (n *Network) needNotes() { n.notes = []note{} }

// needHops makes room for the telemetry of up to each switches.
func (n *Network) needHops(each int) {
	n.hopsEach = each
	n.telemetry = []cc.Hop{}
	n.echo.hops = make([]cc.Hop, each)
}

// growSides keeps what lies beside the packets as long as the pool.
func (n *Network) growSides() {
	if n.context.ids != nil {
		n.context.ids = append(n.context.ids, 0)
	}
	if n.notes != nil {
		n.notes = append(n.notes, note{})
	}
	if n.telemetry != nil {
		for range n.hopsEach {
			n.telemetry = append(n.telemetry, cc.Hop{})
		}
	}
	if n.choice.tags != nil {
		n.choice.tags = append(n.choice.tags, route.Tag{})
	}
}

// swapSides exchanges what lies beside two packets.
func (n *Network) swapSides(a, b uint32) {
	if x := n.context.ids; x != nil {
		x[a], x[b] = x[b], x[a]
	}
	if n.notes != nil {
		n.notes[a], n.notes[b] = n.notes[b], n.notes[a]
	}
	if n.telemetry != nil {
		x, y := n.hopsOf(a), n.hopsOf(b)
		for i := range x {
			x[i], y[i] = y[i], x[i]
		}
	}
	if n.choice.tags != nil {
		n.choice.tags[a], n.choice.tags[b] = n.choice.tags[b], n.choice.tags[a]
	}
}

// hopsOf is the room for telemetry of a packet.
func (n *Network) hopsOf(k uint32) []cc.Hop {
	return n.telemetry[int(k)*n.hopsEach:][:n.hopsEach]
}

// noteSent is a data packet that its NIC sends now: it gets its entropy value and a note.
func (n *Network) noteSent(q uint32, s *sender, k uint32) {
	x := &n.notes[k]
	*x = note{sent: n.now}
	if n.choice.atHost {
		x.ev = n.entropy(q, s)
		n.pool.packets[k].hash = route.WithEntropy(s.hash, x.ev)
	}
}

// noteArrived is a data packet that reaches its receiver.
func (n *Network) noteArrived(q uint32, k uint32) {
	pk := &n.pool.packets[k]
	n.echo.note, n.echo.marked = n.notes[k], pk.flags&marked != 0
	if n.telemetry != nil {
		copy(n.echo.hops, n.hopsOf(k)[:n.echo.note.hops])
	}
	if n.echo.marked && n.control.marks {
		n.rcv[q].unacked = n.ackEvery // the sender should know at once
	}
}

// noteAnswer gives the note of the packet being received to the acknowledgement or notification k.
func (n *Network) noteAnswer(q, k uint32) {
	n.notes[k] = n.echo.note
	pk := &n.pool.packets[k]
	if n.echo.marked && pk.kind() != cnp {
		pk.flags |= marked
	}
	if n.telemetry != nil {
		copy(n.hopsOf(k), n.echo.hops[:n.echo.note.hops])
	}
	if n.choice.atHost {
		pk.hash = route.WithEntropy(n.rcv[q].hash, n.echo.ev)
	}
}

// stamp is in-band telemetry: what the switch of port pi writes into a data packet that it begins to send, about all classes of the port.
func (n *Network) stamp(pi uint32, p *port, k uint32) {
	x := &n.notes[k]
	if int(x.hops) == n.hopsEach {
		return
	}
	h := &n.hopsOf(k)[x.hops]
	x.hops++
	h.At, h.Rate, h.Port = units.At(n.now), p.rate, pi+1
	h.Sent, h.Queue = 0, 0
	for _, e := range n.egress[class(pi, 0):class(pi+1, 0)] {
		h.Sent += e.txBytes
		h.Queue += units.Bytes(e.bytes)
	}
}
