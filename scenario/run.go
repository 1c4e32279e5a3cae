package scenario

import (
	"context"
	"fmt"

	"github.com/shunt-network/shunt/collect/simtap"
	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/flowsim"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Run is one simulated run and everything that can be said of it.
type Run struct {
	Seed      uint64
	Fabric    *fabric.Fabric
	Plan      *workload.Plan
	Config    netsim.Config
	Summary   netsim.Summary
	Inventory *evidence.Inventory
	Window    *telemetry.Window
	Cut       bool // the limit of the scenario ended it

	Engine    Engine
	Times     []netsim.OpTime       // start and end of every operation of the plan
	Estimate  *flowsim.StepEstimate // of a job too large to write out; Plan, Times and the series are empty then
	Transport *Transport            // what the NICs had to repeat; nil where the engine knows no packets
	Trace     *netsim.SprayTrace    // which packets took which path, where Scenario.Traced asked for it
}

// Run simulates the scenario once. progress, where given, is told the share of operations that are done. A cancelled
// context ends the run with the context's error.
func (s *Scenario) Run(ctx context.Context, progress func(done float64)) (*Run, error) {
	return s.packets(ctx, progress, nil)
}

// packets is Run with a log of what happened, where one is given.
func (s *Scenario) packets(ctx context.Context, progress func(done float64), log *Log) (*Run, error) {
	f, err := s.build()
	if err != nil {
		return nil, err
	}
	plan, c, err := s.prepare(f)
	if err != nil {
		return nil, err
	}
	c.Trace = s.Traced
	ended, total := 0, 0
	for i := range plan.Ops {
		if !plan.Ops[i].Background {
			total++
		}
	}
	c.Probe = &netsim.Probe{OpDone: func(op workload.OpID, _ units.Instant) {
		if !plan.Ops[op].Background {
			ended++
		}
	}}
	if log != nil {
		log.watch(f, c.Probe)
	}
	net, err := netsim.New(f, plan, c)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	r := &Run{Seed: s.Seed, Fabric: f, Plan: plan, Config: c, Engine: Packets}
	tap := simtap.New(f, net, classes(plan, c), s.Seed)
	limit := units.At(int64(s.Limit))
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		until := tap.Next()
		if until.After(limit) {
			until = limit
		}
		if done, err = net.RunUntil(until); err != nil {
			return nil, fmt.Errorf("scenario: %w", err)
		}
		if !done {
			tap.Sample(until)
		}
		switch {
		case done:
		case net.Stalled(): // nothing is left that could finish what is left
			done = true
		case !until.Before(limit):
			r.Cut, done = true, true
		}
		if progress != nil && total > 0 {
			progress(float64(ended) / float64(total))
		}
	}
	r.Window = tap.Finish(net.Now())
	r.Inventory = simtap.Inventory(f, plan, c, net.Ops())
	simtap.Observe(r.Inventory, f, net, c)
	r.Inventory.Unreadable = append(r.Inventory.Unreadable, s.imported.notes...)
	if tap.Truncated() {
		r.Inventory.Unreadable = append(r.Inventory.Unreadable, evidence.Unreadable{Why: fmt.Sprintf("the fabric has more than %d series; some are missing", telemetry.MaxPoints)})
	}
	if r.Summary, err = net.Finish(); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	r.Times, r.Transport = net.Ops(), transportOf(f, net, c.NIC.MTU)
	if t, ok := net.Trace(); ok {
		r.Trace = &t
	}
	return r, nil
}

// build makes the network of the scenario.
func (s *Scenario) build() (*fabric.Fabric, error) {
	var problems spec.Problems
	s.imported = imported{}
	f := s.network(s.file().Reporter(&problems, ""))
	return f, problems.Err()
}

// file is what the scenario was read from; one that was put together in Go has no lines to point at.
func (s *Scenario) file() *spec.Doc {
	if s.doc == nil {
		return &spec.Doc{File: "scenario"}
	}
	return s.doc
}

// prepare writes the job out and fills in the configuration. The error holds what is wrong in the file, with its place.
func (s *Scenario) prepare(f *fabric.Fabric) (*workload.Plan, netsim.Config, error) {
	var problems spec.Problems
	report := s.file().Reporter(&problems, "")
	plan := s.plan(f, report)
	c := s.config(s.faults(f, report))
	return plan, c, problems.Err()
}

// Diagnose runs the diagnosis on what the run's tap recorded, and on nothing else.
func (r *Run) Diagnose() diagnose.Result {
	return diagnose.Run(&diagnose.View{Inv: r.Inventory, Win: r.Window})
}

// classes lists the priorities worth a series: those that carry traffic and those that are lossless.
func classes(plan *workload.Plan, c netsim.Config) []int8 {
	var used [netsim.Priorities]bool
	for i := range plan.Ops {
		if plan.Ops[i].Kind == workload.Send {
			used[plan.Ops[i].Priority] = true
		}
	}
	for _, p := range c.Switch.Lossless {
		used[p] = true
	}
	var out []int8
	for p, u := range used {
		if u {
			out = append(out, int8(p))
		}
	}
	return out
}
