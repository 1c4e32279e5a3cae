package evidence

import "github.com/shunt-network/shunt/units"

// FlightDump is what PyTorch's flight recorder held of one rank: the collectives it last called, and how far each
// process group came.
type FlightDump struct {
	Rank    int // -1 where neither the dump nor its name tell
	Host    string
	Version string // of the format
	NCCL    string // version of the library
	Groups  []FlightGroup
	Ops     []FlightOp // the last of each process group, oldest first
	Left    int        // entries that were not kept
	From    Source
}

// FlightGroup is one process group of a dump.
type FlightGroup struct {
	Name, Description            string
	Ranks                        []int        // global ranks of the group
	Enqueued, Started, Completed Value[int64] // sequence numbers, -1 for none yet
}

// FlightOp is one recorded collective or send.
type FlightOp struct {
	Group       string
	Description string // of the group
	Seq         int64  // of the collective within its group; of the send where P2P
	P2P         bool
	Name        string // "nccl:all_reduce"
	State       string // "scheduled", "started", "completed"
	InBytes     Value[units.Bytes]
	OutBytes    Value[units.Bytes]
	InSizes     string         // "[[1024, 8]]", to compare
	Type        string         // element type of the input
	Created     int64          // ns since 1970
	Started     Value[int64]   // ns since 1970, when the watchdog saw it
	Completed   Value[int64]   // likewise
	Duration    Value[float64] // ms, with timing enabled
	Timeout     Value[int64]   // ms
	From        Source
}
