// Package sysfs owns reading /sys/class/infiniband: as a copied tree of files, and as people paste it
// (grep "" /sys/class/infiniband/*/ports/*/hw_counters/* gives "path:value" lines).
//
// Each file stands for itself: one that is absent, or says "N/A (no PMA)" as the counters of virtual functions do,
// is unknown with that reason, and never costs the others (Documentation/ABI/stable/sysfs-class-infiniband).
package sysfs

import (
	"bytes"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

var (
	hwCounters = fragment.Index(telemetry.HWCounters, telemetry.HWBNXT, telemetry.HWIRDMA, telemetry.HWEFA)
	ibCounters = fragment.Index(telemetry.IBCounters)
)

// Place is what a path below /sys/class/infiniband names.
type Place struct {
	Device string
	Port   int    // 0 for a file of the device itself
	Name   string // "hw_counters/out_of_sequence", "rate", "fw_ver", "gids/3"
	Root   string // the path up to and with the device
}

// Locate finds the device, the port and the file in a path; ok is false where it has none of the directories
// that make up the tree. The part before the device is free: trees are copied to anywhere.
func Locate(p string) (Place, bool) {
	parts := strings.Split(path.Clean(strings.ReplaceAll(p, "\\", "/")), "/")
	for i := 1; i+2 < len(parts); i++ {
		if parts[i] != "ports" {
			continue
		}
		port, err := strconv.Atoi(parts[i+1])
		if err != nil || port < 1 || port > 255 {
			continue
		}
		return Place{Device: parts[i-1], Port: port, Name: strings.Join(parts[i+2:], "/"), Root: strings.Join(parts[:i], "/")}, true
	}
	if n := len(parts); n >= 4 && parts[n-1] == "traffic_class" && parts[n-3] == "tc" { // of MLNX_OFED
		return Place{Device: parts[n-4], Name: "traffic_class", Root: strings.Join(parts[:n-3], "/")}, true
	}
	if n := len(parts); n >= 2 && deviceFiles[parts[n-1]] {
		return Place{Device: parts[n-2], Name: parts[n-1], Root: strings.Join(parts[:n-1], "/")}, true
	}
	return Place{}, false
}

var deviceFiles = map[string]bool{"fw_ver": true, "board_id": true, "hca_type": true, "node_guid": true, "sys_image_guid": true, "node_type": true}

// MaxValue is the most a file of the tree holds: sysfs gives one page.
const MaxValue = 4096

// Tree reads the files of one or more copied trees.
type Tree struct {
	gids map[*evidence.NIC]map[int]*evidence.GID
	dirs map[*evidence.NIC]*seen
	nics []*evidence.NIC // in the order they were met
}

// seen remembers which directories of a port were there. A paste shows what somebody chose to paste, so that only a
// copied tree tells that a directory does not exist.
type seen struct {
	copied, hw, counters bool
	at                   evidence.Source
}

// NewTree makes an empty one.
func NewTree() *Tree {
	return &Tree{gids: map[*evidence.NIC]map[int]*evidence.GID{}, dirs: map[*evidence.NIC]*seen{}}
}

// File reads one file of a tree. line is 0 for a real file.
func (t *Tree) File(f *fragment.Fragment, at Place, value []byte, line int) {
	v := string(bytes.TrimSpace(value))
	src := f.At(line)
	if at.Port == 0 {
		t.device(f, at, v, src)
		return
	}
	nic := f.TheHost().NIC(at.Device, at.Port)
	if address := AddressIn(at.Root); address != "" && !nic.PCI.Known() {
		nic.PCI = evidence.Known(address, src)
	}
	s := t.dirs[nic]
	if s == nil {
		s = &seen{at: src}
		t.dirs[nic] = s
		t.nics = append(t.nics, nic)
	}
	s.copied = s.copied || line == 0
	dir, name, nested := strings.Cut(at.Name, "/")
	switch {
	case !nested:
		portFile(f, nic, at, v, src, line)
	case dir == "hw_counters":
		s.hw = true
		count(f, hwCounters, nic, at, name, v, line)
	case dir == "counters":
		s.counters = true
		count(f, ibCounters, nic, at, name, v, line)
	case dir == "gids", dir == "gid_attrs":
		t.gid(nic, dir, name, v, src)
	}
}

// count adds one counter. A text in place of a number is the reason why the counters of the port are unknown.
func count(f *fragment.Fragment, table fragment.Counters, nic *evidence.NIC, at Place, name, v string, line int) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		if !nic.Counters.Known() && v != "" {
			nic.Counters = evidence.Missing[string](v, f.At(line))
		}
		return
	}
	if c, ok := table[name]; ok {
		f.Count(c, name, at.Device, at.Port, n, line)
	}
}

func (t *Tree) device(f *fragment.Fragment, at Place, v string, src evidence.Source) {
	for port := range 2 { // the files of a device hold for its ports; no HCA has more than two
		if port > 0 && !hasPort(f.TheHost(), at.Device, port+1) {
			continue
		}
		nic := f.TheHost().NIC(at.Device, port+1)
		switch at.Name {
		case "fw_ver":
			nic.Firmware = evidence.Known(v, src)
		case "board_id":
			nic.Board = evidence.Known(v, src)
		case "hca_type":
			nic.Model = evidence.Known(v, src)
		case "node_guid":
			nic.NodeGUID = evidence.Known(v, src)
		case "sys_image_guid":
			nic.SystemGUID = evidence.Known(v, src)
		case "traffic_class": // "Global tclass=106"
			_, number, _ := strings.Cut(v, "tclass=")
			if tc, err := strconv.ParseUint(number, 10, 8); err == nil {
				nic.TrafficClass = evidence.Known(int(tc), src)
			}
		}
	}
}

func hasPort(h *evidence.Host, device string, port int) bool {
	for _, n := range h.NICs {
		if n.Device == device && n.Port == port {
			return true
		}
	}
	return false
}

func portFile(f *fragment.Fragment, nic *evidence.NIC, at Place, v string, src evidence.Source, line int) {
	switch at.Name {
	case "state":
		nic.State = evidence.Known(afterNumber(v), src)
	case "phys_state":
		nic.Physical = evidence.Known(afterNumber(v), src)
	case "link_layer":
		nic.LinkLayer = evidence.Known(v, src)
	case "rate": // "400 Gb/sec (4X NDR)"
		gbps, _, _ := strings.Cut(v, " ")
		if r, err := strconv.ParseFloat(gbps, 64); err == nil && r >= 0 && r < 1e5 {
			nic.Rate = evidence.Known(units.Rate(r*float64(units.Gbps)), src)
		}
	}
}

func afterNumber(v string) string {
	if _, rest, ok := strings.Cut(v, ":"); ok {
		return strings.TrimSpace(rest)
	}
	return v
}

func (t *Tree) gid(nic *evidence.NIC, dir, name, v string, src evidence.Source) {
	attr, number, nested := strings.Cut(name, "/")
	if !nested {
		attr, number = "", name
	}
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 || index >= maxGIDs || v == "" {
		return
	}
	table := t.gids[nic]
	if table == nil {
		table = map[int]*evidence.GID{}
		t.gids[nic] = table
	}
	g := table[index]
	if g == nil {
		g = &evidence.GID{Index: index}
		table[index] = g
	}
	switch {
	case dir == "gids":
		if a, err := netip.ParseAddr(v); err == nil {
			g.Address, g.From = netip.AddrFrom16(a.As16()), src
		}
	case attr == "types" && v == "RoCE v2":
		g.Version = "v2"
	case attr == "types" && strings.HasSuffix(v, "RoCE v1"): // "IB/RoCE v1"
		g.Version = "v1"
	case attr == "ndevs":
		g.Netdev = v
	}
}

// maxGIDs limits the indices of a GID table; gid_tbl_len is at most 1024 in the drivers of Linux.
const maxGIDs = 1024

// Finish puts the GID tables together, and marks the ports that have no directory of counters.
func (t *Tree) Finish() {
	for _, nic := range t.nics {
		t.finishGIDs(nic)
		if d := t.dirs[nic]; d.copied && d.hw && !d.counters && !nic.Counters.Known() && nic.Counters.Why() == "" {
			nic.Counters = evidence.Missing[string]("no such directory", d.at)
		}
	}
}

func (t *Tree) finishGIDs(nic *evidence.NIC) {
	table := t.gids[nic]
	for index := range maxGIDs {
		g := table[index]
		if g == nil || !g.Address.IsValid() || g.Address == netip.IPv6Unspecified() {
			continue // an unused slot reads as all zeros
		}
		nic.GIDs = append(nic.GIDs, *g)
		if !nic.GIDTable.Set() {
			nic.GIDTable = g.From
		}
		if g.Netdev != "" && !nic.Netdev.Known() {
			nic.Netdev = evidence.Known(g.Netdev, g.From)
		}
	}
	delete(t.gids, nic)
}
