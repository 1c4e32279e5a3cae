package diagnose

import (
	"github.com/shunt-network/shunt/evidence"
)

// What causes of packet spraying ask for. A device sprays where something tells how: its path choice by packet, its buckets.

// needsSpraying is what they want to know first.
const needsSpraying = "how switches or NICs spray packets (SONiC: the ARS_PROFILE and ARS_NEXTHOP_GROUP tables of config_db.json)"

// notSprayed is the verdict where nothing tells of spraying: a simulated fabric that does not spray has none of its faults; of a
// real one it is not known.
func (v *View) notSprayed() Verdict {
	if v.Inv.Simulated {
		return notApplicable("the simulated fabric deals no packets into buckets")
	}
	return cannotCheck(needsSpraying)
}

// sprayingSwitches lists the switches of which it is known how they spray.
func (v *View) sprayingSwitches() (all []*evidence.Switch) {
	for _, s := range v.Inv.Switches {
		if s.Spray != nil {
			all = append(all, s)
		}
	}
	return all
}

// sprayedGroup is the equal-cost ports of a switch that it sprays over, with what the switch says of each.
type sprayedGroup struct {
	sw *evidence.Switch
	group
	paths []*evidence.SprayPath // of each port, nil where the switch says nothing of it
}

// share is the part of the buckets that a port of the group holds; ok is false where a port's are not known.
func (g sprayedGroup) share(i int) (share float64, ok bool) {
	var sum, own int
	for j, p := range g.paths {
		if p == nil {
			return 0, false
		}
		n, known := p.Buckets.Get()
		if !known {
			return 0, false
		}
		sum += n
		if j == i {
			own = n
		}
	}
	if sum == 0 {
		return 0, false
	}
	return float64(own) / float64(sum), true
}

// sprayedGroups lists the uplinks of the switches that spray: what leads down to one switch is spread by other switches.
func (v *View) sprayedGroups() (all []sprayedGroup) {
	for _, g := range v.equalCost() {
		sw := g.ports[0].sw
		if sw.Spray == nil || !sameSwitch(g.ports) {
			continue
		}
		s := sprayedGroup{sw: sw, group: g, paths: make([]*evidence.SprayPath, len(g.ports))}
		for i, p := range g.ports {
			s.paths[i] = sw.Spray.Path(p.Name)
		}
		all = append(all, s)
	}
	return all
}

func sameSwitch(ports []port) bool {
	for _, p := range ports {
		if p.sw != ports[0].sw {
			return false
		}
	}
	return true
}

// nicPair is what the queue pairs between two hosts met, over all their NICs.
type nicPair struct {
	a, b     string // hosts, as the first count names them
	from     evidence.Source
	sent     int64
	timeouts int64
	broken   int
	devices  [][2]string // pairs of NICs, "host/mlx5_0", that had timeouts
	healthy  [][2]string // and that had none, though they sent
}

func (p nicPair) failed() bool { return p.timeouts > 0 || p.broken > 0 }

// pairCounts adds up the counts of queue pairs by their two hosts, whichever of them sent, in order of appearance. Pairs whose
// timeouts are not known, or that sent nothing, say nothing.
func (v *View) pairCounts() (all []*nicPair) {
	index := map[[2]string]*nicPair{}
	for _, c := range v.Inv.Pairs {
		timeouts, ok := c.Timeouts.Get()
		sent, sends := c.Sent.Get()
		if !ok || sends && sent == 0 || c.Host == c.PeerHost {
			continue
		}
		key := [2]string{c.Host, c.PeerHost}
		if key[0] > key[1] {
			key[0], key[1] = key[1], key[0]
		}
		p := index[key]
		if p == nil {
			p = &nicPair{a: c.Host, b: c.PeerHost, from: c.From}
			index[key] = p
			all = append(all, p)
		}
		p.sent += sent
		p.timeouts += timeouts
		p.broken += c.Broken.Or(0)
		ends := [2]string{c.Host + "/" + c.Device, c.PeerHost + "/" + c.PeerDevice}
		if timeouts > 0 || c.Broken.Or(0) > 0 {
			p.devices = append(p.devices, ends)
		} else {
			p.healthy = append(p.healthy, ends)
		}
	}
	return all
}

// nicOf finds a NIC by the name its series go by, nil where there is none.
func (v *View) nicOf(object string) *nic {
	for _, n := range v.nics() {
		if n.object == object {
			return &n
		}
	}
	return nil
}
