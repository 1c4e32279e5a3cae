package evidence

// RASComm is a communicator in an NCCL RAS report.
type RASComm struct {
	ID      string // hash of the communicator
	Size    int
	Ranks   []RASRank // those that answered; the text report names outliers only
	Missing []RASRank // those that did not, or that are not part of it any more
	From    Source
}

// RASRank is what a RAS report says of one rank.
type RASRank struct {
	Rank    int
	Host    string // an address
	Process int
	GPU     int
	Status  string // "RUNNING", "INIT", "FINALIZE", "ABORT", "NOCOMM"; "" where not told
	// Error is the rank's own: "Remote process error", "Asynchronous error 6"; "" where it has none.
	Error        string
	Unresponsive bool
	Dead         bool
	Counts       []OpCount
	From         Source
}

// OpCount is how many operations of a kind a rank has launched.
type OpCount struct {
	Kind  string // "AllReduce"
	Count int64
}

// Launched is the count of a kind; ok is false where the report does not have it.
func (r RASRank) Launched(kind string) (count int64, ok bool) {
	for _, c := range r.Counts {
		if c.Kind == kind {
			return c.Count, true
		}
	}
	return 0, false
}

// RASSummary is the head and the findings of a RAS report.
type RASSummary struct {
	Nodes, Processes, GPUs Value[int]
	Timeouts               int // of RAS itself, while it gathered
	Lost                   []RASRank
	Mismatches             []RASMismatch
	From                   Source
}

// RASMismatch is a set of ranks of one communicator that launched the same number of operations, where others
// launched another.
type RASMismatch struct {
	Comm  string
	Kind  string // "AllReduce"; "status" where ranks differ in it
	Ranks int    // how many
	Upto  int64  // operations launched; 0 for none
	State string // the status, for "status"
	Named []RASRank
	From  Source
}
