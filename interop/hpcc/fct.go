package hpcc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// address is the IPv4 address that the model gives node id: 11.x.y.1 (node_id_to_ip).
func address(id int32) uint32 { return 0x0b000001 + uint32(id/256)<<16 + uint32(id%256)<<8 }

// firstPort is the source port of the first flow of a host; each further flow takes the next.
const firstPort = 10000

// WriteFCT writes the flows that ended as fct.txt, in the order in which they did:
//
//	src_ip dst_ip src_port dst_port bytes start_ns fct_ns standalone_ns
//
// The model ends a flow when its sender has the last acknowledgement, so what that takes on an idle network is added to
// when the last byte arrived. standalone is what a flow would have taken alone, by the model's formula: the round trip
// with the time a packet's payload takes to be sent at every hop, and the flow's bytes with headers at the lowest rate.
// c is the configuration of the run, with its defaults.
func (j *Job) WriteFCT(out io.Writer, f *fabric.Fabric, ops []netsim.OpTime, c netsim.Config) error {
	type row struct {
		end  units.Instant
		text string
	}
	numbers := NumbersOf(f)
	ports := map[fabric.GPUID]uint16{} // next source port, less firstPort; ns-3 hands them out by start
	byStart := make([]int, len(j.Flows))
	for i := range byStart {
		byStart[i] = i
	}
	slices.SortStableFunc(byStart, func(a, b int) int {
		return cmp.Compare(ops[j.Flows[a].First].Start.PS(), ops[j.Flows[b].First].Start.PS())
	})
	var rows []row
	for _, i := range byStart {
		fl := j.Flows[i]
		port := firstPort + ports[fl.Src]
		ports[fl.Src]++
		start, took, ok := fl.Times(ops)
		if !ok {
			continue
		}
		alone := took
		if path, found := message.PathOf(f, fl.Src, fl.Dst); found {
			took += path.Ack(c.Switch.Latency)
			packets := (fl.Bytes + c.NIC.MTU - 1) / c.NIC.MTU
			alone = path.Delay() + path.DelayBack() + path.Serialize(c.NIC.MTU) + units.Serialize(fl.Bytes+packets*headerBytes, path.Bottleneck())
		}
		end := start.Add(took)
		rows = append(rows, row{end, fmt.Sprintf("%08x %08x %d %d %d %d %d %d\n", address(numbers.Of(f, fl.Src)), address(numbers.Of(f, fl.Dst)), port, j.Ports[i],
			int64(fl.Bytes), nanos(start.Sub(units.At(0))+j.Offset), nanos(took), nanos(alone))})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.end.PS(), b.end.PS()) })
	w := bufio.NewWriter(out)
	for _, r := range rows {
		w.WriteString(r.text)
	}
	return w.Flush()
}

// nanos is a time in whole nanoseconds, the step of ns-3's clock.
func nanos(d units.Duration) int64 { return int64((d + units.Nanosecond/2) / units.Nanosecond) }
