package ethtool

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// FEC reads ethtool --show-fec, with -I with counters (ethtool, netlink/fec.c; dump_fec in ethtool.c):
//
//	FEC parameters for ens3np0:
//	Supported/Configured FEC encodings: Auto RS BaseR
//	Active FEC encoding: RS
//	Statistics:
//	  corrected_blocks: 123
//	  uncorrectable_blocks: 4
//
// "None" and "Off" are what a port without link shows too: active FEC says nothing while there is no link.
type FEC struct {
	f     *fragment.Fragment
	name  string
	stats bool
}

// NewFEC makes a reader for one output.
func NewFEC(f *fragment.Fragment) *FEC { return &FEC{f: f, name: f.Device} }

var fecHead = []byte("FEC parameters for ")

// StartsFEC tells whether a line is one of the output.
func StartsFEC(line []byte) bool {
	return bytes.HasPrefix(line, fecHead) || bytes.HasPrefix(line, []byte("Active FEC encoding")) || bytes.HasPrefix(line, []byte("Configured FEC encodings:")) ||
		bytes.HasPrefix(line, []byte("Supported/Configured FEC encodings:"))
}

// Line reads one line; false means that it is not of this output.
func (c *FEC) Line(line []byte, n int) bool {
	if rest, ok := bytes.CutPrefix(line, fecHead); ok {
		c.name, c.stats = strings.TrimSuffix(strings.TrimSpace(string(rest)), ":"), false
		return true
	}
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok {
		return key == ""
	}
	at := c.f.At(n)
	value = strings.TrimSpace(value)
	switch key {
	case "Configured FEC encodings", "Supported/Configured FEC encodings":
		c.f.TheHost().Dev(c.name).FEC.Configured = evidence.Known(strings.Fields(value), at)
	case "Active FEC encoding", "Active FEC encodings":
		fec := &c.f.TheHost().Dev(c.name).FEC
		if value == "Not reported" {
			fec.Active = evidence.Missing[string]("not reported", at)
		} else {
			fec.Active = evidence.Known(value, at)
		}
	case "Statistics":
		c.stats = true
	default:
		if !c.stats {
			return false
		}
		if v, err := strconv.ParseUint(value, 10, 64); err == nil {
			if counter, known := fecTable[key]; known {
				c.f.Count(counter, key, c.name, 1, v, n)
			}
		}
	}
	return true
}
