package source

import (
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// Sockets lists the flows of the sockets that hosts have open: two of each connection, one each way, since switches hash both. A connection that both
// of its hosts list is met twice and counts once.
func Sockets(inv *evidence.Inventory) *ecmp.Set {
	s := &ecmp.Set{Known: ecmp.FiveTuple, Bytes: true}
	index := map[flowKey]int{}
	unknown, loopback, past := 0, 0, 0
	add := func(protocol uint8, src, dst netip.AddrPort, carried evidence.Value[units.Bytes]) {
		k := flowKey{src: src.Addr(), dst: dst.Addr(), protocol: protocol, sport: src.Port(), dport: dst.Port()}
		i, ok := index[k]
		if !ok {
			if len(s.Flows) >= ecmp.MaxFlows {
				past++
				return
			}
			i = len(s.Flows)
			index[k] = i
			s.Flows = append(s.Flows, ecmp.Flow{Src: k.src, Dst: k.dst, Protocol: protocol, SrcPort: k.sport, DstPort: k.dport, Conn: uint32(i / 2)})
		}
		if b, told := carried.Get(); told {
			s.Flows[i].Bytes = max(s.Flows[i].Bytes, b)
		} else {
			unknown++
		}
	}
	for i := range inv.Sockets {
		x := &inv.Sockets[i]
		if x.Local.Addr().IsLoopback() || x.Local.Addr() == x.Peer.Addr() {
			loopback++
			continue
		}
		protocol := packet.ProtocolTCP
		if x.Protocol == "udp" {
			protocol = packet.ProtocolUDP
		}
		add(protocol, x.Local, x.Peer, x.Sent)
		add(protocol, x.Peer, x.Local, x.Received)
	}
	if unknown > 0 { // of some flows alone bytes are no measure
		s.Bytes = false
		for i := range s.Flows {
			s.Flows[i].Bytes = 0
		}
		s.Notes = append(s.Notes, "what sockets carried is not known of all; ss -ti tells it of TCP, and here all count alike")
	}
	if loopback > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d sockets within a host were left out", loopback))
	}
	if past > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d flows are past the limit of %d", past, ecmp.MaxFlows))
	}
	s.Notes = append(s.Notes, "RoCE's queue pairs are no sockets, and ss does not list them")
	return s
}
