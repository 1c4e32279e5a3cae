package htsim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

const twoTiers = `# four leaves
NODES 12
tiers 2
Podsize 12

Tier 0
Downlink_speed_Gbps 200
Radix_Down 3
Radix_Up 2
Downlink_Latency_ns 700
Oversubscribed 3
Switch_Latency_ns 50

Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 900
Switch_Latency_ns 50`

const threeTiers = "Nodes 16\r\nTiers 3\r\nPodsize 4\r\n" +
	"Tier 0\r\nDownlink_speed_Gbps 100\r\nRadix_Down 2\r\nRadix_Up 4\r\nDownlink_Latency_ns 1000\r\nSwitch_Latency_ns 10\r\n" +
	"Tier 1\r\nDownlink_speed_Gbps 50\r\nRadix_Down 4\r\nRadix_Up 4\r\nDownlink_Latency_ns 2000\r\nSwitch_Latency_ns 20\r\nBundle 2\r\n" +
	"Tier 2\r\nDownlink_speed_Gbps 50\r\nRadix_Down 4\r\nDownlink_Latency_ns 4000\r\nSwitch_Latency_ns 30\r\nBundle 1\r\n"

func mustTopology(t *testing.T, src string) *Topology {
	t.Helper()
	topo, err := ReadTopology("f.topo", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// Two tiers are the leaf-spine network of the same sizes, link for link.
func TestTwoTiersAreALeafSpine(t *testing.T) {
	f, c, err := mustTopology(t, twoTiers).Fabric()
	if err != nil {
		t.Fatal(err)
	}
	want := fabric.LeafSpine{
		Leaves: 4, HostsPerLeaf: 3, Spines: 2, Bundle: 1, GPUsPerHost: 1,
		Access: fabric.Wire{Rate: 200 * units.Gbps, Delay: 700 * units.Nanosecond}, Trunk: fabric.Wire{Rate: 100 * units.Gbps, Delay: 900 * units.Nanosecond},
	}.Build()
	if diff := cmp.Diff(want.Ports, f.Ports); diff != "" {
		t.Errorf("ports differ:\n%s", diff)
	}
	if diff := cmp.Diff(netsim.SwitchConfig{Latency: 50 * units.Nanosecond}, c); diff != "" {
		t.Errorf("configuration:\n%s", diff)
	}
}

func TestThreeTiers(t *testing.T) {
	f, _, err := mustTopology(t, threeTiers).Fabric()
	if err != nil {
		t.Fatal(err)
	}
	count := map[fabric.Role]int{}
	for _, n := range f.Nodes {
		count[n.Role]++
	}
	// Radix_Up 4 in bundles of 2 is 2 Aggs a pod, each with 4 cores of its own.
	if diff := cmp.Diff(map[fabric.Role]int{fabric.Host: 16, fabric.Leaf: 8, fabric.Spine: 8, fabric.Core: 8}, count); diff != "" {
		t.Error(diff)
	}
	paths, _ := f.Paths(f.GPUs[0].NICs[0], f.GPUs[15].NICs[0], 1000)
	if len(paths) != 4*4*2 { // bundled links to 2 Aggs, 4 cores each, bundled links down
		t.Errorf("%d paths between pods", len(paths))
	}
	// Tiers differ in switch latency, so it is in the links that lead into the switch.
	var delays []units.Duration
	for _, p := range paths[0] {
		delays = append(delays, f.Ports[p].Delay/units.Nanosecond)
	}
	if diff := cmp.Diff([]units.Duration{1010, 2020, 4030, 4020, 2010, 1000}, delays); diff != "" {
		t.Error(diff)
	}
}

func TestQueuesBecomeABuffer(t *testing.T) {
	src := strings.ReplaceAll(twoTiers, "Radix_Down 3", "Radix_Down 3\nQueue_Down 4000000\nQueue_Up 4000000")
	topo := mustTopology(t, src)
	if _, c, err := topo.Fabric(); err != nil || c.Buffer != 20_000_000 || len(topo.Report.Notes) != 1 {
		t.Errorf("buffer %v, %v, %v", c.Buffer, topo.Report.Notes, err)
	}
	topo = mustTopology(t, strings.ReplaceAll(src, "4000000", "10000"))
	if _, c, err := topo.Fabric(); err != nil || c.Buffer != 0 || c.Queue != 10000 || len(topo.Report.Notes) != 1 {
		t.Errorf("queues of a lossy network: buffer %v, queue %v, %v, %v", c.Buffer, c.Queue, topo.Report.Notes, err)
	}
}

func TestTopologyMistakes(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"oversubscription", "Oversubscribed 3", "Oversubscribed 2", "f.topo:11:16: tier 0 has 600 Gbit/s below and 200 above, and Oversubscribed says 2; write Oversubscribed 3, or other radices or speeds"},
		{"unknown", "Radix_Up 2", "Radix_Upp 2", `f.topo:9:1: "Radix_Upp" is nothing a topology says`},
		{"twice", "Radix_Up 2", "Radix_Down 2", "f.topo:9:1: Radix_Down is given a second time, after line 8; remove one"},
		{"ports", "Radix_Down 4", "Radix_Down 5", "f.topo:14:1: tier 1 has 5 ports down, and the 4 switches below it with bundles of 1 need 4"},
		{"pod", "Podsize 12", "Podsize 6", "f.topo:6:1: with two tiers all 12 nodes are one pod, and Podsize is 6; make them equal"},
		{"missing", "Radix_Up 2\n", "", "f.topo:6:1: tier 0 has no Radix_Up; add it"},
		{"number", "Radix_Up 2", "Radix_Up two", `f.topo:9:10: the number of ports up is "two"; write a whole number from 1 to 65536`},
		{"nodes", "NODES 12\n", "", "f.topo: no Nodes"},
		{"value", "Radix_Up 2", "Radix_Up", "f.topo:9:1: Radix_Up has no value"},
		{"tier", "Tier 1", "Tier 0", "f.topo:14:6: tier 0 is described twice"},
	} {
		_, err := ReadTopology("f.topo", strings.NewReader(strings.Replace(twoTiers, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.name, c.want, err)
		}
	}
}

// A file can ask for more than memory holds.
func TestTopologyIsBounded(t *testing.T) {
	src := strings.NewReplacer("NODES 12", "Nodes 131072", "tiers 2", "tiers 2", "Podsize 12", "Podsize 131072", "Radix_Down 3", "Radix_Down 4", "Radix_Up 2", "Radix_Up 65536",
		"Downlink_speed_Gbps 200", "Downlink_speed_Gbps 65536", "Downlink_speed_Gbps 100", "Downlink_speed_Gbps 1", "Oversubscribed 3", "Oversubscribed 4", "Radix_Down 4\n", "Radix_Down 32768\n").Replace(twoTiers)
	topo, err := ReadTopology("f.topo", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := topo.Fabric(); err == nil || !strings.Contains(err.Error(), "links; at most") {
		t.Errorf("got %v", err)
	}
}

func FuzzTopology(f *testing.F) {
	f.Add([]byte(twoTiers))
	f.Add([]byte(threeTiers))
	f.Fuzz(func(t *testing.T, src []byte) {
		topo, err := ReadTopology("f.topo", strings.NewReader(string(src)))
		if err != nil || topo.Nodes > 1000 || topo.Tiers[0].RadixUp > 100 {
			return
		}
		topo.Fabric()
	})
}
