package message

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Path is one of the shortest paths between two GPUs.
type Path struct {
	Ports []fabric.PortID // the egress ports crossed, that of the source first
	f     *fabric.Fabric
}

// PathOf finds a path over the first NIC ports. It is false where there is none, and between GPUs that do not use
// the network.
func PathOf(f *fabric.Fabric, src, dst fabric.GPUID) (Path, bool) {
	a, b := &f.GPUs[src], &f.GPUs[dst]
	if src == dst || f.NVLink.Rate > 0 && a.Host == b.Host || len(a.NICs) == 0 || len(b.NICs) == 0 {
		return Path{}, false
	}
	paths, _ := f.Paths(a.NICs[0], b.NICs[0], 1)
	if len(paths) == 0 {
		return Path{}, false
	}
	return Path{paths[0], f}, true
}

// Delay is the propagation there.
func (p Path) Delay() (sum units.Duration) {
	for _, port := range p.Ports {
		sum += p.f.Ports[port].Delay
	}
	return sum
}

// DelayBack is the propagation back.
func (p Path) DelayBack() (sum units.Duration) {
	for _, port := range p.Ports {
		sum += p.f.Ports[p.f.Ports[port].Peer].Delay
	}
	return sum
}

// Bottleneck is the lowest rate there.
func (p Path) Bottleneck() units.Rate {
	least := p.f.Ports[p.Ports[0]].Rate
	for _, port := range p.Ports[1:] {
		least = min(least, p.f.Ports[port].Rate)
	}
	return least
}

// Serialize is the time that a packet of b bytes takes to be sent at every hop there, one after the other.
func (p Path) Serialize(b units.Bytes) (sum units.Duration) {
	for _, port := range p.Ports {
		sum += units.Serialize(b, p.f.Ports[port].Rate)
	}
	return sum
}

// ackBytes is what an acknowledgement occupies of a link: the smallest Ethernet frame (IEEE 802.3).
const ackBytes = 64

// Ack is the time an acknowledgement takes back through idle switches of the given latency.
func (p Path) Ack(latency units.Duration) units.Duration {
	sum := p.DelayBack() + units.Duration(len(p.Ports)-1)*latency
	for _, port := range p.Ports {
		sum += units.Serialize(ackBytes, p.f.Ports[p.f.Ports[port].Peer].Rate)
	}
	return sum
}
