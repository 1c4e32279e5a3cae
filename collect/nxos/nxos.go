// Package nxos owns reading what Cisco NX-OS prints of priority flow control and of queues: show interface
// priority-flow-control, show queuing interface and show queuing pfc-queue interface.
//
// A queue group (qos-group) is what SONiC calls a queue, and the priority of a pause frame a CoS. The counters come under
// the series that SONiC's come under, by their own names. Read pfc.go, then queuing.go.
package nxos

import (
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// portName is a port by its long name: tables shorten Ethernet1/2 to Eth1/2. ok is false for what is no front port.
func portName(s string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(s, "Eth")
	rest = strings.TrimPrefix(rest, "ernet")
	if !ok || rest == "" || strings.Trim(rest, "0123456789/") != "" || !strings.Contains(rest, "/") {
		return "", false
	}
	return "Ethernet" + rest, true
}

// count adds a counter of a port.
func count(f *fragment.Fragment, id telemetry.SeriesID, name, port string, priority int8, value string, n int) {
	if v, err := strconv.ParseUint(strings.ReplaceAll(value, ",", ""), 10, 64); err == nil {
		f.Count(fragment.Counter{Series: id, Priority: priority, Scale: 1}, name, port, 1, v, n)
	}
}

// class reads a queue group or a CoS, 0 to 7.
func class(s string) (int8, bool) {
	v, err := strconv.ParseUint(s, 10, 3)
	return int8(v), err == nil
}
