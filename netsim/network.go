package netsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Network is one run: a plan being carried out on a fabric.
type Network struct{}

// New prepares a run. It fails when the plan names GPUs that the fabric has not, or the configuration cannot be.
func New(f *fabric.Fabric, plan *workload.Plan, c Config) (*Network, error) { panic("contract") }

// RunUntil carries the run on until the plan is done or the clock reaches t, and tells whether it is done:
// every operation that is not background has finished. Splitting a run changes nothing in it.
func (n *Network) RunUntil(t units.Instant) (done bool, err error) { panic("contract") }

// Now is the time of the last event.
func (n *Network) Now() units.Instant { panic("contract") }

// Port returns the counters of a port, with its queue gauges and open pauses brought up to the present.
func (n *Network) Port(p fabric.PortID) PortCounters { panic("contract") }

// ResetPeaks starts the queue watermarks again, as reading a clear-on-read watermark does.
func (n *Network) ResetPeaks() { panic("contract") }

// NIC returns the counters of the NIC at endpoint ep.
func (n *Network) NIC(ep int32) NICCounters { panic("contract") }

// Summary is what a run came to.
type Summary struct {
	Fingerprint uint64 // hash of every operation's start and end, and of every port's counters
	End         units.Instant
	Events      uint64
	PacketHops  uint64 // packets, data and control, that finished one link
	Drops       [DropReasons]uint64
	Stalled     bool // operations were left that nothing could finish (a QP gave up, or a deadlock)
}

// Finish ends the run, checks conservation (N1) and says what the run came to. The error names the entity and
// the bytes that are missing.
func (n *Network) Finish() (Summary, error) { panic("contract") }

// Ops returns start and end of every operation; an operation that did not end has End before Start.
func (n *Network) Ops() []OpTime { panic("contract") }

// OpTime is when an operation ran.
type OpTime struct{ Start, End units.Instant }
