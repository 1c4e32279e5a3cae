package diagnose

import (
	"slices"

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

// sprays tells whether it is known of a switch that it deals the packets of one queue pair over several paths. One that hashes nothing that
// changes from packet to packet does not: it pins each queue pair to a path, by weights, whatever it is called.
func sprays(s *evidence.Switch) bool { return s.Spray != nil && s.Spray.Key.Or("") != "flow" }

// anySprays tells whether any switch does.
func (v *View) anySprays() bool { return slices.ContainsFunc(v.Inv.Switches, sprays) }

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
		if !sprays(sw) || !sameSwitch(g.ports) {
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

// nicPair is what the queue pairs between two NICs met, in both directions.
type nicPair struct {
	ends     [2]string // "host/mlx5_0"
	hosts    [2]string
	from     evidence.Source
	sent     int64 // packets
	timeouts int64
	again    int64 // NAKs for a sequence error: something was missing
	broken   int
}

// dead tells whether packets of the pair were never answered.
func (p nicPair) dead() bool { return p.timeouts > 0 || p.broken > 0 }

// againShare is the share of a pair's packets that are asked for again from which it counts as one that loses packets. It is ours: at 1 % of loss
// go-back-N is all but at a halt, while packets that overtake each other cost a pair that orders them by a context id a few in a thousand.
const againShare = 0.01

// losing tells whether a pair loses packets: they time out, or a notable share is asked for again.
func (p nicPair) losing() bool {
	return p.dead() || p.sent > 0 && float64(p.again) >= againShare*float64(p.sent)
}

// pairCounts adds up the counts of queue pairs by their two NICs, whichever of them sent, in order of appearance. Pairs whose
// timeouts are not known, or that sent nothing, say nothing.
func (v *View) pairCounts() (all []*nicPair) {
	index := map[[2]string]*nicPair{}
	for _, c := range v.Inv.Pairs {
		timeouts, ok := c.Timeouts.Get()
		sent, sends := c.Sent.Get()
		if !ok || sends && sent == 0 || c.Host == c.PeerHost {
			continue
		}
		key := [2]string{c.Host + "/" + c.Device, c.PeerHost + "/" + c.PeerDevice}
		if key[0] > key[1] {
			key[0], key[1] = key[1], key[0]
		}
		p := index[key]
		if p == nil {
			p = &nicPair{ends: key, hosts: [2]string{hostOf(key[0]), hostOf(key[1])}, from: c.From}
			index[key] = p
			all = append(all, p)
		}
		p.sent += sent
		p.timeouts += timeouts
		p.again += c.SeqErrors.Or(0)
		p.broken += c.Broken.Or(0)
	}
	return all
}
