package source

import (
	"math/rand/v2"
	"net/netip"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/packet"
)

// What an input of RoCE connections most often does not tell: QP numbers, and the source ports that follow from them.

// modelStream is the stream that unknown QP numbers are drawn from: fixed, so that the same input gives the same page.
const modelStream = 0x9e3779b97f4a7c15

// number gives flows that lack them QP numbers, counting up on each address from a start that is drawn, and source ports by the rule of the Linux
// kernel (netsim/route, SourcePort). Adapters may choose the port otherwise.
func number(s *ecmp.Set, missing ecmp.Fields, seed uint64) {
	rng := rand.New(rand.NewPCG(modelStream, seed))
	next := map[netip.Addr]uint32{}
	qpn := func(a netip.Addr) uint32 {
		n, ok := next[a]
		if !ok {
			n = rng.Uint32()
		}
		next[a] = n + 1
		return n & 0xffffff
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		local, remote := qpn(f.Src), qpn(f.Dst)
		if missing&ecmp.QPN != 0 {
			f.QPN = remote
		}
		if missing&ecmp.SrcPort != 0 {
			f.SrcPort = route.SourcePort(local, f.QPN)
		}
	}
	s.Known &^= missing
	s.Modelled |= missing
}

// roce makes a flow one of RoCEv2.
func roce(f *ecmp.Flow) { f.Protocol, f.DstPort = packet.ProtocolUDP, packet.PortRoCE }

// listen gives the flows of TCP the ports that both ends were given by their kernels: NCCL's sockets listen on ephemeral ports too.
func listen(s *ecmp.Set, seed uint64) {
	rng := rand.New(rand.NewPCG(modelStream, seed+1))
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Protocol == packet.ProtocolTCP {
			f.SrcPort, f.DstPort, f.QPN = ecmp.EphemeralPort(rng), ecmp.EphemeralPort(rng), 0
		}
	}
}
