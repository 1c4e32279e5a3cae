package scenario

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/units"
)

// A heat map holds all bytes that its ports sent, and no cell is over full.
func TestHeat(t *testing.T) {
	for _, e := range []Engine{Packets, Flows} {
		r, _ := ranOn(t, e)
		g := r.Heat(1000, 50)
		loads := map[string]float64{}
		for _, l := range r.Loads() {
			loads[l.Port+" -> "+r.Fabric.Node(r.Fabric.Ports[l.ID].Peer).Name] = l.Busy
		}
		if len(g.Ports) < 8 || len(g.Edges) != 51 {
			t.Fatalf("%s: %d ports, %d edges", e, len(g.Ports), len(g.Edges))
		}
		for i, port := range g.Ports {
			sum := 0.0
			for _, v := range g.Values[i] {
				if v < 0 || v > 1 {
					t.Errorf("%s: %s has a cell of %v", e, port, v)
				}
				sum += v / 50
			}
			if math.Abs(sum-loads[port]) > 0.02 {
				t.Errorf("%s: %s is busy for %v in the map and %v of the run", e, port, sum, loads[port])
			}
		}
	}
}

// Queues are drawn where the engine knows them, the longest first, at the length that was counted.
func TestQueues(t *testing.T) {
	incast := Setting{"job", "{pattern: {kind: incast, size: 1MB}}"}
	r, _ := ranOn(t, Packets, incast)
	g := r.Queues(3, 40)
	if len(g.Ports) == 0 || g.Ports[0] != "leaf0/Ethernet0 -> host0" {
		t.Fatalf("ports %v", g.Ports)
	}
	most := 0.0
	for _, v := range g.Values[0] {
		most = max(most, v)
	}
	// Three senders at 400 Gbit/s into one: up to two thirds of the 3 MB wait, less what pauses hold back.
	if most < 100e3 || most > 2.2e6 {
		t.Errorf("the longest queue is %v bytes", most)
	}
	if r, _ := ranOn(t, Flows, incast); len(r.Queues(3, 40).Ports) != 0 {
		t.Error("flows have no queues")
	}
}

func TestDistribution(t *testing.T) {
	times := func(us ...int) (out []units.Duration) {
		for _, v := range us {
			out = append(out, units.Duration(v)*units.Microsecond)
		}
		return out
	}
	d := DistributionOf([][]units.Duration{times(30, 10, 20, 40), times(10, 10), nil}, 4)
	for i, want := range [][3]float64{{0.25, 1, 0}, {0.5, 1, 0}, {0.75, 1, 0}, {1, 1, 0}} {
		if got := [3]float64{d.Shares[0][i], d.Shares[1][i], d.Shares[2][i]}; got != want || d.Times[i] != times(10 * (i + 1))[0] {
			t.Errorf("place %d, %v: %v, want %v", i, d.Times[i], got, want)
		}
	}
	// Over more than a decade places are apart by equal factors.
	if d := DistributionOf([][]units.Duration{times(1, 1000)}, 4); d.Times[1] < 9*units.Microsecond || d.Times[1] > 11*units.Microsecond || d.Shares[0][3] != 1 {
		t.Errorf("%+v", d)
	}
	if d := DistributionOf(nil, 4); len(d.Times) != 4 {
		t.Errorf("%+v", d)
	}
}
