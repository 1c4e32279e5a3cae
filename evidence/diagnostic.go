package evidence

// Diagnostic is one line of NCCL's own diagnostics (NCCL_RUN_DIAGNOSTICS, NCCL_RUN_RAS_DIAGNOSTICS and ncclras -D, NCCL
// 2.31 on).
type Diagnostic struct {
	Check string // "NCCL environment", "Net device mlx5_0:1", "ECC", "p2p", ...
	OK    bool   // the check found nothing to look into
	Text  string // what it says, without the name of the check
	Comm  string // hash of the communicator, "" where none is named
	Ranks []int  // that are named; NCCL names eight at most
	Of    int    // how many there are; 0 where none are named
	Host  string // of the process that reported, not of what it reports on
	From  Source

	// Name and Value are a variable and what it is set to on Ranks, where ranks differ in it.
	Name, Value string
}

// RASEvent is what NCCL's RAS service tells a client that watches (ncclras -m, NCCL 2.29 on).
type RASEvent struct {
	Time  string // as printed
	Event string // "PEER_DEAD", ...
	Peer  RASRank
	From  Source
}
