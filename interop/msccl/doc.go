// Package msccl reads collective algorithms as MSCCL writes them (Microsoft Collective Communication Library; ASTRA-sim
// takes them as custom collectives): an XML file that says, for every GPU and thread block, which chunk goes where in which
// step.
//
// Read algorithm.go (the file), then job.go (a plan).
package msccl
