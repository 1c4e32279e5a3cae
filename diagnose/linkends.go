package diagnose

import (
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// linkEnd is a port of a host as its physical layer shows it: what ethtool says of the interface and mlxlink of the
// device behind it.
type linkEnd struct {
	host   *evidence.Host
	name   string // interface, or device where no interface is known
	object string // the name series of the port go by
	speed  evidence.Value[units.Rate]
	lanes  evidence.Value[int]
	fec    evidence.FEC
	module *evidence.Module
	signal *evidence.Signal
	up     answer
}

func (l linkEnd) String() string { return object(l.host.Name, l.name) }

// linkEnds lists the ports of all hosts.
func (v *View) linkEnds() []linkEnd {
	return once(v, func(f *facts) **[]linkEnd { return &f.linkEnds }, func() []linkEnd {
		var all []linkEnd
		for _, h := range v.Inv.Hosts {
			byDev := map[string]*evidence.NIC{}
			for _, n := range h.NICs {
				if dev, ok := n.Netdev.Get(); ok {
					byDev[dev] = n
				}
			}
			seen := map[*evidence.NIC]bool{}
			for _, d := range h.Netdevs {
				l := linkEnd{host: h, name: d.Name, object: h.Name + "/" + d.Name, speed: d.Speed, lanes: d.Lanes, fec: d.FEC, module: d.Module}
				l.up = upOf(d.Link, d.State)
				n := byDev[d.Name]
				if n == nil && d.Device != "" {
					for _, m := range h.NICs {
						if m.Device == d.Device && m.Port == 1 {
							n = m
						}
					}
				}
				if n != nil {
					seen[n] = true
					l.of(h, n)
				}
				all = append(all, l)
			}
			for _, n := range h.NICs {
				if !seen[n] {
					l := linkEnd{host: h, name: n.Device}
					l.of(h, n)
					all = append(all, l)
				}
			}
		}
		return all
	})
}

// of adds what is known of the RDMA device.
func (l *linkEnd) of(h *evidence.Host, n *evidence.NIC) {
	l.object = h.Object(n)
	if !l.speed.Known() {
		l.speed = n.Rate
	}
	if !l.lanes.Known() {
		l.lanes = n.Lanes
	}
	if !l.fec.Active.Known() && n.FEC.Active.Known() {
		l.fec = n.FEC
	}
	if l.module == nil {
		l.module = n.Module
	}
	l.signal = n.Signal
	if l.up == unknown {
		if s, ok := n.State.Get(); ok {
			l.up = no
			if strings.Contains(strings.ToUpper(s), "ACTIVE") {
				l.up = yes
			}
		}
	}
}

func upOf(link evidence.Value[bool], state evidence.Value[string]) answer {
	if b, ok := link.Get(); ok {
		if b {
			return yes
		}
		return no
	}
	if s, ok := state.Get(); ok && s != "UNKNOWN" {
		if s == "UP" {
			return yes
		}
		return no
	}
	return unknown
}

// perLane is the rate of one lane; ok is false where it is not known. 200 Gbit/s and more run over lanes of 50 Gbit/s
// or faster on every port sold for RDMA (IEEE 802.3bs, 802.3ck): at most four or eight lanes.
func (l linkEnd) perLane() (units.Rate, bool) {
	speed, ok := l.speed.Get()
	if !ok || speed <= 0 {
		return 0, false
	}
	if lanes, ok := l.lanes.Get(); ok && lanes > 0 {
		return speed / units.Rate(lanes), true
	}
	if speed >= 200*units.Gbps {
		return 50 * units.Gbps, true
	}
	return 0, false
}

// otherEnd finds the switch port at the other end of the cable, by the switch's or by the host's word.
func (v *View) otherEnd(l linkEnd) (port, bool) {
	ends := once(v, func(f *facts) **map[string]port { return &f.otherEnds }, func() map[string]port {
		of := map[string]port{}
		for _, p := range v.ports() {
			if p.Peer != "" {
				of[p.Peer] = p
			}
			of["="+p.object] = p
		}
		return of
	})
	for _, name := range []string{l.object, l.host.Name + "/" + l.name} {
		if p, ok := ends[name]; ok {
			return p, true
		}
	}
	for _, n := range l.host.NICs {
		if n.Switch != "" && l.host.Object(n) == l.object {
			if p, ok := ends["="+n.Switch]; ok {
				return p, true
			}
		}
	}
	for _, d := range l.host.Netdevs {
		if d.Name == l.name {
			if far, ok := d.Neighbor.Get(); ok {
				p, found := ends["="+far]
				return p, found
			}
		}
	}
	return port{}, false
}
