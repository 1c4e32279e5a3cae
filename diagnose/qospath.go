package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// The way of a RoCE packet through the classes of a network, hop by hop: the traffic class the library asks for gives its
// DSCP; the NIC maps that to a priority, which it pauses or not and gives a buffer or not; the switch maps it to a class
// of its own, that to a group it pauses and a queue it marks.

// trafficClass is the type of service byte RoCE packets of a host carry; known is false where nothing tells.
type trafficClass struct {
	value int
	how   string
	from  string
}

// dscp is the upper six bits of the byte (RFC 2474); the lower two are ECN.
func (t trafficClass) dscp() int { return t.value >> 2 & 63 }

// trafficClassOf finds the traffic class of a host's connections: NCCL_IB_TC, else the device's default, else what its
// captured packets carry, else 0 where the log shows that the variable is unset (src/transport/net_ib.cc: 0 up to 2.25, later that of the communicator, else 0).
func (v *View) trafficClassOf(host string) (t trafficClass, known bool) {
	if e, ok := v.variable("NCCL_IB_TC", host); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(e.Value), 0, 16)
		if err == nil && n >= 0 && n <= 255 {
			return trafficClass{int(n), "NCCL_IB_TC", e.From.String()}, true
		}
		if err != nil && strings.TrimSpace(e.Value) != "" {
			return t, false
		}
	}
	if h := v.host(host); h != nil {
		for _, n := range h.NICs {
			if tc, ok := n.TrafficClass.Get(); ok && tc > 0 && tc <= 255 {
				return trafficClass{tc, "the device's default traffic class", n.TrafficClass.From.String()}, true
			}
		}
	}
	if t, known := v.capturedClass(host); known {
		return t, true
	}
	// A log that shows which network was chosen was written at level INFO, at which NCCL prints each variable it finds.
	if len(v.Inv.NCCL.Networks)+len(v.Inv.NCCL.Devices) == 0 {
		return t, false
	}
	var from evidence.Source
	if len(v.Inv.NCCL.Networks) > 0 {
		from = v.Inv.NCCL.Networks[0].From
	} else {
		from = v.Inv.NCCL.Devices[0].From
	}
	return trafficClass{0, "NCCL_IB_TC is unset, and its default is 0", from.String()}, true
}

// oneClass is the share of a host's captured packets that one code point has where it is the code point of the job: the
// connection manager's and other applications' are a few.
const oneClass = 0.9

// capturedClass is the class that the packets of a host's connections carry, of all hosts' where host is "".
func (v *View) capturedClass(host string) (t trafficClass, known bool) {
	packets := map[int]evidence.Tally{}
	all := 0
	for _, c := range v.Inv.Captures {
		for _, s := range c.Streams {
			if s.Requests == 0 || s.Transport == "UD" || host != "" && s.Src.String() != host {
				continue
			}
			for _, class := range s.Classes {
				n := packets[class.DSCP]
				if n.Count == 0 {
					n.At = class.At
				}
				n.Count += class.Count
				packets[class.DSCP] = n
				all += class.Count
			}
		}
	}
	for dscp, n := range packets {
		if float64(n.Count) >= oneClass*float64(all) {
			return trafficClass{dscp << 2, "as captured", n.At.String()}, true
		}
	}
	return t, false
}

// hop is one step of the way.
type hop struct {
	name   string // "trust of ens3np0 on node1"
	object string
	layer  string
	seen   string
	want   string
	broken string // what is wrong, in words that follow the subject; "" where nothing is
	why    string // the mechanism
	fix    string
	cmd    string
	from   string
}

func (h hop) row() Evidence {
	e := Evidence{Layer: h.layer, What: h.name, Seen: h.seen, Expected: h.want, From: h.from}
	if h.broken != "" {
		e.Role = "cause"
	}
	return e
}

// qosPort is an interface that carries RoCE and how it sorts.
type qosPort struct {
	host *evidence.Host
	dev  *evidence.Netdev
	qos  *evidence.QoS
}

func (p qosPort) String() string { return object(p.host.Name, p.dev.Name) }

// qosPorts lists the interfaces of RDMA devices of the job whose sorting was read; those of no RDMA device where none is
// known to be one.
func (v *View) qosPorts() []qosPort {
	var ports, others []qosPort
	job := v.jobDevices()
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if d.QoS == nil {
				continue
			}
			p := qosPort{h, d, d.QoS}
			rdma := d.Device != ""
			for _, n := range h.NICs {
				if n.Netdev.Is(func(s string) bool { return s == d.Name }) {
					rdma = job.has(h.Name, n)
					if !rdma {
						p.qos = nil
					}
				}
			}
			switch {
			case p.qos == nil: // a device that the job leaves out
			case rdma:
				ports = append(ports, p)
			default:
				others = append(others, p)
			}
		}
	}
	if len(ports) > 0 {
		return ports
	}
	return others
}

// pauses lists the priorities a setting pauses.
func pauses(pfc [evidence.Priorities]bool) (on []int) {
	for p, b := range pfc {
		if b {
			on = append(on, p)
		}
	}
	return on
}

func priorities(on []int) string {
	if len(on) == 0 {
		return "none"
	}
	words := make([]string, len(on))
	for i, p := range on {
		words[i] = strconv.Itoa(p)
	}
	return listed(words)
}

// nicHops follows a packet through a NIC. It returns the priority the packet ends up in, -1 where that is not known.
// lossless is the priority other inputs show as the paused one, -1 where none does.
func (v *View) nicHops(p qosPort, lossless int) (hops []hop, priority int) {
	priority = -1
	tc, told := v.trafficClassOf(p.host.Name)
	pfc, pfcKnown := p.qos.PFC.Get()
	on := pauses(pfc)
	if len(on) > 0 {
		lossless = on[0]
	}
	trust, trustKnown := p.qos.Trust.Get()
	if told {
		h := hop{name: "traffic class of RoCE on " + called(p.host.Name), object: called(p.host.Name), layer: "collective", seen: fmt.Sprintf("%d (DSCP %d)", tc.value, tc.dscp()), from: orElse(tc.from, p.qos.From.String())}
		if tc.dscp() == 0 && lossless > 0 {
			h.seen += ": " + tc.how
			h.want = fmt.Sprintf("a class whose DSCP is mapped to priority %d", lossless)
			h.broken = fmt.Sprintf("RoCE leaves with DSCP 0, while priority %d is the one that is paused", lossless)
			h.why = "packets with DSCP 0 are sorted into the default priority, where nothing is lossless and everything else travels too"
			h.fix = fmt.Sprintf("send RoCE with a DSCP of priority %d", lossless)
			h.cmd = fmt.Sprintf("export NCCL_IB_TC=%d   # DSCP %d", dscpFor(p.qos, lossless)<<2|2, dscpFor(p.qos, lossless))
		}
		hops = append(hops, h)
	}
	if trustKnown {
		h := hop{name: "trust of " + p.String(), object: p.String(), layer: "NIC", seen: trust, want: "dscp", from: p.qos.Trust.From.String()}
		if trust == "pcp" && told && tc.dscp() > 0 && lossless > 0 {
			h.broken = fmt.Sprintf("%s trusts the VLAN tag (pcp), not the DSCP %d that RoCE carries", p, tc.dscp())
			h.why = "packets without a VLAN tag, or with priority 0 in it, go to priority 0 whatever their DSCP says"
			h.fix, h.cmd = "let the NIC trust DSCP", "mlnx_qos -i IFACE --trust dscp"
		}
		hops = append(hops, h)
	}
	if told && (!trustKnown || trust == "dscp") {
		m, ok := p.qos.DSCP.Get()
		switch {
		case ok && m[tc.dscp()] >= 0:
			priority = int(m[tc.dscp()])
		default:
			priority = tc.dscp() >> 3 // the default map of mlx5 and of dcb: the upper three bits (class selector)
		}
		h := hop{name: fmt.Sprintf("priority of DSCP %d on %s", tc.dscp(), p), object: p.String(), layer: "NIC", seen: strconv.Itoa(priority), from: orElse(p.qos.DSCP.From.String(), p.qos.From.String())}
		if lossless >= 0 && pfcKnown && len(on) > 0 && !pfc[priority] && tc.dscp() != 0 {
			h.want = "one of " + priorities(on)
			h.broken = fmt.Sprintf("%s puts DSCP %d into priority %d, and PFC is on for %s", p, tc.dscp(), priority, priorities(on))
			h.why = "the priority RoCE ends up in is not the one that is paused, so its packets are dropped when a buffer is full"
			h.fix = fmt.Sprintf("map DSCP %d to priority %d, or send RoCE with a DSCP of that priority", tc.dscp(), on[0])
			h.cmd = fmt.Sprintf("mlnx_qos -i IFACE --dscp2prio set,%d,%d", tc.dscp(), on[0])
		}
		hops = append(hops, h)
	}
	if priority < 0 && lossless >= 0 {
		priority = lossless // what PFC is on for is what is meant
	}
	if pfcKnown {
		h := hop{name: "PFC of " + p.String(), object: p.String(), layer: "NIC", seen: "on for " + priorities(on), from: p.qos.PFC.From.String()}
		if len(on) == 0 && lossless > 0 {
			h.want = fmt.Sprintf("on for %d", lossless)
			h.broken = fmt.Sprintf("PFC is off on %s, while other parts of the network pause priority %d", p, lossless)
			h.why = "a NIC without PFC does not obey the switch's pause, and cannot stop the switch when its own buffer is full: both drop"
			h.fix, h.cmd = fmt.Sprintf("switch PFC on for priority %d alone", lossless), "mlnx_qos -i IFACE --pfc "+pfcList(lossless)
		}
		hops = append(hops, h)
	}
	if h, ok := bufferHop(p, priority, pfcKnown && priority >= 0 && pfc[priority]); ok {
		hops = append(hops, h)
	}
	return hops, priority
}

// bufferHop judges the receive buffer of a paused priority: one of size 0 cannot take what arrives until pause works.
func bufferHop(p qosPort, priority int, paused bool) (hop, bool) {
	of, ok := p.qos.Buffer.Get()
	sizes, sized := p.qos.Buffers.Get()
	if !ok || !sized || priority < 0 || of[priority] < 0 || of[priority] >= len(sizes) {
		return hop{}, false
	}
	size := sizes[of[priority]]
	h := hop{name: fmt.Sprintf("receive buffer of priority %d on %s", priority, p), object: p.String(), layer: "NIC", seen: size.String(), want: "more than 0", from: p.qos.Buffers.From.String()}
	if size == 0 && paused {
		h.broken = fmt.Sprintf("priority %d of %s has no receive buffer", priority, p)
		h.why = "what arrives between the pause frame and the moment it works has no room and is dropped"
		h.fix, h.cmd = "give the buffer of the lossless priority room for the cable's length", "mlnx_qos -i IFACE --prio2buffer 0,0,0,1,0,0,0,0 --buffer_size SIZE,SIZE,0,0,0,0,0,0"
	}
	return h, true
}

// dscpFor is a code point that the NIC maps to a priority; without a map, the one half up its block of eight, as 26 is
// for 3.
func dscpFor(q *evidence.QoS, priority int) int {
	usual := priority<<3 | 2
	m, ok := q.DSCP.Get()
	if !ok || m[usual] == int8(priority) {
		return usual
	}
	if i := slices.Index(m[:], int8(priority)); i >= 0 {
		return i
	}
	return usual
}

func pfcList(priority int) string {
	words := make([]string, evidence.Priorities)
	for i := range words {
		words[i] = "0"
		if i == priority {
			words[i] = "1"
		}
	}
	return strings.Join(words, ",")
}
