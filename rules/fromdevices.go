package rules

import (
	"strconv"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

func fromQoS(q *evidence.QoS) *QoS {
	if q == nil {
		return nil
	}
	out := &QoS{Trust: known(q.Trust), Cable: whole(q.Cable), From: q.From.String()}
	if m, ok := q.DSCP.Get(); ok {
		out.DSCP = numbers(m[:])
	}
	if p, ok := q.PFC.Get(); ok {
		list := p[:]
		out.PFC = &list
	}
	if m, ok := q.TC.Get(); ok {
		out.TC = numbers(m[:])
	}
	if m, ok := q.Buffer.Get(); ok {
		out.Buffer = numbers(m[:])
	}
	if m, ok := q.Buffers.Get(); ok {
		out.Buffers = numbers(m)
	}
	return out
}

// numbers is a list of any whole numbers.
func numbers[T ~int | ~int8 | ~int64](list []T) *[]int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return &out
}

func fromModule(m *evidence.Module) *Module {
	if m == nil {
		return nil
	}
	out := &Module{
		Type: known(m.Type), Vendor: known(m.Vendor), Part: known(m.Part), Serial: known(m.Serial), Technology: known(m.Technology), State: known(m.State),
		Length: pointer(m.Length), Temperature: pointer(m.Temperature), From: m.From.String(),
	}
	for _, l := range m.Lanes {
		if v, ok := l.Receive.Get(); ok {
			out.Receive = append(out.Receive, v)
		}
		if v, ok := l.Transmit.Get(); ok {
			out.Transmit = append(out.Transmit, v)
		}
	}
	for _, a := range m.Alarms {
		text := a.What + " " + a.Level
		if a.Channel > 0 {
			text += ", channel " + strconv.Itoa(a.Channel)
		}
		out.Alarms = append(out.Alarms, text)
	}
	return out
}

func fromIRQ(h *evidence.Host, q evidence.IRQ) IRQ {
	out := IRQ{Host: h.Name, Number: int64(q.Number), Device: q.Device, Name: q.Name, Total: int64(min(q.Total, 1<<62)), From: q.From.String()}
	if cpu, share := q.Busiest(); cpu >= 0 {
		out.Busiest, out.Share = new(int64(cpu)), &share
	}
	if set, ok := q.Affinity.Get(); ok {
		out.CPUs = numbers(set.List())
	}
	return out
}

func fromGPU(h *evidence.Host, g *evidence.GPU) GPU {
	out := GPU{
		Host: h.Name, Index: from(int64(g.Index), 0), Address: text(g.PCI), Name: known(g.Name), UUID: known(g.UUID), Replays: pointer(g.Replays), ECC: pointer(g.ECCVolatile),
		ECCLifetime: pointer(g.ECCLifetime), Remapped: known(g.Remapped), Temperature: pointer(g.Temperature), Fabric: known(g.Fabric), NUMANode: whole(g.NUMANode), From: g.From.String(),
	}
	if l, ok := g.Running.Get(); ok {
		out.Speed, out.Width = positive(l.Speed), from(int64(l.Width), 1)
	}
	if l, ok := g.Capable.Get(); ok {
		out.MaxSpeed, out.MaxWidth = positive(l.Speed), from(int64(l.Width), 1)
	}
	for _, t := range g.Throttle {
		out.Throttle = append(out.Throttle, t.Reason)
	}
	if len(g.NVLinks) > 0 {
		out.Links = &[]NVLink{}
	}
	for _, l := range g.NVLinks {
		*out.Links = append(*out.Links, NVLink{int64(l.Index), pointer(l.Active), pointer(l.Speed), pointer(l.Errors), l.From.String()})
	}
	return out
}

func fromSpray(s *evidence.Spraying) *Spray {
	if s == nil {
		return nil
	}
	out := &Spray{Key: known(s.Key), Buckets: whole(s.Buckets), Feedback: pointer(s.Feedback), PerQP: whole(s.PerQP), From: s.From.String()}
	if d, ok := s.Refresh.Get(); ok {
		out.Refresh = new(float64(d) / float64(units.Microsecond))
	}
	return out
}

// fromQueues is what a switch is set to for each queue of a port, nil where nothing tells.
func fromQueues(s *evidence.Switch, p evidence.SwitchPort) *[]Queue {
	if p.QoS == nil {
		return nil
	}
	queues := make([]Queue, evidence.Priorities)
	for i := range queues {
		q := &queues[i]
		q.Index = int64(i)
		if on, ok := p.QoS.PFC.Get(); ok {
			q.Pause = new(on[i])
		}
		if on, ok := p.QoS.Watch.Get(); ok {
			q.Watch = new(on[i])
		}
		if s.QoS == nil {
			continue
		}
		if name, ok := p.QoS.Marking[i].Get(); ok {
			if m, ok := s.QoS.Marking[name]; ok {
				q.MarkMin, q.MarkMax, q.Share = size(m.Min), size(m.Max), pointer(m.Share)
				if marks, told := m.Marks(); told {
					q.Marks = &marks
				}
			}
		}
		if name, ok := p.QoS.Groups[i].Get(); ok {
			if b, ok := s.QoS.Buffers[name]; ok {
				q.Headroom = new(int64(b.XOff.Or(0))) // a profile without it is lossy (evidence.BufferProfile)
			}
		}
	}
	return &queues
}

// dscpOf is the traffic class of each code point on a port.
func dscpOf(s *evidence.Switch, p evidence.SwitchPort) *[]int64 {
	if p.QoS == nil || s.QoS == nil {
		return nil
	}
	name, ok := p.QoS.DSCPToTC.Get()
	if m, there := s.QoS.DSCPToTC[name]; ok && there {
		return numbers(m[:])
	}
	return nil
}

func fromFlight(d evidence.FlightDump) Flight {
	out := Flight{Rank: from(int64(d.Rank), 0), Host: d.Host, From: d.From.String()}
	for _, g := range d.Groups {
		out.Groups = append(out.Groups, FlightGroup{g.Name, g.Description, *numbers(g.Ranks), pointer(g.Enqueued), pointer(g.Started), pointer(g.Completed)})
	}
	for _, o := range d.Ops {
		out.Ops = append(out.Ops, FlightOp{
			Group: o.Group, Seq: o.Seq, P2P: o.P2P, Name: o.Name, State: o.State, Bytes: size(o.InBytes), Type: o.Type,
			Duration: pointer(o.Duration), Timeout: pointer(o.Timeout), From: o.From.String(),
		})
	}
	return out
}

// pointer is a value, nil where it is unknown.
func pointer[T any](v evidence.Value[T]) *T {
	if x, ok := v.Get(); ok {
		return &x
	}
	return nil
}

func size(v evidence.Value[units.Bytes]) *int64 {
	if b, ok := v.Get(); ok {
		return new(int64(b))
	}
	return nil
}
