package ecmp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/fabric"
)

// Network is the fabric under the flows of a scenario.
type Network struct {
	Fabric *fabric.Fabric
	Salt   []uint32 // by node: the salt of the simulator's own hash
}

// maxHops ends a walk that does not come to an end: routes are shortest paths, and these are long ones.
const maxHops = 64

// deal walks all flows over the fabric, at every switch over the port that its hash chooses. Switches with a single way are passed; the tier of a
// choice is how many were made before it. The groups come with the largest excess first.
func (n *Network) deal(s *Set, units []*Unit, d *dealer) []*Group {
	f := n.Fabric
	index := make([]*Group, len(f.Sets())) // a set's ports are those of one switch
	var groups []*Group
	for i := range s.Flows {
		x := &s.Flows[i]
		sums := [maxTiers]uint32{}
		for t := range min(len(units), maxTiers) {
			sums[t] = units[t].Sum(x)
		}
		w, tier := s.weight(i), 0
		p := f.Endpoints[x.From]
		for range maxHops {
			at := f.Ports[p].Peer
			if f.Ports[at].Endpoint >= 0 {
				break
			}
			sw := f.Ports[at].Node
			ports := f.NextHops(sw, x.To)
			if len(ports) == 0 {
				break // no way; the simulator loses such packets, and counts them
			}
			if p = ports[0]; len(ports) == 1 {
				continue
			}
			t := min(tier, len(units)-1, maxTiers-1)
			k := d.path(units[t], sums[t], n.Salt[sw], len(ports))
			p = ports[k]
			set := f.NextHopSet(sw, x.To)
			g := index[set]
			if g == nil {
				g = n.group(sw, tier, ports)
				index[set] = g
				groups = append(groups, g)
			}
			g.add(k, w)
			tier++
		}
	}
	for _, g := range groups {
		g.finish()
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return cmp.Or(cmp.Compare(b.Excess(), a.Excess()), cmp.Compare(a.Name, b.Name)) })
	return groups
}

// group names the links of an equal-cost set as a diagnosis does: "leaf2/Ethernet32 -> spine0/Ethernet16".
func (n *Network) group(sw fabric.NodeID, tier int, ports []fabric.PortID) *Group {
	links := make([]string, len(ports))
	for i, p := range ports {
		links[i] = n.Fabric.PortName(p) + " -> " + n.Fabric.PortName(n.Fabric.Ports[p].Peer)
	}
	return newGroup(fmt.Sprintf("%d %s of %s", len(ports), n.kind(ports), n.Fabric.Nodes[sw].Name), tier, links)
}

func (n *Network) kind(ports []fabric.PortID) string {
	if n.Fabric.Ports[ports[0]].Uplink {
		return "uplinks"
	}
	return "links"
}
