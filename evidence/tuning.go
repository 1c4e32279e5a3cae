package evidence

import "github.com/shunt-network/shunt/units"

// TuningChoice is the algorithm and protocol NCCL chose for a size.
type TuningChoice struct {
	Host       string
	Collective string // "AllReduce"; "" where the line does not tell
	Bytes      units.Bytes
	Algorithm  string // "Tree", "Ring", "CollNetDirect", "NVLS", ...
	Protocol   string // "LL", "LL128", "Simple"
	Channels   int    // 0 where not told
	Count      int    // how often
	From       Source
}

// CallSeen counts the calls of a collective of one size in an NCCL log with NCCL_DEBUG_SUBSYS=COLL.
type CallSeen struct {
	Host       string
	Collective string
	Elements   int64
	Type       int // ncclDataType_t
	Ranks      int // 0 where not told
	Count      int
	LastOp     int64 // largest opCount
	From       Source
}
