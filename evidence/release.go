package evidence

// ReleaseResult is a bandwidth that somebody wrote down for a release of NCCL.
type ReleaseResult struct {
	Release string  // "2.19.3"
	With    string  // what else the line says of the run: "topo1"; to compare only what is alike
	BusBW   float64 // GB/s
	Below   bool    // it was less than that: "0.x GB/s" is below 1
	From    Source
}
