package collect

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/shunt-network/shunt/telemetry"
)

// Files of /sys and /proc say the same in every form in which people paste them.
func TestPasted(t *testing.T) {
	for form, text := range map[string]string{
		"head": `==> /sys/class/net/ens3np0/mtu <==
9000

==> /sys/class/net/ens3np0/speed <==
cat: /sys/class/net/ens3np0/speed: Invalid argument

==> /sys/class/net/ens4np0/mtu <==

==> /sys/class/net/ens3np0/device/current_link_speed <==
16.0 GT/s PCIe

==> /sys/class/net/ens3np0/device/current_link_width <==
8
==> /proc/sys/net/ipv4/tcp_mtu_probing <==
1
==> /proc/uptime <==
350735.47 234388.90
==> /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence <==
17
`,
		"grep": `/sys/class/net/ens3np0/mtu:9000
/sys/class/net/ens3np0/device/current_link_speed:16.0 GT/s PCIe
/sys/class/net/ens3np0/device/current_link_width:8
/proc/sys/net/ipv4/tcp_mtu_probing:1
/proc/uptime:350735.47 234388.90
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:17
`,
		"echo": `/sys/class/net/ens3np0/mtu
9000
/sys/class/net/ens4np0/mtu
/sys/bus/pci/devices/0000:5c:00.0/current_link_speed
16.0 GT/s PCIe
/sys/bus/pci/devices/0000:5c:00.0/current_link_width
8
/sys/bus/pci/devices/0000:5c:00.0/class
0x020000
/proc/sys/net/ipv4/tcp_mtu_probing = 1
/proc/uptime
350735.47 234388.90
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence
17
`,
		"prompt": `[root@node1 ~]# cat /sys/class/net/ens3np0/mtu
9000
[root@node1 ~]# cat /sys/class/net/ens4np0/mtu
[root@node1 ~]# cat /sys/bus/pci/devices/0000:5c:00.0/current_link_speed
16.0 GT/s PCIe
[root@node1 ~]# cat /sys/class/net/ens3np0/device/current_link_width
8
[root@node1 ~]# cat /proc/sys/net/ipv4/tcp_mtu_probing
1
[root@node1 ~]# cat /proc/uptime
350735.47 234388.90
[root@node1 ~]# cat /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence
17
[root@node1 ~]# ethtool -i ens3np0
driver: mlx5_core
version: 6.8.0
bus-info: 0000:5c:00.0
[root@node1 ~]# ip link show ens4np0
3: ens4np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
`,
	} {
		t.Run(form, func(t *testing.T) {
			inv, w, err := LoadFS(fstest.MapFS{"node1/paste.txt": {Data: []byte(text)}, "node2/ibstat.txt": {Data: []byte("CA 'mlx5_0'\n")}})
			if err != nil {
				t.Fatal(err)
			}
			h := inv.Host("node1")
			var got []string
			for _, d := range h.Netdevs {
				mtu, _ := d.MTU.Get()
				got = append(got, fmt.Sprint(d.Name, " ", mtu, " ", d.Speed.Known()))
			}
			for _, d := range h.PCI {
				link, _ := d.Running.Get()
				got = append(got, fmt.Sprint(d.Address, " ", link))
			}
			got = append(got, "probing "+h.Sysctl["net.ipv4.tcp_mtu_probing"].Or("?"), fmt.Sprint("up ", h.Uptime.Or(-1)))
			for _, k := range w.Keys(telemetry.NICOutOfSequence) {
				p, _ := w.Points(k)
				got = append(got, fmt.Sprint(k.Object, " ", p.Samples[0].Count))
			}
			pci := "0000:5c:00.0"
			if form == "head" || form == "grep" {
				pci = "ens3np0" // nothing tells the address
			}
			want := []string{"ens3np0 9000 false", pci + " {16 8}", "probing 1", "up 350735", "node1/mlx5_0 17"}
			if form == "prompt" {
				want = append(want[:1:1], append([]string{"ens4np0 1500 false"}, want[1:]...)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff, unread(inv))
			}
			if len(inv.Unreadable) != 0 {
				t.Error(unread(inv))
			}
		})
	}
}

// Prompts with and without a user name the host; a line that only looks like one does not.
func TestPrompts(t *testing.T) {
	for line, want := range map[string]string{
		"[root@node1 ~]# ibstat": "node1|ibstat", "user@node2:~/x$ ibstat -l": "node2|ibstat -l", "node3$ ibstat": "node3|ibstat", "node4:~# ibstat": "node4|ibstat",
		"node5:/tmp$ ibstat": "node5|ibstat", "$ ibstat": "|ibstat", "# Rank  0": "", "mlx5_0$ ibstat": "", "step10# x": "", "a1=b2$ x": "", "cost: 5$ a": "",
	} {
		host, command, ok := splitPrompt([]byte(line))
		got := ""
		if ok {
			got = host + "|" + command
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
