package route

// Scheme is a way to choose one of several equal-cost paths.
type Scheme uint8

// Schemes, the switch's first. To add one: a file with its state, a line here and in the table, a case in netsim/choose.go (it decides at a
// switch) or netsim/entropy.go (it decides at the sender), and a section in docs/models/path-choice.md.
const (
	ByECMP Scheme = iota
	ByECMPQPN
	ByRandom
	ByRoundRobin
	ByLetFlow
	ByCONGA
	ByDRILL
	ByDLB
	ByNVIDIAAR
	ByBuckets

	ByEVRandom
	ByOblivious
	ByREPS
	ByBitmap
	ByMixed
	ByPLB

	schemes
)

// table is the one list of schemes.
var table = [schemes]struct {
	name string
	host bool // the sender decides, by the entropy value (the UDP source port) of each packet, and switches hash it
}{
	ByECMP:       {"ecmp", false},
	ByECMPQPN:    {"ecmp-qpn", false},
	ByRandom:     {"random", false},
	ByRoundRobin: {"round-robin", false},
	ByLetFlow:    {"letflow", false},
	ByCONGA:      {"conga", false},
	ByDRILL:      {"drill", false},
	ByDLB:        {"dlb", false},
	ByNVIDIAAR:   {"nvidia-ar", false},
	ByBuckets:    {"buckets", false},
	ByEVRandom:   {"ev-random", true},
	ByOblivious:  {"oblivious", true},
	ByREPS:       {"reps", true},
	ByBitmap:     {"bitmap", true},
	ByMixed:      {"mixed", true},
	ByPLB:        {"plb", true},
}

func (s Scheme) String() string { return table[s].name }

// AtHost tells that the sender chooses the path of each packet by its entropy value.
func (s Scheme) AtHost() bool { return table[s].host }

// Names lists the schemes.
func Names() []string {
	names := make([]string, 0, schemes)
	for _, t := range table {
		names = append(names, t.name)
	}
	return names
}

// Parse finds a scheme by its name.
func Parse(name string) (Scheme, bool) {
	for s := range schemes {
		if table[s].name == name {
			return s, true
		}
	}
	return 0, false
}
