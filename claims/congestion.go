package claims

import (
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/workload"
)

// ecnExperiments are about marking, recovery and isolation: what slows a job that loses nothing.
func ecnExperiments() []Experiment {
	return []Experiment{{
		Name: "ecn", Version: 1, Seeds: 5, Cost: 1.5, Files: []string{"ecn.yaml"},
		Method: `Sixteen hosts below one leaf at 200 Gbit/s, 8 MB of buffer, an all-to-all of 8 MiB under DCQCN with its vendor's defaults: no path to choose and
nothing lost, so only marking can slow it. What a NIC sends while a call lasts is 15/16 of 8 MiB.`,
		Values: []string{"low 5", "low 1", "start 1", "start 5", "start pauses", "off"},
		run:    ecn,
	}, {
		Name: "recovery", Version: 1, Seeds: 5, Cost: 2, Files: []string{"recovery.yaml"},
		Method: `A ring of eight hosts at 200 Gbit/s and once a burst of 2 MB from four others into one of its links, with ECN from 128 KB to 512 KB at 1 %. The
burst is over after 90 us; what is measured is how much longer three calls of 32 MiB take than without it.`,
		Values: []string{"default", "fast recovery", "gentle cut", "slow recovery"},
		run:    recovery,
	}, {
		Name: "backup", Version: 1, Seeds: 5, Cost: 1.5, Files: []string{"backup.yaml"},
		Method: `Two data-parallel steps of 16 hosts at 400 Gbit/s, and a backup of 600 Gbit/s from three hosts to a fourth for 2 ms: in RoCE's priority, in another one,
and not at all.`,
		Values: []string{"same priority", "own priority"},
		run:    backup,
	}}
}

func ecn(t *Trial) (Values, error) {
	size := "job.collective.size=" + t.sized("8MiB", "1MiB")
	bytes := 8.0
	if t.Reduced {
		bytes = 1
	}
	v := Values{}
	for _, c := range []struct{ name, ecn string }{
		{"low 5", "{kmin: 8KB, kmax: 32KB, pmax: 5%}"},
		{"low 1", "{kmin: 8KB, kmax: 32KB, pmax: 1%}"},
		{"start 1", "{kmin: 128KB, kmax: 512KB, pmax: 1%}"},
		{"start 5", "{kmin: 128KB, kmax: 512KB, pmax: 5%}"},
		{"off", "{off: true}"},
	} {
		r, err := t.finish("ecn.yaml", size, "switch.ecn="+c.ecn)
		if err != nil {
			return nil, err
		}
		const mib = 1.048576
		v[c.name] = 8 * 15.0 / 16 * bytes * mib / mean(calls(r, workload.AllToAll)) * 1000
		if c.name == "start 1" {
			v["start pauses"] = float64(r.Figures().Network.PauseFrames)
		}
	}
	return v, nil
}

func recovery(t *Trial) (Values, error) {
	repeat := "job.collective.size=" + t.sized("32MiB", "8MiB")
	total := func(set ...string) (float64, error) {
		r, err := t.finish("recovery.yaml", append([]string{repeat}, set...)...)
		if err != nil {
			return 0, err
		}
		return mean(calls(r, workload.AllReduce)), nil
	}
	calm, err := total("background=[]")
	if err != nil {
		return nil, err
	}
	v := Values{}
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"default", nil},
		{"fast recovery", []string{"nic.dcqcn.hai_rate=10Gbps"}},
		{"gentle cut", []string{"nic.dcqcn.min_dec_fac=75%"}},
		{"slow recovery", []string{"nic.dcqcn.g=0.0009765625"}},
	} {
		with, err := total(c.set...)
		if err != nil {
			return nil, err
		}
		v[c.name] = 100 * (with/calm - 1)
	}
	return v, nil
}

func backup(t *Trial) (Values, error) {
	var set []string
	if t.Reduced {
		set = []string{"job.step.steps=1", "job.step.sizes.dp=2MiB"}
	}
	longest := func(r *scenario.Run) float64 {
		worst := 0.0
		for _, s := range steps(r) {
			worst = max(worst, s)
		}
		return worst
	}
	without, err := t.finish("backup.yaml", append(set, "background=[]")...)
	if err != nil {
		return nil, err
	}
	same, err := t.finish("backup.yaml", set...)
	if err != nil {
		return nil, err
	}
	apart, err := t.finish("backup.yaml", append(set, "background[0].priority=0")...)
	if err != nil {
		return nil, err
	}
	return Values{
		"same priority": 100 * (longest(same)/longest(without) - 1), "own priority": 100 * (longest(apart)/longest(without) - 1),
	}, nil
}
