package collect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// hostFiles10 is what ten commands print on one host of eight NICs, in the sizes they have: 90 KiB together.
func hostFiles10(host int) map[string][]byte {
	name := fmt.Sprint("node", host)
	var ibstat, gids, netdev, addr, pci, before, after, log, qos bytes.Buffer
	gids.WriteString("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n")
	for n := range 8 {
		dev, face := fmt.Sprint("mlx5_", n), fmt.Sprintf("ens%dnp0", n)
		fmt.Fprintf(&ibstat, "CA '%s'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.41.1000\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: Ethernet\n", dev)
		for i := range 4 {
			fmt.Fprintf(&gids, "%s\t1\t%d\t0000:0000:0000:0000:0000:ffff:c000:%02x%02x\t192.0.2.%d  \tv%d\t%s\n", dev, i, host%250, n, n, i%2+1, face)
		}
		fmt.Fprintf(&netdev, "%s port 1 ==> %s (Up)\n", dev, face)
		fmt.Fprintf(&addr, "%d: %s: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000\n    link/ether 02:00:00:00:%02x:%02x brd ff:ff:ff:ff:ff:ff\n    inet 192.0.2.%d/24 scope global %s\n", n+2, face, host%250, n, n, face)
		fmt.Fprintf(&pci, "%02x:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n\tPhysical Slot: %d\n\tNUMA node: %d\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n", 0x10+n, n, n/4)
		for range 60 { // the other functions of a host
			pci.WriteString("\t\tSltCap:\tAttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug- Surprise-\n")
		}
		for c := range 16 {
			fmt.Fprintf(&log, "%s:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", name, 1000+n, 2000+n, n, c, 8*host+n, n, 8*host+n+8, n, c%8)
		}
	}
	for _, b := range []*bytes.Buffer{&before, &after} {
		b.WriteString("NIC statistics:\n")
		for p := range 8 {
			for _, c := range []string{"rx_prio%d_bytes", "tx_prio%d_bytes", "rx_prio%d_pause", "tx_prio%d_pause", "rx_prio%d_pause_duration", "tx_prio%d_pause_duration", "rx_prio%d_discards"} {
				fmt.Fprintf(b, "     "+c+": %d\n", p, host*p*b.Cap())
			}
		}
		for q := range 600 {
			fmt.Fprintf(b, "     rx%d_packets: %d\n", q, q*host)
		}
	}
	qos.WriteString("DCBX mode: OS controlled\nPriority trust state: dscp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n")
	kernel := strings.Repeat("[   12.345678] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n", 200) + "[  100.000000] mlx5_core 0000:10:00.0 ens0np0: Link up\n"
	return map[string][]byte{
		"ibstat.txt": ibstat.Bytes(), "show_gids.txt": gids.Bytes(), "ibdev2netdev.txt": netdev.Bytes(), "ip_addr.txt": addr.Bytes(), "lspci.txt": pci.Bytes(),
		"ethtool_S_ens0np0_before.txt": before.Bytes(), "ethtool_S_ens0np0_after_10s.txt": after.Bytes(), "nccl.log": log.Bytes(), "mlnx_qos_ens0np0.txt": qos.Bytes(), "dmesg.txt": []byte(kernel),
	}
}

// A folder with ten files of each of 1000 hosts. What is kept of them grows with the hosts; what the files themselves
// cost does not, since a few are read at a time.
func BenchmarkCluster(b *testing.B) {
	dir := b.TempDir()
	const hosts = 1000
	size := int64(0)
	for h := range hosts {
		folder := filepath.Join(dir, fmt.Sprint("node", h))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		for name, data := range hostFiles10(h) {
			size += int64(len(data))
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		inv, w, err := Load([]string{dir}, Options{})
		if err != nil || len(inv.Hosts) != hosts || len(inv.Unreadable) != 0 || w.Empty() {
			b.Fatalf("%v, %d hosts, %v", err, len(inv.Hosts), unread(inv))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(inv)
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))/hosts, "bytes_kept/host")
	b.ReportMetric(float64(hosts)*float64(b.N)/b.Elapsed().Seconds(), "hosts/s")
}
