package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Which packet took which path only a simulator knows: it is truth, and no telemetry. It is kept when Config.Trace asks for it.

// SprayTrace is where the packets of a run went: from each QP through each port of the first switch that had a choice.
type SprayTrace struct {
	QPs []TracedQP // in the order of their opening; those that sent nothing out of their first switch are left out
	// Occupancy is how the buckets of each switch belonged to its ports, each time they followed a reading.
	Occupancy []Occupancy
	// Left counts what did not fit into maxOccupancy.
	Left uint64
}

// TracedQP is a QP and where its data packets went at the first switch.
type TracedQP struct {
	Src, Dst fabric.PortID // of the NICs
	QPN      uint32        // number at the destination
	Switch   fabric.NodeID
	Paths    []TracedPath // by port number
}

// TracedPath is a port of the first switch, and how many data packets of the QP left by it; packets sent again count again.
type TracedPath struct {
	Port    fabric.PortID
	Packets uint64
}

// Occupancy is a switch's buckets by port at a time.
type Occupancy struct {
	At     units.Instant
	Switch fabric.NodeID
	Paths  []SprayPath
}

// maxOccupancy bounds the occupancies that a run keeps: 64 leaves that refresh 1000 times.
const maxOccupancy = 1 << 16

// trace is what the trace is made from.
type trace struct {
	packets   [][]uint64 // by QP: by port of its first switch
	at        []uint32   // by QP: that switch
	qpn       []uint32   // by QP
	occupancy []Occupancy
	left      uint64
}

// open begins the trace of a new QP.
func (t *trace) open(qpn uint32) {
	t.packets, t.at, t.qpn = append(t.packets, nil), append(t.at, none), append(t.qpn, qpn)
}

// sent is data packet pk, which came from a host and leaves switch s by a port.
func (t *trace) sent(n *Network, s, to uint32, pk *packet) {
	node := &n.f.Nodes[n.switches[s].node]
	if t.packets[pk.qp] == nil {
		t.packets[pk.qp], t.at[pk.qp] = make([]uint64, node.NumPorts), s
	}
	t.packets[pk.qp][to-uint32(node.FirstPort)]++
}

// occupied notes the buckets of switch s.
func (t *trace) occupied(n *Network, s uint32) {
	if len(t.occupancy) == maxOccupancy {
		t.left++
		return
	}
	if paths := n.sprayPaths(s); len(paths) > 0 {
		t.occupancy = append(t.occupancy, Occupancy{At: units.At(n.now), Switch: n.switches[s].node, Paths: paths})
	}
}

// Trace returns where the packets went; ok is false where Config.Trace did not ask for it.
func (n *Network) Trace() (out SprayTrace, ok bool) {
	t := n.trace
	if t == nil {
		return SprayTrace{}, false
	}
	out.Occupancy, out.Left = t.occupancy, t.left
	for q, counts := range t.packets {
		if counts == nil {
			continue
		}
		node := n.switches[t.at[q]].node
		qp := TracedQP{Src: portID(n.nics[n.snd[q].src].port), Dst: portID(n.nics[n.snd[q].dst].port), QPN: t.qpn[q], Switch: node}
		for i, c := range counts {
			if c > 0 {
				qp.Paths = append(qp.Paths, TracedPath{Port: n.f.Nodes[node].FirstPort + fabric.PortID(i), Packets: c})
			}
		}
		out.QPs = append(out.QPs, qp)
	}
	return out, true
}
