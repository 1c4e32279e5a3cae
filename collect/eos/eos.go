// Package eos owns reading what Arista EOS prints of priority flow control: show priority-flow-control counters.
package eos

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// PFC reads show priority-flow-control counters, which counts the pauses of all priorities of a port together:
//
//	Port               RxPfc               TxPfc
//	Et1/1               1204                   0
type PFC struct{ f *fragment.Fragment }

// NewPFC makes a reader for one output.
func NewPFC(f *fragment.Fragment) *PFC { return &PFC{f} }

// StartsPFC tells whether a line is the head of the table.
func StartsPFC(line []byte) bool {
	words := bytes.Fields(line)
	return len(words) == 3 && string(words[0]) == "Port" && bytes.EqualFold(words[1], []byte("RxPfc")) && bytes.EqualFold(words[2], []byte("TxPfc"))
}

// Line reads one line; false means that it is not of the table.
func (p *PFC) Line(line []byte, n int) bool {
	if StartsPFC(line) {
		return true
	}
	words := strings.Fields(string(line))
	if len(words) == 0 || strings.Trim(words[0], "-") == "" {
		return true
	}
	port, ok := portName(words[0])
	if !ok || len(words) != 3 {
		return false
	}
	p.f.Inv.Switch(p.f.Host).Port(port)
	for i, c := range []struct {
		id   telemetry.SeriesID
		name string
	}{{telemetry.SwitchPFCRx, "RxPfc"}, {telemetry.SwitchPFCTx, "TxPfc"}} {
		if v, err := strconv.ParseUint(words[1+i], 10, 64); err == nil {
			p.f.Count(fragment.Counter{Series: c.id, Priority: telemetry.AnyPriority, Scale: 1}, c.name, port, 1, v, n)
		}
	}
	return true
}

// portName is a port by its long name: tables shorten Ethernet1/2 to Et1/2.
func portName(s string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(s, "Et")
	rest = strings.TrimPrefix(rest, "hernet")
	if !ok || rest == "" || strings.Trim(rest, "0123456789/") != "" {
		return "", false
	}
	return "Ethernet" + rest, true
}
