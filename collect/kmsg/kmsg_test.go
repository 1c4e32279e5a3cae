package kmsg

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) []evidence.KernelEvent {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return inv.Host("").Kernel
}

func TestLog(t *testing.T) {
	var got []string
	for _, e := range read(t, `[    1.0] Linux version 6.8.0
[   12.345678] mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the PCIe slot (27W).
mlx5_core 0000:5c:00.0: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error, High Temperature
mlx5_core 0000:5c:00.0: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 1, Cable error, Bad or shorted cable/module
[  100.000001] mlx5_core 0000:5c:00.1 ens3np0: Link down
mlx5_core 0000:5c:00.1 ens3np0: Link up
NVRM: Xid (PCI:0000:1b:00): 31, pid=12345, name=all_reduce_perf
pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer
bnxt_en 0000:41:00.0 ens1np0: NIC Link is Down
mlx5_core 0000:5c:00.0: firmware version: 28.41.1000
`) {
		got = append(got, e.Kind+" "+e.Device)
	}
	want := []string{
		"pcie power 0000:5c:00.0", "module temperature 0000:5c:00.0", "module error 0000:5c:00.0", "link down 0000:5c:00.1", "link up 0000:5c:00.1",
		"xid 0000:1b:00", "aer 0000:00:1c.0", "link down 0000:41:00.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The forms of the log tell time and host, and which lines are the kernel's at all.
func TestForms(t *testing.T) {
	inv := &evidence.Inventory{}
	text := `[    0.000000] Command line: BOOT_IMAGE=/vmlinuz iommu=pt intel_iommu=on
[    1.200000] iommu: Default domain type: Passthrough (set via kernel command line)
[Mon Jun  2 10:00:00 2025] Out of memory: Killed process 4242 (python) total-vm:1kB
Jun 02 10:00:01 node1 kernel: watchdog: BUG: soft lockup - CPU#5 stuck for 26s!
2025-06-02T10:00:02.123456+0000 node2.example.org kernel: pcieport 0000:50:01.0: AER: Corrected error received: 0000:51:00.0
2025-06-02T10:00:03+00:00 node2 kernel: nvidia-nvswitch3: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 44 LTSSM Fault Up
node1 kernel: NETDEV WATCHDOG: ens3np0 (mlx5_core): transmit queue 5 timed out
Jun 02 10:00:05 node1 python[77]: Out of memory: Killed process 1
a program: soft lockup of my own
[rank0] blocked for more than 10 s
`
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range inv.Hosts {
		for _, e := range h.Kernel {
			got = append(got, h.Name+"|"+e.Kind+"|"+e.Device+"|"+e.Time)
		}
	}
	want := []string{
		"|iommu||[    1.200000]", "|oom||[Mon Jun  2 10:00:00 2025]", "node1|lockup||Jun 02 10:00:01", "node1|netdev watchdog||",
		"node2|aer|0000:51:00.0|2025-06-02T10:00:02.123456+0000", "node2|sxid|0000:07:00.0|2025-06-02T10:00:03+00:00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := inv.Host("").Versions["cmdline"]; v.Or("") != "BOOT_IMAGE=/vmlinuz iommu=pt intel_iommu=on" {
		t.Error(v)
	}
}

func TestBounded(t *testing.T) {
	text := strings.Repeat("mlx5_core 0000:5c:00.1 ens3np0: Link down\n", 1000) + "NVRM: Xid (PCI:0000:1b:00): 79\n"
	if got := read(t, text); len(got) != MaxPerKind+1 || got[MaxPerKind].Kind != "xid" {
		t.Errorf("%d events", len(got))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("NVRM: Xid (PCI:0000:1b:00\nmlx5_ Link down 0000:\nPCIe Bus Error ::::::::::")
	f.Fuzz(func(t *testing.T, text string) { read(t, text) })
}
