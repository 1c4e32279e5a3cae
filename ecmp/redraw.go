package ecmp

import (
	"math/rand/v2"
	"net/netip"

	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// A seed that suits the flows of today was chosen because it suits them: on the next job, with other QPNs and source ports, it is as good as any. So
// a proposal is judged by flows that it was not chosen by: the same ends and sizes, with what changes from job to job drawn anew.

// Ephemeral ports of Linux (net.ipv4.ip_local_port_range, default 32768 to 60999).
const (
	ephemeralFirst = 32768
	ephemeralLast  = 60999
)

// redraw draws the flows of another start of the same job, with qps QPs for each flow of the set. RoCE: every adapter's QPNs count up from a
// new number, and the source port follows from both by the rule of the Linux kernel. Others: the port that the
// client was given is drawn anew; the other one is the service's.
func redraw(s *Set, rng *rand.Rand, qps int) *Set {
	out := *s
	out.Flows = make([]Flow, 0, len(s.Flows)*qps)
	next := map[netip.Addr]uint32{}
	qpn := func(a netip.Addr) uint32 {
		n, ok := next[a]
		if !ok {
			n = rng.Uint32()
		}
		n = (n + 1) & 0xffffff
		next[a] = n
		return n
	}
	for i := range s.Flows {
		for range qps {
			f := s.Flows[i]
			f.Bytes /= units.Bytes(qps)
			switch {
			case f.RoCE():
				local, remote := qpn(f.Src), qpn(f.Dst)
				f.QPN, f.SrcPort = remote, route.SourcePort(local, remote)
			case f.SrcPort >= ephemeralFirst:
				f.SrcPort = EphemeralPort(rng)
			case f.DstPort >= ephemeralFirst:
				f.DstPort = EphemeralPort(rng)
			}
			out.Flows = append(out.Flows, f)
		}
	}
	return &out
}

// EphemeralPort draws a port as Linux gives them to clients.
func EphemeralPort(rng *rand.Rand) uint16 {
	return uint16(ephemeralFirst + rng.IntN(ephemeralLast-ephemeralFirst+1))
}
