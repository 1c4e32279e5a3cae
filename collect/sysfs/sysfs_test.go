package sysfs

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

func TestLocate(t *testing.T) {
	for path, want := range map[string]Place{
		"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": {"mlx5_0", 1, "hw_counters/out_of_sequence", "/sys/class/infiniband/mlx5_0"},
		"node1/mlx5_0/ports/2/gid_attrs/types/3":                           {"mlx5_0", 2, "gid_attrs/types/3", "node1/mlx5_0"},
		"x/bnxt_re0/ports/1/counters":                                      {"bnxt_re0", 1, "counters", "x/bnxt_re0"},
		"x/mlx5_0/fw_ver":                                                  {"mlx5_0", 0, "fw_ver", "x/mlx5_0"},
	} {
		if got, ok := Locate(path); !ok || got != want {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{"", "fw_ver", "ports/1/rate", "a/ports/0/rate", "a/ports/x/rate", "logs/ports.txt", "a/ports/1"} {
		if got, ok := Locate(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// One odd file never costs the others: a virtual function without counters, a driver without their directory.
func TestTree(t *testing.T) {
	inv := &evidence.Inventory{}
	tree := NewTree()
	f := fragment.New(inv, "")
	for _, file := range []struct{ path, text string }{
		{"mlx5_0/ports/1/counters/link_downed", "3\n"},
		{"mlx5_0/ports/1/counters/port_xmit_data", "10\n"},
		{"mlx5_0/ports/1/gid_attrs/ndevs/3", "ens3np0\n"},
		{"mlx5_0/ports/1/gid_attrs/types/3", "RoCE v2\n"},
		{"mlx5_0/ports/1/gid_attrs/types/2", "IB/RoCE v1\n"},
		{"mlx5_0/ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n"},
		{"mlx5_0/ports/1/gids/2", "0000:0000:0000:0000:0000:ffff:c000:0211\n"},
		{"mlx5_0/ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:c000:0211\n"},
		{"mlx5_0/ports/1/hw_counters/out_of_sequence", "17\n"},
		{"mlx5_0/ports/1/link_layer", "Ethernet\n"},
		{"mlx5_0/ports/1/phys_state", "5: LinkUp\n"},
		{"mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"},
		{"mlx5_0/ports/1/state", "4: ACTIVE\n"},
		{"mlx5_0/fw_ver", "28.41.1000\n"},
		{"mlx5_1/ports/1/counters/link_downed", "N/A (no PMA)\n"},
		{"mlx5_1/ports/1/counters/port_rcv_data", ""},
		{"bnxt_re0/ports/1/hw_counters/seq_err_naks_rcvd", "4\n"},
	} {
		at, ok := Locate("sys/class/infiniband/" + file.path)
		if !ok {
			t.Fatal(file.path)
		}
		tree.File(f, at, []byte(file.text), 0)
	}
	tree.Finish()
	h := inv.Host("")
	n := h.NIC("mlx5_0", 1)
	if got := fmt.Sprint(n.LinkLayer, "|", n.Physical, "|", n.Rate, "|", n.State, "|", n.Firmware, "|", n.Netdev, "|", n.Counters); got != "Ethernet|LinkUp|400Gbps|ACTIVE|28.41.1000|ens3np0|unknown" {
		t.Error(got)
	}
	var gids []string
	for _, g := range n.GIDs {
		gids = append(gids, fmt.Sprintf("%d %v %s %s", g.Index, g.Address, g.Version, g.Netdev))
	}
	if diff := cmp.Diff([]string{"2 ::ffff:192.0.2.17 v1 ", "3 ::ffff:192.0.2.17 v2 ens3np0"}, gids); diff != "" {
		t.Error(diff)
	}
	if why := h.NIC("mlx5_1", 1).Counters.Why(); why != "N/A (no PMA)" {
		t.Errorf("mlx5_1: %q", why)
	}
	if why := h.NIC("bnxt_re0", 1).Counters.Why(); why != "no such directory" {
		t.Errorf("bnxt_re0: %q", why)
	}
	want := []fragment.Sample{
		{Series: telemetry.NICLinkDowns, Priority: -1, Counter: "link_downed", Device: "mlx5_0", Port: 1, Count: 3, Scale: 1},
		{Series: telemetry.NICPortTxBytes, Priority: -1, Counter: "port_xmit_data", Device: "mlx5_0", Port: 1, Count: 10, Scale: 4},
		{Series: telemetry.NICOutOfSequence, Priority: -1, Counter: "out_of_sequence", Device: "mlx5_0", Port: 1, Count: 17, Scale: 1},
		{Series: telemetry.NICPacketSeqErr, Priority: -1, Counter: "seq_err_naks_rcvd", Device: "bnxt_re0", Port: 1, Count: 4, Scale: 1},
	}
	if diff := cmp.Diff(want, f.Samples, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// A paste of hw_counters alone says nothing about whether the other directory exists.
func TestPaste(t *testing.T) {
	inv := &evidence.Inventory{}
	f, tree := fragment.New(inv, "f"), NewTree()
	p := NewPaste(f, tree)
	for i, line := range []string{
		"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:2705",
		"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent: 1333",
		"/sys/class/infiniband/mlx5_1/ports/1/counters/link_downed:N/A (no PMA)",
		"ls: cannot access '/sys/class/infiniband/bnxt_re0/ports/1/counters': No such file or directory",
	} {
		if !StartsPaste([]byte(line)) || !p.Line([]byte(line), i+1) {
			t.Errorf("%q is not taken", line)
		}
	}
	tree.Finish()
	h := inv.Host("")
	got := []string{h.NIC("mlx5_0", 1).Counters.Why(), h.NIC("mlx5_1", 1).Counters.Why(), h.NIC("bnxt_re0", 1).Counters.Why()}
	if diff := cmp.Diff([]string{"", "N/A (no PMA)", "No such file or directory"}, got); diff != "" {
		t.Error(diff)
	}
	if len(f.Samples) != 2 || f.Samples[0].Count != 2705 || f.Samples[1].Count != 1333 || f.Samples[1].Line != 2 {
		t.Errorf("%+v", f.Samples)
	}
}

func TestStatistic(t *testing.T) {
	for name, text := range map[string]string{
		"one line": "link mlx5_0/1 rx_write_requests 4230 out_of_sequence 17 np_cnp_sent 5",
		"-p":       "link mlx5_0/1\n    rx_write_requests 4230\n    out_of_sequence 17\n    np_cnp_sent 5",
	} {
		f := fragment.New(&evidence.Inventory{}, "f")
		p := NewStatistic(f)
		for line := range bytes.SplitSeq([]byte(text), []byte("\n")) {
			if !p.Line(line, 1) {
				t.Errorf("%s: %q is not taken", name, line)
			}
		}
		want := []fragment.Sample{
			{Series: telemetry.NICOutOfSequence, Priority: -1, Counter: "out_of_sequence", Device: "mlx5_0", Port: 1, Count: 17, Scale: 1, Line: 1},
			{Series: telemetry.NICCNPSent, Priority: -1, Counter: "np_cnp_sent", Device: "mlx5_0", Port: 1, Count: 5, Scale: 1, Line: 1},
		}
		if diff := cmp.Diff(want, f.Samples); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzPaste(f *testing.F) {
	f.Add([]byte("/sys/class/infiniband/mlx5_0/ports/1/gids/3:::1\n/sys/class/infiniband/a/ports/1/counters/x:N/A\n"))
	f.Add([]byte("link a/1 b 1 c\nlink b/0\nlink"))
	f.Add([]byte("x '/sys/class/infiniband/b/ports/1/counters': no\n/sys/class/infiniband/b/fw_ver:1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		fr, tree := fragment.New(inv, "f"), NewTree()
		p := NewPaste(fr, tree)
		st := NewStatistic(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			p.Line(line, 1)
			StartsStatistic(line)
			st.Line(line, 1)
		}
		tree.Finish()
	})
}

func TestReadStatistic(t *testing.T) {
	f := fragment.New(&evidence.Inventory{}, "f")
	err := ReadStatistic(f, []byte(`[{"ifindex":0,"ifname":"mlx5_0","port":1,"out_of_sequence":17,"rx_write_requests":3,"np_cnp_sent":-1},{}]`), 2)
	if err != nil || len(f.Samples) != 1 || f.Samples[0].Count != 17 || f.Samples[0].Device != "mlx5_0" || f.Samples[0].Line != 2 {
		t.Errorf("%v: %+v", err, f.Samples)
	}
}

// A PCI device is told by its address, or by the name of what hangs off it.
func TestLocatePCI(t *testing.T) {
	for path, want := range map[string]string{
		"/sys/bus/pci/devices/0000:5c:00.0/numa_node":                    "0000:5c:00.0||numa_node",
		"sys/devices/pci0000:5a/0000:5b:01.0/0000:5c:00.0/class":         "0000:5c:00.0|0000:5b:01.0|class",
		"/sys/class/net/ens3np0/device/current_link_speed":               "ens3np0||current_link_speed",
		"node1/sys/class/infiniband/mlx5_0/device/max_link_width":        "mlx5_0||max_link_width",
		"/sys/class/nvme/nvme0/device/numa_node":                         "",
		"/sys/class/net/ens3np0/device/vendor":                           "",
		"/sys/class/net/ens3np0/numa_node":                               "",
		"/sys/devices/pci0000:5a/0000:5b:01.0/0000:5c:00.0/net/ens3/mtu": "",
	} {
		got := ""
		if address, parent, file, ok := LocatePCI(path); ok {
			got = address + "|" + parent + "|" + file
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// What is printed of a device through its name is joined with what is printed of its address.
func TestPCIByName(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	h := f.TheHost()
	h.NIC("mlx5_0", 1).PCI = evidence.Known("0000:5c:00.0", f.At(1))
	p := NewPCI()
	for i, row := range [][3]string{
		{"mlx5_0", "current_link_speed", "16.0 GT/s PCIe"}, {"0000:5c:00.0", "current_link_width", "8"}, {"0000:5c:00.0", "max_link_width", "16"}, {"0000:5c:00.0", "max_link_speed", "32.0 GT/s PCIe"},
		{"mlx5_0", "numa_node", "1"}, {"mlx5_1", "current_link_speed", "32.0 GT/s PCIe"}, {"mlx5_1", "current_link_width", "16"}, {"0000:6d:00.0", "current_link_width", "16"},
	} {
		p.File(f, row[0], "", row[1], []byte(row[2]+"\n"), i+1)
	}
	p.Finish()
	var got []string
	for _, d := range h.PCI {
		got = append(got, fmt.Sprint(d.Address, " ", d.Running.Or(evidence.PCILink{}), " of ", d.Capable.Or(evidence.PCILink{}), " node ", d.NUMANode.Or(-1)))
	}
	for _, n := range h.Tree {
		got = append(got, "tree "+n.Address)
	}
	got = append(got, fmt.Sprint("mlx5_0 on node ", h.NIC("mlx5_0", 1).NUMANode.Or(-1)))
	want := []string{"0000:5c:00.0 {16 8} of {32 16} node 1", "mlx5_1 {32 16} of {0 0} node -1", "tree 0000:5c:00.0", "tree 0000:6d:00.0", "mlx5_0 on node 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
