package ecmp

import (
	"net/netip"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// Flow is what a switch may hash of the packets of one flow, and what the flow carries.
type Flow struct {
	Src, Dst         netip.Addr
	Protocol         uint8
	SrcPort, DstPort uint16
	QPN              uint32      // of the destination; 0 where the flow is no RoCE, or it is not known
	Bytes            units.Bytes // 0 where not known, see Set.Bytes
	// Conn is the connection the flow belongs to: QPs of one connection have one number. Dense from 0 within a set.
	Conn uint32

	// From and To are endpoints of the fabric of Set.Net, where there is one.
	From, To int32
}

// RoCE tells whether the flow is one of RoCEv2.
func (f *Flow) RoCE() bool { return f.Protocol == packet.ProtocolUDP && f.DstPort == packet.PortRoCE }

// Set is the flows of one input.
type Set struct {
	Flows []Flow
	// Bytes tells whether what flows carry is known; else all count alike.
	Bytes bool
	// Known are the fields that the input tells; Modelled are those that were put in by a rule because it does not.
	Known, Modelled Fields
	QPs             int      // QPs of a connection, where known; else 0
	Notes           []string // what the input does not tell, and what was made of it
	Net             *Network // the fabric under the flows, nil where it is not known
}

// MaxFlows bounds a set: an all-to-all of 1024 GPUs is a million QPs, which is a tenth of a second to hash.
const MaxFlows = 1 << 20

// total is what the flows carry together: bytes, or flows where bytes are not known.
func (s *Set) total() float64 {
	sum := 0.0
	for i := range s.Flows {
		sum += s.weight(i)
	}
	return sum
}

// weight is what flow i counts for in a load.
func (s *Set) weight(i int) float64 {
	if s.Bytes {
		return float64(s.Flows[i].Bytes)
	}
	return 1
}
