// Package simai reads the files of SimAI: topologies with GPUs, NVSwitches and NICs as its generator makes them, and the
// workloads that AICB writes, a descendant of the text format of ASTRA-sim 1.
//
// What was not clear from the files is from SimAI's source: astra-sim/workload/Workload.cc (what each policy does in
// which order) and astra-sim/system/MockNcclGroup.cc (who is in which group).
//
// Read topology.go (a fabric), workload.go (layers as the file has them), job.go (the same as a plan), policy.go (what
// each policy does).
package simai
