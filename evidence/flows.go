package evidence

import "github.com/shunt-network/shunt/units"

// Flow is traffic between two hosts as sampling at a switch shows it (sFlow, or flow records): who, which
// application by its port, in which priority, how much.
type Flow struct {
	Src, Dst    string // hosts, or addresses where the host is not known
	Application string // "rocev2" (UDP 4791), or what the port is known for
	Priority    int8   // -1 where not told
	DSCP        Value[int]
	Bytes       units.Bytes
	Start, End  units.Instant
	Timed       bool
	From        Source
}

// RoCE is the application name of UDP port 4791 (IANA: roce).
const RoCE = "rocev2"
