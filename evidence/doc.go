// Package evidence owns what is known and from where: a typed inventory of hosts, NICs, switches, settings,
// the job and what its libraries said, each value with its source or with the reason why it is missing.
//
// Unknown is a state of its own and never zero. The collectors fill an inventory from files (one fragment a
// file, joined by name), the simulator's tap fills one from a run; a diagnosis reads it and cannot tell which.
//
// Read value.go, inventory.go, then nccl.go (what the library said) and calls.go (what the job measured).
package evidence
