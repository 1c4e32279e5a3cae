package evidence

import "github.com/shunt-network/shunt/units"

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
