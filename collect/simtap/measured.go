package simtap

import (
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// measured fills in what the job itself measured: its collectives, as NCCL's inspector records each call, and its steps,
// as a training framework logs them. Transfers of a plain pattern count as calls of sendrecv. Warm-up is left out.
func measured(inv *evidence.Inventory, plan *workload.Plan, ops []netsim.OpTime, from evidence.Source) {
	start, end := make([]units.Instant, len(ops)), make([]units.Instant, len(ops))
	for i := range ops {
		start[i], end[i] = ops[i].Start, ops[i].End
	}
	m := plan.Measure(start, end)
	for i, s := range plan.Spans {
		t := m.Spans[i]
		if s.Warmup || s.Background || !t.Done {
			continue
		}
		if s.Collective == workload.NoCollective {
			if each, ok := transfers(plan, workload.SpanID(i)); ok {
				bw := units.Over(each, t.Time()).BytesPerSecond() / 1e9
				inv.Calls = append(inv.Calls, evidence.Call{Name: s.Name, Kind: workload.SendRecv.String(), Bytes: each, Ranks: s.Ranks, Step: s.Step,
					Start: t.Start, Timed: true, Time: t.Time(), AlgBW: bw, BusBW: bw, Wrong: -1, From: from})
			}
			continue
		}
		inv.Calls = append(inv.Calls, evidence.Call{
			Name: s.Name, Kind: s.Collective.String(), Algorithm: s.Algorithm, Bytes: s.Bytes, Ranks: s.Ranks, Step: s.Step,
			Start: t.Start, Timed: true, Time: t.Time(), AlgBW: t.AlgBW.BytesPerSecond() / 1e9, BusBW: t.BusBW.BytesPerSecond() / 1e9,
			Wrong: -1, From: from,
		})
	}
	for i, t := range m.Steps {
		if t.Done && !t.Warmup {
			inv.Steps = append(inv.Steps, evidence.Step{Index: i, Start: t.Start, Time: t.Time(), Compute: t.Compute, Exposed: t.Exposed(), From: from})
		}
	}
}

// transfers is how much each sender of a plain pattern sends on average; ok is false for a span that sends nothing.
func transfers(plan *workload.Plan, span workload.SpanID) (each units.Bytes, ok bool) {
	senders := map[uint32]bool{}
	var sum units.Bytes
	for i := range plan.Ops {
		if op := &plan.Ops[i]; op.Span == span && op.Kind == workload.Send {
			senders[uint32(op.Src)] = true
			sum += op.Bytes
		}
	}
	if len(senders) == 0 {
		return 0, false
	}
	return sum / units.Bytes(len(senders)), true
}
