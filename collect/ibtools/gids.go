package ibtools

import (
	"bytes"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// ShowGIDs reads show_gids (mlnx-tools, ofed_scripts/show_gids): columns parted by tabs, or by blanks once
// somebody has pasted them; the IPv4 column is empty for IPv6 addresses, so columns are told by what is in them.
//
//	DEV	PORT	INDEX	GID					IPv4  		VER	DEV
//	mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:c000:0211	192.0.2.17  	v2	ens3np0
//	n_gids_found=4
type ShowGIDs struct{ f *fragment.Fragment }

// NewShowGIDs makes a reader for one output.
func NewShowGIDs(f *fragment.Fragment) *ShowGIDs { return &ShowGIDs{f} }

// StartsShowGIDs tells whether a line is the head of show_gids.
func StartsShowGIDs(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("DEV")) {
		return false
	}
	f := bytes.Fields(line)
	return len(f) >= 6 && string(f[0]) == "DEV" && string(f[1]) == "PORT" && string(f[2]) == "INDEX" && string(f[3]) == "GID"
}

// Line reads one line.
func (g *ShowGIDs) Line(line []byte, n int) bool {
	f := bytes.Fields(line)
	if len(f) < 5 {
		return len(f) == 0 || bytes.HasPrefix(line, []byte("n_gids_found"))
	}
	if string(f[0]) == "DEV" || bytes.HasPrefix(f[0], []byte("---")) {
		return true
	}
	port, okPort := number(f[1])
	index, okIndex := number(f[2])
	address, err := netip.ParseAddr(string(f[3]))
	if !okPort || !okIndex || err != nil {
		return false
	}
	gid := evidence.GID{Index: index, Address: netip.AddrFrom16(address.As16()), From: g.f.At(n)}
	for _, field := range f[4:] {
		switch s := string(field); {
		case s == "v1", s == "v2":
			gid.Version = s
		case strings.Count(s, ".") == 3: // the IPv4 address, which the GID holds already
		default:
			gid.Netdev = s
		}
	}
	nic := g.f.TheHost().NIC(string(f[0]), port)
	addGID(nic, gid)
	if !nic.GIDTable.Set() {
		nic.GIDTable = gid.From
	}
	if gid.Netdev != "" && !nic.Netdev.Known() {
		nic.Netdev = evidence.Known(gid.Netdev, gid.From)
	}
	return true
}

// addGID adds an entry of the GID table; one that is there already, from another tool, is completed.
func addGID(nic *evidence.NIC, gid evidence.GID) {
	for i := range nic.GIDs {
		have := &nic.GIDs[i]
		if have.Index == gid.Index && have.Address == gid.Address {
			if have.Version == "" {
				have.Version = gid.Version
			}
			if have.Netdev == "" {
				have.Netdev = gid.Netdev
			}
			return
		}
	}
	if len(nic.GIDs) < MaxGIDs {
		nic.GIDs = append(nic.GIDs, gid)
	}
}

// MaxGIDs limits the GID table of a port. gid_tbl_len is 256 on mlx5 and at most 1024 elsewhere; twice that
// leaves room for two states of one table.
const MaxGIDs = 2048
