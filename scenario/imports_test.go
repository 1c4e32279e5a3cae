package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files of another simulator, in its formats, with values of our own.
var imported4 = map[string]string{
	"net.topo": "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 2\nDownlink_Latency_ns 400\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 400\n",
	"pair.cm":  "Nodes 4\nConnections 2\n0->2 id 1 start 0 size 200000\n3->1 id 2 start 5000000 size 100000\n",
}

func writeImport(t *testing.T, src string) (*Scenario, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range imported4 {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, FileName)
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

// A network and a job from htsim's files run as one's own do, and the unit of start is what the scenario says.
func TestImport(t *testing.T) {
	ends := map[string]string{}
	for _, unit := range []string{"ps", "us"} {
		s, err := writeImport(t, "title: imported\nimport: {fabric: net.topo, job: pair.cm, start_unit: "+unit+"}\nlimit: 10s\n")
		if err != nil {
			t.Fatal(err)
		}
		run, err := s.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(run.Fabric.GPUs) != 4 || len(run.Plan.Ops) != 2 || run.Summary.Stalled || run.Cut {
			t.Fatalf("%d GPUs, %d operations, %+v", len(run.Fabric.GPUs), len(run.Plan.Ops), run.Summary)
		}
		ends[unit] = run.Summary.End.String()
	}
	if ends["ps"] == ends["us"] {
		t.Errorf("a start of 5000000 ps and one of 5000000 us end alike, at %s", ends["ps"])
	}
}

func TestImportMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"title: x\nimport: {fabric: gone.topo, job: pair.cm}\n":                                                                                                                 "gone.topo",
		"title: x\nimport: {fabric: net.topo, job: pair.cm}\njob: {pattern: {kind: permutation, size: 1MB}}\n":                                                                  "import.job stands for the job already",
		"title: x\nimport: {}\nfabric: {topology: leaf-spine, leaves: 1, hosts_per_leaf: 2, link: {rate: 1Gbps, delay: 1us}}\njob: {pattern: {kind: permutation, size: 1MB}}\n": "import names no file",
		"title: x\nseed: 3\n": "there is no network",
		"title: x\nimport: {fabric: net.topo, settings: c.txt}\njob: {pattern: {kind: permutation, size: 1MB}}\n":              "import.settings goes with import.job",
		"title: x\nimport: {fabric: pair.cm}\njob: {pattern: {kind: permutation, size: 1MB}}\n":                                "pair.cm",
		"title: x\nimport: {fabric: net.topo, job: pair.cm}\nbackground: [{name: b, from: [host0], to: [host1], size: 1MB}]\n": "background traffic cannot be added",
	} {
		if _, err := writeImport(t, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", src, err, want)
		}
	}
}
