// Package interop owns the way in from other simulators: it tells what a file is and makes a fabric or a plan of it,
// with what it says about switches and NICs as a configuration of netsim. The packages below it know one family of files
// each; what they write, in the words of those simulators, is there too.
//
//	htsim      topologies, connection matrices; completions
//	hpcc       ns-3 with HPCC and its descendants: topologies, flows, configurations, flow sizes; fct.txt, pfc.txt
//	simai      topologies with NVLink, AICB workloads
//	astrasim   analytical networks, Chakra traces, systems, groups
//	msccl      collective algorithms
//	goal       schedules of LogGOPSim and ATLAHS
//
// What is wrong with a file is a spec.Problems: every mistake with line and column (with the byte in binary files), and what
// would be right. What is right but has another meaning here, or none, is among the notes.
//
// Read sniff.go (what is this?), network.go (fabrics), job.go (plans), settings.go; then source, message and dataflow, on which the
// families are built.
package interop
