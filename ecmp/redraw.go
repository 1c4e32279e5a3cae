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

// drawer draws the flows of another start of the same job. RoCE: every adapter's QPNs count up from a new number, and the source port follows from
// both by the rule of the Linux kernel, or is one of the few that the adapters of the input use. Others: the port that the client was
// given is drawn anew; the other one is the service's.
type drawer struct {
	of   *Set
	few  []uint16    // source ports of adapters that use few
	ends [][2]uint32 // by flow: numbers of its addresses
	qpn  []uint32    // by address: the last QPN handed out
	sets map[int]*Set
}

func newDrawer(s *Set) *drawer {
	d := &drawer{of: s, few: s.fewPorts(), ends: make([][2]uint32, len(s.Flows)), sets: map[int]*Set{}}
	numbers := map[netip.Addr]uint32{}
	number := func(a netip.Addr) uint32 {
		n, ok := numbers[a]
		if !ok {
			n = uint32(len(numbers))
			numbers[a] = n
		}
		return n
	}
	for i := range s.Flows {
		d.ends[i] = [2]uint32{number(s.Flows[i].Src), number(s.Flows[i].Dst)}
	}
	d.qpn = make([]uint32, len(numbers))
	return d
}

// draw draws flows, with qps QPs for each flow of the set. The set holds until the next draw with as many.
func (d *drawer) draw(rng *rand.Rand, qps int) *Set {
	out := d.sets[qps]
	if out == nil {
		out = new(Set)
		*out = *d.of
		out.Flows = make([]Flow, 0, len(d.of.Flows)*qps)
		d.sets[qps] = out
	}
	out.Flows = out.Flows[:0]
	for i := range d.qpn {
		d.qpn[i] = rng.Uint32()
	}
	next := func(end uint32) uint32 {
		d.qpn[end] = (d.qpn[end] + 1) & 0xffffff
		return d.qpn[end]
	}
	for i := range d.of.Flows {
		for range qps {
			f := d.of.Flows[i]
			f.Bytes /= units.Bytes(qps)
			switch {
			case f.RoCE():
				local, remote := next(d.ends[i][0]), next(d.ends[i][1])
				f.QPN, f.SrcPort = remote, route.SourcePort(local, remote)
				if len(d.few) > 0 {
					f.SrcPort = d.few[rng.IntN(len(d.few))]
				}
			case f.SrcPort >= ephemeralFirst:
				f.SrcPort = EphemeralPort(rng)
			case f.DstPort >= ephemeralFirst:
				f.DstPort = EphemeralPort(rng)
			}
			out.Flows = append(out.Flows, f)
		}
	}
	return out
}

// EphemeralPort draws a port as Linux gives them to clients.
func EphemeralPort(rng *rand.Rand) uint16 {
	return uint16(ephemeralFirst + rng.IntN(ephemeralLast-ephemeralFirst+1))
}

// fewPorts are the source ports of the input's RoCE flows where these do not follow from QPNs: adapters that take one port, or a handful, for all
// QPs (as captures show). Ports that follow from QPNs are any of 16 384: there are few where a quarter of what chance would make is not reached. Nil
// where that is not so, or not known.
func (s *Set) fewPorts() []uint16 {
	const (
		least = 8     // flows: fewer tell nothing
		space = 16384 // 0xc000 to 0xffff
	)
	if s.Known&SrcPort == 0 {
		return nil
	}
	n, seen := 0, map[uint16]bool{}
	var ports []uint16
	for i := range s.Flows {
		if !s.Flows[i].RoCE() {
			continue
		}
		n++
		if p := s.Flows[i].SrcPort; !seen[p] {
			seen[p] = true
			ports = append(ports, p)
		}
	}
	idle, _ := expectedEmpty(n, space)
	if n < least || float64(len(ports)) > (space-idle)/4 {
		return nil
	}
	return ports
}
