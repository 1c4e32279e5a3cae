package hpcc

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Flow is a line of a flow file: one message on a queue pair of its own.
type Flow struct {
	source.Place
	Src, Dst int32
	Priority uint8 // the priority group
	Port     uint16
	Bytes    units.Bytes
	Start    units.Duration
}

// Flows is a flow file.
type Flows struct {
	List   []Flow
	Report *source.Report
}

// latest is the latest start: the 106 days of a units.Duration leave time to run.
const latest = 100 * 24 * 3600 * units.Second

// ReadFlows reads a flow file: how many there are, and for each "src dst priority_group dst_port bytes start", the
// start in seconds. They may come in any order, though ns-3 needs them by their start. What follows the last is not read.
// The result is nil when the error, a spec.Problems, is not.
func ReadFlows(file string, in io.Reader) (*Flows, error) {
	r := source.NewReader(file, in)
	f := &Flows{Report: &r.Report}
	w, ok := r.Next()
	if !ok {
		r.Wrong(w, "the file is empty; it begins with the number of flows")
		return nil, r.Err()
	}
	count, ok := r.Int(w, "the number of flows", 0, workload.MaxOps)
	for range count {
		if !ok {
			break
		}
		var fl Flow
		fl, ok = readFlow(r, count, len(f.List))
		f.List = append(f.List, fl)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// readFlow reads the six words of a flow.
func readFlow(r *source.Reader, count int64, read int) (f Flow, ok bool) {
	ok = true
	number := func(what string, least, most int64) int64 {
		w, more := r.Next()
		if !more && ok {
			r.Wrong(w, "the file ends after %d of %d flows; write %d in front, or the flows that are missing", read, count, read)
		}
		if !more || !ok {
			ok = false
			return 0
		}
		if f.Line == 0 {
			f.Place = w.Place
		}
		v, good := r.Int(w, what, least, most)
		ok = good
		return v
	}
	f.Src = int32(number("the node that sends", 0, maxNodes))
	f.Dst = int32(number("the node that receives", 0, maxNodes))
	f.Priority = uint8(number("the priority group", 0, 7))
	f.Port = uint16(number("the port", 0, 1<<16-1))
	f.Bytes = units.Bytes(number("the bytes of a flow", 1, 1<<50))
	if !ok {
		return f, false
	}
	w, more := r.Next()
	if !more {
		r.Wrong(w, "the file ends within a flow; flows are like 0 1 3 100 2000000 2.0")
		return f, false
	}
	if f.Start, ok = r.Times(w, "the start in seconds", units.Second); ok && f.Start > latest {
		r.Wrong(w, "a start of %s is later than a run can last; write at most %s", f.Start, latest)
		return f, false
	}
	if ok && f.Src == f.Dst {
		r.Wrong(f, "node %d sends to itself; write two nodes", f.Src)
	}
	return f, ok
}

// Job is flows as operations.
type Job struct {
	Plan  *workload.Plan
	Flows []message.Flow // by the order of the file
	Ports []uint16       // destination ports, likewise
	// Offset is the start of the earliest flow: the plan begins with it, at 0.
	Offset units.Duration
}

// Job writes flows out for a fabric. The error is a spec.Problems.
func (f *Flows) Job(net *fabric.Fabric) (*Job, error) {
	j := &Job{Flows: make([]message.Flow, 0, len(f.List)), Ports: make([]uint16, 0, len(f.List)), Offset: latest}
	w, numbers := message.NewWriter(net), NumbersOf(net)
	var sum units.Bytes
	for i := range f.List {
		j.Offset = min(j.Offset, f.List[i].Start)
		sum += f.List[i].Bytes
	}
	if len(f.List) == 0 {
		j.Offset = 0
	}
	span := w.Span(workload.Span{Name: "flows", Bytes: sum, Ranks: len(net.GPUs), Step: -1})
	for i := range f.List {
		fl := &f.List[i]
		src, ok := numbers.GPU(fl.Src)
		if !ok {
			numbers.missing(f.Report, fl, fl.Src)
		}
		dst, ok2 := numbers.GPU(fl.Dst)
		if !ok2 {
			numbers.missing(f.Report, fl, fl.Dst)
		}
		if f.Report.Full() {
			break
		}
		if !ok || !ok2 {
			continue
		}
		if !w.Room(w.Cost()) {
			f.Report.Wrong(fl, "the plan has more than the %d operations that can be run; leave flows out", workload.MaxOps)
			break
		}
		first, last := w.Send(message.Message{
			Src: src, Dst: dst, Bytes: fl.Bytes, At: fl.Start - j.Offset, Priority: fl.Priority, Channel: w.Connection(src, dst), Span: span,
		})
		j.Flows = append(j.Flows, message.Flow{ID: int64(i) + 1, Src: src, Dst: dst, Bytes: fl.Bytes, First: first, Last: last})
		j.Ports = append(j.Ports, fl.Port)
	}
	if err := f.Report.Err(); err != nil {
		return nil, err
	}
	j.Plan = w.Plan()
	return j, nil
}

// Write writes flows in the form of a flow file.
func (f *Flows) Write(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%d\n", len(f.List))
	for _, fl := range f.List {
		start := strconv.FormatFloat(fl.Start.Seconds(), 'f', -1, 64)
		fmt.Fprintf(w, "%d %d %d %d %d %s\n", fl.Src, fl.Dst, fl.Priority, fl.Port, int64(fl.Bytes), start)
	}
	return w.Flush()
}
