// Package workload owns what a job sends: collectives and training steps written out as compute and
// transfers with dependencies (a Plan), and the traffic of others beside it.
//
// A Plan is plain data and knows nothing of packets, paths or time beyond the compute times it was
// given; netsim and flowsim carry it out. Read plan.go, then ring.go, tree.go, alltoall.go, step.go.
package workload
