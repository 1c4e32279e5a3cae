package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// port is a switch port together with the name its series go by.
type port struct {
	evidence.SwitchPort
	sw     *evidence.Switch
	object string
}

// rate is the speed the port runs at, else the one it is built for.
func (p port) rate() (units.Rate, bool) {
	if r, ok := p.Rate.Get(); ok {
		return r, true
	}
	return p.Nominal.Get()
}

// toHost tells whether a NIC hangs off the port.
func (v *View) toHost(p port) bool { return p.Peer != "" && !p.Uplink && !v.isSwitch(p.Peer) }

func (v *View) isSwitch(object string) bool {
	known := once(v, func(f *facts) **map[string]bool { return &f.switches }, func() map[string]bool {
		names := map[string]bool{}
		for _, s := range v.Inv.Switches {
			names[s.Name] = true
		}
		return names
	})
	name, _, _ := strings.Cut(object, "/")
	return known[name]
}

// ports lists every switch port that is known.
func (v *View) ports() []port {
	return once(v, func(f *facts) **[]port { return &f.ports }, func() []port {
		var all []port
		for _, s := range v.Inv.Switches {
			for _, p := range s.Ports {
				all = append(all, port{p, s, s.Object(p)})
			}
		}
		return all
	})
}

// nics lists every NIC port with its host.
func (v *View) nics() []nic {
	return once(v, func(f *facts) **[]nic { return &f.nics }, func() []nic {
		var all []nic
		for _, h := range v.Inv.Hosts {
			for _, n := range h.NICs {
				all = append(all, nic{n, h, h.Object(n)})
			}
		}
		return all
	})
}

type nic struct {
	*evidence.NIC
	host   *evidence.Host
	object string
}

// group is a set of equal-cost ports: packets that may take one may take any.
type group struct {
	name  string // "the 4 uplinks of leaf1", "the 4 spine ports toward leaf2"
	ports []port
}

// equalCost lists the groups of equal-cost ports: the uplinks of a switch, and the ports of the tier above that
// lead down to the same switch, over which the hash of the sending leaves spreads what comes back down.
func (v *View) equalCost() []group {
	return once(v, func(f *facts) **[]group { return &f.groups }, func() []group {
		var groups []group
		for _, s := range v.Inv.Switches {
			g := group{}
			guess := v.guessUplinks(s)
			for _, p := range s.Ports {
				if p.State.Is(func(state string) bool { return state != "up" }) {
					continue
				}
				if p.Uplink || guess && v.isSwitch(p.Peer) {
					g.ports = append(g.ports, port{p, s, s.Object(p)})
				}
			}
			if len(g.ports) > 1 {
				g.name = fmt.Sprintf("the %d uplinks of %s", len(g.ports), s.Name)
				groups = append(groups, g)
			}
		}
		down := map[string][]port{} // by the switch below
		for _, p := range v.ports() {
			if peer, _, ok := strings.Cut(p.Peer, "/"); ok && !p.Uplink {
				down[peer] = append(down[peer], p)
			}
		}
		for _, below := range v.Inv.Switches {
			if ports := down[below.Name]; len(ports) > 1 {
				groups = append(groups, group{fmt.Sprintf("the %d ports that lead down to %s", len(ports), below.Name), ports})
			}
		}
		return groups
	})
}

// guessUplinks tells whether the ports of a switch that lead to other switches are its uplinks, though nothing calls them
// so: on a switch that has hosts, and no port that is called one.
func (v *View) guessUplinks(s *evidence.Switch) bool {
	hosts := false
	for _, p := range s.Ports {
		if p.Uplink {
			return false
		}
		hosts = hosts || p.Peer != "" && v.host(hostOf(p.Peer)) != nil
	}
	return hosts
}

// rocePriority is the traffic class RDMA travels in: the setting "roce.priority" where it is known, else the
// priority that carried most of the bytes.
func (v *View) rocePriority() int8 {
	return once(v, func(f *facts) **int8 { return &f.priority }, func() int8 {
		if s, ok := v.Inv.Setting("roce.priority"); ok {
			if p, err := strconv.Atoi(s.Value); err == nil && p >= 0 && p <= 7 {
				return int8(p)
			}
		}
		var bytes [8]float64
		for _, id := range []telemetry.SeriesID{telemetry.SwitchTxBytes, telemetry.NICTxBytes} {
			for _, k := range v.keys(id) {
				if d, ok := v.Win.Delta(k); ok && k.Priority >= 0 {
					bytes[k.Priority] += d
				}
			}
		}
		if bytes == [8]float64{} { // counters of pause alone: what is paused is what is meant
			for _, id := range []telemetry.SeriesID{telemetry.NICTxPause, telemetry.NICRxPause, telemetry.SwitchPFCRx, telemetry.SwitchPFCTx} {
				for _, k := range v.keys(id) {
					if d, ok := v.Win.Delta(k); ok && k.Priority >= 0 {
						bytes[k.Priority] += d
					}
				}
			}
		}
		best := 0
		for p := range bytes {
			if bytes[p] > bytes[best] {
				best = p
			}
		}
		return int8(best)
	})
}

// delta is the growth of a counter in a priority; ok is false where it cannot be told.
func (v *View) delta(id telemetry.SeriesID, object string, priority int8) (float64, bool) {
	return v.Win.Delta(key(id, object, priority))
}

// total is the growth of a counter over all priorities; ok is false where no priority can be told.
func (v *View) total(id telemetry.SeriesID, object string) (sum float64, ok bool) {
	if !telemetry.Catalogue[id].PerPriority {
		return v.delta(id, object, telemetry.AnyPriority)
	}
	for p := range int8(8) {
		if d, known := v.delta(id, object, p); known {
			sum, ok = sum+d, true
		}
	}
	return sum, ok
}

func key(id telemetry.SeriesID, object string, priority int8) telemetry.Key {
	if !telemetry.Catalogue[id].PerPriority {
		priority = telemetry.AnyPriority
	}
	return telemetry.Key{Series: id, Object: object, Priority: priority}
}

// onset is when a counter first grew, as evidence carries it: nil where it did not or cannot be told.
func (v *View) onset(id telemetry.SeriesID, object string, priority int8) *units.Instant {
	if at, ok := v.Win.Onset(key(id, object, priority), 1e-9); ok {
		return &at
	}
	return nil
}

// from is where a series was read: the file and line of its first sample, or the name of the series where a run or a
// server holds it.
func (v *View) from(id telemetry.SeriesID, object string, priority int8) string {
	if p, ok := v.Win.Points(key(id, object, priority)); ok && !v.Inv.Simulated && p.Origin != "" {
		return p.Origin
	}
	return id.String()
}

// queueTime is the queue, in time at line rate, from which a port counts as congested when nothing was marked: an
// order above what two packets that meet make (4 KiB at 400 Gbit/s last 83 ns) and about half the base round trip.
const queueTime = 5 * units.Microsecond

// congestion tells whether a queue built at a port, and how that shows.
func (v *View) congestion(p port, priority int8) (congested, known bool, how string) {
	marked, marksKnown := v.delta(telemetry.SwitchECNMarked, p.object, priority)
	level, peakKnown := v.Win.Level(key(telemetry.SwitchQueuePeak, p.object, priority))
	rate, rateKnown := p.rate()
	switch {
	case marksKnown && marked > 0 && peakKnown:
		return true, true, fmt.Sprintf("up to %s, %.0f marks", amount(level.Max), marked)
	case marksKnown && marked > 0:
		return true, true, fmt.Sprintf("%.0f marks", marked)
	case peakKnown && rateKnown:
		return level.Max >= rate.BytesPerSecond()*queueTime.Seconds(), true, fmt.Sprintf("up to %s", amount(level.Max))
	}
	return false, marksKnown || peakKnown, ""
}

// busy is the share of its rate a port ran at while it was active: over the samples between which it carried at
// least a twentieth of what it could. ok is false where that cannot be told.
func (v *View) busy(id telemetry.SeriesID, object string, priority int8, rate units.Rate) (share float64, active units.Duration, ok bool) {
	p, found := v.Win.Points(key(id, object, priority))
	if !found || p.Untimed || len(p.Samples) < 2 || rate <= 0 {
		return 0, 0, false
	}
	var bytes float64
	for i := 1; i < len(p.Samples); i++ {
		a, b := p.Samples[i-1], p.Samples[i]
		d := b.At.Sub(a.At)
		if d <= 0 || b.Count < a.Count {
			continue
		}
		grew := float64(b.Count-a.Count) * p.Scale
		if grew >= 0.05*rate.BytesPerSecond()*d.Seconds() {
			bytes += grew
			active += d
		}
	}
	if active == 0 {
		return 0, 0, true
	}
	return bytes / (rate.BytesPerSecond() * active.Seconds()), active, true
}

// pausedShare is the part of its observed time a counter of paused seconds grew by.
func (v *View) pausedShare(id telemetry.SeriesID, object string, priority int8) (float64, bool) {
	k := key(id, object, priority)
	d, ok := v.Win.Delta(k)
	elapsed, timed := v.Win.Elapsed(k)
	if !ok || !timed {
		return 0, false
	}
	return d / elapsed.Seconds(), true
}
