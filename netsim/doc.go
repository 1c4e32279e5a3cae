// Package netsim owns packets in motion: it carries out a workload.Plan on a fabric.Fabric, packet by
// packet, and counts what the ports, queues and NICs of real hardware count.
//
// It is deterministic: events are ordered by (time, order of scheduling), every entity draws from a
// stream of its own, and neither clocks, goroutines, maps nor floats decide when anything happens. It
// may not import time, os, sync or a global random source (internal/arch tests it).
//
// Read config.go and defaults.go (what can be set), network.go and summary.go (New, RunUntil, what comes out), event.go (the queue),
// then packet.go, port.go, switch.go, buffer.go, trim.go, pause.go, watchdog.go, deadlock.go, ecn.go, op.go, nic.go, qp.go, the transports
// (transport.go, arrivals.go, flight.go, place.go, irn.go, uec.go), fault.go, loss.go, detect.go; reduction.go, aggregate.go and worker.go for
// adding up in the switches. The laws of rate control are in netsim/cc and the schemes of path choice in netsim/route; neither knows of netsim. What ties them in is
// control.go and pace.go, choose.go (a switch decides) and entropy.go (the sender does), and note.go (what packets carry for them). What each model
// leaves out is in docs/models.
//
// One event serves a packet-hop where nothing contends: a link is FIFO, so only the head of what flies on it has an event (arrive), and an
// idle port that nobody has paused needs none to finish. A busy port needs a second one (evSend) for each packet.
//
// Invariants, cited as (N1) in the code:
//
//	N1  bytes sent = bytes received + bytes queued or flying + bytes dropped, by reason
//	N2  a port never sends data of a class while that class is paused, but for the packet already on the wire
//	N3  a lossless class drops nothing for lack of buffer while its headroom suffices
//	N4  a packet is owned by exactly one queue, one link or one NIC; the pool gets it back once
package netsim
