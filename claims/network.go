package claims

import (
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/workload"
)

// networkExperiments compare ways to carry a collective out, and hosts that cannot keep up.
func networkExperiments() []Experiment {
	return []Experiment{{
		Name: "in-network", Version: 1, Exact: true, Cost: 0.6, Files: []string{"in-network.yaml"},
		Method: `Eight hosts below one leaf at 400 Gbit/s: an all_reduce in a ring and one that the switch adds up with SwitchML's slots (512 of 1 KiB a group), of
32 MiB, where bytes decide, and of 64 KiB, where steps do. Nothing is drawn.`,
		Values: []string{"large", "small", "bound"},
		run:    inNetwork,
	}, {
		Name: "tree-ring", Version: 1, Seeds: 5, Cost: 1, Files: []string{"algorithms.yaml"},
		Method: `Sixteen hosts on four leaves and four spines at 200 Gbit/s: an all_reduce in one ring and in two binary trees, of 16 KiB and of 32 MiB, with
per-flow hashing and DCQCN.`,
		Values: []string{"small", "large", "large narrow"},
		run:    treeRing,
	}, {
		Name: "shared-core", Version: 1, Seeds: 3, Cost: 1.2, Files: []string{"shared-core.yaml"},
		Method: `Eight hosts with two 100 Gbit/s NICs each, one a plane, and an all_reduce over both. At one host the two receive what one core can take: half of
what they could, with and without DCQCN, or a third.`,
		Values: []string{"half", "half uncontrolled", "third"},
		run:    sharedCore,
	}, {
		Name: "path-mtu", Version: 1, Exact: true, Cost: 0.5, Files: []string{"in-network.yaml"},
		Method: `The ring of eight hosts with the RoCE path MTU that an Ethernet MTU of 9000 allows (4096) and with that of 1500 (1024).`,
		Values: []string{"lost"},
		run:    pathMTU,
	}}
}

// inNetwork compares the ring with its bound: a ring sends 2(N-1)/N of the bytes over each link, a switch that adds up the bytes once, so
// no more than 2(N-1)/N can be gained where bytes decide.
func inNetwork(t *Trial) (Values, error) {
	gain := func(size string) (float64, error) {
		var us [2]float64
		for i, algorithm := range []string{"ring", "in-network"} {
			r, err := t.finish("in-network.yaml", "job.collective.size="+size, "job.collective.algorithm="+algorithm)
			if err != nil {
				return 0, err
			}
			us[i] = mean(calls(r, workload.AllReduce))
		}
		return 100 * (us[0]/us[1] - 1), nil
	}
	large, err := gain(t.sized("32MiB", "1MiB"))
	if err != nil {
		return nil, err
	}
	small, err := gain("64KiB")
	const n = 8
	return Values{"large": large, "small": small, "bound": 100 * (2*(n-1.0)/n - 1)}, err
}

func treeRing(t *Trial) (Values, error) {
	ratio := func(size string, set ...string) (float64, error) {
		var us [2]float64
		for i, algorithm := range []string{"ring", "tree"} {
			r, err := t.finish("algorithms.yaml", append(set, "job.collective.size="+size, "job.collective.algorithm="+algorithm)...)
			if err != nil {
				return 0, err
			}
			us[i] = mean(calls(r, workload.AllReduce))
		}
		return us[0] / us[1], nil
	}
	v := Values{}
	for _, c := range []struct {
		name, size string
		set        []string
	}{
		{"small", "16KiB", nil}, {"large", t.sized("32MiB", "1MiB"), nil}, {"large narrow", t.sized("32MiB", "1MiB"), []string{"fabric.spines=1"}},
	} {
		x, err := ratio(c.size, c.set...)
		if err != nil {
			return nil, err
		}
		v[c.name] = x
	}
	return v, nil
}

func sharedCore(t *Trial) (Values, error) {
	size := "job.collective.size=" + t.sized("16MiB", "1MiB")
	sound, err := t.finish("shared-core.yaml", size)
	if err != nil {
		return nil, err
	}
	slow := func(rate, control string) (*scenario.Run, error) {
		return t.finish("shared-core.yaml", size, "nic.control="+control, "faults=[{kind: slow-receiver, host: host3, index: 0, rate: "+rate+"}, {kind: slow-receiver, host: host3, index: 1, rate: "+rate+"}]")
	}
	half, err := slow("50Gbps", "dcqcn")
	if err != nil {
		return nil, err
	}
	free, err := slow("50Gbps", "none")
	if err != nil {
		return nil, err
	}
	third, err := slow("33Gbps", "dcqcn")
	if err != nil {
		return nil, err
	}
	base := mean(calls(sound, workload.AllReduce))
	return Values{
		"half": mean(calls(half, workload.AllReduce)) / base, "half uncontrolled": mean(calls(free, workload.AllReduce)) / base,
		"third": mean(calls(third, workload.AllReduce)) / base,
	}, nil
}

func pathMTU(t *Trial) (Values, error) {
	size := "job.collective.size=" + t.sized("32MiB", "1MiB")
	large, err := t.finish("in-network.yaml", size)
	if err != nil {
		return nil, err
	}
	small, err := t.finish("in-network.yaml", size, "nic.mtu=1024B")
	if err != nil {
		return nil, err
	}
	return Values{"lost": 100 * (1 - mean(calls(large, workload.AllReduce))/mean(calls(small, workload.AllReduce)))}, nil
}
