// Package fabric owns the network as a value: which hosts, GPUs, NICs, switches and links there are,
// at what rate and delay, and over which equal-cost ports a switch reaches a NIC.
//
// A Spec (the file, pure data) becomes a Fabric (immutable, every id dense). Packets in motion belong to
// netsim, what the job sends to workload. Ids are handed out once, here; names are for people.
//
// Read fabric.go (what a fabric is), spec.go (what people write) with override.go and load.go, builder.go (how one is put
// together), twotier.go and fattree.go (the generators; leafspine.go, railoptimised.go and dualplane.go name the
// two-tier ones), graph.go (any other network), then route.go (equal-cost next hops).
//
// Invariants, cited as (F1) in the code:
//
//	F1  the ports of a node follow each other, and a port's peer has it as its peer
//	F2  the end of a link that is nearer to the hosts is the uplink; a Graph may join nodes of one role, and then neither is
//	F3  a host has one link to a switch for each NIC port, and forwards nothing
//	F4  Rate <= Nominal: what runs slower than built was degraded, not built so
package fabric
