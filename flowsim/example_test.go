package flowsim_test

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/flowsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func gpus(f *fabric.Fabric) []fabric.GPUID {
	out := make([]fabric.GPUID, len(f.GPUs))
	for i := range out {
		out[i] = fabric.GPUID(i)
	}
	return out
}

// A plan carried out flow by flow: four hosts below one leaf, each sending 1 GB around a ring.
func Example() {
	wire := fabric.Wire{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	f := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	var b workload.Builder
	b.Call(f, workload.Call{Collective: workload.SendRecv, Ranks: gpus(f), Size: units.GB}, nil)
	n, err := flowsim.New(f, b.Plan(), flowsim.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := n.RunUntil(units.At(int64(units.Second))); err != nil {
		fmt.Println(err)
		return
	}
	// 1 GB at 50 GB/s is 20 ms; headers and acknowledgements are 128 bytes in 4096.
	fmt.Printf("%.2f ms\n", n.Now().Sub(units.At(0)).Seconds()*1e3)
	// Output: 20.63 ms
}

// A collective over 16,384 GPUs, worked out as a whole: its 16,384 x 32,766 sends are never written down.
func ExampleEstimator_Collective() {
	wire := fabric.Wire{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	f := fabric.LeafSpine{Leaves: 128, HostsPerLeaf: 128, Spines: 128, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	e, err := flowsim.NewEstimator(f, flowsim.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := e.Collective(workload.Call{Collective: workload.AllReduce, Size: 16 * units.GiB}, [][]fabric.GPUID{gpus(f)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f ms, %d flows\n", p.Time.Seconds()*1e3, p.Flows)
	// Output: 709 ms, 16384 flows
}
