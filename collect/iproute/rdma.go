package iproute

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// RDMA reads rdma link and rdma dev (iproute2, rdma/link.c and dev.c):
//
//	link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens3np0 netdev_index 5
//	link mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 12 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
//	0: mlx5_0: node_type ca fw 28.41.1000 node_guid 946d:ae03:00ab:cdef sys_image_guid 946d:ae03:00ab:cdee
//
// A link with an interface is Ethernet, one with a LID InfiniBand.
type RDMA struct{ f *fragment.Fragment }

// NewRDMA makes a reader for one output.
func NewRDMA(f *fragment.Fragment) *RDMA { return &RDMA{f} }

// StartsRDMA tells whether a line is one of the outputs.
func StartsRDMA(line []byte) bool {
	return bytes.HasPrefix(line, []byte("link ")) && bytes.Contains(line, []byte(" physical_state ")) ||
		len(line) > 0 && line[0] >= '0' && line[0] <= '9' && bytes.Contains(line, []byte(": node_type "))
}

// Line reads one line; false means that it is not of the outputs.
func (r *RDMA) Line(line []byte, n int) bool {
	if !StartsRDMA(line) {
		return len(bytes.TrimSpace(line)) == 0
	}
	words := strings.Fields(string(line))
	if words[0] != "link" {
		r.device(words, n)
		return true
	}
	device, number, ok := strings.Cut(words[1], "/")
	port, err := strconv.ParseUint(number, 10, 8)
	if !ok || err != nil || port == 0 {
		return true // of a switch
	}
	at := r.f.At(n)
	nic := r.f.TheHost().NIC(device, int(port))
	for i := 2; i+1 < len(words); i += 2 {
		v := words[i+1]
		switch words[i] {
		case "state":
			nic.State = evidence.Known(v, at)
		case "physical_state":
			nic.Physical = evidence.Known(physicalState(v), at)
		case "netdev":
			nic.Netdev = evidence.Known(v, at)
			nic.LinkLayer = evidence.Known("Ethernet", at)
			r.f.TheHost().Dev(v).Device = device
		case "lid":
			integer(&nic.LID, v, at)
			nic.LinkLayer = evidence.Known("InfiniBand", at)
		case "sm_lid":
			integer(&nic.SMLID, v, at)
		}
	}
	return true
}

// device reads "0: mlx5_0: node_type ca fw 28.41.1000 node_guid ..".
func (r *RDMA) device(words []string, n int) {
	name := strings.TrimSuffix(words[1], ":")
	nic := r.f.TheHost().NIC(name, 1)
	at := r.f.At(n)
	for i := 2; i+1 < len(words); i += 2 {
		switch words[i] {
		case "fw":
			nic.Firmware = evidence.Known(words[i+1], at)
		case "node_guid":
			nic.NodeGUID = evidence.Known(words[i+1], at)
		case "sys_image_guid":
			nic.SystemGUID = evidence.Known(words[i+1], at)
		}
	}
}

func integer(to *evidence.Value[int], s string, at evidence.Source) {
	if v, err := strconv.ParseUint(s, 10, 31); err == nil {
		*to = evidence.Known(int(v), at)
	}
}

// physicalState brings LINK_UP to the form of sysfs, LinkUp.
func physicalState(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.ToLower(s), "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
