package collect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A copy of a host's /sys and /proc, below a folder that names nothing, tells of its devices by their paths.
func TestTrees(t *testing.T) {
	inv, _ := load(t, `
-- host/etc/hostname --
alpha
-- host/sys/devices/pci0000:50/0000:50:01.0/class --
0x060400
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/class --
0x020000
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/numa_node --
1
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/current_link_speed --
16.0 GT/s PCIe
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/current_link_width --
8
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/max_link_speed --
32.0 GT/s PCIe
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/max_link_width --
16
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/net/ens3np0/mtu --
4200
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/net/ens3np0/speed --
-1
-- host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/infiniband/mlx5_0/ports/1/rate --
400 Gb/sec (4X NDR)
-- host/sys/devices/pci0000:60/0000:60:00.0/class --
0x030200
-- host/sys/devices/pci0000:60/0000:60:00.0/numa_node --
-1
-- host/proc/interrupts --
            CPU0       CPU1
 156:        100          0  IR-PCI-MSIX-0000:51:00.0    1-edge      mlx5_comp0@pci:0000:51:00.0
-- host/proc/irq/156/smp_affinity_list --
0-1
-- host/proc/sys/net/ipv4/tcp_rmem --
4096	87380	6291456
`)
	if len(inv.Hosts) != 1 || inv.Hosts[0].Name != "alpha" {
		t.Fatalf("hosts %+v, %v", inv.Hosts, unread(inv))
	}
	h := inv.Hosts[0]
	var got []string
	for _, d := range h.PCI {
		got = append(got, fmt.Sprint("pci ", d.Address, " ", d.Class, " ", d.Capable, d.Running, " node ", d.NUMANode))
	}
	for _, g := range h.GPUs {
		got = append(got, fmt.Sprint("gpu ", g.PCI, " node ", g.NUMANode))
	}
	for _, d := range h.Netdevs {
		got = append(got, fmt.Sprint("netdev ", d.Name, " ", d.MTU, " ", d.Speed, " ", d.PCI))
	}
	for _, n := range h.NICs {
		got = append(got, fmt.Sprint("nic ", n.Device, " ", n.Rate, " ", n.PCI))
	}
	for _, q := range h.IRQs {
		got = append(got, fmt.Sprint("irq ", q.Number, " ", q.Device, " ", q.Affinity))
	}
	got = append(got, fmt.Sprint(h.BridgesAbove("51:00.0")), h.Sysctl["net.ipv4.tcp_rmem"].Or(""))
	want := []string{
		"pci 0000:51:00.0 Ethernet controller {32 16} {16 8} node 1", "gpu 0000:60:00.0 node unknown", "netdev ens3np0 4200 unknown (no link) 0000:51:00.0",
		"nic mlx5_0 400Gbps 0000:51:00.0", "irq 156 0000:51:00.0 0-1", "[0000:50:01.0] true", "4096 87380 6291456",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantFiles := []string{
		"host/etc/hostname|host name|alpha", "host/proc/interrupts|interrupts|alpha", "host/proc/irq|interrupt affinity|alpha", "host/proc|sysctl|alpha",
		"host/sys|sysfs pci|alpha", "host/sys/devices/pci0000:50/0000:50:01.0/0000:51:00.0/infiniband/mlx5_0|sysfs infiniband|alpha", "host/sys|sysfs net|alpha",
	}
	if diff := cmp.Diff(wantFiles, files(inv)); diff != "" {
		t.Error(diff)
	}
}
