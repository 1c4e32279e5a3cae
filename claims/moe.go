package claims

import (
	"slices"

	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/workload"
)

// moeExperiments are about hash collisions in training with experts.
func moeExperiments() []Experiment {
	return []Experiment{{
		Name: "moe", Version: 1, Seeds: 8, Cost: 4, Files: []string{"moe.yaml"},
		Method: `One step of a mixture-of-experts model on 16 hosts, four leaves and four spines at 400 Gbit/s: gradients all_reduced in a ring, expert
groups of four that span the leaves. Per-flow hashing, the hash widened by the destination QPN with 4 QPs a connection, and spraying to receivers that
place.`,
		Values: []string{"alltoall lost", "all_reduce lost", "step lost", "step gained qpn", "step gained spray", "hottest", "hottest sprayed"},
		run:    moe,
	}}
}

func moe(t *Trial) (Values, error) {
	var set []string
	if t.Reduced {
		set = []string{"job.step.sizes={ep: 512KiB, dp: 512KiB}"}
	}
	hashed, err := t.finish("moe.yaml", set...)
	if err != nil {
		return nil, err
	}
	wide, err := t.finish("moe.yaml", append(set, "path_choice=ecmp-qpn", "nic.qps=4", "nic.split=true")...)
	if err != nil {
		return nil, err
	}
	sprayed, err := t.finish("moe.yaml", append(set, "path_choice=random", "nic.transport=place")...)
	if err != nil {
		return nil, err
	}
	lost := func(kind workload.Collective) float64 { // of its bandwidth, against spraying
		return 100 * (1 - mean(calls(sprayed, kind))/mean(calls(hashed, kind)))
	}
	step := mean(steps(hashed))
	return Values{
		"alltoall lost": lost(workload.AllToAll), "all_reduce lost": lost(workload.AllReduce),
		"step lost":         100 * (1 - mean(steps(sprayed))/step), // of the training speed
		"step gained qpn":   100 * (step/mean(steps(wide)) - 1),
		"step gained spray": 100 * (step/mean(steps(sprayed)) - 1),
		"hottest":           fullest(hashed), "hottest sprayed": fullest(sprayed),
	}, nil
}

// fullest is by how much, in percent, the fullest uplink of a leaf carried more than the mean of its leaf's, at the leaf where it is most.
func fullest(r *scenario.Run) float64 {
	byLeaf := map[string][]float64{}
	for _, l := range r.Loads() {
		if l.Uplink {
			name := r.Fabric.Node(l.ID).Name
			byLeaf[name] = append(byLeaf[name], l.Bytes)
		}
	}
	worst := 0.0
	for _, loads := range byLeaf { // the largest of them, whatever the order
		if m := mean(loads); m > 0 {
			worst = max(worst, 100*(slices.Max(loads)/m-1))
		}
	}
	return worst
}
