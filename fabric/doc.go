// Package fabric owns the network as a value: which hosts, GPUs, NICs, switches and links there are,
// at what rate and delay, and over which equal-cost ports a switch reaches a NIC.
//
// A Spec (the file, pure data) becomes a Fabric (immutable, every id dense). Packets in motion belong to
// netsim, what the job sends to workload. Ids are handed out once, here; names are for people.
//
// Read fabric.go (what a fabric is), builder.go (how one is put together), route.go (equal-cost next hops),
// then spec.go and the generators.
package fabric
