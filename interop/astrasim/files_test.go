package astrasim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func network(src string) (*fabric.Fabric, error) {
	n, err := ReadNetwork("n.yml", strings.NewReader(src))
	if err != nil {
		return nil, err
	}
	return n.Fabric()
}

func mustNetwork(t *testing.T, src string) *fabric.Fabric {
	t.Helper()
	f, err := network(src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		name, src       string
		gpus, switches  int
		from, to        int
		paths, hops     int
		rate            float64 // of a NPU, in GB/s
		longest, access units.Duration
	}{
		{"one switch", "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 936.25 ]  # ns\n", 8, 1, 0, 7, 1, 2, 50, 936_250, 936_250},
		{"ring", "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n", 8, 8, 0, 4, 2, 6, 100, 500_000, 1},
		{"ring of two", "topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n", 2, 2, 0, 1, 1, 3, 50, 500_000, 1},
		{"mesh", "topology: [ FullyConnected ]\nnpus_count: [ 5 ]\nbandwidth: [ 10 ]\nlatency: [ 500 ]\n", 5, 5, 1, 4, 1, 3, 40, 500_000, 1},
		{"torus", "topology: [ Ring, Ring ]\nnpus_count: [4, 4]\nbandwidth: [80.0, 40.0]\nlatency: [ 1000, 1000 ]\n", 16, 16, 0, 10, 24, 6, 240, 1_000_000, 1},
		// 4 servers of 8: within a server over its switch, between servers around a ring of equal places.
		{"servers", "topology: [ Switch, Ring ]\nnpus_count: [ 8, 4 ]\nbandwidth: [400, 50 ]\nlatency: [ 936.25, 1000 ]\n", 32, 32 + 4, 0, 8, 1, 3, 500, 1_000_000, 1},
	} {
		f := mustNetwork(t, c.src)
		if len(f.GPUs) != c.gpus || len(f.Switches()) != c.switches {
			t.Errorf("%s: %d GPUs, %d switches", c.name, len(f.GPUs), len(f.Switches()))
			continue
		}
		nic := f.Ports[f.GPUs[c.from].NICs[0]]
		if got := float64(nic.Rate) / 8 / (1 << 30); got != c.rate || nic.Delay != c.access {
			t.Errorf("%s: a NPU has %v GB/s at %v", c.name, got, nic.Delay)
		}
		paths, _ := f.Paths(f.GPUs[c.from].NICs[0], f.GPUs[c.to].NICs[0], 100)
		if len(paths) != c.paths || len(paths[0]) != c.hops {
			t.Errorf("%s: %d paths of %d hops", c.name, len(paths), len(paths[0]))
			continue
		}
		longest := units.Duration(0)
		for _, p := range paths[0] {
			longest = max(longest, f.Ports[p].Delay)
		}
		if longest != c.longest {
			t.Errorf("%s: the longest link takes %v", c.name, longest)
		}
	}
}

func TestNetworkMistakes(t *testing.T) {
	good := "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"
	for _, c := range []struct{ from, to, want string }{
		{"[ 50 ]", "[ tbd ]", `n.yml:3:14: bandwidth[0]: "tbd" is not a number`},
		{"Ring", "Torus", `n.yml:1:13: "Torus" joins no dimension; write Ring, Switch or FullyConnected`},
		{"[ 8 ]", "[ 8, 4 ]", "n.yml:2:13: npus_count has 2 numbers for the 1 dimensions of topology"},
		{"[ 8 ]", "[ 1 ]", "n.yml:2:13: the network has one NPU"},
		{"[ 8 ]", "[ 999999999 ]", "n.yml:2:15: a dimension has 999999999 NPUs"},
		{"[ 50 ]", "[ 0 ]", "n.yml:3:14: a link has 0 GB/s"},
		{"[ 500 ]", "[ -1 ]", "n.yml:4:12: a link has a latency of -1 ns"},
		{"latency: [ 500 ]\n", "", "n.yml:1:1: the file lacks latency"},
		{"Ring", "FullyConnected", ""},
	} {
		src := strings.Replace(good, c.from, c.to, 1)
		_, err := network(src)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	_, err := network("topology: [ FullyConnected ]\nnpus_count: [ 100000 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
	if err == nil || !strings.Contains(err.Error(), "links; at most") {
		t.Error(err)
	}
}

func TestSystem(t *testing.T) {
	s, err := ReadSystem("s.json", strings.NewReader(`{
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10.5,
    "all-reduce-implementation": ["doubleBinaryTree"],
    "all-to-all-implementation": ["direct8"],
    "all-gather-implementation-custom": ["a/b"],
    "local-mem-bw": 1600,
    "boost-mode": 0
}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(netsim.Config{NIC: netsim.NICConfig{Latency: 10_500 * units.Picosecond}}, s.Netsim()); diff != "" {
		t.Error(diff)
	}
	if a, as := s.algorithm(workload.AllReduce); a != workload.Tree || !as {
		t.Errorf("all_reduce by %v, %v", a, as)
	}
	if a, as := s.algorithm(workload.AllToAll); a != workload.Direct || !as {
		t.Errorf("alltoall by %v, %v", a, as)
	}
	want := `s.json:2:5: without a counterpart, and not used: scheduling-policy, boost-mode
s.json:6:5: all-gather-implementation-custom: read the file it names by itself, as a job; traces use NCCL's algorithms`
	if diff := cmp.Diff(want, s.Report.Notes.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"":                                   "s.json:1:1: the file ends within its object",
		"[1]":                                `s.json:1:1: the file begins with "["`,
		"{\"a\": 1":                          "the file ends within its object",
		"{\n \"a\": {\"b\": 1}}":             `s.json:2:7: "a" is an object; write a value or a list of values`,
		"{\n \"a\": [1, [2]]}":               `s.json:2:11: "a" has a list or an object in its list`,
		"{\n \"a\" 1}":                       "s.json:2:",
		"{\"endpoint-delay\": \"x\"}":        `s.json:1:20: endpoint-delay in ns is "x"`,
		"{\"endpoint-delay\": []}":           `s.json:1:2: "endpoint-delay" has no value`,
		"{\"all-reduce-implementation\": 1}": "s.json:1:2: all-reduce-implementation is no list",
		"{\"all-reduce-implementation\": [\"ring\", \"star\"]}": `s.json:1:40: "star" is no algorithm`,
		"{\"all-reduce-implementation\": [\"ring5\"]}":          `s.json:1:32: "ring5" is no algorithm`,
	} {
		if _, err := ReadSystem("s.json", strings.NewReader(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
	for src, want := range map[string]string{
		"{\"1\": 5}":               `g.json:1:2: group "1" is no list of ranks`,
		"{\"1\": [0, 0]}":          "g.json:1:11: rank 0 is in group 1 twice",
		"{\"1\": [0], \"1\": [1]}": `g.json:1:12: group "1" is given twice`,
		"{\"1\": [-1]}":            `g.json:1:8: a rank of group 1 is "-1"`,
	} {
		if _, err := ReadGroups("g.json", strings.NewReader(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
}

func FuzzNetwork(f *testing.F) {
	f.Add([]byte("topology: [ Switch, Ring ]\nnpus_count: [ 8, 4 ]\nbandwidth: [400, 50 ]\nlatency: [ 936.25, 1000 ]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := ReadNetwork("n.yml", bytes.NewReader(src))
		if err != nil {
			return
		}
		all := 1
		for _, c := range n.NPUs {
			all = min(all*c, 1000)
		}
		if all < 1000 {
			n.Fabric()
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"all-reduce-implementation": ["ring"], "endpoint-delay": 5, "1": [0, 1], "x": null}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		ReadSystem("s.json", bytes.NewReader(src))
		ReadGroups("g.json", bytes.NewReader(src))
	})
}
