package evidence

import "github.com/shunt-network/shunt/units"

// SwitchQoS is how a switch sorts packets into queues and when it marks and pauses: a packet's DSCP gives its traffic
// class, the class its priority group (ingress, where PFC acts) and its queue (egress, where ECN acts). The names are
// SONiC's (config_db.json; sonic-buildimage, qos_config.j2); other systems have the same hops.
type SwitchQoS struct {
	DSCPToTC map[string]DSCPMap // maps by name
	TCToPG   map[string]ClassMap
	TCToQ    map[string]ClassMap
	PFCToPG  map[string]ClassMap // priority of a received pause frame to priority group
	PFCToQ   map[string]ClassMap // priority of a received pause frame to queue
	Marking  map[string]MarkingProfile
	Buffers  map[string]BufferProfile
	// PauseWatch is the poll interval of the PFC watchdog in milliseconds.
	PauseWatch Value[int]
	From       Source
}

// ClassMap sends each of eight classes to one of eight others, -1 where it says nothing of it.
type ClassMap [Priorities]int8

// NoClass is a ClassMap that says nothing.
func NoClass() (m ClassMap) {
	for i := range m {
		m[i] = -1
	}
	return m
}

// NoDSCP is a DSCPMap that says nothing.
func NoDSCP() (m DSCPMap) {
	for i := range m {
		m[i] = -1
	}
	return m
}

// MarkingProfile is when a queue marks or drops early (WRED). Thresholds are those of green packets, which is what
// packets are that no meter has coloured.
type MarkingProfile struct {
	Min, Max Value[units.Bytes]
	Share    Value[float64] // of packets at Max: 0..1
	ECN      Value[string]  // "ecn_all", "ecn_green", "ecn_none"
	From     Source
}

// Marks tells whether the profile marks green packets; ok is false where it does not say.
func (p MarkingProfile) Marks() (marks, ok bool) {
	ecn, ok := p.ECN.Get()
	return ok && ecn != "ecn_none" && ecn != "none" && ecn != "ecn_yellow" && ecn != "ecn_red" && ecn != "ecn_yellow_red", ok
}

// BufferProfile is how much of the buffer a priority group or a queue may take.
type BufferProfile struct {
	Pool    string
	Size    Value[units.Bytes]
	XOn     Value[units.Bytes]
	XOff    Value[units.Bytes] // headroom behind the pause threshold: a profile without it is lossy
	Dynamic Value[int]         // threshold as a power of two of the free pool
	Static  Value[units.Bytes]
	From    Source
}

// PortQoS is which maps and profiles a switch port uses.
type PortQoS struct {
	DSCPToTC, TCToPG, TCToQ, PFCToPG, PFCToQ Value[string] // names of maps
	PFC                                      Value[[Priorities]bool]
	Watch                                    Value[[Priorities]bool] // the PFC watchdog acts on the priority
	Marking                                  [Priorities]Value[string]
	Groups                                   [Priorities]Value[string] // buffer profile of each priority group
	Queues                                   [Priorities]Value[string] // and of each queue
	From                                     Source
}
