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
Jan 01 10:00:00 node1 kernel: mlx5_core 0000:5c:00.1 ens3np0: Link down
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
		"xid 0000:1b:00", "pcie error 0000:00:1c.0", "link down 0000:41:00.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
