package collect

import (
	"bufio"
	"io"
	"net/netip"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/netflow"
	"github.com/shunt-network/shunt/collect/pcap"
	"github.com/shunt-network/shunt/collect/sflow"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
)

// Formats of packets.
const (
	PacketCapture Format = "packet capture"
	SFlow         Format = "sFlow"
	FlowRecords   Format = "NetFlow, IPFIX"
)

// packets tells whether a file that begins so holds packets, and in which format.
func packets(head []byte) (Format, bool) {
	switch {
	case packet.IsCapture(head):
		return PacketCapture, true
	case sflow.Starts(head):
		return SFlow, true
	}
	return Unknown, false
}

// captured reads a file of packets: a capture, which may hold sFlow, or sFlow alone.
func (s *session) captured(f *fragment.Fragment, format Format, in input, r *bufio.Reader) {
	samples, records := sflow.New(f), netflow.New(f)
	before := len(s.inv.Captures)
	var err error
	limited := &io.LimitedReader{R: r, N: s.opt.MaxFileBytes}
	if format == SFlow {
		err = samples.Dump(limited)
	} else {
		err = pcap.Read(f, limited, func(d *packet.Frame, frame int) {
			switch port := d.UDP.DstPort(); { // what is damaged is counted or left; other protocols may use the ports
			case port == packet.PortSFlow:
				_ = samples.Datagram(d.UDP.Payload(), frame)
			case netflow.Port(port):
				from, _, _, _, _ := d.IP()
				_ = records.Datagram(from, d.UDP.Payload(), frame)
			}
		})
	}
	samples.Finish()
	records.Finish()
	if err != nil && len(s.inv.Captures) == before && samples.Datagrams == 0 {
		s.unreadable(in.show, err.Error())
		return
	}
	if err != nil {
		s.unreadable(in.show, "not read to its end: "+err.Error())
	}
	if format == PacketCapture && samples.Datagrams > 0 {
		format += ", " + SFlow
	}
	if records.Datagrams > 0 {
		format += ", " + FlowRecords
	}
	s.inv.Files = append(s.inv.Files, evidence.File{Path: in.show, Format: string(format), Host: f.Host})
}

// nameEnds finds the hosts of the addresses in captures and flows: one that a host's own outputs list, or that its NCCL
// log uses. An address two hosts have is of neither.
func nameEnds(inv *evidence.Inventory) {
	if len(inv.Captures) == 0 && len(inv.Flows) == 0 {
		return
	}
	owner := owners(&inv.NCCL)
	for _, h := range inv.Hosts {
		for _, a := range addresses(h) {
			if have, ok := owner[a]; ok && have != h.Name {
				owner[a] = ""
			} else {
				owner[a] = h.Name
			}
		}
	}
	ports := identified(inv)
	for i := range inv.Captures {
		for j := range inv.Captures[i].Streams {
			st := &inv.Captures[i].Streams[j]
			for _, end := range []*evidence.End{&st.Src, &st.Dst} {
				if end.Host = owner[end.Address.Unmap()]; end.LID > 0 {
					end.Host = ports[end.LID]
				}
			}
		}
	}
	for i := range inv.Flows {
		for _, end := range []*string{&inv.Flows[i].Src, &inv.Flows[i].Dst} {
			if a, err := netip.ParseAddr(*end); err == nil && owner[a.Unmap()] != "" {
				*end = owner[a.Unmap()]
			}
		}
	}
}

// identified maps local identifiers of InfiniBand to the one host that has them. Two subnets may use the same ones, which
// then name none.
func identified(inv *evidence.Inventory) map[int]string {
	ports := map[int]string{}
	for _, h := range inv.Hosts {
		for _, n := range h.NICs {
			lid, ok := n.LID.Get()
			if !ok || lid == 0 {
				continue
			}
			if have, taken := ports[lid]; taken && have != h.Name {
				ports[lid] = ""
			} else {
				ports[lid] = h.Name
			}
		}
	}
	return ports
}

// nameClasses gives sampled and captured packets without a tag the class that the switches put their code point into,
// where all ports with a map agree. Two applications with different code points may share a class. A port whose map is
// not known may sort otherwise; of a code point that a map does not have nothing is concluded.
func nameClasses(inv *evidence.Inventory) {
	classes, ok := agreed(inv)
	if !ok {
		return
	}
	for i := range inv.Flows {
		f := &inv.Flows[i]
		if dscp, ok := f.DSCP.Get(); ok && f.Priority < 0 && dscp >= 0 && dscp < len(classes) {
			f.Priority = classes[dscp]
		}
	}
}

// agreed is the class of each code point on all ports that have a map, -1 where they differ or do not say.
func agreed(inv *evidence.Inventory) (classes evidence.DSCPMap, ok bool) {
	for _, s := range inv.Switches {
		for _, p := range s.Ports {
			if p.QoS == nil || s.QoS == nil {
				continue
			}
			name, told := p.QoS.DSCPToTC.Get()
			m, there := s.QoS.DSCPToTC[name]
			switch {
			case !told || !there:
			case !ok:
				classes, ok = m, true
			default:
				for dscp := range m {
					if m[dscp] != classes[dscp] {
						classes[dscp] = -1
					}
				}
			}
		}
	}
	return classes, ok
}
