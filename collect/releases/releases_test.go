package releases

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func TestNotes(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a table", "NCCL Version | NCCL Topology | Peak\n=======\n2.19.3 | topo1 | ~350 GB/s\n2.20.5 | topo1, VFs | 45.5 GB/s\n2.21.5 | topo1 | failed\nrank 0 | x", []string{"2.19.3 [topo1] 350 false", "2.20.5 [topo1, VFs] 45.5 false"}},
		{"markdown", "| NCCL version | busbw |\n|---|---|\n| 2.7.8 | <1 GB/s |\n", []string{"2.7.8 [] 1 true"}},
		{"two on one line", "With NCCL 2.7.6: it drops to 0.x GB/s at some sizes; NCCL 2.5.7: ~12 GB/s", []string{"2.7.6 [] 1 true", "2.5.7 [] 12 false"}},
		{"without the word before each", "NCCL 2.18.1 = 180GB/s, 2.19.3 = 90 GB/s", []string{"2.18.1 [] 180 false", "2.19.3 [] 90 false"}},
		{"a bandwidth with three parts is none", "NCCL 2.19.3 and nothing else\n", nil},
		{"a log", "node1:1:1 [0] NCCL INFO NCCL version 2.19.3+cuda12.2", nil},
	} {
		f := fragment.New(&evidence.Inventory{}, "f")
		r := New(f)
		for i, line := range strings.Split(tc.text, "\n") {
			r.Line([]byte(line), i+1)
		}
		var got []string
		for _, x := range f.Inv.Releases {
			got = append(got, fmt.Sprintf("%s [%s] %v %v", x.Release, x.With, x.BusBW, x.Below))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("NCCL Version | a\n2.19.3 | b | 1 GB/s\nNCCL 2.7.6: 0.x GB/s 2.5.7 99999.x GB/s <GB/s"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		r := New(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			Starts(line)
			r.Line(line, 1)
		}
		for _, x := range fr.Inv.Releases {
			if !strings.HasPrefix(x.Release, "2.") || x.BusBW < 0 || x.BusBW > 1e5 {
				t.Fatalf("%+v", x)
			}
		}
	})
}
