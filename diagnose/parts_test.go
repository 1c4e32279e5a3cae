package diagnose

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// The wait of a try is 4.096 us x 2^n (InfiniBand specification vol. 1, 9.7.6.1.3), and there are seven retries after it.
func TestPatience(t *testing.T) {
	for _, tc := range []struct {
		exponent, retries int
		try, least        units.Duration
	}{
		{5, 7, 131072 * units.Nanosecond, 1048576 * units.Nanosecond}, // not 50 ms
		{14, 7, 67108864 * units.Nanosecond, 536870912 * units.Nanosecond},
		{18, 7, 1073741824 * units.Nanosecond, 8589934592 * units.Nanosecond},
		{20, 1, 4294967296 * units.Nanosecond, 8589934592 * units.Nanosecond},
		{31, 7, units.Duration(4096<<31) * units.Nanosecond, 8 * units.Duration(4096<<31) * units.Nanosecond},
	} {
		p := patience{exponent: tc.exponent, retries: tc.retries}
		if p.try() != tc.try || p.least() != tc.least || p.most() != 4*tc.least || p.most() <= 0 {
			t.Errorf("2^%d, %d retries: a try %v, least %v, most %v", tc.exponent, tc.retries, p.try(), p.least(), p.most())
		}
	}
	if got := (patience{exponent: 14, retries: 7}).outlast(30 * units.Second); got.exponent != 20 {
		t.Errorf("30 s are outlasted by 2^%d", got.exponent)
	}
	for version, want := range map[string]int{"2.8.3": 14, "2.14.3": 18, "2.22.3": 18, "2.23.4": 20, "2.30.7": 20} {
		v := withNCCL(evidence.NCCL{Versions: []evidence.VersionSeen{{Version: version}}})
		if p, ok := v.patienceOf(); !ok || p.exponent != want || p.set {
			t.Errorf("%s: default %d, want %d", version, p.exponent, want)
		}
	}
	if _, ok := withNCCL(evidence.NCCL{}).patienceOf(); ok {
		t.Error("neither variable nor version, and a patience all the same")
	}
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		condition string
		holds     []string
		not       []string
	}{
		{"2.26.2", []string{"2.26.2", "2.26.2+cuda12.4"}, []string{"2.26.5", "2.26", "2.26.20"}},
		{"2.18.x", []string{"2.18", "2.18.1", "2.18.30"}, []string{"2.19.0", "2.1.8"}},
		{">=570.86 <575", []string{"570.86", "570.124.06", "574.99"}, []string{"570.85.99", "575", "575.1"}},
		{"12.4, >=12.8", []string{"12.4", "12.8", "13.0"}, []string{"12.5", "12.3"}},
		{"28.41.1000", []string{"28.41.1000"}, []string{"28.41.100", "28.9.1000"}},
		{"202411.x", []string{"202411.1"}, []string{"202405.1"}},
	} {
		var v Versions
		if err := v.UnmarshalText([]byte(tc.condition)); err != nil {
			t.Fatal(err)
		}
		for _, s := range tc.holds {
			if !v.Holds(s) {
				t.Errorf("%q does not hold for %s", tc.condition, s)
			}
		}
		for _, s := range tc.not {
			if v.Holds(s) {
				t.Errorf("%q holds for %s", tc.condition, s)
			}
		}
	}
	for _, bad := range []string{"", ",", "latest", ">=", ">= 5", "2.1,,2.2"} {
		if err := new(Versions).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a condition", bad)
		}
	}
	if !(Versions{}).Holds("anything") || (Versions{}).Set() {
		t.Error("no condition holds for all")
	}
}

// All that is wrong in a site's file is told, each with its place.
func TestParseCompatibility(t *testing.T) {
	_, err := ParseCompatibility("c.yaml", []byte("tested:\n  - name: a\n    nccl: newest\n  - driver: \"570\"\nbrokn: []\n"))
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"c.yaml:3:", "c.yaml:4:", "c.yaml:5:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %s", want, err)
		}
	}
	c, err := ParseCompatibility("c.yaml", []byte("tested:\n  - name: a\n    nic firmware: {\"*\": \"28.41.x\"}\n"))
	if err != nil || len(c.Tested) != 1 || !c.Tested[0].Firmware["*"].Holds("28.41.1000") {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzCompatibility(f *testing.F) {
	f.Add("tested:\n  - name: a\n    driver: \">=1 <2, 3.x\"\n", "1.5")
	f.Add("broken: [{name: b, nccl: \"2.18.x\", switch firmware: {\"*\": \"1\"}}]", "v2.18+cuda")
	f.Fuzz(func(t *testing.T, text, version string) {
		c, err := ParseCompatibility("f.yaml", []byte(text))
		if err != nil {
			return
		}
		v := emptyView()
		v.Tested = c
		v.Inv.NCCL.Versions = []evidence.VersionSeen{{Version: version}}
		v.Inv.Switches = []*evidence.Switch{{Name: "s", Software: evidence.Known(version, evidence.Source{File: "f"})}}
		causeCompatibility.Check(v)
	})
}

func TestPeerOfCommand(t *testing.T) {
	for command, want := range map[string]string{
		"ib_write_bw -d mlx5_0 -x 3 --report_gbits node2": "node2", "ib_write_bw -d mlx5_0 -F node2": "node2", "ib_write_bw -d mlx5_0": "",
		"ib_write_bw -q 4 192.0.2.7": "192.0.2.7", "ib_write_bw 192.0.2.7 -d mlx5_0": "192.0.2.7", "/usr/bin/ib_write_bw node2": "node2", "ib_write_bw": "", "": "", "ib_write_bw -D 10": "",
		"numactl -N 0 ib_write_bw --report_gbits 2001:db8::7 > log": "2001:db8::7", "ib_write_bw --use_cuda=0 node2": "node2", "ib_write_bw -F > log": "",
		"RDMA_Write BW Test": "",
	} {
		if got := peerOfCommand(command); got != want {
			t.Errorf("%q: peer %q, want %q", command, got, want)
		}
	}
	for command, want := range map[string]int{"numactl --cpunodebind=1 --membind=1 ib_write_bw": 1, "numactl -N 0 -m 0 x": 0, "numactl --cpubind 2 x": 2, "ib_write_bw -N 3": -1, "numactl -H": -1} {
		got, ok := boundNode(command)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: node %d, want %d", command, got, want)
		}
	}
}

// Of pairs that are slow the tests name a host only where all of its pairs are and no other is.
func TestBlame(t *testing.T) {
	test := func(a, b string, gbps float64) pairTest { return pairTest{a: a, b: b, gbps: gbps} }
	slow := func(p pairTest) bool { return p.gbps < 100 }
	for _, tc := range []struct {
		name  string
		tests []pairTest
		want  string
	}{
		{"one host", []pairTest{test("a", "b", 200), test("a", "c", 50), test("b", "c", 50)}, "[c]"},
		{"the host has a fast pair", []pairTest{test("a", "b", 200), test("a", "c", 50), test("b", "c", 200)}, "[]"},
		{"one slow pair, whose other end has no other", []pairTest{test("a", "b", 50), test("c", "d", 200), test("a", "c", 200)}, "[]"},
		{"either end", []pairTest{test("a", "b", 50), test("a", "b", 51), test("c", "d", 200)}, "[a b]"},
		{"nothing in common", []pairTest{test("a", "b", 50), test("c", "d", 50), test("e", "f", 200)}, "[]"},
	} {
		var got []string
		for _, s := range blame(tc.tests, slow) {
			got = append(got, s.what)
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, got, tc.want)
		}
	}
}

// The rank that comes last measures the shortest time; two short ones are no one rank.
func TestLastOf(t *testing.T) {
	for _, tc := range []struct {
		took map[int]float64
		rank int
		ok   bool
	}{
		{map[int]float64{0: 900, 1: 905, 2: 100, 3: 910}, 2, true},
		{map[int]float64{0: 900, 1: 905, 2: 880, 3: 910}, 0, false},
		{map[int]float64{0: 900, 1: 102, 2: 100, 3: 910}, 0, false},
		{map[int]float64{0: 900, 1: 100}, 0, false},
		{map[int]float64{0: 0, 1: 100, 2: 100}, 0, false},
	} {
		if rank, _, ok := lastOf(opTimes{took: tc.took}); rank != tc.rank || ok != tc.ok {
			t.Errorf("%v: rank %d, %v", tc.took, rank, ok)
		}
	}
	if rank, gain, ok := lastOf(opTimes{came: map[int]int64{0: 0, 1: 5, 2: 50_000_000}}); !ok || rank != 2 || gain < 49_000 {
		t.Errorf("rank %d, %v us, %v", rank, gain, ok)
	}
}

// A DSCP is the traffic class without its two lowest bits.
func TestTrafficClass(t *testing.T) {
	for tc, want := range map[int]int{106: 26, 104: 26, 96: 24, 184: 46, 192: 48, 0: 0, 3: 0, 255: 63} {
		if got := (trafficClass{value: tc}).dscp(); got != want {
			t.Errorf("class %d: DSCP %d, want %d", tc, got, want)
		}
	}
	v := withNCCL(evidence.NCCL{Env: []evidence.EnvVar{{Name: "NCCL_IB_TC", Value: "0x6a"}}})
	if tc, ok := v.trafficClassOf("a"); !ok || tc.value != 106 {
		t.Errorf("%+v, %v", tc, ok)
	}
	if _, ok := withNCCL(evidence.NCCL{}).trafficClassOf("a"); ok {
		t.Error("nothing tells, and a class is known all the same")
	}
}

func TestIOMMUMode(t *testing.T) {
	for line, want := range map[string]answer{
		"ro intel_iommu=on": yes, "ro amd_iommu=on iommu=pt": no, "ro iommu=pt": no, "ro intel_iommu=off": no, "ro intel_iommu=on,sm_on": yes, "ro quiet": unknown, "iommu.passthrough=1": no,
	} {
		h := &evidence.Host{Versions: map[string]evidence.Value[string]{"cmdline": evidence.Known(line, evidence.Source{File: "f"})}}
		if got, _ := iommuMode(h); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
	h := &evidence.Host{Versions: map[string]evidence.Value[string]{"cmdline": evidence.Known("intel_iommu=on", evidence.Source{})}, Kernel: []evidence.KernelEvent{{Text: "iommu: Default domain type: Passthrough"}}}
	if got, _ := iommuMode(h); got != no {
		t.Error("the kernel's own word goes before its command line")
	}
}

// A payload of 128 bytes leaves five sixths of a link, of 256 over nine tenths.
func TestPayload(t *testing.T) {
	l := evidence.PCILink{Speed: 16, Width: 16}
	if full, small, usual := pcieGBps(l), payloadGBps(l, 128), payloadGBps(l, 256); full < 31.4 || full > 31.6 || small/full > 0.85 || small/full < 0.83 || usual/full < 0.91 {
		t.Errorf("%v, %v, %v GB/s", full, small, usual)
	}
}

func TestFECNames(t *testing.T) {
	for word, want := range map[string]string{"RS": "RS", "rs": "RS", "LLRS": "RS", "Standard_RS-FEC - (544,514)": "RS", "BaseR": "BaseR", "fc": "BaseR", "Firecode FEC": "BaseR", "None": "off", "Off": "off", "No FEC": "off", "Auto": "", "": ""} {
		if got := fecOf(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// What one run works out, another run of the same view with other contents does not see.
func TestFactsAreOfOneRun(t *testing.T) {
	v := emptyView()
	v.Inv.NCCL.HasLog = true
	if len(Run(v).Findings) != 0 {
		t.Fatal("an empty view has findings")
	}
	v.Inv.NCCL.Events = []evidence.Event{{Kind: evidence.CompletionError, Status: wcRetryExceeded, Host: "node1", Rank: -1, From: evidence.Source{File: "nccl.log", Line: 1}}}
	if !slices.ContainsFunc(Run(v).Findings, func(f Finding) bool { return f.Code == "R004" }) {
		t.Error("the second run did not see what was added")
	}
}

// The example that is shipped is one that is read.
func TestExampleOfCompatibility(t *testing.T) {
	text, err := os.ReadFile("../examples/files/compatibility.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCompatibility("compatibility.yaml", text)
	if err != nil || len(c.Tested) != 2 || len(c.Broken) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
