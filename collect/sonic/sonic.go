// Package sonic owns reading what a SONiC switch is set to (config_db.json) and what its command line prints: counters,
// ports, neighbours, marking, the PFC watchdog and FEC.
//
// Tables are laid out by tabulate (sonic-utilities): a head, a line of dashes, rows whose cells are parted by two
// blanks or more. "N/A" is unknown, never zero: the FEC in operation is N/A while the link is down.
package sonic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

var counters = fragment.Index(telemetry.SONiCWatchdog)

// Watchdog reads show pfcwd stats (sonic-utilities, pfcwd/main.py):
//
//	      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
//	-----------  --------  -------------------------  ------------  ------------  -----------------  -----------------
//	Ethernet4:3   stormed                        1/0    0/41507426           0/0         0/41507426                0/0
type Watchdog struct{ f *fragment.Fragment }

// NewWatchdog makes a reader for one output.
func NewWatchdog(f *fragment.Fragment) *Watchdog { return &Watchdog{f} }

// StartsWatchdog tells whether a line is the head of the table.
func StartsWatchdog(line []byte) bool { return bytes.Contains(line, []byte("STORM DETECTED/RESTORED")) }

// Line reads one line; false means that it is not of the table.
func (w *Watchdog) Line(line []byte, n int) bool {
	if StartsWatchdog(line) {
		return true
	}
	f := strings.Fields(string(line))
	if len(f) == 0 || strings.HasPrefix(f[0], "---") {
		return true
	}
	port, queue, ok := strings.Cut(f[0], ":")
	priority, err := strconv.ParseUint(queue, 10, 3) // queues of priorities 0 to 7
	if !ok || err != nil || len(f) < 5 {
		return false
	}
	w.f.Inv.Switch(w.f.Host).Port(port)
	detected, restored, _ := strings.Cut(f[2], "/")
	_, dropped, _ := strings.Cut(f[3], "/")
	_, received, _ := strings.Cut(f[4], "/")
	for _, c := range []struct{ name, value string }{
		{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", detected}, {"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", restored},
		{"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", dropped}, {"PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS", received},
	} {
		series, ok := counters[c.name]
		if v, err := strconv.ParseUint(c.value, 10, 64); err == nil && ok {
			series.Priority = int8(priority)
			w.f.Count(series, c.name, port, 1, v, n)
		}
	}
	return true
}

// FEC reads show interfaces fec status:
//
//	  Interface    FEC Oper    FEC Admin
//	-----------  ----------  -----------
//	  Ethernet0         N/A           rs
type FEC struct{ f *fragment.Fragment }

// NewFEC makes a reader for one output.
func NewFEC(f *fragment.Fragment) *FEC { return &FEC{f} }

// StartsFEC tells whether a line is the head of the table.
func StartsFEC(line []byte) bool {
	return bytes.Contains(line, []byte("FEC Oper")) && bytes.Contains(line, []byte("FEC Admin"))
}

// Line reads one line; false means that it is not of the table.
func (t *FEC) Line(line []byte, n int) bool {
	if StartsFEC(line) {
		return true
	}
	f := strings.Fields(string(line))
	if len(f) == 0 || strings.HasPrefix(f[0], "---") {
		return true
	}
	if len(f) != 3 {
		return false
	}
	p := t.f.Inv.Switch(t.f.Host).Port(f[0])
	p.FEC, p.FECSet = cell(f[1], t.f.At(n)), cell(f[2], t.f.At(n))
	return true
}

func cell(v string, at evidence.Source) evidence.Value[string] {
	if v == "N/A" {
		return evidence.Missing[string](v, at)
	}
	return evidence.Known(v, at)
}
