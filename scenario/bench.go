package scenario

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// benchLimit is the simulated time after which a benchmark is cut: nothing that ends at all takes that long.
const benchLimit = 600 * units.Second

// Bench reads a fabric, from a file of its own or from a scenario, and makes a scenario of it whose job is the given benchmark. A
// scenario's switches, NICs, faults and background stay.
func (s Source) Bench(j workload.CollectiveJob, set ...Setting) (*Scenario, error) {
	doc, problems := spec.Parse(s.File, s.Bytes)
	if len(problems) > 0 {
		return nil, problems
	}
	if !doc.Has("fabric") {
		doc.Within("fabric")
	}
	all := []Setting{{"job", benchText(j)}}
	if !doc.Has("title") {
		all = append(all, Setting{"title", j.Kind.String()})
	}
	if !doc.Has("limit") {
		all = append(all, Setting{"limit", benchLimit.String()})
	}
	for i, x := range append(all, set...) {
		origin := "--set " + x.String()
		if i == 0 {
			origin = "the command line" // its flags made the job
		}
		if err := doc.Set(x.Path, x.Value, origin); err != nil {
			return nil, err
		}
	}
	return read(doc, s.built, (*Scenario).checkAnySize)
}

// benchText writes the job as YAML.
func benchText(j workload.CollectiveJob) string {
	text := fmt.Sprintf("{collective: {kind: %s, size: %dB, repeat: %d, warmup: %d", j.Kind, j.Size, max(1, j.Repeat), j.Warmup)
	if j.Algorithm != "" {
		text += fmt.Sprintf(", algorithm: %s", j.Algorithm)
	}
	if j.Ranks != nil {
		ranks, _ := j.Ranks.MarshalText() // it has no error
		text += fmt.Sprintf(", ranks: %q", ranks)
	}
	if j.Channels > 0 {
		text += fmt.Sprintf(", channels: %d", j.Channels)
	}
	if j.InFlight > 0 {
		text += fmt.Sprintf(", in_flight: %d", j.InFlight)
	}
	return text + "}}"
}

// Benchmark is the measured calls of the run taken together, as nccl-tests do. It is false when some did not end.
func (r *Run) Benchmark() (workload.Benchmark, bool) {
	if r.Estimate == nil {
		start, end := make([]units.Instant, len(r.Times)), make([]units.Instant, len(r.Times))
		for i, t := range r.Times {
			start[i], end[i] = t.Start, t.End
		}
		return r.Plan.Benchmark(r.Plan.Measure(start, end))
	}
	var b workload.Benchmark
	for i := range r.Estimate.Calls {
		if c := &r.Estimate.Calls[i]; !c.Warmup {
			b.Collective, b.Size, b.Ranks = c.Collective, c.Bytes, c.Ranks
			b.Calls++
			b.Time += c.Slowest
		}
	}
	if b.Calls == 0 {
		return b, false
	}
	b.Time /= units.Duration(b.Calls)
	b.AlgBW = units.Over(b.Size, b.Time)
	b.BusBW = units.Rate(float64(b.AlgBW) * b.Collective.BusFactor(b.Ranks))
	return b, true
}

// PacketHops is about how many packets, acknowledgements with them, a benchmark puts on links: what the packet simulator's time is
// made of.
func (s *Scenario) PacketHops() (hops float64, gpus, hosts, switches int, err error) {
	f, err := s.build()
	if err != nil {
		return 0, 0, 0, 0, err
	}
	gpus, hosts, switches = len(f.GPUs), len(f.Hosts()), len(f.Switches())
	j := s.Job.Collective
	if j == nil {
		return 0, gpus, hosts, switches, nil
	}
	c := s.config(nil)
	call := j.Call(f).Resolved(f)
	n := float64(len(call.Ranks))
	sent := float64(call.Size) * (n - 1)
	switch j.Kind {
	case workload.AllReduce:
		sent *= 2
	case workload.SendRecv:
		sent = float64(call.Size) * n
	}
	sent *= remote(f, call)
	packets := max(sent/float64(c.NIC.MTU), 1)
	const links = 4 // of a way between leaves, which most ways are
	return packets * links * (1 + 1/float64(c.NIC.AckEvery)) * float64(max(1, j.Repeat)+j.Warmup), gpus, hosts, switches, nil
}

// remote is the share of what is sent that leaves a host.
func remote(f *fabric.Fabric, c workload.Call) float64 {
	if f.NVLink.Rate == 0 {
		return 1
	}
	n := float64(len(c.Ranks))
	hosts := 0.0
	for i, g := range c.Ranks {
		if i == 0 || f.GPUs[g].Host != f.GPUs[c.Ranks[i-1]].Host {
			hosts++
		}
	}
	switch {
	case hosts < 2:
		return 0
	case c.Collective == workload.AllToAll:
		return 1 - (n/hosts-1)/(n-1)
	}
	return hosts / n // rings and trees go from host to host once
}
