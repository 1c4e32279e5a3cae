package evidence

import "github.com/shunt-network/shunt/units"

// Priorities is how many priorities an Ethernet frame can have (IEEE 802.1Q-2022, 6.9.3: three bits).
const Priorities = 8

// QoS is how an interface sorts what it receives and sends into priorities, buffers and traffic classes, as mlnx_qos
// and dcb show it. A packet's way is DSCP (or the VLAN tag's priority) -> priority -> buffer, and priority -> traffic
// class; PFC is on or off by priority.
type QoS struct {
	Controller Value[string]           // of DCBX: "OS", "Firmware"
	Trust      Value[string]           // what is trusted: "dscp" or "pcp"
	DSCP       Value[DSCPMap]          // priority of every DSCP
	PFC        Value[[Priorities]bool] // pause is on
	TC         Value[[Priorities]int]  // traffic class of every priority
	Buffer     Value[[Priorities]int]  // receive buffer of every priority
	Buffers    Value[[]units.Bytes]    // sizes of the receive buffers
	MaxBuffer  Value[units.Bytes]      // all of them together
	Cable      Value[int]              // length the headroom is computed for, metres
	Classes    []TrafficClass
	From       Source
}

// DSCPMap has the priority of each of the 64 code points (RFC 2474), -1 where the output does not tell.
type DSCPMap [64]int8

// TrafficClass is how one traffic class is scheduled.
type TrafficClass struct {
	Index     int
	Algorithm string         // "strict", "ets", "vendor"
	Share     Value[float64] // of the bandwidth, with ets: 0..1
	Limit     Value[string]  // "unlimited", "10.0 Gbps"
	From      Source
}
