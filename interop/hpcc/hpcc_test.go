package hpcc

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Two leaves (4, 5) of two hosts, one spine (6); as files come: CRLF, double spaces, both forms of rates and delays.
const topology = "7 3 6\r\n4 5 6 \r\n0 4 100Gbps  1000ns 0\r\n1  4 100000000000.0 0.001ms 0.000000\r\n2 5 100Gbps 1us 0\r\n3 5 100Gbps 1us 0\r\n4 6 400Gbps 2us 0\r\n5 6 400Gbps 2us 0.01\r\n\r\nFirst line: total node #, switch node #, link #\r\n"

func mustFabric(t *testing.T, src string) *fabric.Fabric {
	t.Helper()
	topo, err := ReadTopology("t.txt", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	f, err := topo.Fabric(Loss{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTopology(t *testing.T) {
	f := mustFabric(t, topology)
	var names []string
	for _, n := range f.Nodes {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff([]string{"host0", "host1", "host2", "host3", "leaf4", "leaf5", "spine6"}, names); diff != "" {
		t.Error(diff)
	}
	leaf, _ := f.NodeByName("leaf5")
	spine, _ := f.NodeByName("spine6")
	p := f.Ports[f.Between(leaf, spine)[0]]
	if p.Rate != 400*units.Gbps || p.Delay != 2*units.Microsecond || !p.Uplink {
		t.Errorf("uplink %+v", p)
	}
	// A full packet of 1048 bytes is lost with 1 %.
	if lost := -math.Expm1(1048 * 8 * math.Log1p(-p.BER)); math.Abs(lost-0.01) > 1e-9 {
		t.Errorf("a packet is lost with probability %v", lost)
	}
}

func TestHeaders(t *testing.T) {
	body := "2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
	for header, want := range map[string]Topology{
		"4 2 3\n":        {Nodes: 4},
		"4 2 2 3\n":      {Nodes: 4},
		"4 1 1 1 3 H9\n": {Nodes: 4, GPUsPerServer: 1, NVSwitches: 1, GPUType: "H9"},
		"4 1 1 1 3\n":    {Nodes: 4, GPUsPerServer: 1, NVSwitches: 1},
	} {
		got, err := ReadTopology("t.txt", strings.NewReader(header+body))
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(Topology{}, "Report", "Links", "Switches"), cmpopts.IgnoreUnexported(Topology{})); diff != "" {
			t.Errorf("%q:\n%s", header, diff)
		}
		if len(got.Links) != 3 || cmp.Diff([]int32{2, 3}, got.Switches) != "" {
			t.Errorf("%q: %v, %v", header, got.Switches, got.Links)
		}
	}
}

// Hosts in a ring, and no switch: an empty line stands for the list of them.
func TestHostsThatForward(t *testing.T) {
	f := mustFabric(t, "4 0 4\n\n0 1 25Gbps 5us 0\n1 2 25Gbps 5us 0\n2 3 25Gbps 5us 0\n3 0 25Gbps 5us 0\n")
	if len(f.GPUs) != 4 || len(f.Nodes) != 8 {
		t.Fatalf("%d GPUs, %d nodes", len(f.GPUs), len(f.Nodes))
	}
	paths, _ := f.Paths(f.GPUs[0].NICs[0], f.GPUs[2].NICs[0], 10)
	if len(paths) != 2 || len(paths[0]) != 4 { // both ways around
		t.Errorf("paths from 0 to 2: %v", paths)
	}
	if rate := f.Ports[f.GPUs[0].NICs[0]].Rate; rate != 50*units.Gbps {
		t.Errorf("a host may send at %v", rate)
	}
}

func TestTopologyMistakes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"7 3 6\r", "7 3 8\r", `t.txt:10:1: the node a link leads from is "First"`},
		{"7 3 6\r", "7 3 5 6 1 x y\r", "t.txt:1:1: the header has 7 words"},
		{"7 3 6\r", "3 3 6\r", "t.txt:1:1: 3 of 3 nodes are switches"},
		{"4 5 6 \r", "4 5 5 \r", "t.txt:2:5: switch 5 is listed twice"},
		{"1us 0\r", "1 us 0\r", `t.txt:5:15: the share of packets a link loses is "us"`},
		{"2 5 100Gbps", "2 5 100Gpbs", `t.txt:5:5: the rate of a link is "100Gpbs"; write a rate above 0 like 100Gbps`},
		{"2 5 100Gbps", "2 7 100Gbps", `t.txt:5:3: the node a link leads to is "7"; write a whole number from 0 to 6`},
		{"2 5 100Gbps", "2 2 100Gbps", "t.txt:5:1: node 2 is linked to itself"},
		{"1us 0\r\n4 6", "100s 0\r\n4 6", "t.txt:6:1: a link of 100Gbps and 100s is beyond"},
	} {
		_, err := ReadTopology("t.txt", strings.NewReader(strings.Replace(topology, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	cut := topology[:strings.Index(topology, " 0.01")]
	if _, err := ReadTopology("t.txt", strings.NewReader(cut)); err == nil || !strings.Contains(err.Error(), "the file ends within a link") {
		t.Errorf("a cut file: %v", err)
	}
}

const flows = "3\n2 0 3 100 5000 2.000001\n0 1 3 101 4096 2\n0 3 1 102 6000000000 2.5\n\nsrc dst pg port bytes start\n"

func TestFlows(t *testing.T) {
	f := mustFabric(t, topology)
	list, err := ReadFlows("f.txt", strings.NewReader(flows))
	if err != nil {
		t.Fatal(err)
	}
	j, err := list.Job(f)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Op{
		{Kind: workload.Send, Priority: 3, Src: 2, Dst: 0, Bytes: 5000, At: units.Microsecond},
		{Kind: workload.Send, Priority: 3, Src: 0, Dst: 1, Bytes: 4096},
		{Kind: workload.Send, Priority: 1, Src: 0, Dst: 3, Bytes: 6_000_000_000, At: 500 * units.Millisecond},
	}
	if diff := cmp.Diff(want, j.Plan.Ops); diff != "" {
		t.Error(diff)
	}
	if j.Offset != 2*units.Second {
		t.Errorf("offset %v", j.Offset)
	}
	var out bytes.Buffer
	if err := list.Write(&out); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFlows("f.txt", &out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.List, again.List, cmpopts.IgnoreTypes(source.Place{})); diff != "" {
		t.Errorf("written and read again:\n%s", diff)
	}
}

func TestFlowMistakes(t *testing.T) {
	f := mustFabric(t, topology)
	for src, want := range map[string]string{
		"":                                  "f.txt:1:1: the file is empty",
		"2\n0 1 3 100 5 2\n":                "f.txt:2:14: the file ends after 1 of 2 flows; write 1 in front",
		"1\n0 6 3 100 5 2\n":                "f.txt:2:1: node 6 is no host of the fabric; hosts are among 0 to 3",
		"1\n0 0 3 100 5 2\n":                "f.txt:2:1: node 0 sends to itself",
		"1\n0 1 9 100 5 2\n":                `f.txt:2:5: the priority group is "9"; write a whole number from 0 to 7`,
		"1\n0 1 3 100 5 x\n":                `f.txt:2:13: the start in seconds is "x"`,
		"1\n0 1 3 100 5\n":                  "the file ends within a flow",
		"99999999999\n0 1 3 100 5 0\n":      "f.txt:1:1: the number of flows",
		"1\n0 1 3 100 123456789012345678 0": "f.txt:2:11: the bytes of a flow",
	} {
		list, err := ReadFlows("f.txt", strings.NewReader(src))
		if err == nil {
			_, err = list.Job(f)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
}

// A flow alone takes what the model's own formula says, less the packet that the formula counts twice.
func TestFCT(t *testing.T) {
	f := mustFabric(t, strings.Replace(topology, "0.01", "0", 1))
	list, err := ReadFlows("f.txt", strings.NewReader("2\n0 3 3 100 1000000 2\n1 0 3 101 1000 2.001\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := list.Job(f)
	if err != nil {
		t.Fatal(err)
	}
	c := netsim.Defaults(netsim.Config{NIC: netsim.NICConfig{Control: "none", MTU: 1000}})
	var pauses bytes.Buffer
	log := NewPauseLog(&pauses, f, j.Offset)
	c.Probe = log.Probe()
	net, err := netsim.New(f, j.Plan, c)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := net.RunUntil(units.At(int64(units.Second))); !done || err != nil {
		t.Fatal(done, err)
	}
	var out bytes.Buffer
	if err := j.WriteFCT(&out, f, net.Ops(), c); err != nil {
		t.Fatal(err)
	}
	// 0 to 3: 6 us each way. 1000 packets of 1064 bytes at 100 Gbit/s are 85.12 us, then one at 400 Gbit/s twice (21.28 ns
	// each) and once at 100 (85.12 ns); an acknowledgement of 64 bytes back: 2 x 5.12 + 2 x 1.28 ns. The formula: 12 us,
	// 1000 bytes at every hop (2 x 80 + 2 x 20 ns), 1048 bytes for each packet at 100 Gbit/s (83.84 us).
	want := `0b000001 0b000301 10000 100 1000000 2000000000 97260 96040
0b000101 0b000001 10000 101 1000 2001000000 4180 4244
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := log.Flush(); err != nil || pauses.Len() != 0 {
		t.Errorf("pauses of a run without: %q, %v", pauses.String(), err)
	}
}

// Three hosts to one: switches pause, in the words of pfc.txt.
func TestPauses(t *testing.T) {
	f := mustFabric(t, strings.Replace(topology, "0.01", "0", 1))
	list, err := ReadFlows("f.txt", strings.NewReader("3\n1 0 3 100 4000000 2\n2 0 3 100 4000000 2\n3 0 3 100 4000000 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := list.Job(f)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := NewPauseLog(&out, f, j.Offset)
	c := netsim.Defaults(netsim.Config{NIC: netsim.NICConfig{Control: "none"}, Switch: netsim.SwitchConfig{Buffer: 2 * units.MiB}})
	c.Probe = log.Probe()
	net, err := netsim.New(f, j.Plan, c)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := net.RunUntil(units.At(int64(units.Second))); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	paused := map[string]int{}
	for line := range strings.Lines(out.String()) {
		w := strings.Fields(line)
		if len(w) != 5 || !strings.HasPrefix(w[0], "2000") {
			t.Fatalf("line %q", line)
		}
		if w[4] == "1" {
			paused[w[1]+" "+w[2]+" "+w[3]]++
		} else {
			paused[w[1]+" "+w[2]+" "+w[3]]--
		}
	}
	if _, ok := paused["1 0 1"]; !ok {
		t.Errorf("host 1 was never paused: %v", paused)
	}
	if _, ok := paused["6 1 1"]; !ok {
		t.Errorf("the spine was never paused by leaf 4: %v", paused)
	}
	for where, open := range paused {
		if open != 0 {
			t.Errorf("%s: %d pauses more than ends", where, open)
		}
	}
}

func FuzzTopology(f *testing.F) {
	f.Add([]byte(topology))
	f.Add([]byte("4 0 4\n\n0 1 25Gbps 5us 0\n1 2 25Gbps 5us 0\n2 3 25Gbps 5us 0\n3 0 25Gbps 5us 0\n"))
	f.Add([]byte("4 1 1 1 3 H9\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if topo, err := ReadTopology("t.txt", bytes.NewReader(src)); err == nil && topo.Nodes < 1000 {
			topo.Fabric(Loss{})
		}
	})
}

func FuzzFlows(f *testing.F) {
	f.Add([]byte(flows))
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	f.Fuzz(func(t *testing.T, src []byte) {
		if list, err := ReadFlows("f.txt", bytes.NewReader(src)); err == nil {
			list.Job(net)
		}
	})
}
