package message

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Flow is a message of a plan under the names of its file.
type Flow struct {
	ID          int64 // as the file numbers it, 0 where it does not
	Src, Dst    fabric.GPUID
	Bytes       units.Bytes
	First, Last workload.OpID // it begins with First and is over with Last
}

// Times is when a flow ran, by the times of the operations of its plan. It is false for one that did not end.
func (f Flow) Times(ops []netsim.OpTime) (start units.Instant, took units.Duration, ok bool) {
	start, end := ops[f.First].Start, ops[f.Last].End
	if end.Before(start) || start.Before(units.At(0)) {
		return start, 0, false
	}
	return start, end.Sub(start), true
}
