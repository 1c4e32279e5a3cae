package ibtools

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// IBStat reads ibstat (rdma-core, infiniband-diags/ibstat.c) and ibstatus (its scripts/ibstatus.in):
//
//	CA 'mlx5_0'                                     Infiniband device 'mlx5_0' port 1 status:
//		CA type: MT4129                                 state:           4: ACTIVE
//		Port 1:                                         phys state:      5: LinkUp
//			State: Active                               rate:            400 Gb/sec (4X NDR)
//			Rate: 400                                   link_layer:      InfiniBand
//
// The values of both are brought to the words of sysfs.
type IBStat struct {
	f      *fragment.Fragment
	device string
	port   int
	facts  []func(*evidence.NIC) // of the device, which hold for every port that follows
}

// NewIBStat makes a reader for one output.
func NewIBStat(f *fragment.Fragment) *IBStat { return &IBStat{f: f, device: f.Device, port: 1} }

// StartsIBStat tells whether a line begins a device of ibstat.
func StartsIBStat(line []byte) bool {
	return bytes.HasPrefix(line, []byte("CA '")) && bytes.HasSuffix(bytes.TrimSpace(line), []byte("'"))
}

// StartsIBStatus tells whether a line begins a port of ibstatus.
func StartsIBStatus(line []byte) bool { return bytes.HasPrefix(line, []byte("Infiniband device '")) }

// Line reads one line; false means that it is not of this output.
func (s *IBStat) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	at := s.f.At(n)
	switch {
	case t == "":
		return true
	case strings.HasPrefix(t, "CA '"):
		s.device, s.port, s.facts = strings.Trim(t[len("CA "):], "'"), 1, nil
		return true
	case strings.HasPrefix(t, "Infiniband device '"):
		name, rest, _ := strings.Cut(t[len("Infiniband device '"):], "'")
		s.device, s.port, s.facts = name, 1, nil
		if p, ok := number([]byte(word(strings.TrimPrefix(rest, " port ")))); ok {
			s.port = p
		}
		return true
	}
	key, v, ok := strings.Cut(t, ":")
	if !ok {
		return false
	}
	v = strings.TrimSpace(v)
	if p, ok := strings.CutPrefix(key, "Port "); ok && v == "" {
		if port, ok := number([]byte(p)); ok {
			s.port = port
			nic := s.nic()
			for _, set := range s.facts {
				set(nic)
			}
		}
		return true
	}
	return s.field(strings.ToLower(key), v, at)
}

func (s *IBStat) field(key, v string, at evidence.Source) bool {
	switch key {
	case "firmware version":
		s.fact(func(n *evidence.NIC) { n.Firmware = evidence.Known(v, at) })
	case "ca type":
		if v != "" {
			s.fact(func(n *evidence.NIC) { n.Model = evidence.Known(v, at) })
		}
	case "node guid":
		s.fact(func(n *evidence.NIC) { n.NodeGUID = evidence.Known(v, at) })
	case "system image guid":
		s.fact(func(n *evidence.NIC) { n.SystemGUID = evidence.Known(v, at) })
	case "port guid":
		s.nic().PortGUID = evidence.Known(v, at)
	case "base lid":
		lid(&s.nic().LID, v, at)
	case "sm lid":
		lid(&s.nic().SMLID, v, at)
	case "state":
		s.nic().State = evidence.Known(strings.ToUpper(afterNumber(v)), at)
	case "physical state", "phys state":
		s.nic().Physical = evidence.Known(afterNumber(v), at)
	case "rate":
		if r, err := strconv.ParseFloat(word(v), 64); err == nil && r >= 0 && r < 1e5 {
			s.nic().Rate = evidence.Known(units.Rate(r*float64(units.Gbps)), at)
		}
	case "link layer", "link_layer":
		if v != "" {
			s.nic().LinkLayer = evidence.Known(v, at)
		}
	case "number of ports", "hardware version", "lmc", "capability mask", "default gid", "base gid":
	default:
		return false
	}
	return true
}

// fact keeps a fact of the device for its ports.
func (s *IBStat) fact(set func(*evidence.NIC)) {
	const most = 16 // lines of a device before its ports
	if len(s.facts) < most {
		s.facts = append(s.facts, set)
	}
}

// lid reads a local identifier: ibstat prints "12", ibstatus "0xc".
func lid(to *evidence.Value[int], v string, at evidence.Source) {
	if n, err := strconv.ParseInt(v, 0, 32); err == nil {
		*to = evidence.Known(int(n), at)
	}
}

func (s *IBStat) nic() *evidence.NIC { return s.f.TheHost().NIC(s.device, s.port) }

// afterNumber is "ACTIVE" of "4: ACTIVE", as sysfs and ibstatus number their states.
func afterNumber(v string) string {
	if n, rest, ok := strings.Cut(v, ":"); ok {
		if _, num := number([]byte(n)); num {
			return strings.TrimSpace(rest)
		}
	}
	return v
}
