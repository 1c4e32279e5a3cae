package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// P008: an RDMA port that the job needs is not up.
//
// Symptom: NCCL finds no device and takes sockets, or one host lists a device less than the others. Mechanism: NCCL leaves out
// a port whose state is not ACTIVE (src/transport/net_ib.cc, ncclIbInitDevices) and says nothing. On InfiniBand a port that
// sees its neighbour (LinkUp) stays in INIT, and a virtual function DOWN, until a subnet manager gives it an address and
// activates it (IBA 1.4 section 14.4). Evidence for: the state, and that the job asked for the port or other hosts use it.
// Against: ports without a cable, which most hosts have. Look-alikes: P003 (went down while it was in use), H005 (up, but out
// of the container's reach).
var causePortNotUp = Cause{
	Code:     "P008",
	Title:    "an RDMA port that the job needs is not up",
	Needs:    "ibstat or ibstatus of the hosts",
	Explains: []string{"H005", "C002", "C004", "R004"},
	Check:    checkPortNotUp,
}

// unmanaged tells whether an InfiniBand port has a link, but no subnet manager that activated it.
func unmanaged(n *evidence.NIC) bool {
	if layer, _ := n.LinkLayer.Get(); layer != "InfiniBand" {
		return false
	}
	state := strings.ToUpper(n.State.Or(""))
	physical := strings.ReplaceAll(strings.ToUpper(n.Physical.Or("")), "_", "")
	return strings.Contains(state, "INIT") || strings.Contains(state, "DOWN") && strings.HasPrefix(physical, "LINKUP")
}

func isActive(n *evidence.NIC) bool {
	return strings.Contains(strings.ToUpper(n.State.Or("")), "ACTIVE")
}

func checkPortNotUp(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("ports of a simulated run are up unless a fault says so")
	}
	read := 0
	var findings []Finding
	for _, h := range v.Inv.Hosts {
		var down, unnamed []*evidence.NIC
		active := 0
		for _, n := range h.NICs {
			state, known := n.State.Get()
			switch {
			case !known || state == "":
				unnamed = append(unnamed, n)
			case isActive(n):
				active++
			default:
				down = append(down, n)
			}
		}
		read += active + len(down)
		for _, n := range down {
			why, row, ok := v.needed(h, n, active+len(unnamed) == 0)
			if !ok {
				continue
			}
			findings = append(findings, v.portNotUp(h, n, why, row))
			if why == "" {
				break // every port of the host is down: once is enough
			}
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut("the ports that the job uses are active")
	}
	return cannotCheck("the states of the ports (ibstat)")
}

// needed tells why a port that is not active matters to the job, with the row that says so. No reason ("") is given where the
// host has no active port at all.
func (v *View) needed(h *evidence.Host, n *evidence.NIC, none bool) (why string, row *Evidence, ok bool) {
	if e, set := v.variable("NCCL_IB_HCA", h.Name); set && namesDevice(e.Value, n.Device) {
		return "NCCL_IB_HCA names it", &Evidence{Layer: "collective", What: "NCCL_IB_HCA", Seen: e.Value, From: e.From.String()}, true
	}
	own := false
	var other *hostDevices
	for _, l := range v.deviceLists() {
		has := slices.ContainsFunc(l.devices, func(d string) bool { return strings.HasPrefix(d, n.Device+"/") })
		switch {
		case l.host == h.Name:
			own = has
		case has && other == nil:
			other = &l
		}
	}
	if other != nil && !own {
		return other.host + " uses its port of that name", &Evidence{Layer: "collective", What: "RDMA devices of " + other.host, Seen: listed(other.devices), From: other.from.String()}, true
	}
	if none && !v.rdmaOff() {
		return "", nil, true
	}
	return "", nil, false
}

// namesDevice tells whether a list of NCCL_IB_HCA names one device by its whole name.
func namesDevice(list, device string) bool {
	if strings.HasPrefix(list, "^") {
		return false
	}
	for item := range strings.SplitSeq(strings.TrimPrefix(list, "="), ",") {
		if name, _, _ := strings.Cut(item, ":"); name == device {
			return true
		}
	}
	return false
}

func (v *View) portNotUp(h *evidence.Host, n *evidence.NIC, why string, more *Evidence) Finding {
	where := object(h.Name, n.Device)
	seen := n.State.Or("")
	if p, ok := n.Physical.Get(); ok {
		seen += ", " + p
	}
	f := Finding{
		Severity: Warning, Confidence: likely, Where: []string{where},
		Evidence: []Evidence{{Layer: "physical", What: "state of " + where, Seen: seen, Expected: "ACTIVE, LinkUp", Role: "cause", From: n.State.From.String()}},
		Settle:   "ibstat " + n.Device + " again",
	}
	switch physical := strings.ToUpper(n.Physical.Or("")); {
	case unmanaged(n):
		f.Title = fmt.Sprintf("%s has a link, but no subnet manager has activated it (%s)", where, seen)
		f.Because = "an InfiniBand port carries data only after the subnet manager of its fabric has given it a LID and set it active; libraries leave it out until then, without a word"
		f.Fix = Fix{
			Text:     "see that a subnet manager runs on this fabric (opensm, UFM, or on the switch); a virtual function also needs virtualisation in the subnet manager, and a GUID and link state of its own",
			Commands: []string{"sminfo -C " + n.Device, "systemctl status opensm", "grep virt_enabled /etc/opensm/opensm.conf   # 2 where ports are virtual functions", "ip link set PF vf N state auto"},
		}
		f.Not = []string{"the cable: the two ends see each other (LinkUp)"}
		f.WrongIf = "the port leads to NVLink switches, or to a fabric that is not the job's"
	case strings.Contains(physical, "DISABLED"):
		f.Title = fmt.Sprintf("%s is switched off (%s)", where, seen)
		f.Because = "the port was set down by hand, by its interface or by the other end's policy, so NCCL leaves it out without a word"
		f.Fix = Fix{Text: "set its interface up, or enable the port", Commands: []string{"ip link set IFACE up", "mlxlink -d " + n.Device + " --port_state UP", "ibportstate -D 0 1 enable"}}
		f.WrongIf = "the port is meant to be off"
	default:
		f.Title = fmt.Sprintf("%s has no link (%s)", where, seen)
		f.Because = "nothing is heard from the other end: no cable, a module or cable the two ends do not agree on, or a switch port that is off; NCCL leaves the port out without a word"
		f.Fix = Fix{Text: "look at the cable and module at both ends, at the speed and FEC that each is set to, and at the switch port's state", Commands: []string{"mlxlink -d " + n.Device + " -m", "ethtool -m IFACE", "show interfaces status   # on the switch"}}
		f.WrongIf = "the port is not meant to be connected"
	}
	if layer, _ := n.LinkLayer.Get(); why == "" && layer != "InfiniBand" && !v.Inv.NCCL.HasLog && len(v.Inv.Perftests) == 0 {
		f.Severity, f.Confidence = Note, possible // nothing says that the host takes part in anything
	}
	if why != "" {
		f.Title += ", and " + why
		f.Confidence = named
		if more != nil {
			f.Evidence = append(f.Evidence, *more)
		}
	}
	effects := without(v.said(evidence.NoDevice), func(e evidence.Event) bool { return h.Name != "" && e.Host != "" && e.Host != h.Name })
	effects = append(effects, v.rdmaErrors()...)
	if len(effects) > 0 {
		f.Severity = Critical
		f.Evidence = append(f.Evidence, tell(effects, "effect")...)
	}
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "Socket" && (h.Name == "" || c.Host == h.Name) {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "network of " + called(c.Host), Seen: "Socket", Expected: "IB", Role: "effect", From: c.From.String()})
			break
		}
	}
	return f
}
