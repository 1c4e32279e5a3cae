package collect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/telemetry"
)

// Outputs that each know a port by another name, and tell of it: they meet in one port, its counters too.
func TestJoinDevices(t *testing.T) {
	inv, w := load(t, `
-- node1/ethtool_i.txt --
$ ethtool -i ens3np0
driver: mlx5_core
version: 24.04-0.6.6
firmware-version: 28.41.1000 (MT_0000000838)
bus-info: 0000:5c:00.0
-- node1/ibv_devinfo.txt --
hca_id:	mlx5_0
	fw_ver:				28.41.1000
		port:	1
			state:			PORT_ACTIVE (4)
-- node1/lspci.txt --
5c:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	NUMA node: 1
		LnkSta:	Speed 32GT/s, Width x16
1b:00.0 3D controller: NVIDIA Corporation GH100
-- node1/topo.xml --
<pci busid="0000:5c:00.0" class="0x020000">
<net name="mlx5_0" dev="0" speed="400000" port="1"/>
-- node1/mlxlink.txt --
$ mlxlink -d 5c:00.0 -m -c
Operational Info
----------------
FEC                             : Standard_RS-FEC - (544,514)
Physical Counters and BER Info
------------------------------
Raw Physical BER                : 2E-07
-- node1/lldpctl.txt --
Interface:    ens3np0, via: LLDP, RID: 1
    SysName:      leaf1
    PortID:       ifname Ethernet8
-- node1/ethtool_S_ens3np0.txt --
NIC statistics:
     link_down_events_phy: 3
-- node1/topo_m.txt --
	GPU0	mlx5_0	CPU Affinity	NUMA Affinity
GPU0	 X 	PIX	0-3	1
mlx5_0	PIX	 X 
-- node1/smi.txt --
GPU 00000000:1B:00.0
    Minor Number                          : 0
`)
	if len(inv.Hosts) != 1 || len(inv.Hosts[0].NICs) != 1 || len(inv.Hosts[0].Netdevs) != 1 || len(inv.Hosts[0].GPUs) != 1 {
		for _, h := range inv.Hosts {
			t.Errorf("host %q: %d NICs, %d interfaces, %d GPUs", h.Name, len(h.NICs), len(h.Netdevs), len(h.GPUs))
		}
		t.Fatal(unread(inv))
	}
	h := inv.Hosts[0]
	n, d, g := h.NICs[0], h.Netdevs[0], h.GPUs[0]
	got := fmt.Sprint(n.Device, " ", n.Netdev, " ", n.PCI, " node ", n.NUMANode, " ", n.Switch, " ", n.FEC.Active, " ", n.Signal.RawBER, "|", d.Name, " ", d.Device, " ", d.PCI, " ", d.Driver, "|", g.PCI, " ", g.Index, " ", g.NUMANode)
	if diff := cmp.Diff("mlx5_0 ens3np0 0000:5c:00.0 node 1 leaf1/Ethernet8 Standard_RS-FEC - (544,514) 2e-07|ens3np0 mlx5_0 0000:5c:00.0 mlx5_core|0000:1b:00.0 0 1", got); diff != "" {
		t.Error(diff)
	}
	if _, ok := w.Points(telemetry.Key{Series: telemetry.NICLinkDowns, Object: "node1/mlx5_0", Priority: -1}); !ok {
		t.Errorf("counters are of %v", w.Keys(telemetry.NICLinkDowns))
	}
}

// Where two interfaces have the address of a function, or two hosts an address, nothing is concluded.
func TestJoinNothing(t *testing.T) {
	inv, _ := load(t, `
-- node1/a.txt --
$ ethtool -i ens3np0
driver: mlx5_core
bus-info: 0000:5c:00.0
$ ethtool -i ens3vf0
driver: mlx5_core
bus-info: 0000:5c:00.0
-- node1/topo.xml --
<pci busid="0000:5c:00.0" class="0x020000">
<net name="mlx5_0" dev="0" port="1"/>
-- node1/ibstat.txt --
CA 'mlx5_0'
	Port 1:
		State: Active
-- node2/ip_addr.txt --
4: docker0: <BROADCAST,UP> mtu 1500 state UP
    inet 198.51.100.1/16 scope global docker0
-- node3/ip_addr.txt --
4: docker0: <BROADCAST,UP> mtu 1500 state UP
    inet 198.51.100.1/16 scope global docker0
5: eth0: <BROADCAST,UP> mtu 1500 state UP
    inet 192.0.2.3/24 scope global eth0
-- ras.json --
{"nccl_version":"2.28.9","communicators":[{"hash":"0x1","size":2,"ranks":[{"rank":0,"host":"198.51.100.1","pid":1},{"rank":1,"host":"192.0.2.3","pid":2}],"missing_ranks":[]}],"ras":{}}
`)
	if n := inv.Host("node1").NIC("mlx5_0", 1); n.Netdev.Known() || n.PCI.Or("") != "0000:5c:00.0" {
		t.Errorf("%+v", n)
	}
	r := inv.NCCL.RASComms[0].Ranks
	if r[0].Host != "198.51.100.1" || r[1].Host != "node3" {
		t.Errorf("%+v", r)
	}
}
