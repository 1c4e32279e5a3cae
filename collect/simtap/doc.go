// Package simtap owns the tap of the simulator: it reads a running netsim.Network as an agent reads hardware, and
// hands on the same telemetry and the same inventory, no richer than real NICs, switches and libraries are.
//
// It emits only series of the catalogue, each of which a real counter feeds. What only the simulator knows (which
// packet took which path, the injected faults) does not pass. Sampling is finer than that of real counters because a
// simulated run lasts milliseconds where a real one lasts hours.
//
// Read tap.go (counters), inventory.go (what is configured, what the job measured, sampled flows), then spraying.go (how packets are sprayed).
package simtap
