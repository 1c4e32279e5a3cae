package numa

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line(line []byte, n int) bool }

func read(t testing.TB, open func(*fragment.Fragment) reader, text string) *evidence.Host {
	t.Helper()
	inv := &evidence.Inventory{}
	r := open(fragment.New(inv, "f"))
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		n++
		if !r.Line([]byte(line), n) {
			t.Errorf("%q is not taken", line)
		}
	}
	return inv.Host("")
}

const numactl = `available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 515855 MB
node 1 cpus: 4 5 6 7
node 1 size: 516085 MB
node distances:
node   0   1 
  0:  10  21 
  1:  21  10 
`

const lscpu = `Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   8
  On-line CPU(s) list:    0-7
Model name:               Example(R) CPU
  Thread(s) per core:     2
Socket(s):                2
Hypervisor vendor:        KVM
NUMA node(s):             2
  NUMA node0 CPU(s):      0-3
NUMA node1 CPU(s):        4-7
`

// Both tools tell the same nodes.
func TestNodes(t *testing.T) {
	for name, h := range map[string]*evidence.Host{
		"numactl": read(t, func(f *fragment.Fragment) reader { return NewHardware(f) }, numactl),
		"lscpu":   read(t, func(f *fragment.Fragment) reader { return NewLSCPU(f) }, lscpu),
	} {
		if len(h.NUMA) != 2 || h.NUMA[0].CPUs.String() != "0-3" || h.NUMA[1].CPUs.String() != "4-7" || h.NodeOf(5) != 1 {
			t.Errorf("%s: %+v", name, h.NUMA)
		}
		if name == "numactl" && fmt.Sprint(h.NUMA[0].Distances, h.NUMA[1].Distances) != "[10 21] [21 10]" {
			t.Errorf("%+v", h.NUMA)
		}
		if name == "lscpu" {
			if got := fmt.Sprint(h.Processor); got != "{Example(R) CPU 8 2 2 KVM}" {
				t.Error(got)
			}
		}
	}
}

func TestStarts(t *testing.T) {
	for _, line := range []string{"node 1 is down", "node1: x", "NUMA node(s): 2x", "Architecture", "available: 5"} {
		if StartsHardware([]byte(line)) || StartsLSCPU([]byte(line)) && !strings.HasPrefix(line, "NUMA") {
			t.Errorf("%q begins an output", line)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte(numactl))
	f.Add([]byte(lscpu))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		a, b := NewHardware(fr), NewLSCPU(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsHardware(line)
			StartsLSCPU(line)
			a.Line(line, 1)
			b.Line(line, 1)
		}
	})
}
