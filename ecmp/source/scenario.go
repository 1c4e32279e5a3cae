package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/flowsim"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// orderEvents bounds the run that finds in which order connections open: about half a minute. QP numbers count up in that order, and
// source ports and paths follow from them.
const orderEvents = 150_000_000

// Scenario lists the QPs that a job opens, with the addresses, numbers and source ports that the simulator gives them, and what each carries. The
// job is run until every connection is open, because the numbers follow from the order.
func Scenario(ctx context.Context, f *fabric.Fabric, plan *workload.Plan, c netsim.Config, progress func(float64)) (*ecmp.Set, error) {
	j := newJob(f, plan)
	if len(j.conns) == 0 {
		return nil, fmt.Errorf("%w: the job sends nothing from host to host", ecmp.ErrNoFlows)
	}
	if qps := len(j.conns) * c.NIC.QPs; qps > ecmp.MaxFlows {
		return nil, fmt.Errorf("ecmp: the job opens %d QPs, more than %d", qps, ecmp.MaxFlows)
	}
	s := &ecmp.Set{Bytes: true, Known: ecmp.FiveTuple | ecmp.QPN, QPs: c.NIC.QPs}
	if err := j.run(ctx, plan, c, progress); err != nil {
		if !errors.Is(err, netsim.ErrMaxEvents) {
			return nil, err
		}
		s.Notes = append(s.Notes, "the job is too long to be run until all of its connections are open: those that were not are numbered in the order of the plan, so that single flows may take other paths than in a run")
	}
	open := flowsim.NewOpener(f, c.Seed)
	s.Net = &ecmp.Network{Fabric: f, Salt: open.Salts()}
	for _, conn := range j.order {
		j.open(s, open, conn, c)
	}
	if c.Path != netsim.ECMP && c.Path != netsim.ECMPQPN {
		s.Notes = append(s.Notes, fmt.Sprintf("the scenario chooses paths by %s; this is what hashing its flows would do", c.Path))
	}
	for _, x := range c.Faults {
		if x.Kind == netsim.LinkDown || x.Kind == netsim.SwitchReboot {
			s.Notes = append(s.Notes, "links that fail during the run count as up")
			break
		}
	}
	return s, nil
}

// end is what tells connections apart, as netsim's conn.
type end struct {
	src, dst fabric.GPUID
	channel  uint16
	prio     uint8
}

// job is the connections of a plan.
type job struct {
	f      *fabric.Fabric
	conns  []end
	of     []int32 // by operation; -1 where it is no message between hosts
	order  []int32 // connections as they opened
	opened []bool
	sends  [][]workload.OpID // by connection, as they started
	bytes  []units.Bytes     // by operation
}

func newJob(f *fabric.Fabric, plan *workload.Plan) *job {
	j := &job{f: f, of: make([]int32, len(plan.Ops)), bytes: make([]units.Bytes, len(plan.Ops))}
	known := map[end]int32{}
	for i := range plan.Ops {
		op := &plan.Ops[i]
		j.of[i], j.bytes[i] = -1, op.Bytes
		if op.Kind != workload.Send || op.Src == op.Dst || f.NVLink.Rate > 0 && f.GPUs[op.Src].Host == f.GPUs[op.Dst].Host {
			continue
		}
		k := end{op.Src, op.Dst, op.Channel, op.Priority}
		id, ok := known[k]
		if !ok {
			id = int32(len(j.conns))
			known[k] = id
			j.conns = append(j.conns, k)
		}
		j.of[i] = id
	}
	j.opened, j.sends = make([]bool, len(j.conns)), make([][]workload.OpID, len(j.conns))
	return j
}

// start is an operation that begins.
func (j *job) start(op workload.OpID) {
	c := j.of[op]
	if c < 0 {
		return
	}
	if !j.opened[c] {
		j.opened[c] = true
		j.order = append(j.order, c)
	}
	j.sends[c] = append(j.sends[c], op)
}

// orderStep is how much simulated time passes between two looks at whether all connections are open.
const orderStep = 20 * units.Microsecond

// run carries the job out until every connection is open. Messages that have not begun by then follow in the order of the plan.
func (j *job) run(ctx context.Context, plan *workload.Plan, c netsim.Config, progress func(float64)) error {
	started := make([]bool, len(plan.Ops))
	c.Probe = &netsim.Probe{OpStart: func(op workload.OpID, _ units.Instant) {
		started[op] = true
		j.start(op)
	}}
	c.MaxEvents = min(c.MaxEvents, orderEvents)
	net, err := netsim.New(j.f, plan, c)
	if err != nil {
		return err
	}
	for until := units.At(0); len(j.order) < len(j.conns); until = until.Add(orderStep) {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, runErr := net.RunUntil(until)
		if err = runErr; err != nil || done || net.Stalled() {
			break
		}
		if progress != nil {
			progress(float64(len(j.order)) / float64(len(j.conns)))
		}
	}
	for op := range plan.Ops {
		if !started[op] {
			j.start(workload.OpID(op))
		}
	}
	return err
}

// open makes the QPs of a connection as netsim does (netsim/op.go): so many on each plane, dealt plane by plane; messages go to them in turn, or
// each is cut over all.
func (j *job) open(s *ecmp.Set, o *flowsim.Opener, conn int32, c netsim.Config) {
	e := j.conns[conn]
	src, dst := j.f.GPUs[e.src].NICs, j.f.GPUs[e.dst].NICs
	first, n := len(s.Flows), c.NIC.QPs*max(len(src), len(dst))
	for i := range n {
		a, b := j.f.Ports[src[i%len(src)]].Endpoint, j.f.Ports[dst[i%len(dst)]].Endpoint
		qa, qb := o.NextQPN(uint32(a)), o.NextQPN(uint32(b))
		s.Flows = append(s.Flows, ecmp.Flow{
			Src: address(o.Address(uint32(a))), Dst: address(o.Address(uint32(b))), Protocol: packet.ProtocolUDP,
			SrcPort: route.SourcePort(qa, qb), DstPort: packet.PortRoCE, QPN: qb, Conn: uint32(conn), From: a, To: b,
		})
	}
	flows, turn := s.Flows[first:], 0
	for _, op := range j.sends[conn] {
		bytes, parts := j.bytes[op], 1
		if c.NIC.Split {
			parts = int(min(max((bytes+c.NIC.MTU-1)/c.NIC.MTU, 1), units.Bytes(n)))
		}
		for i := range parts {
			share := bytes / units.Bytes(parts)
			if units.Bytes(i) < bytes%units.Bytes(parts) {
				share++
			}
			flows[turn].Bytes += share
			turn = (turn + 1) % n
		}
	}
}

// address is a simulated address as one of IP.
func address(a uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return netip.AddrFrom4(b)
}
