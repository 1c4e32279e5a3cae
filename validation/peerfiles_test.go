package validation

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/htsim"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/workload"
)

// The very files that htsim ran are not ours to hand out. Where SHUNT_PEER names a folder with them (the .topo and .cm files under the names below),
// they are run as they are; what is left to chance then are the paths, of which htsim drew others. The rows are printed and
// judged as all others are, but are not part of RESULTS.md.
func TestPeerFiles(t *testing.T) {
	dir := os.Getenv("SHUNT_PEER")
	if dir == "" {
		t.Skip("SHUNT_PEER names no folder with the input files of htsim")
	}
	ref := reference(t)
	for _, c := range []struct{ name, topology, matrix string }{
		{"perm16", "ls16_400g.topo", "perm_16n_16c_2MB.cm"},
		{"perm128", "ls128_400g.topo", "perm_128n_128c_2MB.cm"},
		{"perm1024", "ls1024_400g.topo", "perm_1024n_1024c_2MB.cm"},
		{"ring16x2MB", "ls16_400g.topo", "ring_16n_2MB.cm"},
		{"a2a16x2MB", "ls16_400g.topo", "alltoall_serial_16n.cm"},
	} {
		f, p := fromFiles(t, filepath.Join(dir, c.topology), filepath.Join(dir, c.matrix))
		for _, sim := range []struct {
			name   string
			config netsim.Config
			tol    float64
		}{{"htsim-roce", roce(), 0.3}, {"htsim-nscc-oblivious", nscc(netsim.Oblivious), 0.08}, {"htsim-nscc-reps", nscc(netsim.REPS), 0.2}} {
			if c.name == "ring16x2MB" {
				sim.tol = 0.005 // nothing contends
			}
			want := ref[[2]string{c.name, sim.name}]
			d := draw(t, f, 3, sim.config, func(uint64) *workload.Plan { return p })
			r := near(peers, c.name+" from htsim's files, "+sim.name+": end", "us", want.makespan, sim.tol, "the same files")
			r.got = quantile(d.ends, 0.5)
			fmt.Printf("%-62s %12s %12s %16s  %s\n", r.name+", "+r.unit, r.expected(), number(r.got), r.tolerance(), r.verdict())
			if !r.inside() {
				t.Errorf("%s: %s, expected %s", r.name, number(r.got), r.expected())
			}
		}
	}
}

// fromFiles builds the network and the flows of htsim's files. A flow is two operations, the second of which stands for its last ACK, as in flows.
func fromFiles(t *testing.T, topology, matrix string) (*fabric.Fabric, *workload.Plan) {
	t.Helper()
	open := func(name string) *os.File {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	topo, err := htsim.ReadTopology(topology, open(topology))
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := topo.Fabric()
	if err != nil {
		t.Fatal(err)
	}
	m, err := htsim.ReadMatrix(matrix, open(matrix))
	if err != nil {
		t.Fatal(err)
	}
	// A trigger that a connection fires starts those that wait for it; in these files each trigger has one who fires and one who waits, in this order.
	var fl flows
	fired := map[int32]workload.OpID{}
	for i, c := range m.Connections {
		var last []workload.OpID
		if c.Trigger != 0 {
			op, ok := fired[c.Trigger]
			if !ok {
				t.Fatalf("%s: connection %d waits for trigger %d, which none before it fires", matrix, i+1, c.Trigger)
			}
			last = append(last, op)
		}
		done := fl.add(int(c.Src), int(c.Dst), c.Size, uint16(i), last...)
		if c.SendDone != 0 {
			fired[c.SendDone] = done
		}
	}
	return f, fl.b.Plan()
}
