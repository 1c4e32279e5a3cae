package diagnose

import (
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// dialect is what a NIC writes and reads beyond the standard: the layout of its context ids where that is known, else its firmware.
type dialect struct {
	name   string
	layout bool // name is a layout
	from   evidence.Source
}

// speaker is a port of the job's and its dialect.
type speaker struct {
	object       string // "host/mlx5_0"; "host/ens3np0" where no RDMA device of the host is known
	host, device string
	dialect
}

// rdmaDrivers are kernel drivers of interfaces that have an RDMA device (drivers/infiniband/hw of the kernel).
var rdmaDrivers = []string{"mlx5_core", "bnxt_en", "ice", "ionic", "mana"}

// speakers lists the NICs that the job uses with their dialects, those that nobody tells of left out: as ibstat has them, or ethtool -i of
// the interface, which alone is enough.
func (v *View) speakers() (all []speaker) {
	job := v.jobDevices()
	for _, h := range v.Inv.Hosts {
		before := len(all)
		for _, n := range h.NICs {
			if d, ok := dialectOf(h, n); ok && job.has(h.Name, n) {
				all = append(all, speaker{h.Object(n), h.Name, n.Device, d})
			}
		}
		for _, d := range h.Netdevs {
			if fw, ok := d.Firmware.Get(); ok && len(all) == before && len(h.NICs) == 0 && slices.Contains(rdmaDrivers, d.Driver.Or("")) {
				all = append(all, speaker{h.Name + "/" + d.Name, h.Name, d.Device, dialect{version(fw), false, d.Firmware.From}})
			}
		}
	}
	return all
}

func dialectOf(h *evidence.Host, n *evidence.NIC) (d dialect, ok bool) {
	if s, known := n.ContextID.Layout.Get(); known {
		return dialect{s, true, n.ContextID.Layout.From}, true
	}
	if fw, known := n.Firmware.Get(); known {
		return dialect{version(fw), false, n.Firmware.From}, true
	}
	for _, dev := range h.Netdevs {
		if dev.Name != n.Netdev.Or("") && (dev.Device == "" || dev.Device != n.Device) {
			continue
		}
		if fw, known := dev.Firmware.Get(); known {
			return dialect{version(fw), false, dev.Firmware.From}, true
		}
	}
	return dialect{}, false
}

// version is a firmware's version without the board behind it: "28.41.1000 (MT_0000000838)".
func version(firmware string) string {
	s, _, _ := strings.Cut(firmware, " ")
	return s
}

// speakerOf finds the NIC of a host by its device, or any of them where all speak alike; "" where that is not known.
func speakerOf(all []speaker, host, device string) (object string) {
	spoken := ""
	for _, s := range all {
		if s.host != host || host == "" || device != "" && s.device != "" && s.device != device {
			continue
		}
		if object != "" && s.name != spoken {
			return ""
		}
		if object == "" {
			object, spoken = s.object, s.name
		}
	}
	return object
}
