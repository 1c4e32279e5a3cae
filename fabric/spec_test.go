package fabric

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/units"
)

var update = flag.Bool("update", false, "rewrite docs/schema/fabric.schema.json")

// The published schema is what the tags of Spec say.
func TestSchemaIsFresh(t *testing.T) {
	want, err := spec.Schema(Spec{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "schema", "fabric.schema.json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale; run go test ./fabric -update", path)
	}
}

const linkYAML = "link: {rate: 400Gbps, delay: 500ns}\n"

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name, src    string
		hosts, ports int
	}{
		{"leaf-spine", "topology: leaf-spine\nleaves: 4\nhosts_per_leaf: 8\nspines: 2\nbundle: 2\n" + linkYAML, 32, 2 * (32 + 16)},
		{"one switch", "topology: leaf-spine\nleaves: 1\nhosts_per_leaf: 8\n" + linkYAML, 8, 16},
		{"k-ary", "topology: fat-tree\nk: 8\ngpus_per_host: 2\n" + linkYAML, 64, 2 * (128 + 128 + 128)},
		{"pods", "topology: fat-tree\npods: 3\nleaves_per_pod: 2\nspines_per_pod: 2\ncores_per_spine: 1\nhosts_per_leaf: 4\n" + linkYAML, 24, 2 * (24 + 12 + 6)},
		{"rails", "topology: rail-optimised\nleaves: 1\nhosts_per_leaf: 4\nspines: 2\ngpus_per_host: 8\n" + linkYAML, 4, 2 * (32 + 16)},
		{"planes", "topology: dual-plane\nleaves: 2\nhosts_per_leaf: 4\nspines: 2\ngpus_per_host: 8\n" + linkYAML, 8, 2 * (128 + 8)},
	} {
		f, err := Load("f.yaml", []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if h := len(f.Hosts()); h != c.hosts || len(f.Ports) != c.ports {
			t.Errorf("%s: %d hosts and %d ports, want %d and %d", c.name, h, len(f.Ports), c.hosts, c.ports)
		}
	}
}

// An override lowers what runs, not what was built, and only where it says.
func TestOverride(t *testing.T) {
	f, err := Load("f.yaml", []byte(`topology: leaf-spine
leaves: 2
hosts_per_leaf: 2
spines: 2
bundle: 2
link: {rate: 400Gbps, delay: 500ns}
trunk: {rate: 800Gbps}
nvlink: {rate: 3.6Tbps, latency: 1us}
links:
  - {between: [leaf0, spine1], index: 1, rate: 100Gbps}
  - {between: [leaf1, spine0], from: spine0, ber: 1e-9, delay: 2us}
  - {between: [leaf1, host3], delay: 1us}
`))
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) NodeID { n, _ := f.NodeByName(name); return n }
	type seen struct {
		Rate, Nominal units.Rate
		Delay         units.Duration
		BER           float64
	}
	at := func(p PortID) seen {
		q := f.Ports[p]
		return seen{q.Rate, q.Nominal, q.Delay, q.BER}
	}
	trunk := seen{800 * units.Gbps, 800 * units.Gbps, 500 * units.Nanosecond, 0}
	slow, bad, far := trunk, trunk, seen{400 * units.Gbps, 400 * units.Gbps, units.Microsecond, 0}
	slow.Rate = 100 * units.Gbps
	bad.BER, bad.Delay = 1e-9, 2*units.Microsecond
	first, second := f.Between(id("leaf0"), id("spine1")), f.Between(id("spine0"), id("leaf1"))
	for what, c := range map[string]struct{ got, want seen }{
		"other link of the bundle": {at(first[0]), trunk},
		"slow link, up":            {at(first[1]), slow},
		"slow link, down":          {at(f.Ports[first[1]].Peer), slow},
		"bit errors, down":         {at(second[0]), bad},
		"bit errors, second link":  {at(second[1]), bad},
		"bit errors, up":           {at(f.Ports[second[0]].Peer), trunk},
		"host link":                {at(f.Between(id("host3"), id("leaf1"))[0]), far},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", what, c.got, c.want)
		}
	}
	if f.NVLink.Rate != 3600*units.Gbps || f.NVLink.Latency != units.Microsecond {
		t.Errorf("NVLink %+v", f.NVLink)
	}
}

func TestLoadProblems(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"missing sizes", "topology: leaf-spine\nleaves: 2\n" + linkYAML, `
f.yaml:1:1: a leaf-spine network needs hosts_per_leaf; add hosts_per_leaf: 4 or what it has
f.yaml:1:1: a leaf-spine network needs spines; add spines: 4 or what it has`},
		{"no link", "topology: leaf-spine\nleaves: 2\nhosts_per_leaf: 0\n", `
f.yaml:1:1: the file lacks link (link from a NIC port to its leaf); add link: ...
f.yaml:3:17: hosts_per_leaf: 0 is too small; write 1 or more`},
		{"odd k", "topology: fat-tree\nk: 5\npods: 2\nleaves: 3\n" + linkYAML, `
f.yaml:2:4: k is 5; write an even number, half of the ports lead up
f.yaml:3:7: k: 5 says pods already; remove one of the two
f.yaml:4:9: leaves does not apply to a fat-tree network; remove it`},
		{"k and GPUs", "topology: fat-tree\nk: 4\ngpus_per_host: 8\n" + linkYAML, `
f.yaml:3:16: 8 GPUs a host do not divide the 2 host ports of a leaf (k/2); write a divisor`},
		{"empty rails", "topology: rail-optimised\nleaves: 1\nhosts_per_leaf: 2\nspines: 1\nrails: 8\ngpus_per_host: 4\n" + linkYAML, `
f.yaml:5:8: 8 rails but 4 GPUs a host leave rails empty; write 4 or fewer`},
		{"too many hosts", "topology: leaf-spine\nleaves: 16384\nhosts_per_leaf: 4096\nspines: 2\n" + linkYAML, `
f.yaml:1:1: the network has 67108864 hosts; at most 131072 can be built`},
		{"too many ports", "topology: leaf-spine\nleaves: 16384\nhosts_per_leaf: 1\nspines: 64\nbundle: 2\n" + linkYAML, `
f.yaml:1:1: the network has 4227072 ports; at most 2097152 can be built`},
		{"NVLink", "topology: leaf-spine\nleaves: 1\nhosts_per_leaf: 1\nnvlink: {latency: 1us}\n" + linkYAML, `
f.yaml:4:9: nvlink has a latency but no rate; add rate: 3.6Tbps or what one GPU has in one direction`},
		{"overrides", `topology: leaf-spine
leaves: 2
hosts_per_leaf: 2
spines: 2
link: {rate: 400Gbps, delay: 500ns}
links:
  - {between: [leaf0, spine7], rate: 1Gbps}
  - {between: [leaf0, leaf1], rate: 1Gbps}
  - {between: [leaf0, spine1], index: 3, rate: 1Gbps}
  - between: [leaf0, spine1]
    from: host0
    rate: 1Gbps
  - {between: [leaf0, spine1], rate: 800Gbps}
  - {between: [leaf0, spine1]}
`, `
f.yaml:7:23: no node is called "spine7"; names go from host0 to host3, leaf0 to leaf1, spine0 to spine1
f.yaml:8:15: no link joins leaf0 and leaf1; leaf0 is linked to host0, host1, spine0, spine1
f.yaml:9:39: leaf0 and spine1 have 1 links; write 0 to 0
f.yaml:11:11: "host0" is not an end of the link; write leaf0 or spine1
f.yaml:13:38: 800Gbps is more than the link was built for; write 400Gbps or less
f.yaml:14:5: the override changes nothing; add rate, delay or ber`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Load("f.yaml", []byte(c.src))
			if err == nil || f != nil {
				t.Fatalf("fabric %v, error %v", f != nil, err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever the file says, Load returns a whole fabric or problems with a place, and does not panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("topology: leaf-spine\nleaves: 2\nhosts_per_leaf: 2\nspines: 2\n" + linkYAML + "links: [{between: [leaf0, spine0], rate: 1Gbps}]\n"))
	f.Add([]byte("topology: fat-tree\nk: 4\n" + linkYAML))
	f.Add([]byte("topology: dual-plane\nleaves: 2\nhosts_per_leaf: 1\nspines: 1\nrails: 2\ngpus_per_host: 2\n" + linkYAML))
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, problems := spec.Parse("f.yaml", src)
		if len(problems) > 0 {
			return
		}
		var s Spec
		if problems = doc.Decode(&s); len(problems) > 0 {
			return
		}
		s.defaults()
		hosts, ports := s.clos().count()
		treeHosts, treePorts := int64(0), int64(0)
		if s.K == 0 {
			treeHosts, treePorts = s.tree().count()
		}
		if max(hosts, ports, treeHosts, treePorts) > 2000 || s.K > 8 { // keep the fuzzer quick
			return
		}
		built := s.Build(doc.Reporter(&problems, ""))
		if (built == nil) == (len(problems) == 0) {
			t.Fatalf("fabric %v with problems %v", built != nil, problems)
		}
	})
}

// heap is how much memory a fabric of the file keeps.
func heap(src string) (f *Fabric, kept uint64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, err = Load("f.yaml", []byte(src))
	runtime.GC()
	runtime.ReadMemStats(&after)
	return f, after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc), err
}

// 8192 hosts of 8 GPUs, 65 536 NICs in 8 rails, must stay well below a gigabyte (the aim; the bound here is half).
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a network of 65 536 NICs")
	}
	f, kept, err := heap("topology: rail-optimised\nleaves: 128\nhosts_per_leaf: 64\nspines: 64\ngpus_per_host: 8\n" + linkYAML)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d hosts, %d ports: %d MB kept", len(f.Hosts()), len(f.Ports), kept>>20)
	if kept > 512<<20 {
		t.Errorf("%d MB kept, want less than 512", kept>>20)
	}
	runtime.KeepAlive(f)
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct{ name, src string }{
		{"leafspine1024", "topology: leaf-spine\nleaves: 32\nhosts_per_leaf: 32\nspines: 32\n" + linkYAML},
		{"fattree1024", "topology: fat-tree\nk: 16\n" + linkYAML},
		{"fattree8192", "topology: fat-tree\nk: 32\n" + linkYAML},
		{"rails8192x8", "topology: rail-optimised\nleaves: 128\nhosts_per_leaf: 64\nspines: 64\ngpus_per_host: 8\n" + linkYAML},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load("f.yaml", []byte(c.src)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
