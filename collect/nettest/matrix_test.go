package nettest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func pairsOf(text string) (out []string) {
	inv := &evidence.Inventory{}
	m := NewMatrix(fragment.New(inv, "f"))
	for i, line := range strings.Split(text, "\n") {
		m.Line([]byte(line), i+1)
	}
	for _, t := range inv.NetTests {
		out = append(out, fmt.Sprintf("%s %s %v", t.Host, t.Peer, t.Rate.Or(0)))
	}
	return out
}

func TestMatrix(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"GB/s    node1  node2  node3\nnode1       -   48.0   24.0\nnode2    48.0      -   nan\nnode3 24.0 0 -", "[node1 node2 384Gbps node1 node3 192Gbps node2 node1 384Gbps node3 node1 192Gbps]"},
		{"        gpu-a01  gpu-a02  gpu-a03\ngpu-a01  0  391.5  390\nsomething else\n", "[gpu-a01 gpu-a02 391.5Gbps gpu-a01 gpu-a03 390Gbps]"},
		{"node1 - node2: 391.2 Gb/s\nnode1 -> node3  24.0 GB/s\nnode2,node3,100 Gbps", "[node1 node2 391.2Gbps node1 node3 192Gbps node2 node3 100Gbps]"},
		{"node1 to node2 failed\nnode1 node2 5\nnode1 node1 5 Gbps", "[]"},
		{"src\\dst node1 node2 node3\nnode1 - 1 2", "[node1 node2 1Gbps node1 node3 2Gbps]"},
	} {
		if got := fmt.Sprint(pairsOf(tc.text)); got != tc.want {
			t.Errorf("%q:\n%s, want\n%s", tc.text, got, tc.want)
		}
	}
	for line, want := range map[string]bool{
		"node1 node2 node3": true, "src\\dst node1 node2 node3": true, "node1 node2": false, "node1 node1 node2": false, "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity": false, "GPU0 GPU1 NIC0": false, "step 100 loss 2.1": false,
		"node1 <-> node2 : 48.1 GB/s": true, "node1: 48.1 GB/s": false, "mlx5_0 port 1 ==> ens3np0 (Up)": false, "host1 eth0 up": false, "iteration 5 took 3 s and node1 node2": false,
		"       size         count      type   redop    root": false, "Filesystem 1K-blocks Used": false,
	} {
		if got := StartsMatrix([]byte(line)); got != want {
			t.Errorf("%q begins a table: %v", line, got)
		}
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add("GB/s a1 b2 c3\na1 - 1 2\nb2 1e9 - NaN")
	f.Add("a1 -> b2: 9e99 GB/s")
	f.Fuzz(func(_ *testing.T, text string) { pairsOf(text) })
}
