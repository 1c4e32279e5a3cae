package htsim

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// WriteCompletions writes when flows began and ended in the lines of htsim's UEC program, in the order of time. c is
// the configuration of the run, with its defaults. htsim ends a flow when its sender has the last acknowledgement, so what that takes on
// an idle network is added. Flows that did not end are left out.
func WriteCompletions(out io.Writer, f *fabric.Fabric, flows []message.Flow, ops []netsim.OpTime, c netsim.Config) error {
	type line struct {
		at   units.Instant
		text string
	}
	var lines []line
	for i, fl := range flows {
		start, took, ok := fl.Times(ops)
		if !ok {
			continue
		}
		id := fl.ID
		if id == 0 {
			id = int64(i) + 1
		}
		name := fmt.Sprintf("Flow Uec_%d_%d flowId %d uecSrc %d", fl.Src, fl.Dst, id, fl.Src)
		lines = append(lines, line{start, fmt.Sprintf("%s starting at %s", name, micros(start.Sub(units.At(0))))})
		if path, found := message.PathOf(f, fl.Src, fl.Dst); found {
			took += path.Ack(c.Switch.Latency)
		}
		end := start.Add(took)
		packets := (fl.Bytes + c.NIC.MTU - 1) / c.NIC.MTU
		lines = append(lines, line{end, fmt.Sprintf("%s finished at %s total messages 1 total packets %d RTS 0 total bytes %d in_flight now 0",
			name, micros(end.Sub(units.At(0))), packets, int64(fl.Bytes))})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at.PS(), b.at.PS()) })
	w := bufio.NewWriter(out)
	for _, l := range lines {
		w.WriteString(l.text)
		w.WriteByte('\n')
	}
	return w.Flush()
}

// micros is a time in microseconds, as htsim prints times, but not cut to six digits.
func micros(d units.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(units.Microsecond), 'f', -1, 64)
}

// Write writes a matrix in htsim's form.
func (m *Matrix) Write(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "Nodes %d\nConnections %d\n", m.Nodes, len(m.Connections))
	if len(m.Triggers) > 0 {
		fmt.Fprintf(w, "Triggers %d\n", len(m.Triggers))
	}
	if len(m.Failures) > 0 {
		fmt.Fprintf(w, "Failures %d\n", len(m.Failures))
	}
	number := func(name string, v int32) {
		if v != 0 {
			fmt.Fprintf(w, " %s %d", name, v)
		}
	}
	for _, c := range m.Connections {
		fmt.Fprintf(w, "%d->%d", c.Src, c.Dst)
		number("id", c.ID)
		if c.Reuse {
			w.WriteString(" msg")
		}
		if c.Trigger != 0 {
			number("trigger", c.Trigger)
		} else {
			fmt.Fprintf(w, " start %s", strconv.FormatFloat(c.Start, 'f', -1, 64))
		}
		fmt.Fprintf(w, " size %d", int64(c.Size))
		number("send_done_trigger", c.SendDone)
		number("recv_done_trigger", c.RecvDone)
		if c.Priority >= 0 {
			fmt.Fprintf(w, " prio %d", c.Priority)
		}
		w.WriteByte('\n')
	}
	for _, t := range m.Triggers {
		fmt.Fprintf(w, "trigger id %d %s", t.ID, t.Kind)
		number("count", t.Count)
		w.WriteByte('\n')
	}
	for _, f := range m.Failures {
		fmt.Fprintf(w, "failure switch_type %s switch_id %d link_id %d\n", failureTiers[f.Tier], f.Switch, f.Link)
	}
	return w.Flush()
}
