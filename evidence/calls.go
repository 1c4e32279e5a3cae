package evidence

import (
	"net/netip"

	"github.com/shunt-network/shunt/units"
)

// Call is one measured collective: a row of nccl-tests, a record of NCCL's inspector, or a call in a simulated run.
type Call struct {
	Name      string // "dp all_reduce" in a job, the test's name in nccl-tests
	Kind      string // "all_reduce", "alltoall", ... as nccl-tests name them; "" where the file does not tell
	Algorithm string // "ring", "tree"; "" where not told
	Bytes     units.Bytes
	Ranks     int // 0 where not told
	Step      int // training step, -1 outside of one
	Start     units.Instant
	Timed     bool // Start is known
	Time      units.Duration
	AlgBW     float64 // GB/s = 1e9 bytes/s, as nccl-tests print it
	BusBW     float64 // GB/s
	Wrong     int64   // elements with a wrong value, -1 where not checked
	InPlace   bool
	From      Source
	// Table tells rows of one run of nccl-tests apart from rows of another.
	Table int

	// What NCCL's inspector tells of one rank's call; of a row of nccl-tests they are not known.
	Host     string
	Comm     string // communicator
	Rank     Value[int]
	Peer     Value[int] // of a send or receive
	Seq      int64      // number of the operation within its communicator
	Protocol string     // "LL", "LL128", "SIMPLE"
}

// Step is one measured training step.
type Step struct {
	Index   int
	Start   units.Instant
	Time    units.Duration
	Compute units.Duration // of the busiest GPU
	Exposed units.Duration // communication that computing did not hide: Time - Compute
	From    Source
}

// Table is one run of nccl-tests: what its head and its foot say of all rows.
type Table struct {
	Index    int    // Call.Table of its rows
	Test     string // "all_reduce_perf", "" where not told
	Ranks    int    // 0 where not told
	AvgBusBW Value[float64]
	// OutOfBounds is how many values were wrong, as the foot counts them.
	OutOfBounds Value[int64]
	From        Source

	MinBytes Value[units.Bytes] // the smallest size that was run: an average over small sizes says little of the network
	Hosts    []string           // of its ranks, in order of appearance, each once
	Firsts   []FirstRank        // every rank 0 that was listed before it: more than one where processes ran apart
}

// FirstRank is a rank 0 in the list of devices of nccl-tests.
type FirstRank struct {
	Host, Process string
	From          Source
}

// Perftest is one run of perftest (ib_write_bw and its kin).
type Perftest struct {
	Test       string // "RDMA_Write BW Test", "" where not told
	Host       string
	Device     string
	QPs        Value[int]
	MTU        Value[int] // bytes
	GIDIndex   Value[int]
	LinkLayer  Value[string]
	RDMACM     Value[bool] // connected through rdma_cm, which finds the GID by the route
	Connection Value[string]
	Rows       []PerftestRow
	Status     Value[int] // work completion status it failed with
	Syndrome   int
	LocalGID   Value[netip.Addr]
	RemoteGID  Value[netip.Addr]
	Failed     Value[string] // what the test could not do before it sent: "register memory", "set up a QP"
	Conflict   Source        // "Conflicting CPU frequency values", which is harmless for bandwidth; zero where not printed
	From       Source
}

// PerftestRow is one message size of a bandwidth test.
type PerftestRow struct {
	Bytes         units.Bytes
	Iterations    int64
	Peak, Average units.Rate
	From          Source
}
