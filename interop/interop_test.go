package interop

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/goal"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// samples is a small file of every kind, in its exact form.
var samples = map[Kind]string{
	HtsimTopology: "# small\nNodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000",
	HtsimMatrix:   "Nodes 4\nConnections 1\n0->3 start 0 size 10000\n",
	HtsimChecks:   "matrices/a.cm\n!Experiment one\n!tailFCT 180\n",
	HPCCTopology:  "6 2 5\r\n4 5 \r\n0 4 100Gbps 1us 0\r\n1 4 100Gbps 1us 0\r\n2 5 100Gbps 1us 0\r\n3 5 100Gbps 1us 0\r\n4 5 400Gbps 1us 0\r\n",
	HPCCFlows:     "1\n0 3 3 100 10000 2\n",
	HPCCConfig:    "ENABLE_QCN 1\n\nPACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nCC_MODE 12\nSIMULATOR_STOP_TIME 2.5\n",
	HPCCTraced:    "2\n0 1\n",
	FlowSizes:     "0 0\n1000 50\n9000 100\n",
	SimAITopology: "6 2 2 0 4 H100\n4 5\n0 4 900Gbps 0.000025ms 0\n1 4 900Gbps 0.000025ms 0\n2 5 900Gbps 0.000025ms 0\n3 5 900Gbps 0.000025ms 0\n",
	SimAIWorkload: "HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n1\nx -1 100 ALLREDUCE 4000 1 NONE 0 1 NONE 0 1\n",
	SimAIBusBW:    "mine\nTP:\nallreduce,: 300\n",
	AICBModels:    "id\tName\tParameter_size\n1\tX\t7B\n",
	AstraNetwork:  "# two\ntopology: [ Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ] # GB/s\nlatency: [ 500.0 ]\n",
	AstraSystem:   "{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": 10,\n  \"all-reduce-implementation\": [\"ring\"]\n}\n",
	AstraGroups:   "{\"1\": [0, 1], \"2\": [2, 3]}",
	AstraDims:     "{\n \"logical-dims\": [\"2\",\"2\"]\n}\n",
	AstraMemory:   "{ \"memory-type\": \"NO_MEMORY_EXPANSION\" }",
	MSCCL:         "<algo name=\"x\" ngpus=\"2\" nchunksperloop=\"1\" coll=\"allgather\"><gpu id=\"0\"><tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"s\" cnt=\"1\"/></tb></gpu><gpu id=\"1\"><tb id=\"0\" send=\"-1\" recv=\"0\" chan=\"0\"><step s=\"0\" type=\"r\" cnt=\"1\"/></tb></gpu></algo>",
	GOALText:      "// two ranks\nnum_ranks 2\nrank 0 {\nsend 50b to 1\n}\nrank 1 {\nrecv 50b from 0\n}\n",
	GOALBinary:    string(binary.LittleEndian.AppendUint64(nil, goal.Magic)),
	ChakraTrace:   "\x07\x0a\x050.0.4\x07\x12\x01a\x18\x04\x38\x05",
	Own:           "title: a scenario\nfabric:\n  topology: leaf-spine\n",
	Unknown:       "Dear reader,\n",
}

func TestSniff(t *testing.T) {
	for kind, src := range samples {
		if got := sniff([]byte(src)); got != kind {
			t.Errorf("a %s is taken for a %q", kind, got)
		}
	}
	for src, want := range map[string]Kind{
		"":                          Unknown,
		"\x00\x01\x02":              Unknown,
		"\n\n# nothing\n":           Unknown,
		"8 0 8\n\n0 1 25Gbps 5us 0": HPCCTopology, // no switches
		"\xef\xbb\xbfNodes 4\n0->1 start 0 size 5\n": HtsimMatrix,
		"<html></html>":           Unknown,
		"{\"x\": {}}":             Unknown,
		"6 2 2 0 4\n4 5\n":        SimAITopology, // without its type of GPU
		"276 20 8 288\n256 257\n": HPCCTopology,
		"1->2 start 0 size 7\n":   HtsimMatrix,
	} {
		if got := sniff([]byte(src)); got != want {
			t.Errorf("%q is taken for a %q, not a %q", src, got, want)
		}
	}
}

// put writes a file and returns its path.
func put(t *testing.T, dir, name, src string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every kind is a network, a job, both, or says why not.
func TestEveryKind(t *testing.T) {
	dir := t.TempDir()
	networks := map[Kind]bool{HtsimTopology: true, HPCCTopology: true, HPCCConfig: true, SimAITopology: false, AstraNetwork: true}
	jobs := map[Kind]bool{HtsimMatrix: true, HPCCFlows: true, HPCCConfig: true, FlowSizes: true, SimAIWorkload: true, MSCCL: true, GOALText: true, ChakraTrace: true}
	put(t, dir, "mix/topology.txt", samples[HPCCTopology])
	put(t, dir, "mix/flow.txt", samples[HPCCFlows])
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	for kind, src := range samples {
		name := "mix/" + strings.NewReplacer(" ", "_", ",", "").Replace(string(kind)) + ".txt"
		if kind == ChakraTrace {
			name = "chakra/t.0.et"
		}
		path := put(t, dir, name, src)
		n, err := Fabric(path)
		if is := networks[kind]; is != (err == nil) || is && (n.Kind != kind || len(n.Fabric.GPUs) != 4) {
			t.Errorf("%s as a network: %v", kind, err)
		}
		j, err := Job(path, net, Options{Size: 100, Load: 0.3, Time: units.Microsecond * 10})
		if is := jobs[kind]; is != (err == nil) || is && (j.Kind != kind || len(j.Plan.Ops) == 0) {
			t.Errorf("%s as a job: %v", kind, err)
		}
		if err != nil && kind != GOALBinary && !strings.Contains(err.Error(), "this is no job") {
			t.Errorf("%s as a job: %v", kind, err)
		}
	}
}

// A configuration, the topology and the flows it names: what comes out is a run.
func TestConfigurationRuns(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "mix/topology.txt", samples[HPCCTopology])
	put(t, dir, "mix/flow.txt", samples[HPCCFlows])
	path := put(t, dir, "mix/config.txt", samples[HPCCConfig])
	n, err := Fabric(path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Job(path, n.Fabric, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if j.Config.NIC.Control != "none" || j.Config.NIC.MTU != 1000 || j.Stop != 500*units.Millisecond || j.HPCC.Offset != 2*units.Second {
		t.Errorf("%+v, until %v", j.Config.NIC, j.Stop)
	}
	net, err := netsim.New(n.Fabric, j.Plan, netsim.Defaults(j.Config))
	if err != nil {
		t.Fatal(err)
	}
	if done, err := net.RunUntil(units.At(int64(j.Stop))); !done || err != nil {
		t.Error(done, err)
	}
	if _, err := net.Finish(); err != nil {
		t.Error(err)
	}
}

func TestNamedFilesAreFound(t *testing.T) {
	dir := t.TempDir()
	config := put(t, dir, "a/b/mix/config.txt", samples[HPCCConfig])
	c, err := read(config, hpcc.ReadConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, want string }{{"mix/topology.txt", "a/b/mix/topology.txt"}, {"x/topology.txt", "a/x/topology.txt"}, {"elsewhere/beside.txt", "a/b/mix/beside.txt"}} {
		put(t, dir, x.want, "1 2 3")
		got, err := named(config, c, "TOPOLOGY_FILE", x.name)
		if err != nil || got != filepath.Join(dir, x.want) {
			t.Errorf("%s is found at %s, %v", x.name, got, err)
		}
	}
	if _, err := named(config, c, "TOPOLOGY_FILE", "none.txt"); err == nil || !strings.Contains(err.Error(), "config.txt:4:1: TOPOLOGY_FILE is none.txt, which is neither") {
		t.Error(err)
	}
	if _, err := named(config, c, "TOPOLOGY_FILE", ""); err == nil || !strings.Contains(err.Error(), "config.txt:1:1: the configuration has no TOPOLOGY_FILE") {
		t.Error(err)
	}
}

// Traces are found by their folder, one of them, or what their names begin with.
func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "all.0.et", "")
	put(t, dir, "all.1.et", "")
	put(t, dir, "all.10.et", "")
	put(t, dir, "other.0.et", "")
	want := map[int]string{0: filepath.Join(dir, "all.0.et"), 1: filepath.Join(dir, "all.1.et"), 10: filepath.Join(dir, "all.10.et")}
	for _, path := range []string{dir, filepath.Join(dir, "all"), filepath.Join(dir, "all.1.et")} {
		prefix, got := traceFiles(path)
		if diff := cmp.Diff(want, got); diff != "" || prefix != filepath.Join(dir, "all") {
			t.Errorf("%s: %s\n%s", path, prefix, diff)
		}
	}
	if _, got := traceFiles(put(t, dir, "a.txt", "")); got != nil {
		t.Errorf("a text file has traces: %v", got)
	}
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 2, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	put(t, dir, "gap.0.et", samples[ChakraTrace])
	put(t, dir, "gap.2.et", samples[ChakraTrace])
	if _, err := Job(filepath.Join(dir, "gap"), net, Options{}); err == nil || !strings.Contains(err.Error(), "there is no trace of rank 1") {
		t.Error(err)
	}
}

// Options reach the files they are for.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	path := put(t, dir, "m.cm", "Nodes 4\n0->3 start 40 size 10000\n")
	if _, err := Job(path, net, Options{}); err == nil || !strings.Contains(err.Error(), "m.cm:2:1: the start of 40 has no unit") {
		t.Error(err)
	}
	zero := uint8(0)
	j, err := Job(path, net, Options{StartUnit: units.Microsecond, Priority: &zero})
	if err != nil {
		t.Fatal(err)
	}
	want := workload.Op{Kind: workload.Send, Src: 0, Dst: 3, Bytes: 10000, At: 40 * units.Microsecond}
	if diff := cmp.Diff([]workload.Op{want}, j.Plan.Ops); diff != "" || j.Htsim == nil {
		t.Error(diff)
	}
	if _, err := Job(put(t, dir, "sizes.txt", samples[FlowSizes]), net, Options{}); err == nil || !strings.Contains(err.Error(), "set load: 40% and time: 10ms") {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	s, err := ReadSettings(put(t, dir, "c.txt", samples[HPCCConfig]), net, 2*units.Second)
	if err != nil || s.Config.NIC.Control != netsim.NoControl || s.Stop != 500*units.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = ReadSettings(put(t, dir, "s.json", samples[AstraSystem]), net, 0)
	if err != nil || s.Config.NIC.Latency != 10*units.Nanosecond {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err = ReadSettings(put(t, dir, "m.cm", samples[HtsimMatrix]), net, 0); err == nil || !strings.Contains(err.Error(), `m.cm:1:1: this is no configuration but of the kind "htsim connection matrix"`) {
		t.Error(err)
	}
}

func FuzzSniff(f *testing.F) {
	for _, src := range samples {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) { sniff(src) })
}
