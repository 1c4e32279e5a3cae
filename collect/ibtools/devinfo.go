// Package ibtools owns reading what the tools of rdma-core and mlnx-tools print of RDMA devices: ibv_devinfo,
// ibstat, ibstatus, show_gids and ibdev2netdev.
//
// Each output may be cut anywhere: people paste the part they think matters. What is absent stays unknown.
package ibtools

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// DevInfo reads ibv_devinfo, with and without -v (rdma-core, libibverbs/examples/devinfo.c):
//
//	hca_id:	mlx5_0
//		fw_ver:				28.41.1000
//			port:	1
//				state:			PORT_ACTIVE (4)
//				active_mtu:		1024 (3)
//				GID[  3]:		::ffff:192.0.2.6, RoCE v2
type DevInfo struct {
	f      *fragment.Fragment
	device string
	port   int
	parts  []func(*evidence.NIC) // facts of the device, which hold for every port that follows
}

// NewDevInfo makes a reader for one output.
func NewDevInfo(f *fragment.Fragment) *DevInfo { return &DevInfo{f: f, device: f.Device, port: 1} }

// StartsDevInfo tells whether a line is the first of a device, or one that no other tool prints.
func StartsDevInfo(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	return bytes.HasPrefix(t, []byte("hca_id:")) || isGIDLine(t) || bytes.HasPrefix(t, []byte("active_mtu:")) || bytes.HasPrefix(t, []byte("max_mtu:"))
}

func isGIDLine(t []byte) bool {
	if !bytes.HasPrefix(t, []byte("GID[")) {
		return false
	}
	end := bytes.IndexByte(t, ']')
	if end < 0 {
		return false
	}
	_, ok := number(bytes.TrimSpace(t[len("GID["):end]))
	return ok
}

// Line reads one line; false means that it is not of this output.
func (d *DevInfo) Line(line []byte, n int) bool {
	t := bytes.TrimSpace(line)
	if len(t) == 0 {
		return true
	}
	if isGIDLine(t) {
		d.gid(t, n)
		return true
	}
	key, value, ok := bytes.Cut(t, []byte(":"))
	if !ok {
		return false
	}
	v := string(bytes.TrimSpace(value))
	at := d.f.At(n)
	switch string(key) {
	case "hca_id":
		d.device, d.port, d.parts = v, 1, nil
	case "port":
		if p, ok := number([]byte(v)); ok {
			d.port = p
			nic := d.nic()
			for _, set := range d.parts {
				set(nic)
			}
		}
	case "fw_ver":
		d.device3(func(nic *evidence.NIC) { nic.Firmware = evidence.Known(v, at) })
	case "board_id":
		d.device3(func(nic *evidence.NIC) { nic.Board = evidence.Known(v, at) })
	case "vendor_part_id":
		if id, err := strconv.ParseInt(v, 0, 32); err == nil {
			d.device3(func(nic *evidence.NIC) { nic.PartID = evidence.Known(int(id), at) })
		}
	case "node_guid":
		d.device3(func(nic *evidence.NIC) { nic.NodeGUID = evidence.Known(v, at) })
	case "sys_image_guid":
		d.device3(func(nic *evidence.NIC) { nic.SystemGUID = evidence.Known(v, at) })
	case "max_qp_rd_atom":
		if reads, ok := number([]byte(v)); ok {
			d.device3(func(nic *evidence.NIC) { nic.MaxReads = evidence.Known(reads, at) })
		}
	case "gid_tbl_len":
		setNumber(&d.nic().GIDLimit, v, at)
	case "port_lid":
		setNumber(&d.nic().LID, v, at)
	case "sm_lid":
		setNumber(&d.nic().SMLID, v, at)
	case "state":
		d.nic().State = evidence.Known(strings.TrimPrefix(word(v), "PORT_"), at)
	case "phys_state":
		d.nic().Physical = evidence.Known(physical(word(v)), at)
	case "max_mtu":
		setNumber(&d.nic().MaxMTU, v, at)
	case "active_mtu":
		setNumber(&d.nic().ActiveMTU, v, at)
	case "link_layer":
		d.nic().LinkLayer = evidence.Known(v, at)
	case "active_width", "active_speed":
		d.speed(string(key), v, at)
	default:
		return devInfoKey(string(key))
	}
	return true
}

func (d *DevInfo) nic() *evidence.NIC { return d.f.TheHost().NIC(d.device, d.port) }

// device3 keeps a fact of the device for all its ports.
func (d *DevInfo) device3(set func(*evidence.NIC)) { d.parts = append(d.parts, set) }

func (d *DevInfo) gid(t []byte, n int) {
	end := bytes.IndexByte(t, ']')
	index, _ := number(bytes.TrimSpace(t[len("GID["):end]))
	value := strings.TrimSpace(strings.TrimPrefix(string(t[end+1:]), ":"))
	text, version, _ := strings.Cut(value, ",")
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil {
		return
	}
	gid := evidence.GID{Index: index, Address: netip.AddrFrom16(a.As16()), From: d.f.At(n)}
	switch strings.TrimSpace(version) {
	case "RoCE v1":
		gid.Version = "v1"
	case "RoCE v2":
		gid.Version = "v2"
	}
	nic := d.nic()
	addGID(nic, gid)
	if !nic.GIDTable.Set() {
		nic.GIDTable = gid.From
	}
}

// speed works the rate out from "active_width: 4X (2)" and "active_speed: 100.0 Gbps (128)", which is per lane.
func (d *DevInfo) speed(key, v string, at evidence.Source) {
	nic := d.nic()
	if key == "active_width" {
		if lanes, ok := number([]byte(strings.TrimSuffix(word(v), "X"))); ok && lanes > 0 {
			nic.Lanes = evidence.Known(lanes, at)
		}
		return
	}
	lanes, known := nic.Lanes.Get()
	perLane, err := strconv.ParseFloat(word(v), 64)
	if known && err == nil && perLane > 0 && perLane < 1e4 {
		nic.Rate = evidence.Known(units.Rate(perLane*float64(lanes)*float64(units.Gbps)), at)
	}
}

// devInfoKey tells whether a key that is not kept belongs to ibv_devinfo: all its keys are lower case with
// underscores, and none has a blank.
func devInfoKey(key string) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// word is the first word of a value: "PORT_ACTIVE" of "PORT_ACTIVE (4)".
func word(v string) string {
	w, _, _ := strings.Cut(v, " ")
	return w
}

// physical brings LINK_UP (ibv_devinfo) and LinkUp (ibstat, sysfs) to one form.
func physical(s string) string {
	if !strings.Contains(s, "_") {
		return s
	}
	var b strings.Builder
	for part := range strings.SplitSeq(strings.ToLower(s), "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

func setNumber(to *evidence.Value[int], v string, at evidence.Source) {
	if n, ok := number([]byte(word(v))); ok {
		*to = evidence.Known(n, at)
	}
}

// number reads a decimal number that is all of b.
func number(b []byte) (int, bool) {
	n, err := strconv.ParseInt(string(b), 10, 32)
	return int(n), err == nil
}
