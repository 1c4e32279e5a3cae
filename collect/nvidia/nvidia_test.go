package nvidia

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line(line []byte, n int) bool }

func read(t testing.TB, open func(*fragment.Fragment) reader, text string) *evidence.Inventory {
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
	if e, ok := r.(interface{ End() }); ok {
		e.End()
	}
	return inv
}

func topo(f *fragment.Fragment) reader { return NewTopo(f) }

// The layouts of today and of 2020, with tabs and as somebody pasted it.
func TestTopo(t *testing.T) {
	for name, text := range map[string]string{
		"new":    "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV18\tPIX\tSYS\t0-3,8-11\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\tPIX\t4-7,12-15\t1\t\tN/A\nNIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\nNIC1\tSYS\tPIX\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
		"pasted": "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity\nGPU0     X      NV18    PIX     SYS     0-3,8-11        0\nGPU1    NV18     X      SYS     PIX     4-7,12-15       1\nNIC0    PIX     SYS      X      SYS\nNIC1    SYS     PIX     SYS      X\nNIC Legend:\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
		"old":    "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tNV18\tPIX\tSYS\t0-3,8-11\nGPU1\tNV18\t X \tSYS\tPIX\t4-7,12-15\nmlx5_0\tPIX\tSYS\t X \tSYS\t\nmlx5_1\tSYS\tPIX\tSYS\t X \t\n",
	} {
		t.Run(name, func(t *testing.T) {
			first, _, _ := strings.Cut(text, "\n")
			if !StartsTopo([]byte(first)) {
				t.Errorf("%q begins nothing", first)
			}
			h := read(t, topo, text).Host("")
			m, ok := h.Matrix.Get()
			if !ok {
				t.Fatal("no table")
			}
			for pair, want := range map[[2]string]string{{"GPU0", "mlx5_0"}: "PIX", {"GPU0", "mlx5_1"}: "SYS", {"GPU0", "GPU1"}: "NV18", {"mlx5_1", "GPU1"}: "PIX", {"GPU1", "GPU1"}: "X"} {
				if got, ok := m.Path(pair[0], pair[1]); got != want || !ok {
					t.Errorf("%v: %q, want %q", pair, got, want)
				}
			}
			if cpus := m.CPUs[1].Or(nil); cpus.String() != "4-7,12-15" || m.CPUs[2].Known() {
				t.Errorf("CPUs %v", m.CPUs)
			}
			if name != "old" && (m.NUMA[1].Or(-1) != 1 || h.GPUs[1].NUMANode.Or(-1) != 1) {
				t.Errorf("nodes %v", m.NUMA)
			}
			if name == "old" && m.NUMA[0].Known() {
				t.Errorf("a node out of nothing: %v", m.NUMA)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	inv := read(t, func(f *fragment.Fragment) reader { return NewQuery(f) }, `==============NVSMI LOG==============

Timestamp                                 : Mon Jun  2 10:00:00 2025
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-0123
    Minor Number                          : 0
    PCI
        Bus Id                            : 00000000:1B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 12
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    ECC Errors
        Volatile
            SRAM Correctable              : 9
            SRAM Uncorrectable Parity     : 1
            DRAM Uncorrectable            : 2
        Aggregate
            DRAM Uncorrectable            : 40
    Remapped Rows
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 34 C
    Fabric
        State                             : Completed
        Status                            : Success
GPU 00000000:43:00.0
    ECC Errors
        Volatile
            DRAM Uncorrectable            : N/A
`)
	h := inv.Host("")
	if h.Versions["nvidia driver"].Or("") != "550.54.15" || h.Versions["cuda"].Or("") != "12.4" || len(h.GPUs) != 2 {
		t.Fatalf("%+v, %d GPUs", h.Versions, len(h.GPUs))
	}
	g := h.GPUs[0]
	if got := fmt.Sprint(g.Index, " ", g.PCI, " ", g.Name, " ", g.Capable, g.Running, g.Replays, g.ECCVolatile, g.ECCLifetime, " ", g.Remapped, " ", g.Temperature, " ", g.Fabric, g.FabricState); got != "0 0000:1b:00.0 NVIDIA H100 80GB HBM3 {32 16} {16 8} 12 3 40 pending 34 Completed Success" {
		t.Error(got)
	}
	if diff := cmp.Diff([]evidence.Throttled{{Reason: "HW Slowdown", From: evidence.Source{File: "f", Line: 26}}, {Reason: "HW Thermal Slowdown", From: evidence.Source{File: "f", Line: 27}}}, g.Throttle); diff != "" {
		t.Error(diff)
	}
	if b := h.GPUs[1]; b.ECCVolatile.Known() || b.Running.Known() || b.PCI != "0000:43:00.0" {
		t.Errorf("what is N/A, or absent, is known: %+v", b)
	}
}

func TestBanner(t *testing.T) {
	for text, want := range map[string]string{
		"| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |": "550.54.15",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024":    "535.161.08",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build":           "570.86.10",
	} {
		if got := read(t, func(f *fragment.Fragment) reader { return NewBanner(f) }, text).Host("").Versions["nvidia driver"]; got.Or("") != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestNVLinks(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewNVLinks(f) }, "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0b)\n\t Link 0: Replay Errors: 2\n\t Link 0: CRC Errors: 3\n").Host("")
	a, b := h.GPUs[0].NVLinks, h.GPUs[1].NVLinks
	if len(a) != 2 || a[0].Speed.Or(0) != 26.562 || !a[0].Active.Or(false) || a[1].Active.Or(true) || len(b) != 1 || b[0].Errors.Or(0) != 5 || b[0].Active.Known() {
		t.Errorf("%+v\n%+v", a, b)
	}
	h = read(t, func(f *fragment.Fragment) reader { return NewLinkStates(f) }, "    gpuId 0:\n        U D X _\nNvSwitches:\nKey: Up=U, Down=D\n").Host("")
	if l := h.GPUs[0].NVLinks; len(l) != 3 || !l[0].Active.Or(false) || l[1].Active.Or(true) || l[2].Active.Or(true) {
		t.Errorf("%+v", l)
	}
}

func TestLinkErrors(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewLinkErrors(f) }, `+-----------------------------+------------------------------------------------+
| NVLINK Error Counts                                                          |
| GPU 3                                                                        |
+=============================+================================================+
| Link 0                      |                                                |
| -> CRC FLIT Error           | 0                                              |
| -> Replay Error             | 12                                             |
| -> Recovery Error           | 1                                              |
| Link 1                      |                                                |
| -> CRC FLIT Error           | Not Specified                                  |
+-----------------------------+------------------------------------------------+
`).Host("")
	if len(h.GPUs) != 1 || h.GPUs[0].Index != 3 {
		t.Fatalf("%+v", h.GPUs)
	}
	if l := h.GPUs[0].NVLinks; len(l) != 2 || l[0].Errors.Or(-1) != 13 || l[1].Errors.Known() {
		t.Errorf("%+v", l)
	}
}

func TestDCGM(t *testing.T) {
	inv := read(t, func(f *fragment.Fragment) reader { return NewDCGM(f) }, `| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.5                                          |
|-----  Integration  -------+------------------------------------------------|
| PCIe                      | Fail - GPU: 3                                  |
| Warning                   | GPU 3 runs at x8                               |
|                           | instead of x16                                 |
| Memory                    | Pass - All                                     |
| Overall Health   | Warning                                                   |
| -> 5             | Warning                                                   |
|    -> NVLink     | Failure                                                   |
`)
	var got []string
	for _, h := range inv.Health {
		got = append(got, fmt.Sprint(h.Subsystem, "|", h.Result, "|", h.GPU, "|", h.Text))
	}
	want := []string{"PCIe|Fail|3|GPU: 3 GPU 3 runs at x8 instead of x16", "Memory|Pass|-1|All", "Overall Health|Warning|-1|", "GPU|Warning|5|", "NVLink|Failure|5|"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-3\t0\nLegend:\nGPU1: x\nGPU0\t X\n"))
	f.Add([]byte("GPU 00000000:1B:00.0\n    PCI\n        PCIe Generation\n            Max : 99\nGPU 0: a (UUID: GPU-x)\n Link 0: 1 GB/s\n gpuId 0:\n U D\n| PCIe | Fail - GPU: 300 |\n| | x |\n| NVLINK Error Counts |\n| GPU 0 |\n| Link 0 | |\n| -> a | 1 |\n| Link 99 ||\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		topo := NewTopo(fr)
		readers := []reader{topo, NewQuery(fr), NewBanner(fr), NewNVLinks(fr), NewDCGM(fr), NewLinkStates(fr), NewLinkErrors(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			for _, starts := range []func([]byte) bool{StartsTopo, StartsQuery, StartsBanner, StartsNVLinks, StartsDCGM, StartsLinkStates, StartsLinkErrors} {
				starts(line)
			}
			for _, r := range readers {
				r.Line(line, 1)
			}
		}
		topo.End()
	})
}
