package workload_test

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func ExampleSpec_Plan() {
	wire := fabric.Wire{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	spec := workload.Spec{Job: workload.Job{Collective: &workload.CollectiveJob{
		Kind: workload.AllReduce, Size: 4 * units.MiB, Repeat: 2,
	}}}
	plan := spec.Plan(f, 1, func(path, text string) { fmt.Println(path, text) })
	var bytes units.Bytes
	for _, op := range plan.Ops {
		bytes += op.Bytes
	}
	fmt.Println(len(plan.Spans), "calls of", plan.Spans[0].Name, "move", bytes)
	fmt.Println("one takes at least", workload.AllReduce.LowerBound(4, 4*units.MiB, wire.Rate, 0))
	// Output:
	// 2 calls of all_reduce move 48MiB
	// one takes at least 125.8291us
}
