package route

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

func small() *fabric.Fabric {
	w := fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 3, HostsPerLeaf: 2, Spines: 4, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// Worked by hand from the kernel's formula: the product 0x300 is the label and the port 0xc300; 0x12345*0x54321 = 0x5fcb99ae5,
// v ^= v>>20 leaves the low 20 bits 0x99ae5^0x05fcb = 0x9c52e, whose low 14 bits 0x052e with the high six 0x27 give 0x0509.
func TestSourcePort(t *testing.T) {
	for _, c := range []struct {
		a, b uint32
		want uint16
	}{{0x10, 0x30, 0xc300}, {0x30, 0x10, 0xc300}, {1, 1, 0xc001}, {0x12345, 0x54321, 0xc509}} {
		if got := SourcePort(c.a, c.b); got != c.want {
			t.Errorf("SourcePort(%#x, %#x) = %#x, want %#x", c.a, c.b, got, c.want)
		}
	}
	for i := range uint32(1000) {
		if p := SourcePort(i*7919, i*104729+1); p < 0xc000 {
			t.Fatalf("port %#x outside the dynamic range", p)
		}
	}
}

// Flows fall on the ports of a switch like balls into bins, and what one switch does tells nothing about the next: of the flows
// that the first sends to one port, the second uses all its ports alike.
func TestPickSpreads(t *testing.T) {
	const n, flows = 16, 1 << 16
	chi := func(count []int, total int) float64 {
		want, x := float64(total)/float64(len(count)), 0.0
		for _, c := range count {
			x += (float64(c) - want) * (float64(c) - want) / want
		}
		return x
	}
	first, second := make([]int, n), make([]int, n)
	chosen := 0
	for i := range uint32(flows) {
		h := FlowHash(i/256, 1000+i%256, SourcePort(i+1, i+77), 0)
		p := Pick(h, 12345, n)
		first[p]++
		if p == 3 {
			second[Pick(h, 67890, n)]++
			chosen++
		}
	}
	// 15 degrees of freedom: mean 15, deviation 5.5; 45 lies beyond 5 deviations.
	if x := chi(first, flows); x > 45 {
		t.Errorf("first tier: chi-square %.1f over 15 degrees of freedom", x)
	}
	if x := chi(second, chosen); x > 45 {
		t.Errorf("second tier, flows of one port: chi-square %.1f over 15 degrees of freedom", x)
	}
	if math.Abs(float64(chosen)-flows/n) > 5*math.Sqrt(flows/n) {
		t.Errorf("port 3 got %d of %d flows", chosen, flows)
	}
}

// A dead link disappears at its own switch for everything beyond it, and at the other leaves for what is below its leaf only; when
// it is back the table is as it was.
func TestExclude(t *testing.T) {
	f := small()
	table, err := NewTable(f)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(i int) fabric.NodeID { return f.Ports[f.Ports[f.Endpoints[2*i]].Peer].Node }
	dead := f.NextHops(leaf(0), 2)[1]
	spine := f.Ports[f.Ports[dead].Peer].Node
	down := make([]bool, len(f.Ports))
	down[dead], down[f.Ports[dead].Peer] = true, true
	if err := table.Exclude(down); err != nil {
		t.Fatal(err)
	}
	uses := func(sw fabric.NodeID, ep uint32) bool {
		for _, p := range table.Ports(sw, ep) {
			if f.Ports[f.Ports[p].Peer].Node == spine {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		name string
		leaf fabric.NodeID
		ep   uint32
		want bool
		n    int
	}{
		{"own leaf", leaf(0), 2, false, 3},
		{"other leaf, below the dead link", leaf(1), 0, false, 3},
		{"other leaf, elsewhere", leaf(1), 4, true, 4},
	} {
		if got := uses(c.leaf, c.ep); got != c.want || len(table.Ports(c.leaf, c.ep)) != c.n {
			t.Errorf("%s: uses the spine %v, want %v; %d ports, want %d", c.name, got, c.want, len(table.Ports(c.leaf, c.ep)), c.n)
		}
	}
	if got := table.Ports(spine, 0); len(got) != 0 {
		t.Errorf("the spine still has %v", got)
	}
	if err := table.Exclude(make([]bool, len(f.Ports))); err != nil {
		t.Fatal(err)
	}
	for n := range f.Nodes {
		if f.Nodes[n].Role == fabric.Host {
			continue
		}
		for ep := range f.Endpoints {
			if got, want := len(table.Ports(fabric.NodeID(n), uint32(ep))), len(f.NextHops(fabric.NodeID(n), int32(ep))); got != want {
				t.Fatalf("after repair %d ports, want %d", got, want)
			}
		}
	}
}
