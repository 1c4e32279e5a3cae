package htsim

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Options say what a connection matrix leaves open.
type Options struct {
	// StartUnit is the unit of start: units.Picosecond or units.Microsecond. htsim's reader says the one, its UEC and
	// RoCE programs take the other. It is needed where a start is not 0.
	StartUnit units.Duration
	Priority  uint8 // traffic class of every connection; workload.RoCEPriority is the one that defaults protect
	// NoAcks lets a send_done_trigger fire when the last byte arrives. Otherwise a message of one byte goes back
	// first, because htsim fires it when the sender has the last acknowledgement.
	NoAcks bool
}

// Job is a matrix as operations.
type Job struct {
	Plan  *workload.Plan
	Flows []message.Flow // in the order of Matrix.Connections
	// Faults are the failures of the matrix, known to the switches from the start.
	Faults []netsim.Fault
}

// latest is the latest start: the 106 days of a units.Duration leave time to run.
const latest = 100 * 24 * 3600 * units.Second

// ackChannel keeps the messages that stand for acknowledgements off the connections of the file.
const ackChannel = 1<<16 - 1

// Job writes the matrix out for a fabric: node i is GPU i. The error is a spec.Problems.
func (m *Matrix) Job(f *fabric.Fabric, o Options) (*Job, error) {
	if m.Nodes > len(f.GPUs) {
		m.Report.Wrong(m.nodes, "the matrix has %d nodes and the fabric %d GPUs; use a fabric of at least as many", m.Nodes, len(f.GPUs))
		return nil, m.Report.Err()
	}
	if m.Nodes < len(f.GPUs) {
		m.Report.Note(m.nodes, "the matrix has %d nodes; the other %d GPUs of the fabric stay idle", m.Nodes, len(f.GPUs)-m.Nodes)
	}
	p := planner{Matrix: m, Options: o, w: message.NewWriter(f), job: &Job{Flows: make([]message.Flow, len(m.Connections))}}
	p.faults(f)
	p.notes()
	if !p.prepare() {
		return nil, m.Report.Err()
	}
	p.write()
	if err := m.Report.Err(); err != nil {
		return nil, err
	}
	p.job.Plan = p.w.Plan()
	return p.job, nil
}

// planner writes a matrix out. Connections are added when what they wait for is: operations may wait only for earlier
// ones, and lines may come in any order.
type planner struct {
	*Matrix
	Options
	w   *message.Writer
	job *Job

	span     workload.SpanID
	triggers map[int32]*signal
	channels map[int32]uint16 // by ID of a shared connection
	ready    []int32          // connections to add, in order
	after    [][]workload.OpID
}

// signal is the state of a trigger.
type signal struct {
	*Trigger
	signallers int
	targets    []int32
	came       []workload.OpID
	fired      bool
}

// notes says what of the file has another meaning here or none.
func (p *planner) notes() {
	var prio, done *Connection
	for i := range p.Connections {
		c := &p.Connections[i]
		if c.Priority >= 0 && prio == nil {
			prio = c
		}
		if c.SendDone != 0 && done == nil {
			done = c
		}
	}
	if prio != nil {
		p.Report.Note(prio, "prio has no effect in htsim's UEC program and none here")
	}
	if done != nil && p.NoAcks {
		p.Report.Note(done, "send_done_trigger fires when the last byte has arrived, in htsim when its acknowledgement has come back")
	} else if done != nil {
		p.Report.Note(done, "send_done_trigger waits for a message of one byte that goes back in place of the last acknowledgement")
	}
}

// prepare finds who signals and who waits for every trigger, and reports what can never start.
func (p *planner) prepare() bool {
	p.triggers, p.channels = make(map[int32]*signal, len(p.Triggers)), map[int32]uint16{}
	for i := range p.Triggers {
		t := &p.Triggers[i]
		if p.triggers[t.ID] != nil {
			p.Report.Wrong(t, "trigger %d is described twice; remove one", t.ID)
		}
		p.triggers[t.ID] = &signal{Trigger: t}
	}
	ids := map[int32]*Connection{}
	p.after = make([][]workload.OpID, len(p.Connections))
	for i := range p.Connections {
		c := &p.Connections[i]
		if c.Start != 0 && p.StartUnit == 0 {
			p.Report.Wrong(c, "the start of %v has no unit: htsim's reader says picoseconds, its UEC and RoCE programs take microseconds; set the start unit to ps or us", c.Start)
			return false
		}
		if c.Start*float64(p.StartUnit) > float64(latest) {
			p.Report.Wrong(c, "the start of %v %s is later than the %s a run can last; set another start unit or an earlier start", c.Start, p.StartUnit, latest)
			return false
		}
		if before := ids[c.ID]; c.ID != 0 && before != nil {
			switch {
			case !c.Reuse || !before.Reuse:
				p.Report.Wrong(c, "id %d is that of line %d; write another, or msg on both if they are messages of one connection", c.ID, before.Line)
			case c.Src != before.Src || c.Dst != before.Dst:
				p.Report.Wrong(c, "connection %d leads from %d to %d in line %d; write the same nodes, or another id", c.ID, before.Src, before.Dst, before.Line)
			}
		} else if c.ID != 0 {
			ids[c.ID] = c
		}
		p.trigger(i, c)
	}
	for _, t := range p.Triggers {
		p.count(p.triggers[t.ID])
	}
	return p.Report.OK()
}

// trigger notes what connection i waits for and signals.
func (p *planner) trigger(i int, c *Connection) {
	if c.Trigger != 0 {
		if s := p.triggers[c.Trigger]; s != nil {
			s.targets = append(s.targets, int32(i))
		} else {
			p.Report.Wrong(c, "trigger %d is not described; add trigger id %d oneshot or what it is", c.Trigger, c.Trigger)
		}
	} else {
		p.ready = append(p.ready, int32(i))
	}
	for _, id := range [2]int32{c.SendDone, c.RecvDone} {
		if id == 0 {
			continue
		}
		if s := p.triggers[id]; s != nil {
			s.signallers++
		} else {
			p.Report.Wrong(c, "trigger %d is not described; add trigger id %d oneshot or what it is", id, id)
		}
	}
}

// count reports a trigger that would not fire as often as it must.
func (p *planner) count(s *signal) {
	n := s.signallers
	switch {
	case len(s.targets) == 0 && n == 0:
		p.Report.Note(s, "trigger %d is used by no connection", s.ID)
	case s.Kind == OneShot && n > 1:
		p.Report.Wrong(s, "trigger %d is oneshot and %d connections signal it, at the second of which htsim stops; write barrier count %d, or one trigger each", s.ID, n, n)
	case s.Kind == Barrier && n != int(s.Count):
		p.Report.Wrong(s, "barrier %d waits for %d signals and %d connections signal it; write count %d", s.ID, s.Count, n, n)
	case s.Kind == MultiShot && n < len(s.targets):
		p.Report.Wrong(s, "trigger %d starts one connection at each signal: %d wait for it and %d signal it; the last %d would never start", s.ID, len(s.targets), n, len(s.targets)-n)
	case len(s.targets) > 0 && n == 0:
		p.Report.Wrong(s, "no connection signals trigger %d, so what waits for it would never start; add send_done_trigger %d to one", s.ID, s.ID)
	case s.Kind == MultiShot && n > 1:
		p.Report.Note(s, "trigger %d is multishot: its connections are started by the signals in the order they would come in if all took equally long", s.ID)
	}
}

// write adds the connections.
func (p *planner) write() {
	var sum units.Bytes
	for i := range p.Connections {
		sum += p.Connections[i].Size
	}
	p.span = p.w.Span(workload.Span{Name: "connections", Bytes: sum, Ranks: p.Nodes, Step: -1})
	done := 0
	for ; done < len(p.ready); done++ {
		i := p.ready[done]
		c := &p.Connections[i]
		if !p.w.Room(2*p.w.Cost() + 2) { // with its acknowledgement and a barrier
			p.Report.Wrong(c, "the plan has more than the %d operations that can be run; split the file", workload.MaxOps)
			return
		}
		p.connection(int(i), c)
	}
	if done == len(p.Connections) {
		return
	}
	for _, t := range p.Triggers { // those left wait for each other
		if s := p.triggers[t.ID]; !s.fired && len(s.targets) > 0 {
			next := 0
			if s.Kind == MultiShot {
				next = len(s.came)
			}
			c := &p.Connections[s.targets[next]]
			p.Report.Wrong(c, "%d->%d waits for trigger %d, and what signals that waits for it in turn, so it would never start; let something with a start signal it", c.Src, c.Dst, t.ID)
			return
		}
	}
}

func (p *planner) connection(i int, c *Connection) {
	m := message.Message{
		Src: fabric.GPUID(c.Src), Dst: fabric.GPUID(c.Dst), Bytes: c.Size, Priority: p.Priority, Span: p.span,
		At: units.Duration(c.Start * float64(max(p.StartUnit, 1))),
	}
	channel, shared := p.channels[c.ID]
	if !shared || !c.Reuse {
		channel = p.w.Connection(m.Src, m.Dst)
		p.channels[c.ID] = channel
	}
	m.Channel = channel
	first, last := p.w.Send(m, p.after[i]...)
	p.job.Flows[i] = message.Flow{ID: int64(c.ID), Src: m.Src, Dst: m.Dst, Bytes: c.Size, First: first, Last: last}
	if c.SendDone != 0 {
		came := last
		if !p.NoAcks {
			_, came = p.w.Send(message.Message{Src: m.Dst, Dst: m.Src, Bytes: 1, Priority: p.Priority, Channel: ackChannel, Span: p.span}, last)
		}
		p.fire(p.triggers[c.SendDone], came)
	}
	if c.RecvDone != 0 {
		p.fire(p.triggers[c.RecvDone], last)
	}
}

// fire signals a trigger with the end of operation op.
func (p *planner) fire(s *signal, op workload.OpID) {
	s.came = append(s.came, op)
	targets := s.targets
	switch s.Kind {
	case MultiShot:
		n := len(s.came)
		targets = targets[min(n-1, len(targets)):min(n, len(targets))]
	case Barrier:
		if len(s.came) < int(s.Count) {
			return
		}
		if len(s.came) > 1 && len(targets) > 1 { // one operation for all to wait for
			s.came = []workload.OpID{p.w.Join(p.span, fabric.GPUID(p.Connections[targets[0]].Src), s.came...)}
		}
	}
	s.fired = s.Kind != MultiShot || len(s.came) >= len(s.targets)
	for _, t := range targets {
		if s.Kind == MultiShot {
			p.after[t] = []workload.OpID{op}
		} else {
			p.after[t] = s.came
		}
		p.ready = append(p.ready, t)
	}
}

// faults finds the ports of the failures.
func (p *planner) faults(f *fabric.Fabric) {
	for i := range p.Failures {
		x := &p.Failures[i]
		role := fabric.Leaf + fabric.Role(x.Tier)
		var up []fabric.PortID
		at, found := int32(0), false
		for n := range f.Nodes {
			if f.Nodes[n].Role != role {
				continue
			}
			if at == x.Switch {
				found = true
				for k := range f.Nodes[n].NumPorts {
					if port := f.Nodes[n].FirstPort + fabric.PortID(k); f.Ports[port].Uplink {
						up = append(up, port)
					}
				}
				break
			}
			at++
		}
		switch {
		case !found:
			p.Report.Wrong(x, "the fabric has no %s switch %d; it has %d", failureTiers[x.Tier], x.Switch, at)
		case int(x.Link) >= len(up):
			p.Report.Wrong(x, "%s switch %d has %s; htsim counts the links that lead up", failureTiers[x.Tier], x.Switch, upTo(len(up)))
		default:
			p.job.Faults = append(p.job.Faults, netsim.Fault{Kind: netsim.LinkDown, Port: uint32(up[x.Link])})
		}
	}
}

func upTo(n int) string {
	if n == 0 {
		return "no links up"
	}
	return fmt.Sprintf("links 0 to %d up", n-1)
}
