package ibtools

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

type reader interface{ Line([]byte, int) bool }

// read gives every line to the parser and fails the test for one it does not take.
func read(t testing.TB, open func(*fragment.Fragment) reader, text string) *evidence.Host {
	t.Helper()
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "node1"
	p := open(f)
	if err := lines.Each(strings.NewReader(text), func(line []byte, n int) {
		if !p.Line(line, n) {
			t.Errorf("line %d is not taken: %q", n, line)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return inv.Host("node1")
}

func gid(index int, address, version, netdev string) string {
	a := netip.MustParseAddr(address)
	return fmt.Sprint(index, " ", netip.AddrFrom16(a.As16()), " ", version, " ", netdev)
}

func gids(n *evidence.NIC) (out []string) {
	for _, g := range n.GIDs {
		out = append(out, gid(g.Index, g.Address.String(), g.Version, g.Netdev))
	}
	return out
}

// Columns are the same whether tabs or blanks part them, and with the IPv4 column empty.
func TestShowGIDs(t *testing.T) {
	const tabs = `DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
mlx5_0	1	0	fe80:0000:0000:0000:0e42:a1ff:fe23:0001			v1	ens3np0
mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:c000:0211	192.0.2.17  	v2	ens3np0
mlx5_1	2	5	2001:0db8:0000:0000:0000:0000:0000:0001			v2	ens4np0
n_gids_found=3
`
	for name, text := range map[string]string{"tabs": tabs, "blanks": strings.ReplaceAll(tabs, "\t", "   "), "cut off": strings.SplitAfterN(tabs, "\n", 3)[2]} {
		t.Run(name, func(t *testing.T) {
			h := read(t, func(f *fragment.Fragment) reader { return NewShowGIDs(f) }, text)
			if len(h.NICs) != 2 || h.NICs[1].Device != "mlx5_1" || h.NICs[1].Port != 2 {
				t.Fatalf("ports: %+v", h.NICs)
			}
			want := []string{gid(0, "fe80::e42:a1ff:fe23:1", "v1", "ens3np0"), gid(3, "192.0.2.17", "v2", "ens3np0")}
			if diff := cmp.Diff(want, gids(h.NICs[0])); diff != "" {
				t.Error(diff)
			}
			if h.NICs[0].Netdev.Or("") != "ens3np0" || !h.NICs[0].GIDTable.Set() {
				t.Errorf("netdev %v, table at %v", h.NICs[0].Netdev, h.NICs[0].GIDTable)
			}
		})
	}
}

func TestDevInfo(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewDevInfo(f) }, `hca_id:	mlx5_0
	transport:			InfiniBand (0)
	fw_ver:				28.41.1000
	node_guid:			0c42:a103:0000:0001
	vendor_part_id:			4129
	board_id:			MT_0000000838
	phys_port_cnt:			1
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		1024 (3)
			sm_lid:			0
			active_width:		4X (2)
			active_speed:		100.0 Gbps (128)
			phys_state:		LINK_UP (5)
			link_layer:		Ethernet
			GID[  0]:		fe80:0000:0000:0000:0ac0:ebff:fe00:0001, RoCE v1
			GID[  3]:		::ffff:192.0.2.6, RoCE v2

hca_id:	mlx5_1
		port:	1
			state:			PORT_DOWN (1)
			link_layer:		InfiniBand
`)
	n := h.NICs[0]
	got := fmt.Sprint(n.Device, n.Port, " ", n.State, n.Physical, n.LinkLayer, " ", n.MaxMTU, n.ActiveMTU, " ", n.Firmware, n.Board, n.PartID, " ", n.Rate)
	if want := "mlx5_01 ACTIVE LinkUp Ethernet 4096 1024 28.41.1000 MT_0000000838 4129 400Gbps"; strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{gid(0, "fe80::ac0:ebff:fe00:1", "v1", ""), gid(3, "192.0.2.6", "v2", "")}, gids(n)); diff != "" {
		t.Error(diff)
	}
	if n := h.NICs[1]; n.Device != "mlx5_1" || n.State.Or("") != "DOWN" || n.Firmware.Known() || n.ActiveMTU.Known() {
		t.Errorf("second device: %+v", n)
	}
}

func TestIBStatAndIBStatus(t *testing.T) {
	for name, text := range map[string]string{
		"ibstat": `CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Firmware version: 28.41.1000
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 12
		Link layer: InfiniBand
CA 'mlx5_1'
	CA type:
	Port 2:
		State: Down
		Physical state: Disabled
		Rate: 40
`,
		"ibstatus": `Infiniband device 'mlx5_0' port 1 status:
	default gid:	 fe80:0000:0000:0000:0e42:a1ff:fe9a:0001
	base lid:	 0xc
	state:		 4: ACTIVE
	phys state:	 5: LinkUp
	rate:		 400 Gb/sec (4X NDR)
	link_layer:	 InfiniBand

Infiniband device 'mlx5_1' port 2 status:
	state:		 1: DOWN
	phys state:	 3: Disabled
	rate:		 40 Gb/sec (4X QDR)
`} {
		t.Run(name, func(t *testing.T) {
			h := read(t, func(f *fragment.Fragment) reader { return NewIBStat(f) }, text)
			a, b := h.NICs[0], h.NICs[1]
			if got := fmt.Sprint(a.Device, a.Port, a.State, a.Physical, a.LinkLayer, a.Rate); got != "mlx5_01 ACTIVE LinkUp InfiniBand 400Gbps" {
				t.Error(got)
			}
			if b.Device != "mlx5_1" || b.Port != 2 || b.State.Or("") != "DOWN" || b.Physical.Or("") != "Disabled" || b.Rate.Or(0) != 40*units.Gbps || b.LinkLayer.Known() {
				t.Errorf("second port: %+v", b)
			}
			if name == "ibstat" && a.Firmware.Or("") != "28.41.1000" {
				t.Errorf("firmware %v", a.Firmware)
			}
		})
	}
}

func TestIBDev2Netdev(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewIBDev2Netdev(f) }, `mlx5_0 port 1 ==> ens3np0 (Up)
mlx5_1 port 2 ==> ens4np0 (Down)
0000:1a:00.0 mlx5_2 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw 28.41.1000 port 1 (ACTIVE) ==> ibp26s0 (Up)
`)
	var got []string
	for _, n := range h.NICs {
		got = append(got, fmt.Sprint(n.Device, " ", n.Port, " ", n.Netdev, " ", n.State))
	}
	want := []string{"mlx5_0 1 ens3np0 unknown", "mlx5_1 2 ens4np0 DOWN", "mlx5_2 1 ibp26s0 unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if h.Dev("ens4np0").Device != "mlx5_1" {
		t.Error("the interface does not know its device")
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("DEV PORT INDEX GID IPv4 VER DEV\nmlx5_0 1 3 ::1 v2 e"))
	f.Add([]byte("hca_id: a\nport: 1\nGID[ 3]: ::1, RoCE v2\nactive_width: 4X (2)\nactive_speed: 1e9 Gbps"))
	f.Add([]byte("CA 'a'\nPort 1:\nRate: 1e300\nInfiniband device 'a' port 9 status:\nstate: 4: X"))
	f.Add([]byte("a port 1 ==> b (Up)\nport ==> "))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		fr := fragment.New(inv, "f")
		ps := []reader{NewShowGIDs(fr), NewDevInfo(fr), NewIBStat(fr), NewIBDev2Netdev(fr)}
		n := 0
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			n++
			for _, p := range ps {
				p.Line(line, n)
			}
			StartsShowGIDs(line)
			StartsDevInfo(line)
			StartsIBStat(line)
			StartsIBStatus(line)
			StartsIBDev2Netdev(line)
		}
		for _, h := range inv.Hosts {
			for _, nic := range h.NICs {
				if r, ok := nic.Rate.Get(); ok && r < 0 {
					t.Fatalf("a negative rate: %v", r)
				}
			}
		}
	})
}

// Counters of perfquery are those of sysfs; one that stands at its end tells nothing.
func TestPerfquery(t *testing.T) {
	f := fragment.New(&evidence.Inventory{}, "f")
	p := NewPerfquery(f)
	for i, line := range strings.Split(`# Port counters: Lid 12 port 2 (CapMask: 0x5A00)
PortSelect:......................2
CounterSelect:...................0x0000
SymbolErrorCounter:..............65535
LinkDownedCounter:...............4
PortXmitData:....................10
PortXmitWait:....................44211212`, "\n") {
		p.Line([]byte(line), i+1)
	}
	var got []string
	for _, c := range f.Samples {
		got = append(got, fmt.Sprintf("%s:%d %s %d x%g", c.Device, c.Port, c.Counter, c.Count, c.Scale))
	}
	if diff := cmp.Diff([]string{"LID 12:2 link_downed 4 x1", "LID 12:2 port_xmit_data 10 x4", "LID 12:2 port_xmit_wait 44211212 x1"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzPerfquery(f *testing.F) {
	f.Add("# Port counters: Lid port")
	f.Add("SymbolErrorCounter:.")
	f.Fuzz(func(_ *testing.T, line string) {
		p := NewPerfquery(fragment.New(&evidence.Inventory{}, "f"))
		p.Line([]byte(line), 1)
		p.Line([]byte("# Port extended counters: "+line), 2)
	})
}
