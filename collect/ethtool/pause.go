package ethtool

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Pause reads ethtool -a (ethtool.c, dump_pause):
//
//	Pause parameters for ens3np0:
//	Autonegotiate:	off
//	RX:		on
//	TX:		on
//
// "RX negotiated" and "TX negotiated" follow where autonegotiation is on.
type Pause struct {
	f       *fragment.Fragment
	netdev  string
	set     evidence.PauseSetting
	rx, tx  bool // told
	started int
}

// NewPause makes a reader for one output.
func NewPause(f *fragment.Fragment) *Pause { return &Pause{f: f, netdev: f.Device} }

var pauseHead = []byte("Pause parameters for ")

// StartsPause tells whether a line is the head of ethtool -a.
func StartsPause(line []byte) bool { return bytes.HasPrefix(line, pauseHead) }

// Line reads one line; false means that it is not of this output.
func (p *Pause) Line(line []byte, n int) bool {
	if rest, ok := bytes.CutPrefix(line, pauseHead); ok {
		p.netdev, p.started = strings.TrimSuffix(strings.TrimSpace(string(rest)), ":"), n
		p.rx, p.tx = false, false
		return true
	}
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok {
		return key == ""
	}
	on := strings.TrimSpace(value) == "on"
	switch key {
	case "RX":
		p.set.Rx, p.rx = on, true
	case "TX":
		p.set.Tx, p.tx = on, true
	case "Autonegotiate", "RX negotiated", "TX negotiated":
	default:
		return false
	}
	if p.rx && p.tx && p.netdev != "" {
		p.f.TheHost().Dev(p.netdev).Global = evidence.Known(p.set, p.f.At(p.started))
	}
	return true
}
