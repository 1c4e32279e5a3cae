// Package workload owns what a job sends: collectives and training steps written out as compute and
// transfers with dependencies (a Plan), and the traffic of others beside it.
//
// A Plan is plain data and knows nothing of packets, paths or time beyond the compute times it was
// given; netsim and flowsim carry it out, and Plan.Measure turns the times of the operations back into those of
// collectives and steps.
//
// Read plan.go (what a plan is), call.go with ring.go, tree.go, alltoall.go and sendrecv.go (collectives), spec.go
// (what people write), step.go, stepwrite.go and stepcomm.go (training steps), pattern.go, background.go, then
// measure.go and bound.go.
//
// A collective is written so that any carrier that keeps the dependencies alone carries it out right: messages
// of one connection may arrive in any order (dataflow_test.go does this).
package workload
