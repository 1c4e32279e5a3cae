package ibtools

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

var perfCounters = fragment.Index(telemetry.IBCounters)

// perfNames are the names perfquery gives to the counters that sysfs has, too (infiniband-diags, src/perfquery.c; both read the
// PortCounters attributes of the InfiniBand architecture, sections 16.1.3.5 and 16.1.4.11).
var perfNames = map[string]string{
	"SymbolErrorCounter": "symbol_error", "LinkErrorRecoveryCounter": "link_error_recovery", "LinkDownedCounter": "link_downed",
	"PortRcvErrors": "port_rcv_errors", "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors", "PortRcvSwitchRelayErrors": "port_rcv_switch_relay_errors",
	"PortXmitDiscards": "port_xmit_discards", "PortXmitConstraintErrors": "port_xmit_constraint_errors", "PortRcvConstraintErrors": "port_rcv_constraint_errors",
	"LocalLinkIntegrityErrors": "local_link_integrity_errors", "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors", "VL15Dropped": "VL15_dropped",
	"PortXmitWait": "port_xmit_wait", "PortXmitData": "port_xmit_data", "PortRcvData": "port_rcv_data", "PortXmitPkts": "port_xmit_packets", "PortRcvPkts": "port_rcv_packets",
}

// Perfquery reads what perfquery prints of one port. The device is told by the options (-C), if at all; else a port goes by its LID.
//
//	# Port counters: Lid 12 port 1 (CapMask: 0x5A00)
//	SymbolErrorCounter:..............0
//	# Port extended counters: Lid 12 port 1 (CapMask: 0x5A00)
type Perfquery struct {
	f      *fragment.Fragment
	device string
	port   int
}

// NewPerfquery makes a reader for one output.
func NewPerfquery(f *fragment.Fragment) *Perfquery {
	return &Perfquery{f: f, device: f.Device, port: 1}
}

// StartsPerfquery tells whether a line is the head of an output.
func StartsPerfquery(line []byte) bool {
	return bytes.HasPrefix(line, []byte("# Port counters: ")) || bytes.HasPrefix(line, []byte("# Port extended counters: "))
}

// Line reads one line; false means that it is not of this output.
func (p *Perfquery) Line(line []byte, n int) bool {
	if StartsPerfquery(line) {
		f := strings.Fields(string(line))
		for i, w := range f[:len(f)-1] {
			switch w {
			case "Lid":
				if p.f.Device == "" {
					p.device = "LID " + f[i+1]
				}
			case "port":
				if v, err := strconv.Atoi(f[i+1]); err == nil && v > 0 && v < 256 { // of a switch up to 254
					p.port = v
				}
			}
		}
		return true
	}
	name, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":.")
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	v, err := strconv.ParseUint(strings.TrimLeft(value, "."), 10, 64)
	counter, known := perfCounters[perfNames[name]]
	if err != nil || !known || saturated(name, v) {
		return true
	}
	p.f.Count(counter, perfNames[name], p.device, p.port, v, n)
	return true
}

// saturated tells whether a counter of the old attribute stands at its end: it stays there, and grows no more.
func saturated(name string, v uint64) bool {
	switch name {
	case "SymbolErrorCounter", "PortRcvErrors", "PortXmitDiscards", "VL15Dropped", "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors":
		return v == 1<<16-1
	case "LinkErrorRecoveryCounter", "LinkDownedCounter":
		return v == 1<<8-1
	case "PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts", "PortXmitWait":
		return v == 1<<32-1
	}
	return false
}
