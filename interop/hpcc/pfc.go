package hpcc

import (
	"bufio"
	"fmt"
	"io"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// PauseLog writes pauses as pfc.txt while a run goes on: "time_ns node type interface event", where type is 1 for a
// switch and 0 for a host, interfaces count from 1, and event is 1 when the interface is paused and 0 when it may go on.
// The model writes a line for every pause frame, repeated ones too; here there is one for each change.
type PauseLog struct {
	f       *fabric.Fabric
	numbers Numbers
	out     *bufio.Writer
	offset  units.Duration
}

// NewPauseLog starts a log of a run on f. offset is added to all times (Job.Offset).
func NewPauseLog(out io.Writer, f *fabric.Fabric, offset units.Duration) *PauseLog {
	return &PauseLog{f: f, numbers: NumbersOf(f), out: bufio.NewWriter(out), offset: offset}
}

// Probe is what the run must be given (netsim.Config.Probe).
func (l *PauseLog) Probe() *netsim.Probe {
	return &netsim.Probe{Pause: func(port fabric.PortID, _ uint8, on bool, at units.Instant) {
		node := l.f.Ports[port].Node
		kind, event := 0, 0
		if l.f.Nodes[node].Role != fabric.Host {
			kind = 1
		}
		if on {
			event = 1
		}
		fmt.Fprintf(l.out, "%d %d %d %d %d\n", nanos(at.Sub(units.At(0))+l.offset), l.numbers.node[node], kind, port-l.f.Nodes[node].FirstPort+1, event)
	}}
}

// Flush writes what is still held back.
func (l *PauseLog) Flush() error { return l.out.Flush() }
