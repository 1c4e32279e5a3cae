package sysfs

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// netFiles are the files of an interface that are read (Documentation/ABI/testing/sysfs-class-net).
var netFiles = map[string]bool{"mtu": true, "speed": true, "operstate": true, "address": true, "duplex": true}

// LocateNet finds the interface and the file in a path such as sys/class/net/ens3np0/mtu; ok is false for any other.
func LocateNet(p string) (netdev, file string, ok bool) {
	parts := strings.Split(p, "/")
	n := len(parts)
	if n < 3 || parts[n-3] != "net" || !netFiles[parts[n-1]] || parts[n-2] == "" {
		return "", "", false
	}
	return parts[n-2], parts[n-1], true
}

// NetFile reads one file of an interface; name is its path, which may tell the PCI device below it.
func NetFile(f *fragment.Fragment, netdev, file, name string, value []byte, line int) {
	v := string(bytes.TrimSpace(value))
	at := f.At(line)
	d := f.TheHost().Dev(netdev)
	if address := AddressIn(name); address != "" && !d.PCI.Known() {
		d.PCI = evidence.Known(address, at)
	}
	switch file {
	case "mtu":
		if n, err := strconv.ParseUint(v, 10, 31); err == nil {
			d.MTU = evidence.Known(int(n), at)
		}
	case "speed": // Mbit/s; -1 without a link
		if n, err := strconv.ParseInt(v, 10, 31); err == nil && n > 0 {
			d.Speed = evidence.Known(units.Rate(n)*units.Mbps, at)
		} else {
			d.Speed = evidence.Missing[units.Rate]("no link", at)
		}
	case "operstate":
		if v != "unknown" {
			d.State = evidence.Known(strings.ToUpper(v), at)
		}
	case "address":
		d.MAC = evidence.Known(v, at)
	case "duplex":
		d.Duplex = evidence.Known(v, at)
	}
}
