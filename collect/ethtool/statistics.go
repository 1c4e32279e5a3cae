// Package ethtool owns reading what ethtool prints of an interface: driver statistics (-S), pause parameters (-a), the
// link (no option), FEC (--show-fec), the module (-m), the driver (-i), queues and interrupts (-c, -l, -g) and
// features (-k).
//
// Counter names are the driver's. Which of them mean something, and what, stands in the telemetry catalogue; a
// counter that is not there is left alone. Values are totals since the driver was loaded: two outputs of one
// interface, before and after, tell more than any single one.
package ethtool

import (
	"bytes"
	"strconv"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// table has the counters of mlx5_core, bnxt_en and ice by name. No name means different things in two of them.
var table = fragment.Index(telemetry.EthtoolMLX5, telemetry.EthtoolBNXT, telemetry.EthtoolICE)

// fecTable has the counters of ethtool -I --show-fec.
var fecTable = fragment.Index(telemetry.EthtoolFEC)

// Statistics reads ethtool -S, with its head "NIC statistics:" or without, as grep leaves it.
type Statistics struct{ f *fragment.Fragment }

// NewStatistics makes a reader for one output.
func NewStatistics(f *fragment.Fragment) *Statistics { return &Statistics{f} }

// StartsStatistics tells whether a line begins driver statistics: the head, or a counter with one of the names
// drivers use.
func StartsStatistics(line []byte) bool {
	if bytes.HasPrefix(line, []byte("NIC statistics:")) {
		return true
	}
	name, _, ok := counter(line)
	if !ok {
		return false
	}
	if _, known := table[string(name)]; known {
		return true
	}
	for _, p := range driverPrefixes {
		if bytes.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// driverPrefixes begin the counters of mlx5_core, bnxt_en ("[0]: rx_.."), ice ("rx_", "tx_", "port.") and
// ena ("queue_0_tx_cnt", "ena_admin_q_..").
var driverPrefixes = [][]byte{
	[]byte("rx_"), []byte("tx_"), []byte("[0]:"), []byte("queue_"), []byte("ena_"), []byte("port."), []byte("ch0_"), []byte("rx0_"), []byte("tx0_"),
	[]byte("rx-"), []byte("tx-"), []byte("outbound_pci_"), []byte("module_"),
}

// Holds tells whether a line is a counter in the form ethtool prints it, behind five blanks.
func (s *Statistics) Holds(line []byte) bool {
	if len(line) < 8 || line[4] != ' ' || line[5] == ' ' {
		return false
	}
	_, _, ok := counter(line)
	return ok
}

// Line reads one line; false means that it is not a statistic.
func (s *Statistics) Line(line []byte, n int) bool {
	name, value, ok := counter(line)
	if !ok {
		return len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte("NIC statistics:"))
	}
	if c, known := table[string(name)]; known {
		s.f.Count(c, string(name), "", 1, value, n)
	}
	return true
}

// counter reads "     rx_prio3_pause: 17": the name up to the last colon, then one unsigned number and no more.
func counter(line []byte) (name []byte, value uint64, ok bool) {
	t := bytes.TrimSpace(line)
	end := len(t)
	for end > 0 && t[end-1] >= '0' && t[end-1] <= '9' {
		end--
	}
	digits := t[end:]
	t = bytes.TrimRight(t[:end], " \t")
	i := len(t) - 1
	if len(digits) == 0 || i <= 0 || t[i] != ':' || bytes.IndexByte(t, '/') >= 0 {
		return nil, 0, false
	}
	value, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return nil, 0, false
	}
	name = bytes.TrimRight(t[:i], " \t")
	if name[0] != '[' && bytes.IndexByte(name, ' ') >= 0 {
		return nil, 0, false
	}
	return name, value, true
}
