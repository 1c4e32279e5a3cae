package diagnose

import (
	"fmt"
	"strconv"

	"github.com/shunt-network/shunt/evidence"
)

// switchHops follows a packet through a switch port: its DSCP, or -1 where it is not known, and the priority the NIC has
// it in, or -1. The class of a packet is the priority of its pause frames.
func switchHops(p port, dscp, priority int) (hops []hop) {
	q, s := p.QoS, p.sw.QoS
	if q == nil || s == nil {
		return nil
	}
	pfc, pfcKnown := q.PFC.Get()
	class := -1
	if name, ok := q.DSCPToTC.Get(); ok && dscp >= 0 {
		m, there := s.DSCPToTC[name]
		h := hop{name: fmt.Sprintf("class of DSCP %d on %s", dscp, p.object), object: p.object, layer: "switch", from: q.From.String()}
		switch {
		case !there:
			h.seen, h.want = "the map "+name+" is not defined", "a map that exists"
			h.broken = fmt.Sprintf("%s names a DSCP map that does not exist (%s)", p.object, name)
			h.why = "without a map every packet goes to class 0"
			h.fix, h.cmd = "define the map, or name one that exists", "sonic-cfggen -d --var-json DSCP_TO_TC_MAP"
		case m[dscp] >= 0:
			class = int(m[dscp])
			h.seen = strconv.Itoa(class)
		default:
			class, h.seen = 0, "not in the map: 0"
		}
		if h.broken == "" && pfcKnown && len(pauses(pfc)) > 0 && !pfc[class] {
			h.want = "one of " + priorities(pauses(pfc))
			h.broken = fmt.Sprintf("%s puts DSCP %d into class %d, and pauses %s", p.object, dscp, class, priorities(pauses(pfc)))
			h.why = "the class RoCE ends up in is a lossy one: its packets are dropped when the buffer is full"
			h.fix = fmt.Sprintf("map DSCP %d to class %d on the switches", dscp, pauses(pfc)[0])
			h.cmd = fmt.Sprintf(`sonic-db-cli CONFIG_DB hset "DSCP_TO_TC_MAP|%s" %d %d`, name, dscp, pauses(pfc)[0])
		}
		hops = append(hops, h)
	} else if !ok && dscp > 0 && q.PFC.Known() {
		hops = append(hops, hop{
			name: "DSCP map of " + p.object, object: p.object, layer: "switch", seen: "none", want: "one", from: q.From.String(),
			broken: p.object + " has no DSCP map: it does not look at the DSCP", why: "without a map every packet goes to class 0, whatever its DSCP says",
			fix: "bind the DSCP map to the port", cmd: "sonic-cfggen -d --var-json PORT_QOS_MAP",
		})
	}
	if class < 0 {
		class = priority
	}
	if class < 0 {
		return hops
	}
	if class != priority && priority >= 0 && pfcKnown && pfc[class] {
		hops = append(hops, hop{
			name: "priority of pause frames, NIC against " + p.object, object: p.object, layer: "switch", seen: fmt.Sprintf("%d against %d", priority, class), want: "the same", from: q.From.String(),
			broken: fmt.Sprintf("the NIC has RoCE in priority %d and %s in %d", priority, p.object, class),
			why:    "a pause frame names the priority to stop; each side stops one that the other does not use",
			fix:    "use one priority for RoCE on NICs and switches",
		})
	}
	if pfcKnown {
		h := hop{name: "PFC of " + p.object, object: p.object, layer: "switch", seen: "on for " + priorities(pauses(pfc)), from: q.PFC.From.String()}
		if !pfc[class] && len(pauses(pfc)) == 0 && priority > 0 {
			h.want = fmt.Sprintf("on for %d", class)
			h.broken = fmt.Sprintf("PFC is off on %s, and the NIC counts on it for priority %d", p.object, priority)
			h.why = "the switch neither obeys the NIC's pause nor pauses whoever fills its buffer: it drops"
			h.fix, h.cmd = "switch PFC on for the class of RoCE on this port", fmt.Sprintf("sudo config interface pfc priority %s %d on", p.Name, class)
		}
		hops = append(hops, h)
	}
	hops = append(hops, queueHops(p, class, pfcKnown && pfc[class])...)
	return append(hops, notificationHop(p, class)...)
}

// cnpDSCP is the code point of congestion notifications (CNP) that mlx5 and others use by default: class selector 6.
const cnpDSCP = 48

// notificationHop shows which class notifications are in. One that waits behind the data it is to slow down comes late;
// that is worth knowing and breaks nothing.
func notificationHop(p port, class int) []hop {
	name, ok := p.QoS.DSCPToTC.Get()
	m, there := p.sw.QoS.DSCPToTC[name]
	if !ok || !there || !anyMarking(p.QoS) {
		return nil
	}
	h := hop{name: fmt.Sprintf("class of notifications (DSCP %d) on %s", cnpDSCP, p.object), object: p.object, layer: "switch", want: "one of its own, served first", from: p.QoS.From.String(), seen: "not in the map: 0"}
	if to := int(m[cnpDSCP]); to >= 0 {
		h.seen = strconv.Itoa(to)
		if to == class {
			h.seen += ", that of the data"
		}
	}
	return []hop{h}
}

// queueHops follows a packet of a class to its priority group, where headroom is, and to its queue, where marking is.
func queueHops(p port, class int, paused bool) (hops []hop) {
	q, s := p.QoS, p.sw.QoS
	group, queue := class, class // the identity is what SONiC's maps say by default
	if name, ok := q.TCToPG.Get(); ok {
		if m, there := s.TCToPG[name]; there {
			group = max(int(m[class]), 0)
		}
	}
	if name, ok := q.TCToQ.Get(); ok {
		if m, there := s.TCToQ[name]; there {
			queue = max(int(m[class]), 0)
		}
	}
	if name, ok := q.Groups[group].Get(); ok && paused {
		b, there := s.Buffers[name]
		h := hop{name: fmt.Sprintf("buffer of priority group %d on %s", group, p.object), object: p.object, layer: "switch", seen: name, from: q.Groups[group].From.String()}
		if room, known := b.XOff.Get(); known {
			h.seen += ", headroom " + room.String()
		} else if there {
			h.seen, h.want = name+", no headroom", "a profile with xoff"
			h.broken = fmt.Sprintf("priority group %d of %s has no headroom", group, p.object)
			h.why = "what arrives between the pause frame and the moment it works has no room and is dropped"
			h.fix, h.cmd = "give the priority group a lossless buffer profile for the cable's length", "show buffer configuration"
		}
		hops = append(hops, h)
	}
	marking := hop{name: fmt.Sprintf("marking of queue %d on %s", queue, p.object), object: p.object, layer: "switch", want: "a profile that marks", from: q.From.String()}
	name, ok := q.Marking[queue].Get()
	profile, there := s.Marking[name]
	marks, told := profile.Marks()
	low, lowKnown := profile.Min.Get()
	high, highKnown := profile.Max.Get()
	switch {
	case !ok && !anyMarking(q):
		return hops // nothing on the port is marked: a design without ECN, or a file without that table
	case !ok:
		marking.seen, marking.broken = "no profile", fmt.Sprintf("queue %d of %s, where RoCE ends up, has no marking profile", queue, p.object)
	case !there:
		marking.seen, marking.broken = name+", which is not defined", fmt.Sprintf("%s names a marking profile that does not exist (%s)", p.object, name)
	case told && !marks:
		marking.seen, marking.broken = name+": "+profile.ECN.Or(""), fmt.Sprintf("the profile of queue %d on %s drops early instead of marking", queue, p.object)
	case lowKnown && highKnown && (low <= 0 || high <= low):
		marking.seen, marking.broken = fmt.Sprintf("%s: from %v to %v", name, low, high), fmt.Sprintf("the thresholds of queue %d on %s are not in order", queue, p.object)
	default:
		marking.seen = name
		if lowKnown && highKnown {
			marking.seen += fmt.Sprintf(": from %v to %v", low, high)
		}
	}
	if marking.broken != "" {
		marking.why = "senders are told of a queue by marks; without them only pause, or loss, stops them"
		marking.fix, marking.cmd = "bind a profile with ECN for all colours to the queue of RoCE on every switch", "sudo config ecn -profile PROFILE -gmin MIN -gmax MAX; show ecn"
	}
	return append(hops, marking)
}

func anyMarking(q *evidence.PortQoS) bool {
	for _, m := range q.Marking {
		if m.Known() {
			return true
		}
	}
	return false
}
