package nccl

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// read parses a log and returns what came of it.
func read(t testing.TB, log string) *evidence.NCCL {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(log), fragment.New(inv, "nccl.log")); err != nil {
		t.Fatal(err)
	}
	return &inv.NCCL
}

// told leaves out of events what every event has, so that a test shows what its line alone tells.
var told = cmp.Options{
	cmpopts.IgnoreFields(evidence.Event{}, "Text", "Sequence", "From", "File", "Process", "Host", "Rank"),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func addr(s string) netip.Addr { return netip.AddrFrom16(netip.MustParseAddr(s).As16()) }

// Whatever a launcher puts before a line, host, process, file and message are the same.
func TestWrappers(t *testing.T) {
	const warn = "node1:815:864 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error"
	for _, tc := range []struct{ name, line, time string }{
		{"bare", warn, ""},
		{"mpirun", "[1,12]<stdout>:" + warn, ""},
		{"mpirun with time", "2025-06-02T16:13:44.884Z: [1,12]<stdout>:" + warn, "2025-06-02T16:13:44.884Z"},
		{"kubectl", "2025-06-02T16:13:44.884123456Z " + warn, "2025-06-02T16:13:44.884123456Z"},
		{"ray", "(RayWorkerWrapper pid=721, ip=192.0.2.7) " + warn, ""},
		{"coloured ray", "\x1b[36m(RayWorkerWrapper pid=721, ip=192.0.2.7)\x1b[0m " + warn, ""},
		{"coloured", "\x1b[0m" + warn + "\x1b[0m", ""},
		{"torchrun", "[rank3]:" + warn, ""},
		{"torchrun with blank", "[rank3]: " + warn, ""},
		{"deepspeed and pdsh", "node1: " + warn, ""},
		{"rank and name", "trainer-0: " + warn, ""},
		{"srun -l", "348: " + warn, ""},
		{"its own time", "[2026-04-22 21:34:20] " + warn, "2026-04-22 21:34:20"},
		{"carriage return", warn + "\r", ""},
		{"progress bar before", " 10%|#   | 1/10\r" + warn, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := read(t, tc.line+"\n")
			want := []evidence.Event{{
				Kind: evidence.AsyncEvent, Host: "node1", Process: 815, Rank: -1, File: "transport/net_ib.cc", What: "port error", Time: tc.time,
				Text: warn, Sequence: 1, From: evidence.Source{File: "nccl.log", Line: 1},
			}}
			if tc.name == "its own time" {
				want[0].Text = "[2026-04-22 21:34:20] " + warn
			}
			if diff := cmp.Diff(want, n.Events, told[1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompletionForms(t *testing.T) {
	const head = "node2:70:71 [0] transport/net_ib.cc:839 NCCL WARN NET/IB"
	for _, tc := range []struct {
		name, msg, oldest, newest string
		want                      evidence.Event
	}{
		{"2.8", " : Got completion with error 12, opcode 0, len 0, vendor err 129", "", "2.19", evidence.Event{Status: 12, Vendor: 129}},
		{"2.10", " : Got completion from peer 192.0.2.9<37948> with error 5, opcode 48, len 0, vendor err 249", "2.10.0", "2.19",
			evidence.Event{Status: 5, Vendor: 249, Peer: "192.0.2.9"}},
		{"zone", " : Got completion from peer fe80::1:2%ib0<53249> with error 4, opcode 32564, len 32564, vendor err 81 (Send)", "2.10.0", "2.19",
			evidence.Event{Status: 4, Vendor: 81, Peer: "fe80::1:2", What: "send"}},
		{"2.18", " : Got completion from peer node3<1024> with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid ::ffff:192.0.2.2 remoteGid ::ffff:192.0.2.3",
			"2.18.0", "2.19", evidence.Event{Status: 12, Vendor: 129, Peer: "node3", What: "recv", Local: addr("192.0.2.2"), Remote: addr("192.0.2.3")}},
		{"2.20 glued", " : Got completion from peer 192.0.2.9<54862> with status=12 opcode=32616 len=0 vendor err 129 (Recv) localGid 2001:db8::22 remoteGids2001:db8::20",
			"2.20.0", "", evidence.Event{Status: 12, Vendor: 129, Peer: "192.0.2.9", What: "recv", Local: addr("2001:db8::22"), Remote: addr("2001:db8::20")}},
		{"2.22", ": Got completion from peer 192.0.2.9<38081> with status=9 opcode=0 len=0 vendor err 138 (Send) localGid ::ffff:192.0.2.2 remoteGids::ffff:192.0.2.3 hca mlx5_4",
			"2.22.3", "", evidence.Event{Status: 9, Vendor: 138, Peer: "192.0.2.9", What: "send", Device: "mlx5_4", Local: addr("192.0.2.2"), Remote: addr("192.0.2.3")}},
		{"2.28", ": Got completion from peer 192.0.2.9<38081> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129  hca mlx5_4",
			"2.28.7", "", evidence.Event{Status: 12, Vendor: 129, Peer: "192.0.2.9", Device: "mlx5_4"}},
		{"GIN", "/GIN: Got completion from peer 192.0.2.9<38081> with status=10 opcode=0 len=0 vendor err 136 (Send) hca mlx5_4",
			"2.22.3", "", evidence.Event{Status: 10, Vendor: 136, Peer: "192.0.2.9", What: "send", Device: "mlx5_4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := read(t, head+tc.msg+"\n")
			tc.want.Kind = evidence.CompletionError
			if diff := cmp.Diff([]evidence.Event{tc.want}, n.Events, told); diff != "" {
				t.Error(diff)
			}
			if n.Oldest != tc.oldest || n.Newest != tc.newest {
				t.Errorf("version between %q and %q, want %q and %q", n.Oldest, n.Newest, tc.oldest, tc.newest)
			}
		})
	}
}

func TestAsyncForms(t *testing.T) {
	const head = "node1:815:864 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : "
	for _, tc := range []struct {
		msg, oldest, newest string
		want                evidence.Event
	}{
		{"Got async event : port error", "", "2.20", evidence.Event{What: "port error"}},
		{"mlx5_0:1 Got async event : local catastrophic error", "2.20.0", "2.23.3", evidence.Event{What: "local catastrophic error", Device: "mlx5_0", DevicePort: 1}},
		{"mlx5_3:2 Got async error event: port error", "2.23.0", "2.28", evidence.Event{What: "port error", Device: "mlx5_3", DevicePort: 2}},
		{"mlx5_ib0:1 async fatal event on QP (0x7f69f01519a8): local access violation work queue error", "2.23.4", "",
			evidence.Event{What: "local access violation work queue error", Device: "mlx5_ib0", DevicePort: 1, Fatal: true}},
		{"mlx5_0:1 Got non-fatal async event: port active(9)", "2.29.0", "", evidence.Event{What: "port active", Device: "mlx5_0", DevicePort: 1}},
		{"mlx5_0:1 GID table changed", "2.28.0", "", evidence.Event{What: "GID table changed", Device: "mlx5_0", DevicePort: 1}},
		{"mlx5_0:1 unknown event type (18)", "", "", evidence.Event{What: "GID table changed", Device: "mlx5_0", DevicePort: 1}},
	} {
		t.Run(tc.msg, func(t *testing.T) {
			n := read(t, head+tc.msg+"\n")
			tc.want.Kind = evidence.AsyncEvent
			if diff := cmp.Diff([]evidence.Event{tc.want}, n.Events, told); diff != "" {
				t.Error(diff)
			}
			if n.Oldest != tc.oldest || n.Newest != tc.newest {
				t.Errorf("version between %q and %q, want %q and %q", n.Oldest, n.Newest, tc.oldest, tc.newest)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, tc := range []struct {
		line string
		want evidence.Event
	}{
		{"misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
			evidence.Event{Kind: evidence.ModifyQPFailed, What: "ibv_modify_qp", Errno: "Connection timed out"}},
		{"misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument errno 22",
			evidence.Event{Kind: evidence.ModifyQPFailed, What: "ibv_modify_qp", Errno: "Invalid argument"}},
		{"misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:192.0.2.1, remote GID ::ffff:192.0.2.2",
			evidence.Event{Kind: evidence.ModifyQPFailed, What: "ibv_modify_qp", Errno: "Connection timed out", Device: "mlx5_5", DevicePort: 1, GIDIndex: 3, HasGIDIndex: true,
				Local: addr("192.0.2.1"), Remote: addr("192.0.2.2")}},
		{"misc/ibvwrap.cc:212 NCCL WARN Call to ibv_open_device failed", evidence.Event{Kind: evidence.DeviceOpenFailed, What: "ibv_open_device"}},
		{"transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device mlx5_2", evidence.Event{Kind: evidence.DeviceOpenFailed, Device: "mlx5_2", What: "ibv_open_device"}},
		{"misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]", evidence.Event{Kind: evidence.NoVerbsLibrary}},
		{"NCCL INFO Failed to open libibverbs.so[.1]", evidence.Event{Kind: evidence.NoVerbsLibrary}},
		{"NCCL INFO NET/IB : No device found.", evidence.Event{Kind: evidence.NoDevice}},
		{"misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
			evidence.Event{Kind: evidence.RegisterFailed, What: "ibv_reg_mr_iova2", Errno: "Cannot allocate memory"}},
		{"include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
			evidence.Event{Kind: evidence.ShmFailed, What: "posix_fallocate", Errno: "No space left on device"}},
		{"misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a1 to 9637892 bytes, error: No space left on device (28)",
			evidence.Event{Kind: evidence.ShmFailed, What: "Error: failed to extend /dev/shm/nccl-a1 to 9637892 bytes, error: No space left on device (28)", Errno: "No space left on device"}},
		{"misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 192.0.2.157<44511> failed : Software caused connection abort",
			evidence.Event{Kind: evidence.ConnectFailed, What: "socketStartConnect", Errno: "Software caused connection abort", Peer: "192.0.2.157", Port: 44511}},
		{"misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to 2001:db8::1d<40861> returned 113(No route to host) errno 11(Resource temporarily unavailable)",
			evidence.Event{Kind: evidence.ConnectFailed, What: "socketPollConnect", Errno: "No route to host", Peer: "2001:db8::1d", Port: 40861}},
		{"NCCL INFO ncclOsSocketPollConnect: connect to 192.0.2.49<58525> returned Connection refused, retrying (34/34) after sleep for 3400 msec",
			evidence.Event{Kind: evidence.ConnectFailed, What: "ncclOsSocketPollConnect", Errno: "Connection refused", Peer: "192.0.2.49", Port: 58525}},
		{"misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<35962>",
			evidence.Event{Kind: evidence.PeerClosed, What: "closed", Peer: "node2", Port: 35962}},
		{"misc/socket.cc:50 NCCL WARN Call to recv from 192.0.2.1<40221> failed : Connection reset by peer",
			evidence.Event{Kind: evidence.PeerClosed, What: "recv", Errno: "Connection reset by peer", Peer: "192.0.2.1", Port: 40221}},
		{"include/socket.h:403 NCCL WARN Net : Connection closed by remote peer 192.0.2.7<35962>",
			evidence.Event{Kind: evidence.PeerClosed, What: "closed", Peer: "192.0.2.7", Port: 35962}},
		{"include/socket.h:409 NCCL WARN Net : Call to recv from 192.0.2.1<40221> failed : Connection reset by peer",
			evidence.Event{Kind: evidence.PeerClosed, What: "recv", Errno: "Connection reset by peer", Peer: "192.0.2.1", Port: 40221}},
		{"transport/net_ib.cc:372 NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument",
			evidence.Event{Kind: evidence.GIDReadFailed, What: "ncclIbRoceGetVersionNum", Errno: "Invalid argument"}},
		{"get_ofi_provider:312 NCCL WARN NET/OFI Could not find any optimal provider", evidence.Event{Kind: evidence.PluginFailed, What: "Could not find any optimal provider"}},
		{"transport/net_ib.cc:655 NCCL WARN NET/IB : collective mismatch error local size 32768 remote 1048576 addr 7f00 rkey 1234",
			evidence.Event{Kind: evidence.CollectiveMismatch, What: "collective mismatch error local size 32768 remote 1048576 addr 7f00 rkey 1234"}},
		{"sharp_plugin.c:302 NCCL WARN SHARP group create: Streaming Tree lock failed (-18)",
			evidence.Event{Kind: evidence.SharpFailed, What: "SHARP group create: Streaming Tree lock failed (-18)"}},
		{"enqueue.cc:100 NCCL WARN Cuda failure 'out of memory'", evidence.Event{Kind: evidence.CudaError, What: "Cuda failure 'out of memory'"}},
		{"transport/net_ib.cc:700 NCCL WARN NET/IB : Attempted to connect incompatible devices: local mlx5_0:1/RoCE remote mlx5_1:1/IB. Try selecting NICs of only one link type using NCCL_IB_HCA",
			evidence.Event{Kind: evidence.OtherWarning, What: "incompatible link layers"}},
		{"proxy.cc:1326 NCCL WARN Socket recv failed", evidence.Event{Kind: evidence.OtherWarning, What: "Socket recv failed"}},
	} {
		t.Run(tc.line, func(t *testing.T) {
			n := read(t, "node1:40:77 [2] "+tc.line+"\n")
			if diff := cmp.Diff([]evidence.Event{tc.want}, n.Events, told); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Lines that healthy jobs print are no events.
func TestBenign(t *testing.T) {
	n := read(t, `
node1:697:739 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.
node1:697:739 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation
node1:697:739 [0] NCCL INFO socketPollConnect: connect to 192.0.2.3<18001> returned Connection refused, retrying (2/34) after sleep for 200 msec
node1:697:739 [0] NCCL INFO Attribute coll of node net not found
node1:697:739 [0] NCCL INFO transport/net.cc:1008 -> 6
node1:697:739 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
node1:697:739 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1a000 - Abort COMPLETE
`)
	if len(n.Events) > 0 {
		t.Errorf("events: %+v", n.Events)
	}
}

func TestSetup(t *testing.T) {
	n := read(t, `NCCL version 2.26.2+cuda12.2
node1:69:73 [3] NCCL INFO NCCL version 2.26.2+cuda12.2
node1:69:73 [3] NCCL INFO Bootstrap: Using eth0:192.0.2.5<0>
node1:69:73 [3] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
node1:69:73 [3] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
node1:69:73 [3] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0
node1:69:73 [3] NCCL INFO NCCL_IB_HCA set to =mlx5_0:1,mlx5_1:1
node1:69:73 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_2+mlx5_3:1/IB/SHARP [RO]; OOB eth0:192.0.2.5<0>
node1:69:73 [3] NCCL INFO Using network IB
node1:69:73 [3] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
node1:69:73 [3] NCCL INFO GPU Direct RDMA Enabled for GPU 3 / HCA 0 (distance 3 <= 5), read 0 mode Default
node1:69:73 [3] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 24.000000/12.000000, type NVL/PIX, sameChannels 1
node1:69:73 [3] NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer
node1:69:73 [3] NCCL INFO ncclCommInitRank comm 0x55 rank 11 nranks 16 cudaDev 3 nvmlDev 3 busId 1a000 commId 0x9a - Init START
node1:69:73 [3] NCCL INFO ncclCommInitRank comm 0x55 rank 11 nranks 16 cudaDev 3 nvmlDev 3 busId 1a000 commId 0x9a - Init COMPLETE
node1:69:99 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error
`)
	at := func(line int) evidence.Source { return evidence.Source{File: "nccl.log", Line: line} }
	want := evidence.NCCL{
		Versions: []evidence.VersionSeen{{Version: "2.26.2", From: at(1)}, {Version: "2.26.2", Host: "node1", From: at(2)}},
		Oldest:   "2.24.0", Newest: "2.28",
		Env: []evidence.EnvVar{
			{Name: "NCCL_IB_GID_INDEX", Value: "3", Host: "node1", From: at(4)},
			{Name: "NCCL_SOCKET_IFNAME", Value: "eth0", Host: "node1", From: at(6)},
			{Name: "NCCL_IB_HCA", Value: "=mlx5_0:1,mlx5_1:1", Host: "node1", From: at(7)},
		},
		Networks: []evidence.NetworkChoice{{Host: "node1", Name: "IB", From: at(9)}},
		Devices: []evidence.DeviceList{{Host: "node1", From: at(8), Devices: []evidence.DeviceUse{
			{Device: "mlx5_0", Port: 1, Layer: "RoCE"}, {Device: "mlx5_2+mlx5_3", Port: 1, Layer: "IB"}}}},
		Sockets: []evidence.SocketChoice{
			{Host: "node1", Use: "bootstrap", Interface: "eth0", Address: netip.MustParseAddr("192.0.2.5"), From: at(3)},
			{Host: "node1", Use: "oob", Interface: "eth0", Address: netip.MustParseAddr("192.0.2.5"), From: at(8)},
		},
		GDR: []evidence.GDRState{
			{Host: "node1", Device: "mlx5_0", Network: "IB", HCA: 0, Distance: -1, Limit: -1, From: at(10)},
			{Host: "node1", Device: "mlx5_0", Enabled: true, GPU: "3", HCA: 0, Distance: 3, Limit: 5, From: at(11)},
		},
		Graph: []evidence.GraphPattern{{Host: "node1", Pattern: 4, Channels: 2, Bandwidth: 24, BandwidthBetween: 12, Type: "NVL/PIX", From: at(12)}},
		Shape: []evidence.ChannelShape{{Host: "node1", Collective: 16, P2P: 8, P2PPerPeer: 2, From: at(13)}},
		Inits: 1, Ranks: 16, HasLog: true,
		Events: []evidence.Event{{
			Kind: evidence.AsyncEvent, Host: "node1", Process: 69, Rank: 11, Device: "mlx5_0", DevicePort: 1, What: "port error", File: "transport/net_ib.cc",
			Text: "node1:69:99 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error", Sequence: 1, From: at(16),
		}},
	}
	if diff := cmp.Diff(&want, n, told[1]); diff != "" {
		t.Error(diff)
	}
}

func TestOldSockets(t *testing.T) {
	n := read(t, `node1:1:1 [0] NCCL INFO Bootstrap : Using [0]eth0:192.0.2.1<0> [1]docker0:198.51.100.1<0>
node1:1:1 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>
node1:1:1 [0] NCCL INFO NET/Socket : 2 interfaces found
node1:1:1 [0] NCCL INFO NET/Socket : Using [0]bond0:fe80::1%bond0<0>
`)
	var got []string
	for _, s := range n.Sockets {
		got = append(got, fmt.Sprint(s.Use, " ", s.Interface, " ", s.Address))
	}
	want := []string{"bootstrap eth0 192.0.2.1", "bootstrap docker0 198.51.100.1", "data lo 127.0.0.1", "data bond0 fe80::1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n.Newest != "2.7" {
		t.Errorf("newest %q, want 2.7: several interfaces in brackets", n.Newest)
	}
}

// The words of a GID are printed as numbers of a little-endian machine.
func TestQPs(t *testing.T) {
	n := read(t, `node1:1:1 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 58 mtu 3 GID 3 (0/A1000002C0FFFF0000)
node1:1:1 [0] NCCL INFO NET/IB: IbDev 1 Port 1 qpn 59 mtu 5 query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0} GID 3 (0/110200C0FFFF0000) fifoRkey=0x1 fifoLkey=0x1
node1:1:1 [0] NCCL INFO NET/IB: IbDev 1 Port 1 qpn 60 mtu 5 query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0} GID 3 (0/110200C0FFFF0000) fifoRkey=0x2 fifoLkey=0x2
node1:1:1 [0] NCCL INFO NET/IB: NCCL Dev 2 IbDev 3 Port 1 qp_num 61 mtu 5 LID 12 subnet-prefix 33022  FLID 0 fifoRkey=0x1 fifoLkey=0x1
`)
	at := func(line int) evidence.Source { return evidence.Source{File: "nccl.log", Line: line} }
	want := []evidence.QPSetup{
		{Host: "node1", Device: 0, MTU: 1024, GIDIndex: 3, From: at(1)}, // 18 digits are no word
		{Host: "node1", Device: 1, MTU: 4096, GIDIndex: 3, GID: addr("192.0.2.17"), ECE: true, ECEOptions: "0x30000002", From: at(2)},
		{Host: "node1", Device: 3, MTU: 4096, GIDIndex: -1, LID: 12, From: at(4)},
	}
	if diff := cmp.Diff(want, n.QPs, told[1]); diff != "" {
		t.Error(diff)
	}
}

func TestChannels(t *testing.T) {
	for _, tc := range []struct{ name, log, oldest, newest string }{
		{"2.6", "Ring 00 : 51[3d000] -> 56[1a000] [receive] via NET/IB/2\nRing 00 : 56[1a000] -> 58[3e000] via P2P/IPC\nRing 00 : 56[1a000] -> 58[3e000] via direct shared memory\nRing 01 : 56[1a000] -> 3[3e000] [send] via NET/IB/0/GDRDMA", "", "2.6"},
		{"2.12", "Channel 00 : 51[3d000] -> 56[1a000] [receive] via NET/IB/2\nChannel 00 : 56[1a000] -> 58[3e000] via P2P/IPC\nChannel 00 : 56[1a000] -> 58[3e000] via SHM/direct/direct\nChannel 01 : 56[1a000] -> 3[3e000] [send] via NET/IB/0/GDRDMA/Shared", "", "2.18.2"},
		{"2.26", "Channel 00/02 :    0   1   2   3\nChannel 00/0 : 51[1] -> 56[1] [receive] via NET/IB/2(8)\nChannel 00/0 : 56[1] -> 58[1] via P2P/CUMEM/read\nChannel 00/0 : 56[1] -> 58[1] via SHM/direct/direct\nChannel 01/0 : 56[1] -> 3[1] [send] via NET/IB/0/GDRDMA(PCI)", "2.18.3", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log strings.Builder
			for l := range strings.SplitSeq(tc.log, "\n") {
				log.WriteString("node7:72:74 [0] NCCL INFO " + l + "\n")
			}
			n := read(t, log.String())
			want := []evidence.ChannelCount{{Host: "node7", Via: "NET/IB", GDR: 1, Total: 2}, {Host: "node7", Via: "P2P", Total: 1}, {Host: "node7", Via: "SHM", Total: 1}}
			if diff := cmp.Diff(want, n.Channels, cmpopts.IgnoreFields(evidence.ChannelCount{}, "Example")); diff != "" {
				t.Error(diff)
			}
			if n.Oldest != tc.oldest || n.Newest != tc.newest {
				t.Errorf("version between %q and %q, want %q and %q", n.Oldest, n.Newest, tc.oldest, tc.newest)
			}
		})
	}
	n := read(t, "node7:72:74 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/1/GDRDMA\n")
	if n.Channels[0].Via != "NET/AWS Libfabric" || n.Channels[0].GDR != 1 {
		t.Errorf("plugin with a blank in its name: %+v", n.Channels)
	}
}

func TestRASReport(t *testing.T) {
	n := read(t, `NCCL version 2.26.2 compiled with CUDA 12.4
CUDA runtime version 12040, driver version 12040

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1        32         8       256       256   RUNNING      OK
    1         2         1         8         8        16    FINALIZE  MISMATCH

Errors
======
`)
	want := []evidence.RASStatus{
		{Status: "RUNNING", Errors: "OK", From: evidence.Source{File: "nccl.log", Line: 9}},
		{Status: "FINALIZE", Errors: "MISMATCH", From: evidence.Source{File: "nccl.log", Line: 10}},
	}
	if diff := cmp.Diff(want, n.RAS); diff != "" {
		t.Error(diff)
	}
	if n.HasLog {
		t.Error("a report was taken for a log")
	}
	if len(n.Versions) != 1 || n.Versions[0].Version != "2.26.2" {
		t.Errorf("versions %+v", n.Versions)
	}
}

func TestVersionInTorchError(t *testing.T) {
	n := read(t, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled system error, NCCL version 2.20.5\n")
	if len(n.Versions) != 1 || n.Versions[0].Version != "2.20.5" {
		t.Errorf("versions %+v", n.Versions)
	}
}

// A link that breaks ten thousand times leaves the first events and a count.
func TestEventsAreBounded(t *testing.T) {
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, "node1:815:%d [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n", i+1)
	}
	log.WriteString("node2:1:2 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n")
	n := read(t, log.String())
	if len(n.Events) != fragment.MaxEvents+1 || n.Events[fragment.MaxEvents].Host != "node2" || n.Events[fragment.MaxEvents].Sequence != 1001 {
		t.Errorf("%d events, last %+v", len(n.Events), n.Events[len(n.Events)-1])
	}
	want := []evidence.MoreEvents{{Kind: evidence.AsyncEvent, Host: "node1", Count: 1000 - fragment.MaxEvents}}
	if diff := cmp.Diff(want, n.More); diff != "" {
		t.Error(diff)
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"node1:815:864 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error",
		"node1:1:1 [0] NCCL INFO NET/IB: IbDev 1 Port 1 qpn 59 mtu 5 query_ece={supported=1, options=0x3} GID 3 (0/110200C0FFFF0000)",
		"a:1:1 [0] NCCL INFO Channel 00/0 : 9[1] -> 1[1] [send] via NET/IB/1(8)/GDRDMA",
		"NCCL version 2.26.2 compiled with CUDA 12.4\nGroup  Comms  Status  Errors\n 0 1 32 8 256 256 RUNNING OK",
		"a:1:1 [0] x NCCL WARN Call to ibv_modify_qp failed with 110 a, on dev b:1, local GID index 3, local GID ::1, remote GID ::2",
		"a:1:1 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer a<1> with status=A(12) vendor_err=1 localGid ::1 remoteGids::2 hca x",
		"]:NCCL INFO ", "::1 NCCL WARN ", "[0] NCCL INFO GPU Direct RDMA Disabled for GPU 1 / HCA 0 (distance 5 > 4)",
		"a:1:1 [0] NCCL INFO NET/IB : Using [0]a:1/b [x]; OOB a:b<0>", "a:1:1 [0] NCCL INFO Pattern 4, bw /, type", "1:2 [3] NCCL INFO comm 0x1 rank 1 nranks 99999999999999999999",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		inv := &evidence.Inventory{}
		if err := Parse(strings.NewReader(string(log)), fragment.New(inv, "f")); err != nil {
			t.Fatal(err)
		}
		n := &inv.NCCL
		if got, most := len(n.Events)+len(n.Env)+len(n.QPs)+len(n.Sockets)+len(n.Channels), 8*len(log)+8; got > most {
			t.Fatalf("%d records out of %d bytes", got, len(log))
		}
	})
}

// A log as a large job writes it: mostly channels, some set-up, and lines of the training program between.
func BenchmarkLog(b *testing.B) {
	var log strings.Builder
	for rank := range 512 {
		p := fmt.Sprintf("node%d:%d:%d [%d] NCCL INFO ", rank/8, 1000+rank%8, 2000+rank%8, rank%8)
		log.WriteString(p + "NCCL_IB_GID_INDEX set by environment to 3.\n")
		log.WriteString(p + "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_2:1/RoCE [3]mlx5_3:1/RoCE [RO]; OOB eth0:192.0.2.5<0>\n")
		for c := range 16 {
			fmt.Fprintf(&log, "%sChannel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", p, c, rank, rank%8, (rank+8)%512, rank%8, c%4)
			fmt.Fprintf(&log, "%sNET/IB: NCCL Dev %d IbDev %d Port 1 qpn %d mtu 5 query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0} GID 3 (0/110200C0FFFF0000) fifoRkey=0x%x fifoLkey=0x1\n", p, c%4, c%4, rank*16+c, c)
			fmt.Fprintf(&log, "iteration %d loss 2.31 tokens per second 41231 step time 0.412 s learning rate 3.0e-4 grad norm 0.91\n", c)
		}
		log.WriteString(p + "Connected all rings\n")
	}
	text := log.String()
	lines := strings.Count(text, "\n")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if n := read(b, text); n.Channels[0].Total != 8*16 {
			b.Fatal(n.Channels[0])
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// An exception alone still tells what NCCL reported last; beside a log it says nothing new.
func TestLastError(t *testing.T) {
	const exception = `torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, remote process exited or there was a network error, NCCL version 2.19.3
ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
Last error:
NET/IB : Got completion from peer 192.0.2.1<42110> with error 12, opcode 0, len 0, vendor err 129
Traceback
`
	n := read(t, exception)
	if len(n.Events) != 1 || n.Events[0].Kind != evidence.CompletionError || n.Events[0].Status != 12 || n.Events[0].From.Line != 4 {
		t.Errorf("%+v", n.Events)
	}
	n = read(t, "node1:1:1 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 192.0.2.1<42110> with error 12, opcode 0, len 0, vendor err 129\n"+exception)
	if len(n.Events) != 1 || n.Events[0].Host != "node1" {
		t.Errorf("%+v", n.Events)
	}
}

// The head of a table speaks of versions and is no banner.
func TestNoBanner(t *testing.T) {
	for line, want := range map[string]Source{"NCCL version 2.26.2+cuda12.2": LogLine, "| NCCL version | busbw |": None, "NCCL version": None} {
		inv := &evidence.Inventory{}
		if got := NewLog(inv, fragment.NewEvents(), true).Line(fragment.New(inv, "f"), []byte(line), 1); got != want || inv.NCCL.HasLog != (want == LogLine) {
			t.Errorf("%q is %q", line, got)
		}
	}
}
