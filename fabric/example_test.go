package fabric_test

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/fabric"
)

func ExampleLoad() {
	f, err := fabric.Load("fabric.yaml", []byte(`
topology: leaf-spine
leaves: 2
hosts_per_leaf: 2
spines: 2
link: {rate: 400Gbps, delay: 500ns}
links:
  - {between: [leaf1, spine0], rate: 100Gbps}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	paths, _ := f.Paths(f.Endpoints[0], f.Endpoints[3], 10)
	for _, path := range paths {
		var hops []string
		for _, p := range path {
			hops = append(hops, fmt.Sprint(f.PortName(p), " ", f.Ports[p].Rate))
		}
		fmt.Println(strings.Join(hops, ", "))
	}

	_, err = fabric.Load("fabric.yaml", []byte("topology: leaf-spin\nleafs: 2\nlink: {rate: 400, delay: 500ns}\n"))
	fmt.Println(err)
	// Output:
	// host0/mlx5_0 400Gbps, leaf0/Ethernet16 400Gbps, spine0/Ethernet8 100Gbps, leaf1/Ethernet8 400Gbps
	// host0/mlx5_0 400Gbps, leaf0/Ethernet24 400Gbps, spine1/Ethernet8 400Gbps, leaf1/Ethernet8 400Gbps
	// fabric.yaml:1:11: topology: "leaf-spin" is not one of its values; did you mean leaf-spine?
	// fabric.yaml:2:1: unknown field leafs in the file; did you mean leaves?
	// fabric.yaml:3:14: rate: "400" has no unit; write a rate like 400Gbps
}
