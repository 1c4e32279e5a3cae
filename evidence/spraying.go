package evidence

import "github.com/shunt-network/shunt/units"

// Spraying is how a switch or a NIC deals the packets of one queue pair over several paths, and how fresh the link state is
// that it goes by. SONiC tells it of a switch as ARS_PROFILE (sampling_interval) and ARS_NEXTHOP_GROUP (assign_mode); the
// driver of a NIC in its debugfs (article 000, section 4, of MLNX_OFED; the form of that file is not public, so nothing
// reads it).
type Spraying struct {
	Key     Value[string]         // what is hashed: "flow", "flow+psn", "counter"
	Buckets Value[int]            // entries of the table that hashes fall into, all paths together
	Refresh Value[units.Duration] // how often the link state is read and the buckets are dealt anew
	// Feedback tells whether a pause on a path takes it out at once, before the next refresh.
	Feedback Value[bool]
	PerQP    Value[int] // rules a queue pair takes in the switch's rule table; 0 where spraying needs none
	Paths    []SprayPath
	From     Source
}

// SprayPath is one path of a Spraying: its share, and what the link state said of it when it was last read.
type SprayPath struct {
	Port    string       // of the switch, "Ethernet48", or of the host, "mlx5_1"
	Buckets Value[int]   // of all Spraying.Buckets
	Score   Value[int]   // health, 0 to 255
	Sprayed Value[int64] // packets it was given
	// Age is how old the state was on which the last decision rested, Oldest the most it ever was. A path that is read in
	// time is never older than Spraying.Refresh.
	Age, Oldest Value[units.Duration]
}

// Path finds a path by its port, nil where there is none.
func (s *Spraying) Path(port string) *SprayPath {
	for i := range s.Paths {
		if s.Paths[i].Port == port {
			return &s.Paths[i]
		}
	}
	return nil
}

// ContextID is how a NIC writes the per-packet context id (PPCID) into the field of the UDP checksum, and how it reads the
// one it receives (article 000, section 3). RoCEv2 knows no such thing; no public tool prints it.
type ContextID struct {
	On     Value[bool]
	Layout Value[string] // which bits hold what: "v1", or a vendor's name for it
	// Since is the oldest firmware that understands the layout.
	Since Value[string]
	From  Source
}
