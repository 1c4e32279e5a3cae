package collect

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// tree makes a file system of a txtar archive.
func tree(archive string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return fsys
}

func load(t testing.TB, archive string) (*evidence.Inventory, *telemetry.Window) {
	t.Helper()
	inv, w, err := LoadFS(tree(archive))
	if err != nil {
		t.Fatal(err)
	}
	return inv, w
}

func files(inv *evidence.Inventory) (out []string) {
	for _, f := range inv.Files {
		out = append(out, f.Path+"|"+f.Format+"|"+f.Host)
	}
	return out
}

func unread(inv *evidence.Inventory) (out []string) {
	for _, u := range inv.Unreadable {
		out = append(out, u.From.String()+": "+u.Why)
	}
	return out
}

// Fragments of one host under several names become one: the log names the host, the table its address, and the
// device, the interface and the counters meet in one port.
func TestJoin(t *testing.T) {
	inv, w := load(t, `
-- nccl.log --
node1:20:21 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens3np0:192.0.2.17<0>
-- show_gids.txt --
DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:c000:0211	192.0.2.17  	v2	ens3np0
-- ethtool_S_ens3np0_before.txt --
NIC statistics:
     rx_prio3_pause: 5
-- ethtool_S_ens3np0_after_10s.txt --
NIC statistics:
     rx_prio3_pause: 25
`)
	if len(inv.Hosts) != 1 || inv.Hosts[0].Name != "node1" {
		t.Fatalf("hosts: %+v", inv.Hosts)
	}
	k := telemetry.Key{Series: telemetry.NICRxPause, Object: "node1/mlx5_0", Priority: 3}
	if rate, ok := w.Rate(k); !ok || rate != 2 {
		t.Errorf("rate %v, %v; keys %v", rate, ok, w.Keys(telemetry.NICRxPause))
	}
	if d := w.To.Sub(w.From); d != 10*units.Second {
		t.Errorf("window of %v", d)
	}
	want := []string{"ethtool_S_ens3np0_after_10s.txt|ethtool -S|", "ethtool_S_ens3np0_before.txt|ethtool -S|", "nccl.log|nccl log|node1", "show_gids.txt|show_gids|"}
	if diff := cmp.Diff(want, files(inv)); diff != "" {
		t.Error(diff)
	}
}

// An address that two hosts have, or that leads to two hosts, names none of them.
func TestNoJoin(t *testing.T) {
	inv, _ := load(t, `
-- nccl.log --
node1:20:21 [0] NCCL INFO Bootstrap : Using docker0:198.51.100.1<0>
node2:20:21 [0] NCCL INFO Bootstrap : Using docker0:198.51.100.1<0>
-- ip_addr.txt --
4: docker0: <BROADCAST,UP> mtu 1500 state UP
    inet 198.51.100.1/16 scope global docker0
`)
	if len(inv.Hosts) != 1 || inv.Hosts[0].Name != "" {
		t.Errorf("hosts: %+v", inv.Hosts[0])
	}
}

// One text may hold anything: a log with a table between, shell prompts, tail's heads, prefixes of pdsh.
func TestPile(t *testing.T) {
	inv, w := load(t, `
-- all.txt --
[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)
[1,0]<stdout>:#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
[1,0]<stdout>:node1:20:21 [0] NCCL INFO Using network IB
[1,0]<stdout>:     8388608       2097152     float     sum      -1    350.1   23.96   22.46      0    351.0   23.90   22.41      0
root@node1:~# ibstat
CA 'mlx5_0'
	Port 1:
		State: Active
		Rate: 400
root@node1:~# ethtool -a ens3np0
Pause parameters for ens3np0:
RX:		on
TX:		on
[user@node2 ~]$ ulimit -l
8192
[user@node2 ~]$ ethtool -S ens4np0
NIC statistics:
     link_down_events_phy: 3
ens5np0
     link_down_events_phy: 4
==> node3/ibdev2netdev.txt <==
mlx5_0 port 1 ==> ens3np0 (Up)
node4: CA 'mlx5_1'
node5: CA 'mlx5_2'
node4: 	Port 1:
node5: 	Port 1:
node4: 		State: Down
node5: 		State: Active
$ mpirun -np 16 -x NCCL_IB_TC=106 ./all_reduce_perf -b 8
`)
	var got []string
	for _, h := range inv.Hosts {
		got = append(got, h.Name+" memlock="+h.Memlock.String())
		for _, n := range h.NICs {
			got = append(got, fmt.Sprint("  ", n.Device, " ", n.State, " ", n.Rate, " ", n.Netdev))
		}
		for _, d := range h.Netdevs {
			got = append(got, fmt.Sprint("  ", d.Name, " ", d.Global, " ", d.Device))
		}
	}
	want := []string{
		"node1 memlock=unknown", "  mlx5_0 ACTIVE 400Gbps unknown", "  ens3np0 {true true} ",
		"node2 memlock=8192",
		"node3 memlock=unknown", "  mlx5_0 unknown unknown ens3np0", "  ens3np0 unknown mlx5_0",
		"node4 memlock=unknown", "  mlx5_1 DOWN unknown unknown",
		"node5 memlock=unknown", "  mlx5_2 ACTIVE unknown unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var downs []string
	for _, k := range w.Keys(telemetry.NICLinkDowns) {
		downs = append(downs, k.Object)
	}
	if diff := cmp.Diff([]string{"node2/ens4np0", "node2/ens5np0"}, downs); diff != "" {
		t.Error(diff)
	}
	if len(inv.Calls) != 2 || inv.Calls[0].Name != "all_reduce_perf" || inv.Calls[0].Kind != "all_reduce" {
		t.Errorf("calls, of the one test that was run: %+v", inv.Calls)
	}
	if len(inv.NCCL.Networks) != 1 || len(inv.NCCL.Env) != 1 {
		t.Errorf("networks %+v, variables %+v", inv.NCCL.Networks, inv.NCCL.Env)
	}
}

// What cannot be used is named with its reason, and costs nothing else.
func TestUnreadable(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("node1:1:1 [0] NCCL INFO Using network IB\n"))
	z.Close()
	fsys := tree(`
-- ok.log --
node1:1:1 [0] NCCL INFO Using network Socket
-- prose.txt --
It was slow on Tuesday.
-- README.md --
The line node9:1:1 [0] NCCL INFO Using network IB is what we saw.
-- paste.md --
We saw
~~~
node8:1:1 [0] NCCL INFO Using network IB
~~~
-- .git/config --
[core]
`)
	fsys["empty.txt"] = &fstest.MapFile{}
	fsys["core"] = &fstest.MapFile{Data: []byte("\x7fELF\x00\x00")}
	fsys["utf16.txt"] = &fstest.MapFile{Data: []byte("\xff\xfeN\x00")}
	fsys["a.pcap"] = &fstest.MapFile{Data: []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00")}
	fsys["node7.log.gz"] = &fstest.MapFile{Data: zipped.Bytes()}
	fsys["cut.log.gz"] = &fstest.MapFile{Data: zipped.Bytes()[:zipped.Len()-12]}
	fsys["long.txt"] = &fstest.MapFile{Data: []byte("NIC statistics:\n" + strings.Repeat("x", 100_000) + "\n     link_down_events_phy: 1\n")}
	fsys["secret.txt"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o200}
	fsys["fifo"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	inv, w, err := LoadFS(denied{fsys})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md: prose without a block of output", "a.pcap: packet: header of pcap: unexpected EOF", "core: binary", "cut.log.gz:1: cut off: unexpected EOF",
		"empty.txt: empty file", "fifo: not a regular file", "long.txt: 1 lines longer than 65536 bytes were cut", "prose.txt: not recognised",
		"secret.txt: permission denied", "utf16.txt: not recognised",
	}
	if diff := cmp.Diff(want, unread(inv)); diff != "" {
		t.Error(diff)
	}
	wantFiles := []string{"cut.log.gz|nccl log|node1", "long.txt|ethtool -S|", "node7.log.gz|nccl log|node1", "ok.log|nccl log|node1", "paste.md|nccl log|node8"}
	if diff := cmp.Diff(wantFiles, files(inv)); diff != "" {
		t.Error(diff)
	}
	if len(w.Keys(telemetry.NICLinkDowns)) != 1 {
		t.Error("the counter behind the long line is lost")
	}
}

// denied is a file system that may not read secret.txt.
type denied struct{ fs.FS }

func (d denied) Open(name string) (fs.File, error) {
	if name == "secret.txt" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

func TestLoadPaths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	log := write("job/nccl.log", "node1:1:1 [0] NCCL INFO Using network IB\n")
	write("hosts/node2/ethtool.txt", "NIC statistics:\n     link_down_events_phy: 1\n")
	write("hosts/node3/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "2\n")
	if err := os.Symlink("../../../real/mlx5_1", filepath.Join(dir, "hosts/node3/sys/class/infiniband/mlx5_1")); err != nil {
		t.Fatal(err)
	}
	write("hosts/node3/real/mlx5_1/ports/1/counters/link_downed", "3\n")
	inv, w, err := Load([]string{log, filepath.Join(dir, "hosts"), filepath.Join(dir, "absent")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, f := range inv.Files {
		hosts = append(hosts, f.Host+" "+f.Format)
	}
	want := []string{"node1 nccl log", "node2 ethtool -S", "node3 sysfs infiniband", "node3 sysfs infiniband"}
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Error(diff)
	}
	if inv.Files[0].Path != filepath.ToSlash(log) {
		t.Errorf("path %q, want it as given: %q", inv.Files[0].Path, log)
	}
	if len(inv.Unreadable) != 1 || inv.Unreadable[0].Why != "no such file" {
		t.Errorf("%+v", unread(inv))
	}
	for _, object := range []string{"node2/", "node3/mlx5_0", "node3/mlx5_1"} {
		if p, ok := w.Points(telemetry.Key{Series: telemetry.NICLinkDowns, Object: object, Priority: -1}); !ok {
			t.Errorf("no counter of %s: %+v", object, p)
		}
	}
}

// Folders that tell the given paths apart name hosts; one they have in common does not.
func TestFoldersAbove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "user1")
	for _, n := range []string{"node1", "node2"} {
		if err := os.MkdirAll(filepath.Join(dir, n), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, n, "ibstat.txt"), []byte("CA 'mlx5_0'\n\tPort 1:\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ paths, want []string }{
		"folders":      {[]string{"node1", "node2"}, []string{"node1", "node2"}},
		"files":        {[]string{"node1/ibstat.txt", "node2/ibstat.txt"}, []string{"node1", "node2"}},
		"one of them":  {[]string{"node1/ibstat.txt"}, []string{""}},
		"folder of it": {[]string{"node1"}, []string{""}},
		"all":          {[]string{"."}, []string{"node1", "node2"}},
	} {
		var paths, hosts []string
		for _, p := range tc.paths {
			paths = append(paths, filepath.Join(dir, p))
		}
		inv, _, err := Load(paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range inv.Hosts {
			hosts = append(hosts, h.Name)
		}
		if diff := cmp.Diff(tc.want, hosts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNothing(t *testing.T) {
	_, _, err := Load([]string{filepath.Join(t.TempDir(), "absent")}, Options{})
	var nothing *NothingReadError
	if !errors.As(err, &nothing) || len(nothing.Tried) != 1 || !strings.Contains(err.Error(), "absent: no such file") {
		t.Errorf("%v", err)
	}
	if _, _, err := Load(nil, Options{}); !errors.As(err, &nothing) {
		t.Errorf("%v", err)
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), []byte(strings.Repeat("node1:1:1 [0] NCCL INFO Using network IB\n", 100)), 0o644)
	}
	os.MkdirAll(filepath.Join(dir, "a/b/c/d"), 0o755)
	inv, _, err := Load([]string{dir}, Options{MaxFiles: 3, MaxDepth: 2, MaxFileBytes: 60})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(strings.Join(unread(inv), "\n"), dir+"/", "")
	want := "a/b/c: more than 2 folders deep\n" +
		"f0: larger than 60 bytes: the rest was not read\nf1: larger than 60 bytes: the rest was not read\nf2: larger than 60 bytes: the rest was not read\n" +
		"f3: the first of the files past the limit of 3"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What the names of files tell of moments orders the samples; what they do not tell is not made up.
func TestTimeline(t *testing.T) {
	const counter = "NIC statistics:\n     link_down_events_phy: %d\n"
	key := func(object string) telemetry.Key {
		return telemetry.Key{Series: telemetry.NICLinkDowns, Object: object, Priority: -1}
	}
	for _, tc := range []struct {
		name   string
		files  []string // counting from 1
		object string
		counts []uint64
		timed  bool
		unused int
	}{
		{"before and after", []string{"s_after.txt", "s_before.txt"}, "/", []uint64{2, 1}, false, 0},
		{"with a span", []string{"s_after_10s.txt", "s_before.txt"}, "/", []uint64{2, 1}, true, 0},
		{"numbers", []string{"s_t10.txt", "s_t2.txt", "s_t0.txt"}, "/", []uint64{3, 2, 1}, false, 0},
		{"spans alone", []string{"s_0s.txt", "s_30s.txt", "s_60s.txt"}, "/", []uint64{1, 2, 3}, true, 0},
		{"folders", []string{"after/s.txt", "before/s.txt"}, "/", []uint64{2, 1}, false, 0},
		{"hosts and devices", []string{"node1_mlx5_0_before.txt", "node1_mlx5_0_after.txt", "node2_mlx5_0_before.txt"}, "node1/mlx5_0", []uint64{1, 2}, false, 0},
		{"no order", []string{"a.txt", "b.txt"}, "/", []uint64{1}, false, 1},
		{"no order of one port", []string{"node1/mlx5_3.txt", "node1/mlx5_3_again.txt"}, "node1/mlx5_3", []uint64{1}, false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for i, name := range tc.files {
				fsys[name] = &fstest.MapFile{Data: fmt.Appendf(nil, counter, i+1)}
			}
			inv, w, err := LoadFS(fsys)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := w.Points(key(tc.object))
			if !ok {
				t.Fatalf("no points; there are %v", w.Keys(telemetry.NICLinkDowns))
			}
			var counts []uint64
			for _, s := range p.Samples {
				counts = append(counts, s.Count)
			}
			if diff := cmp.Diff(tc.counts, counts); diff != "" {
				t.Error(diff)
			}
			if p.Untimed == tc.timed {
				t.Errorf("untimed %v", p.Untimed)
			}
			if len(inv.Unreadable) != tc.unused {
				t.Errorf("%+v", unread(inv))
			}
		})
	}
}

// Two outputs in one file are two samples; counters of two tools for one series are not mixed.
func TestSamplesOfOneFile(t *testing.T) {
	_, w := load(t, `
-- node1_mlx5_0.txt --
NIC statistics:
     rx_out_of_buffer: 5
NIC statistics:
     rx_out_of_buffer: 9
-- node1_hw.txt --
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer:100000
`)
	k := telemetry.Key{Series: telemetry.NICRxOutOfBuffer, Object: "node1/mlx5_0", Priority: -1}
	if d, ok := w.Delta(k); !ok || d != 4 {
		p, _ := w.Points(k)
		t.Errorf("grew by %v (%v): %+v", d, ok, p)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{ // host|device
		"node1_ibstat.txt": "node1|", "node1/ethtool_S.txt": "node1|", "pod1_show_gids.txt": "pod1|", "ibv_devinfo_node2.txt": "node2|",
		"logs/gpu-03/nccl.log": "gpu-03|", "ethtool_S_mlx5_0_before.txt": "|mlx5_0", "node1_mlx5_bond_0.txt": "node1|mlx5_bond_0", "ethtool_S.mlx5_core.txt": "|",
		"001-case/nccl.log": "|", "nccl_2.18.log": "|", "nccl_after_10s.log": "|", "t0/ethtool.txt": "|", "h100_table.txt": "|", "ethtool-ens3np0.txt": "|ens3np0",
		"node1/enp1s0f0/S.txt": "node1|", "run7/node12/x.txt": "node12|", "mlx5_1.txt": "|mlx5_1", "roce-v2/x.txt": "|", "ip-198-51-100-7/x.log": "ip-198-51-100-7|",
		"node1.example.org/x": "node1|", "dmesg.node9.txt": "node9|", "ethtool_S_ens3np0.node3.txt": "node3|ens3np0", "messages.1.txt": "|", "all.v2.txt": "|",
	} {
		if got := hostOf(name) + "|" + deviceOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, tc := range []struct {
		name, head string
		want       Format
	}{
		{"x", "\nnode1:1:1 [0] NCCL INFO Using network IB\n", NCCLLog},
		{"x", "NCCL version 2.26.2 compiled with CUDA 12.4\n", NCCLRAS},
		{"x", "[rank0]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] x\n", PyTorchLog},
		{"x", "$ ethtool -S eth0\nNIC statistics:\n", EthtoolStatistics},
		{"x", "# nThread 1 nGpus 1\n", NCCLTests},
		{"x", "hca_id:\tmlx5_0\n", IBVDevInfo},
		{"x", "CA 'mlx5_0'\n", IBStat},
		{"x", "Infiniband device 'mlx5_0' port 1 status:\n", IBStatus},
		{"x", "mlx5_0 port 1 ==> ens3np0 (Up)\n", IBDev2Netdev},
		{"x", "Pause parameters for eth0:\n", EthtoolPause},
		{"x", "/sys/class/infiniband/mlx5_0/ports/1/rate:400\n", Sysfs},
		{"sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec", Sysfs},
		{"x", "link mlx5_0/1 rx_write_requests 0 out_of_sequence 1\n", RDMAStatistic},
		{"x", "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens3np0\n", RDMALink},
		{"x", "0: mlx5_0: node_type ca fw 28.41.1000\n", RDMALink},
		{"x", "[{\"ifindex\":2,\"ifname\":\"eth0\",\"mtu\":1500}]\n", IPAddr},
		{"x", "[{\"dst\":\"default\",\"dev\":\"eth0\",\"flags\":[]}]", IPRoute},
		{"x", "[{\"ifname\":\"mlx5_0\",\"port\":1,\"out_of_seq", RDMAStatistic},
		{"x", "192.0.2.1 dev eth0 lladdr 02:00:00:00:00:01 STALE\n", IPNeighbors},
		{"x", "Settings for eth0:\n", EthtoolLink},
		{"x", "driver: mlx5_core\n", EthtoolDriver},
		{"x", "FEC parameters for eth0:\n", EthtoolFEC},
		{"x", "\tIdentifier                                : 0x11 (QSFP28)\n", EthtoolModule},
		{"x", "Coalesce parameters for eth0:\n", EthtoolQueues},
		{"x", "Features for eth0:\n", EthtoolFeatures},
		{"x", "DCBX mode: OS controlled\n", QoS},
		{"x", "prio-pfc 0:off 1:off 2:off 3:on\n", DCB},
		{"x", "$ cma_roce_tos -d mlx5_0\n106\n", CMATOS},
		{"x", "Operational Info\n----------------\n", MLXLink},
		{"x", "            CPU0       CPU1\n", Interrupts},
		{"x", "/proc/irq/12/smp_affinity_list:3\n", IRQAffinity},
		{"proc/irq/12/smp_affinity_list", "3", IRQAffinity},
		{"sys/bus/pci/devices/0000:5c:00.0/numa_node", "1", SysfsPCI},
		{"sys/class/net/eth0/mtu", "1500", SysfsNet},
		{"proc/sys/net/core/rmem_max", "1", Sysctl},
		{"x", "available: 2 nodes (0-1)\n", NUMACtl},
		{"x", "Architecture:             x86_64\n", LSCPU},
		{"x", "\tGPU0\tGPU1\tCPU Affinity\n", GPUTopology},
		{"x", "GPU 00000000:1B:00.0\n", GPUQuery},
		{"x", "| NVIDIA-SMI 550.54.15 Driver Version: 550.54.15 CUDA Version: 12.4 |\n", GPUBanner},
		{"x", "GPU 0: NVIDIA H100 (UUID: GPU-0)\n", NVLink},
		{"x", "| Diagnostic                | Result          |\n", DCGM},
		{"x", "    gpuId 0:\n", DCGMLinks},
		{"x", "PING 192.0.2.2 (192.0.2.2) 8972(9000) bytes of data.\n", Ping},
		{"x", "Connecting to host 192.0.2.2, port 5201\n", Iperf},
		{"x", "{\"start\":{},\"end\":{}}", Iperf},
		{"x", "tcp_bw:\n", Qperf},
		{"x", "apiVersion: v1\nkind: Pod\n", Manifest},
		{"x", "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}", Manifest},
		{"x", "[{\"Config\":{},\"HostConfig\":{}}]", DockerInspect},
		{"x", "{\"test_info\":{},\"results\":{}}", Perftest},
		{"x", "{\"config\":{},\"results\":[]}", NCCLTests},
		{"x", "{\"nccl_version\":\"2.28.9\",\"communicators\":[]}", NCCLRAS},
		{"x", "{\"header\":{},\"metadata\":{}}", NCCLInspector},
		{"x", "{\"entries\":[],\"version\":\"2.4\"}", FlightRecorder},
		{"x", "\x80\x02}q\x00.", FlightRecorder},
		{"x", "-+-[0000:c9]-+-00.0  Intel\n", LSPCI},
		{"x", "                    RDMA_Write BW Test\n", Perftest},
		{"x", "<system version=\"1\">\n", Topology},
		{"x", "NCCL_DEBUG=INFO\n", Environment},
		{"x", "2: eth0: <UP> mtu 1500\n", IPAddr},
		{"x", "192.0.2.0/24 dev eth0 scope link\n", IPRoute},
		{"x", "0:\tfrom all lookup local\n", IPRule},
		{"x", "29:01.0 PCI bridge: Broadcom\n", LSPCI},
		{"x", "$ ulimit -l\n", Memlock},
		{"x", "Filesystem Size Used Avail Use% Mounted on\n", DF},
		{"x", "net.ipv4.tcp_rmem = 1\n", Sysctl},
		{"x", "Chain INPUT (policy ACCEPT)\n", IPTables},
		{"x", "NVRM: Xid (PCI:0000:1b:00): 31\n", KernelLog},
		{"x", "Configurations:   Next Boot\n", MLXConfig},
		{"x", "{\n \"SecurityGroupRules\": []\n", SecurityGroups},
		{"x", "  QUEUE  STATUS  STORM DETECTED/RESTORED\n", PFCWatchdog},
		{"x", "  Interface  FEC Oper  FEC Admin\n", FECStatus},
		{"x", "nothing\nof the kind\n", Unknown},
		{"x", "5: from the server: hello\nFailed status 500\nloss: 5\nmlx5_0 Fatal error in my program\n", Unknown},
		{"x", "\x00\x01NCCL INFO", Unknown},
		{"x", "", Unknown},
	} {
		if got := Sniff(tc.name, []byte(tc.head)); got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.name, tc.head, got, tc.want)
		}
	}
}

// Whatever a file holds: no panic, no error, and the file is listed, named as unreadable, or both.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"node1:1:1 [0] NCCL INFO Using network IB\n", "root@a1:~# ethtool -S eth0\nrx_prio3_pause: 1\n==> b <==\n", "node4: CA 'a'\nnode4: Port 1:\n", "\x1f\x8b\x08\x00", "\x1f\x8b\bA0000000", "```\n\x00",
		"$ x\n$ mpirun -x NCCL_A=1 ./all_reduce_perf\n# size count type redop root time algbw busbw #wrong\n8 2 f s -1 1 2 3 0 4 5 6 0\n", "{\n\"SecurityGroups\": [",
	} {
		f.Add("node1_before.txt", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !fs.ValidPath(name) || name == "." || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
			return // a name that no file of a folder has
		}
		inv, w, err := LoadFS(fstest.MapFS{name: &fstest.MapFile{Data: data}})
		if err != nil || w == nil {
			t.Fatal(err)
		}
		if len(inv.Files)+len(inv.Unreadable) == 0 {
			t.Fatal("the file is nowhere")
		}
	})
}

// Switches of other systems: their prompts name them, and where no line names the port the command does.
func TestSwitchShells(t *testing.T) {
	inv, w := load(t, `
-- nxos_before.txt --
leaf1# show interface priority-flow-control
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
Ethernet1/2        Auto On   (8)       100        5
leaf2#show priority-flow-control counters
Port                 RxPfc                TxPfc
Et1/1                1204                    0
cumulus@leaf3:mgmt:~$ nv show interface swp1 counters qos pfc-stats
switch-priority  rx-pause-frames  rx-pause-duration  tx-pause-frames  tx-pause-duration
---------------  ---------------  -----------------  ---------------  -----------------
3                1                0                  7                0                
cumulus@leaf3:mgmt:~$ nv show interface swp2 counters qos -o json
{
  "pfc-stats": {"3": {"rx-pause-frames": 9, "tx-pause-frames": 0}}
}
-- nxos_after.txt --
leaf1# show interface priority-flow-control
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
Ethernet1/2        Auto On   (8)       160        5
`)
	if g, ok := w.Delta(telemetry.Key{Series: telemetry.SwitchPFCRx, Object: "leaf1/Ethernet1/2", Priority: 3}); !ok || g != 60 {
		t.Errorf("%v, %v; %v", g, ok, w.Keys(telemetry.SwitchPFCRx))
	}
	var objects []string
	for _, k := range w.Keys(telemetry.SwitchPFCRx) {
		objects = append(objects, k.Object)
	}
	if want := []string{"leaf1/Ethernet1/2", "leaf2/Ethernet1/1", "leaf3/swp1", "leaf3/swp2"}; !cmp.Equal(want, objects) {
		t.Errorf("%v, %v", objects, files(inv))
	}
	if len(inv.Hosts) != 0 || len(inv.Switches) != 3 {
		t.Errorf("%d hosts, %d switches", len(inv.Hosts), len(inv.Switches))
	}
}
