// Package flowsim owns traffic as rates: it carries out a workload.Plan on a fabric.Fabric flow by flow instead of packet by
// packet. All flows under way share the links in the max-min fair way; a rate changes only when a flow begins or ends.
//
// It takes the paths that netsim takes (the same hash over the same QP numbers), has no queues, no loss and no congestion
// control, and so tells what the network could do rather than what it does. docs/models/flow-level.md says how far the two are
// apart. For clusters whose plans would have billions of operations, Collective and Step work out whole phases at once.
//
// Like netsim it is deterministic: no clock, goroutine, map order or global source. Rates are floats, but every product that is
// added to something is rounded on its own, so that no processor may fuse the two and every machine gets the same bits.
//
// Read config.go, path.go with identity.go and spread.go (which links a flow uses, and how much of each), share.go (max-min),
// run.go with qp.go, event.go and fault.go (a plan carried out), then phase.go, ring.go, tree.go, exchange.go and step.go
// (whole phases).
//
// Invariants, cited as (W1) in the code:
//
//	W1  no link carries more than its rate
//	W2  a flow that could go faster goes through a full link on which no flow is faster: max-min fairness
//	W3  bytes sent on a link are the bytes of the messages that took it
package flowsim
