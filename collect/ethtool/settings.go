package ethtool

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Settings reads ethtool DEV (ethtool, netlink/settings.c; do_gset in ethtool.c before 5.7):
//
//	Settings for ens3np0:
//		Speed: 100000Mb/s
//		Lanes: 4
//		Duplex: Full
//		Auto-negotiation: on
//		Port: FIBRE
//		Link detected: no (No cable)
//
// What is unknown stands as "Unknown!", with a number behind it in old versions.
type Settings struct {
	f   *fragment.Fragment
	dev *evidence.Netdev
}

// NewSettings makes a reader for one output.
func NewSettings(f *fragment.Fragment) *Settings { return &Settings{f: f} }

var settingsHead = []byte("Settings for ")

// StartsSettings tells whether a line is the head of ethtool DEV.
func StartsSettings(line []byte) bool { return bytes.HasPrefix(line, settingsHead) }

// Line reads one line; false means that it is not of this output.
func (s *Settings) Line(line []byte, n int) bool {
	if rest, ok := bytes.CutPrefix(line, settingsHead); ok {
		s.dev = s.f.TheHost().Dev(strings.TrimSuffix(strings.TrimSpace(string(rest)), ":"))
		return true
	}
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ": ")
	if !ok || s.dev == nil {
		return s.dev != nil // a list of modes goes on over lines of its own
	}
	value = strings.TrimSpace(value)
	at := s.f.At(n)
	unknown := strings.HasPrefix(value, "Unknown!")
	switch key {
	case "Speed":
		mbps, err := strconv.ParseUint(strings.TrimSuffix(value, "Mb/s"), 10, 31)
		switch {
		case err == nil:
			s.dev.Speed = evidence.Known(units.Rate(mbps)*units.Mbps, at)
		case unknown:
			s.dev.Speed = evidence.Missing[units.Rate]("no link", at)
		}
	case "Lanes":
		if v, err := strconv.ParseUint(value, 10, 8); err == nil {
			s.dev.Lanes = evidence.Known(int(v), at)
		}
	case "Duplex":
		if !unknown {
			s.dev.Duplex = evidence.Known(value, at)
		}
	case "Auto-negotiation":
		s.dev.Autoneg = evidence.Known(value == "on", at)
	case "Port":
		s.dev.Medium = evidence.Known(value, at)
	case "Link detected":
		s.dev.Link = evidence.Known(strings.HasPrefix(value, "yes"), at)
	}
	return true
}

// Driver reads ethtool -i (do_gdrv in ethtool.c). It does not name the interface: the file or the prompt does.
//
//	driver: mlx5_core
//	version: 24.04-0.6.6
//	firmware-version: 28.41.1000 (MT_0000000838)
//	bus-info: 0000:5c:00.0
type Driver struct {
	f       *fragment.Fragment
	pending [3]evidence.Value[string] // driver, version, firmware: what was told before the address
	dev     *evidence.Netdev
}

// NewDriver makes a reader for one output.
func NewDriver(f *fragment.Fragment) *Driver { return &Driver{f: f} }

// StartsDriver tells whether a line is one of the output.
func StartsDriver(line []byte) bool {
	for _, p := range driverHeads {
		if bytes.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

var driverHeads = [][]byte{[]byte("driver: "), []byte("firmware-version: "), []byte("bus-info: ")}

// Line reads one line; false means that it is not of this output.
func (d *Driver) Line(line []byte, n int) bool {
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok {
		return key == ""
	}
	value = strings.TrimSpace(value)
	known := evidence.Known(value, d.f.At(n))
	switch key {
	case "driver":
		d.End()
		d.pending = [3]evidence.Value[string]{known}
	case "version":
		d.pending[1] = known
	case "firmware-version":
		d.pending[2] = known
	case "bus-info":
		if address := evidence.PCIAddress(value); address != "" {
			d.device(address).PCI = evidence.Known(address, d.f.At(n))
		}
		d.End()
	case "expansion-rom-version", "supports-statistics", "supports-test", "supports-eeprom-access", "supports-register-dump", "supports-priv-flags":
	default:
		return false
	}
	return true
}

// device is the interface the output is of: the one the file or the prompt names, else the one with the address, else
// one without a name.
func (d *Driver) device(address string) *evidence.Netdev {
	h := d.f.TheHost()
	d.dev = nil
	if d.f.Device == "" && address != "" {
		for _, dev := range h.Netdevs {
			if dev.PCI.Or("") == address {
				d.dev = dev
			}
		}
	}
	if d.dev == nil {
		d.dev = h.Dev(d.f.Device)
	}
	return d.dev
}

// End writes what was told before the address.
func (d *Driver) End() {
	if d.dev == nil && !d.pending[0].Known() && !d.pending[2].Known() {
		return
	}
	if d.dev == nil {
		d.device("")
	}
	for i, to := range []*evidence.Value[string]{&d.dev.Driver, &d.dev.DriverAt, &d.dev.Firmware} {
		if d.pending[i].Known() && d.pending[i].Or("") != "" {
			*to = d.pending[i]
		}
	}
	d.pending, d.dev = [3]evidence.Value[string]{}, nil
}
