package claims

import (
	"embed"
	"fmt"
	"math"
	"slices"

	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Scenarios are the files that the experiments run; `shunt claims --scenarios DIR` writes them out.
//
//go:embed scenarios/*.yaml
var Scenarios embed.FS

// draws is how many runs with seeds of their own one trial may have at most: trial k has the seeds from k times draws on.
const draws = 1000

// run carries a scenario of scenarios/ out with the trial's seed and with fields set, "path=value" each, as `shunt sim --set` does.
func (t *Trial) run(file string, set ...string) (*scenario.Run, error) {
	return t.draw(0, file, set...)
}

// draw is run with the i-th seed of the trial, for experiments that need several draws to know one value.
func (t *Trial) draw(i int, file string, set ...string) (*scenario.Run, error) {
	src, err := Scenarios.ReadFile("scenarios/" + file)
	if err != nil {
		return nil, err
	}
	settings := []scenario.Setting{{Path: "seed", Value: fmt.Sprint(t.Seed*draws + uint64(i))}}
	for _, text := range set {
		x, err := scenario.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		settings = append(settings, x)
	}
	s, err := scenario.Source{File: file, Bytes: src}.With(settings...)
	if err != nil {
		return nil, err
	}
	return s.Run(t.ctx, nil)
}

// finish is run for scenarios whose job must end.
func (t *Trial) finish(file string, set ...string) (*scenario.Run, error) {
	return t.finishDraw(0, file, set...)
}

func (t *Trial) finishDraw(i int, file string, set ...string) (*scenario.Run, error) {
	r, err := t.draw(i, file, set...)
	if err == nil && (r.Cut || r.Summary.Stalled) {
		err = fmt.Errorf("%s %v: the job did not end", file, set)
	}
	return r, err
}

// calls are the times of all measured calls of a collective in us.
func calls(r *scenario.Run, kind workload.Collective) (us []float64) {
	for _, c := range r.Inventory.Calls {
		if c.Kind == kind.String() {
			us = append(us, micros(c.Time))
		}
	}
	return us
}

// steps are the times of all measured steps in us.
func steps(r *scenario.Run) (us []float64) {
	for _, s := range r.Inventory.Steps {
		us = append(us, micros(s.Time))
	}
	return us
}

// packets is how many data packets the job's sends between hosts consist of.
func packets(r *scenario.Run) float64 {
	n := 0.0
	for i := range r.Plan.Ops {
		if op := &r.Plan.Ops[i]; op.Kind == workload.Send && (r.Fabric.NVLink.Rate == 0 || r.Fabric.GPUs[op.Src].Host != r.Fabric.GPUs[op.Dst].Host) {
			n += math.Ceil(float64(op.Bytes) / float64(r.Config.NIC.MTU))
		}
	}
	return n
}

// againShare is the share, in percent, of packets on the wire that had been sent before.
func againShare(r *scenario.Run) float64 {
	again := float64(r.Transport.Retransmitted)
	return 100 * again / (packets(r) + again)
}

func micros(d units.Duration) float64 { return float64(d) / float64(units.Microsecond) }

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// deviation is the standard deviation of a sample.
func deviation(list []float64) float64 {
	m, sum := mean(list), 0.0
	for _, v := range list {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(list)-1))
}

func least(list []float64) float64 { return slices.Min(list) }

// pick is full, or less in a reduced trial.
func (t *Trial) pick(full, reduced int) int {
	if t.Reduced {
		return reduced
	}
	return full
}
