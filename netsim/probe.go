package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Probe is told of events while they happen. A nil field is not called. What can be counted is in the
// Counters instead: a probe is for what needs its moment.
type Probe struct {
	// OpStart and OpDone bracket every operation of the plan.
	OpStart, OpDone func(op workload.OpID, at units.Instant)
	// Pause tells that port began (on) or stopped (off) being paused by its peer for a priority.
	Pause func(port fabric.PortID, priority uint8, on bool, at units.Instant)
	// Storm tells that the watchdog of a switch took a queue for stormed, or found the storm over.
	Storm func(port fabric.PortID, priority uint8, begins bool, at units.Instant)
	// Drop tells of a packet lost at (or leaving) port.
	Drop func(port fabric.PortID, why DropReason, at units.Instant)
	// Link tells that the link at port went down or came up.
	Link func(port fabric.PortID, up bool, at units.Instant)
	// RetryExceeded tells that the QP of a connection gave up after its last retry.
	RetryExceeded func(src, dst fabric.PortID, at units.Instant)
}
