package fragment

import (
	"net/netip"
	"strconv"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// MaxFlows limits the flows kept of one input; what is past it is counted. 1000 hosts that each speak with 60 others in
// one application are 60 000.
const MaxFlows = 1 << 16

// Flows adds up packets, captured or sampled, by who, which application and which class.
type Flows struct {
	Past  int // packets of flows past MaxFlows
	index map[flowKey]int
	flows []flow
}

// maxBytes is where the bytes of a flow stop to be added up: an exabyte, which only a damaged file says.
const maxBytes = 1 << 60

type flowKey struct {
	src, dst netip.Addr
	protocol uint8
	port     uint16
	priority int8
	dscp     uint8
}

type flow struct {
	key         flowKey
	bytes       units.Bytes
	first, last int64 // nanoseconds
	line        int
}

// ephemeral is where the ports begin that a system gives out to clients (Linux, net.ipv4.ip_local_port_range). A
// connection with both ports there is of no application that could be told.
const ephemeral = 32768

// Add counts the bytes of one packet, or of those a sample stands for. The priority is that of the switch where it told
// it, else -1. Frames that are not IP, and congestion notifications, which have a class of their own, are left out.
func (t *Flows) Add(f *packet.Frame, priority int8, bytes units.Bytes, ns int64, line int) {
	src, dst, dscp, _, ok := f.IP()
	if !ok || f.BTH != nil && f.BTH.Opcode() == packet.CNP {
		return
	}
	k := flowKey{src: src, dst: dst, dscp: dscp, priority: priority}
	if priority < 0 && f.VLAN != nil && (f.VLAN.Priority() > 0 || dscp == 0) {
		k.priority = int8(f.VLAN.Priority()) // a tag of priority 0 beside a code point is most often one nobody set
	}
	switch {
	case f.UDP != nil:
		k.protocol, k.port = packet.ProtocolUDP, service(f.UDP.SrcPort(), f.UDP.DstPort())
		if f.UDP.DstPort() == packet.PortRoCE {
			k.port = packet.PortRoCE
		}
	case f.TCP != nil:
		k.protocol, k.port = packet.ProtocolTCP, service(f.TCP.SrcPort(), f.TCP.DstPort())
	case f.GRH != nil:
		k.protocol, k.port = packet.ProtocolUDP, packet.PortRoCE // RoCE v1, in which class is what matters here
	}
	t.add(k, bytes, ns, ns, line)
}

// Record is what flow records tell of one flow.
type Record struct {
	Src, Dst         netip.Addr
	Protocol         uint8
	SrcPort, DstPort uint16
	DSCP             uint8
	Bytes            units.Bytes
	First, Last      int64 // nanoseconds
}

// AddRecord counts a flow that a switch has added up itself. Flow records tell no priority.
func (t *Flows) AddRecord(r Record, line int) {
	k := flowKey{src: r.Src, dst: r.Dst, dscp: r.DSCP, priority: -1, protocol: r.Protocol, port: service(r.SrcPort, r.DstPort)}
	if r.Protocol == packet.ProtocolUDP && r.DstPort == packet.PortRoCE {
		k.port = packet.PortRoCE
	}
	t.add(k, r.Bytes, r.First, r.Last, line)
}

func (t *Flows) add(k flowKey, bytes units.Bytes, first, last int64, line int) {
	i, ok := t.index[k]
	if !ok {
		if len(t.flows) >= MaxFlows {
			t.Past++
			return
		}
		if t.index == nil {
			t.index = map[flowKey]int{}
		}
		i = len(t.flows)
		t.index[k] = i
		t.flows = append(t.flows, flow{key: k, first: first, last: first, line: line})
	}
	t.flows[i].bytes = min(t.flows[i].bytes+bytes, maxBytes)
	t.flows[i].first, t.flows[i].last = min(t.flows[i].first, first), max(t.flows[i].last, last)
}

// service is the port an application is known by: one with a name, else the lower one, 0 where both are a client's.
func service(a, b uint16) uint16 {
	for _, p := range [...]uint16{a, b} {
		if _, ok := services[p]; ok {
			return p
		}
	}
	if p := min(a, b); p < ephemeral {
		return p
	}
	return 0
}

// services are ports of what shares networks with training (IANA; Ceph and Lustre from their documentation).
var services = map[uint16]string{
	22: "ssh", 53: "dns", 80: "http", 111: "rpcbind", 179: "bgp", 443: "https", 445: "smb", 873: "rsync", 988: "lustre", 2049: "nfs", 3260: "iscsi",
	3300: "ceph", 4420: "nvme-of", 4789: "vxlan", 6343: "sflow", 6379: "redis", 6789: "ceph", 9100: "node exporter", 20049: "nfs over rdma",
}

func (k flowKey) application() string {
	if k.protocol == packet.ProtocolUDP && k.port == packet.PortRoCE {
		return evidence.RoCE
	}
	if name, ok := services[k.port]; ok {
		return name
	}
	name := "ip"
	switch k.protocol {
	case packet.ProtocolTCP:
		name = "tcp"
	case packet.ProtocolUDP:
		name = "udp"
	}
	if k.port == 0 {
		return "other " + name
	}
	return name + "/" + strconv.Itoa(int(k.port))
}

// maxSpan is the longest span an instant can hold, in nanoseconds: 106 days.
const maxSpan = (1<<63 - 1) / 1000

// Finish adds the flows to the inventory. Their times count from the first packet of the input, and no clock is shared
// with anything else, so they are not marked as timed.
func (t *Flows) Finish(f *Fragment, start int64) {
	since := func(ns int64) units.Instant { return units.At(min(max(ns-start, 0), maxSpan) * 1000) }
	for _, fl := range t.flows {
		at := f.At(fl.line)
		f.Inv.Flows = append(f.Inv.Flows, evidence.Flow{
			Src: fl.key.src.String(), Dst: fl.key.dst.String(), Application: fl.key.application(), Priority: fl.key.priority,
			DSCP: evidence.Known(int(fl.key.dscp), at), Bytes: fl.bytes, Start: since(fl.first), End: since(fl.last), From: at,
		})
	}
	t.flows, t.index = nil, nil
}
