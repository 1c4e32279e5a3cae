package simai

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/units"
)

// Two servers of two GPUs (0 to 3), an NVSwitch each (4, 5), two leaves that are rails (6, 7), a spine (8).
const railed = `9 2 2 3 10 H100
4 5 6 7 8 
0 4 900Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 4 900Gbps 0.000025ms 0
1 7 400Gbps 0.0005ms 0
2 5 900Gbps 0.000025ms 0
2 6 400Gbps 0.0005ms 0
3 5 900Gbps 0.000025ms 0
3 7 400Gbps 0.0005ms 0
6 8 800Gbps 0.0005ms 0
7 8 800Gbps 0.0005ms 0
`

func read(src string) (*fabric.Fabric, error) {
	t, err := hpcc.ReadTopology("t", strings.NewReader(src))
	if err != nil {
		return nil, err
	}
	return Fabric(t)
}

func TestServersAreHosts(t *testing.T) {
	f, err := read(railed)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range f.Nodes {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff([]string{"host0", "host1", "leaf6", "leaf7", "spine8"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(fabric.NVLink{Rate: 900 * units.Gbps, Latency: 50 * units.Nanosecond}, f.NVLink); diff != "" {
		t.Error(diff)
	}
	for i, g := range f.GPUs {
		nic := f.Ports[g.NICs[0]]
		leaf := f.Node(nic.Peer)
		if int(g.Host) != i/2 || g.Index != i%2 || nic.Rate != 400*units.Gbps || leaf.Rail != i%2 {
			t.Errorf("GPU %d: host %d, index %d, %v, rail %d", i, g.Host, g.Index, nic.Rate, leaf.Rail)
		}
	}
}

// Two planes: every GPU has a port in each.
func TestDualPlane(t *testing.T) {
	src := `10 1 0 8 12 H100
2 3 4 5 6 7 8 9
0 2 200Gbps 0.5us 0
0 3 200Gbps 0.5us 0
1 4 200Gbps 0.5us 0
1 5 200Gbps 0.5us 0
2 6 400Gbps 0.5us 0
4 6 400Gbps 0.5us 0
3 7 400Gbps 0.5us 0
5 7 400Gbps 0.5us 0
2 8 400Gbps 0.5us 0
4 8 400Gbps 0.5us 0
3 9 400Gbps 0.5us 0
5 9 400Gbps 0.5us 0
`
	f, err := read(src)
	if err != nil {
		t.Fatal(err)
	}
	if f.Planes != 2 || f.NVLink.Rate != 0 {
		t.Errorf("%d planes, NVLink %v", f.Planes, f.NVLink)
	}
	for plane := range 2 {
		if paths, _ := f.Paths(f.GPUs[0].NICs[plane], f.GPUs[1].NICs[plane], 10); len(paths) != 2 {
			t.Errorf("plane %d has %d paths", plane, len(paths))
		}
	}
}

func TestTopologyMistakes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"9 2 2 3 10 H100", "9 5 10", "t:1:1: the header has no GPUs of a server"},
		{"9 2 2 3 10", "9 3 2 3 10", "t:1:1: 4 GPUs do not make whole servers of 3"},
		{"2 5 900Gbps", "2 4 900Gbps", "t:7:1: NVSwitch 4 joins GPUs of servers 0 and 1"},
		{"3 5 900Gbps", "3 5 450Gbps", "t:1:1: GPU 0 has 900Gbps of NVLink and GPU 3 has 450Gbps"},
		{"3 5 900Gbps 0.000025ms", "3 5 900Gbps 0.00005ms", "t:9:1: the NVLink has a delay of 50ns and that of line 3 has 25ns"},
		{"6 8 800", "4 8 800", "t:11:1: the link joins NVSwitch 4 to switch 8"},
		{"3 7 400", "3 2 400", "t:10:1: the link joins the GPUs 3 and 2"},
		{"4 5 6 7 8", "4 5 6 7 0", "t:2:1: GPUs have the numbers before all switches"},
		{"3 7 400", "3 5 400", "t:1:1: GPU 0 has 900Gbps"},
	} {
		_, err := read(strings.Replace(railed, c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

func FuzzTopology(f *testing.F) {
	f.Add([]byte(railed))
	f.Fuzz(func(t *testing.T, src []byte) {
		if topo, err := hpcc.ReadTopology("t", bytes.NewReader(src)); err == nil && topo.Nodes < 1000 {
			Fabric(topo)
		}
	})
}
