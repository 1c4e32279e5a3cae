package report

import "github.com/shunt-network/shunt/units"

// Run is what a simulated run came to and what the job in it felt. A report about files of a real cluster has
// none: what those files measured is evidence and shows in the findings.
type Run struct {
	Title string `json:"title"`
	// File is the scenario that was run, as its path was given; "" where it came from none.
	File string `json:"file,omitempty"`
	Job  string `json:"job"` // one line: "64 GPUs on 8 hosts, 12 switches"
	Seed uint64 `json:"seed"`
	// Fingerprint is the hash of everything that happened, in hexadecimal: two runs with equal fingerprints were
	// the same run.
	Fingerprint string         `json:"fingerprint"`
	End         units.Duration `json:"end"`                 // simulated time
	Stalled     bool           `json:"stalled,omitempty"`   // operations were left that nothing could finish
	Deadlocks   []string       `json:"deadlocks,omitempty"` // cycles of paused ports: "s0/Ethernet8 -> s1/Ethernet8 -> s0/Ethernet8, priority 3, since 1.2 ms"
	Cut         bool           `json:"cut,omitempty"`       // the limit of the scenario ended the run, not the job
	Step        *Figures       `json:"step,omitempty"`      // nil when no training step ended
	Collectives []Collective   `json:"collectives"`
	Counters    Counters       `json:"counters"`
}

// Figures sums up the times of many calls or steps. P50 and P99 are nearest-rank percentiles.
type Figures struct {
	Count int            `json:"count"`
	Min   units.Duration `json:"min"`
	P50   units.Duration `json:"p50"`
	P99   units.Duration `json:"p99"`
	Max   units.Duration `json:"max"`
}

// Collective is one collective of the job, over all its calls.
type Collective struct {
	Name  string      `json:"name"` // "dp all_reduce"
	Kind  string      `json:"kind"` // as nccl-tests name it: "all_reduce", "alltoall"
	Calls int         `json:"calls"`
	Bytes units.Bytes `json:"bytes"` // of one call, by nccl-tests' definition of its size
	Ranks int         `json:"ranks"`
	Time  Figures     `json:"time"`
	// AlgBW and BusBW are of the median call, in GB/s of 10^9 bytes, as nccl-tests defines them (doc/PERFORMANCE.md).
	AlgBW float64 `json:"algbw_gb_per_s"`
	BusBW float64 `json:"busbw_gb_per_s"`
}

// Counters are totals over the whole fabric and run.
type Counters struct {
	PacketHops uint64 `json:"packet_hops"` // packets that finished one link, control packets too
	Events     uint64 `json:"events"`
	ECNMarks   uint64 `json:"ecn_marks"`
	Pauses     uint64 `json:"pfc_pauses"` // pauses that switches and NICs sent
	Drops      []Drop `json:"drops"`      // only the reasons that happened
}

// Drop is how many packets were lost for one reason.
type Drop struct {
	Reason  string `json:"reason"`
	Packets uint64 `json:"packets"`
}
