package joblog

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) *evidence.NCCL {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return &inv.NCCL
}

var told = cmpopts.IgnoreFields(evidence.Event{}, "Text", "Sequence", "From", "Local", "Remote")

// Old and new wording of the watchdog tell the same.
func TestTorch(t *testing.T) {
	n := read(t, `[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4661, NumelOut=4661, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.
[rank3]:[E321 02:07:08.465224069 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 3] Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.
[80746] [rank118]:[E603 17:48:01.005538748 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 118]  failure detected by watchdog at work sequence id: 459 PG status: last enqueued work: 578, last completed work: 458
[rank1]:[E603 17:48:01.005560740 ProcessGroupNCCL.cpp:670] Stack trace of the failed collective not found, potentially because FlightRecorder is disabled.
[rank2]:[F603 17:58:01.0 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0 Rank 2] [PG ID 0 PG GUID 0 Rank 2] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress.
`)
	wantWork := []evidence.WorkState{
		{Rank: 3, Enqueued: 1582, Completed: 1579, At: 1580, From: evidence.Source{File: "f", Line: 2}},
		{Rank: 118, Enqueued: 578, Completed: 458, At: 459, From: evidence.Source{File: "f", Line: 3}},
	}
	if diff := cmp.Diff(wantWork, n.Work); diff != "" {
		t.Error(diff)
	}
	want := []evidence.Event{
		{Kind: evidence.WatchdogTimeout, Rank: 0, Seq: 1580, Elements: 4661, What: "ALLREDUCE", File: "ProcessGroupNCCL.cpp", Time: "321 02:07:08.408271257"},
		{Kind: evidence.OtherWarning, Rank: 2, What: "watchdog got stuck", File: "ProcessGroupNCCL.cpp"},
	}
	if diff := cmp.Diff(want, n.Events, told); diff != "" {
		t.Error(diff)
	}
}

// What older versions say, and what the ranks that did not time out say.
func TestTorchVersions(t *testing.T) {
	n := read(t, `[E ProcessGroupNCCL.cpp:587] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802710 milliseconds before timing out.
[rank4]:[E ProcessGroupNCCL.cpp:1316] [Rank 4] Timeout at NCCL work: 77, last enqueued NCCL work: 80, last completed NCCL work: 76.
[rank6]:[E1101 10:00:00.1 ProcessGroupNCCL.cpp:1282] [PG 0 Rank 6] Received a dump signal due to a collective timeout from rank 5 and we will try our best to dump the debug info. Last enqueued NCCL work: 12, last completed NCCL work: 11. This is most likely caused by incorrect usages.
[rank7]:[E1101 10:00:00.1 ProcessGroupNCCL.cpp:1484] [PG 0 Rank 7] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered
`)
	wantWork := []evidence.WorkState{
		{Rank: 4, Enqueued: 80, Completed: 76, At: 77, From: evidence.Source{File: "f", Line: 2}},
		{Rank: 6, Enqueued: 12, Completed: 11, At: -1, From: evidence.Source{File: "f", Line: 3}},
	}
	if diff := cmp.Diff(wantWork, n.Work); diff != "" {
		t.Error(diff)
	}
	want := []evidence.Event{
		{Kind: evidence.WatchdogTimeout, Rank: 5, What: "ALLREDUCE", File: "ProcessGroupNCCL.cpp"},
		{Kind: evidence.CudaError, Rank: 7, What: "CUDA error: an illegal memory access was encountered", File: "ProcessGroupNCCL.cpp"},
	}
	if diff := cmp.Diff(want, n.Events, told, cmpopts.IgnoreFields(evidence.Event{}, "Time")); diff != "" {
		t.Error(diff)
	}
}

func TestOthers(t *testing.T) {
	n := read(t, `[node1:7391 :0]         ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)
[1737449293.340768] [node3:559607:0]          ib_md.c:287  UCX  ERROR ibv_reg_mr(address=0x7f0000000000, length=8388608, access=0xf) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 8192 kbytes)
[1737449293.340768] [node3:559607:0]      mm_posix.c:206  UCX  ERROR Not enough memory to write total of 4292720 bytes. Please check that /dev/shm or the directory you specified has more available memory.
[1737449293.340768] [node3:559607:0]     parser.c:2033 UCX  INFO  UCX_* env variables: UCX_TLS=rc
[node2:2213736:0:2213736] ib_mlx5_log.c:171  Local protection on mlx5_1:2/IB (synd 0x4 vend 0x51 hw_synd 0/0)
[node1][[38971,1],2][btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 198.51.100.1 failed: Connection refused (111)
[node1][[39817,1],2][btl_tcp_endpoint.c:638:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected process identifier [[39817,1],3]
Sep 04 11:42:31 node3 sharp_am[720665]: Local Port validation failed. error: FabricProvider must bind to port with master SM
Sep 04 11:42:30 node3 sharp_am[720665]: started
[node19:1:28576 unique id 1201360626793454896] ERROR collect_ports_data: device mlx5_0 port 1 is not valid (port is used by SM)
[node18:0:24972 - comm.c:374] ERROR Failed to lock SAT tree(ID:0x40 ret:0x4)
[worker:12:13] ERROR something of a program nobody knows
`)
	want := []evidence.Event{
		{Kind: evidence.CompletionError, Host: "node1", Process: 7391, Rank: -1, Status: 12, Vendor: 0x81, Device: "mlx5_0", DevicePort: 1, What: "UCX", File: "ib_mlx5_log.c"},
		{Kind: evidence.RegisterFailed, Host: "node3", Process: 559607, Rank: -1, Errno: "Cannot allocate memory", What: "ibv_reg_mr", File: "UCX"},
		{Kind: evidence.ShmFailed, Host: "node3", Process: 559607, Rank: -1, Errno: "No space left on device", What: "Not enough memory to write total of 4292720 bytes. Please check that /dev/shm or the directory you specified has more available memory.", File: "UCX"},
		{Kind: evidence.CompletionError, Host: "node2", Process: 2213736, Rank: -1, Status: 4, Vendor: 0x51, Device: "mlx5_1", DevicePort: 2, What: "UCX", File: "ib_mlx5_log.c"},
		{Kind: evidence.ConnectFailed, Host: "node1", Rank: -1, Errno: "Connection refused", Peer: "198.51.100.1", What: "btl_tcp", File: "btl_tcp_endpoint.c"},
		{Kind: evidence.OtherWarning, Host: "node1", Rank: -1, What: "received unexpected process identifier [[39817,1],3]", File: "btl_tcp_endpoint.c"},
		{Kind: evidence.SharpFailed, Host: "node3", Rank: -1, What: "Local Port validation failed. error: FabricProvider must bind to port with master SM"},
		{Kind: evidence.SharpFailed, Host: "node19", Rank: -1, What: "collect_ports_data: device mlx5_0 port 1 is not valid (port is used by SM)"},
		{Kind: evidence.SharpFailed, Host: "node18", Rank: -1, What: "Failed to lock SAT tree(ID:0x40 ret:0x4)"},
	}
	if diff := cmp.Diff(want, n.Events, told); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"x ProcessGroupNCCL y Rank 99999999999999999999 last enqueued work: -5, last completed work: 1", "[a:1 b.c:1 Remote access on  (synd 0x", "[btl_tcp_", "[btl_tcp_] connect() to  failed: ",
		"Traceback (most recent call last):\n x\nValueError", "[rank]: Traceback (most recent call last):\n[rank]: aError: NCCL", "  host      : n\n  rank      : 9(local_rank: \n traceback : Signal 9 (SIGKILL) received by PID 1", "srun: error: a: task 1: Killed", "[client socket has timed out trying to connect to (,)", "[pair.cc: connect []:", "RDMA device: a, LID: 0, (GID_Index 1) fe:80", "(modify QP to RTR timed out", "[a] UCX  ", "[a:1] UCX  ERROR ibv_reg_mr(",
		"sharp_am[", "[:: unique id] ERROR ", "] ERROR ", "[E1 ProcessGroupNCCL Watchdog caught collective operation timeout SeqNum=,OpType=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { read(t, text) })
}

// A device without a driver is kept; a driver whose device need not be there is not.
func TestVerbs(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	text := "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0\nlibibverbs: Warning: couldn't load driver 'libi40iw-rdmav34.so': libi40iw-rdmav34.so: cannot open shared object file\n"
	if err := Parse(strings.NewReader(text), f); err != nil {
		t.Fatal(err)
	}
	if n := len(inv.NCCL.Events); n != 1 || inv.NCCL.Events[0].What != "no verbs provider" || inv.NCCL.Events[0].Device != "/sys/class/infiniband_verbs/uverbs0" {
		t.Errorf("%+v", inv.NCCL.Events)
	}
}

// What a job says before and after NCCL: it could not come together, a transfer engine failed, a process was ended.
func TestBesideNCCL(t *testing.T) {
	n := read(t, `[E615 10:22:44.201245 socket.cpp:1019] [c10d] The client socket has timed out after 600000ms while trying to connect to (192.0.2.9, 46229).
[W615 10:12:44.115245 socket.cpp:752] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).
[rank8]: RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] timed out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215
  what():  [/src/gloo/gloo/transport/tcp/pair.cc:761] connect [127.0.1.1]:60817: Connection refused
E0331 12:03:04.222625 56060 rdma_endpoint.cpp:385] [Handshake] Failed to modify QP to RTR, check mtu, gid, peer lid, peer qp num: Connection timed out [110]
E0624 10:02:33.101221 8111 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, local_nic: mlx5_3, peer_nic: node2:17000@mlx5_1, dest_rkey: 1024, retry_cnt: 0): transport retry counter exceeded
  host      : node7
  rank      : 59 (local_rank: 3)
  exitcode  : -9 (pid: 5124)
  traceback : Signal 9 (SIGKILL) received by PID 5124
srun: error: node8: task 3: Out Of Memory
srun: error: node8: task 4: Exited with exit code 1
slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.
`)
	want := []evidence.Event{
		{Kind: evidence.ConnectFailed, Rank: -1, Peer: "192.0.2.9", Port: 46229, Errno: "timed out", What: "store", File: "socket.cpp"},
		{Kind: evidence.ConnectFailed, Rank: 8, Peer: "127.0.0.1", Port: 14215, Errno: "Connection refused", What: "gloo", File: "pair.cc"},
		{Kind: evidence.ConnectFailed, Rank: -1, Peer: "127.0.1.1", Port: 60817, Errno: "Connection refused", What: "gloo", File: "pair.cc"},
		{Kind: evidence.ModifyQPFailed, Rank: -1, Errno: "Connection timed out"},
		{Kind: evidence.CompletionError, Rank: -1, Status: 12, Device: "mlx5_3", Peer: "node2", File: "worker_pool.cpp"},
		{Kind: evidence.ProcessEnded, Host: "node7", Rank: 59, Process: 5124, What: "SIGKILL", File: "torchrun"},
		{Kind: evidence.ProcessEnded, Host: "node8", Rank: -1, What: "out of memory", File: "slurm"},
		{Kind: evidence.ProcessEnded, Rank: -1, What: "out of memory", File: "slurm"},
	}
	if diff := cmp.Diff(want, n.Events, told); diff != "" {
		t.Error(diff)
	}
}

// The source GID of an engine that moves tensors is told as a QP's.
func TestTransferGID(t *testing.T) {
	n := read(t, `I0331 12:02:38.363528 56056 rdma_context.cpp:125] RDMA device: mlx5_0, LID: 0, GID: (GID_Index 1) fe:80:00:00:00:00:00:00:9e:63:c0:ff:fe:65:ab:90
I0331 12:02:38.363528 56056 rdma_context.cpp:125] RDMA device: mlx5_1, LID: 7, GID: (GID_Index 0) fe:80:00:00:00:00:00:00:9e:63:c0:ff:fe:65:ab:91
`)
	want := []evidence.QPSetup{
		{Device: -1, Name: "mlx5_0", GIDIndex: 1, GID: netip.MustParseAddr("fe80::9e63:c0ff:fe65:ab90"), From: evidence.Source{File: "f", Line: 1}},
		{Device: -1, Name: "mlx5_1", LID: 7, GIDIndex: -1, GID: netip.MustParseAddr("fe80::9e63:c0ff:fe65:ab91"), From: evidence.Source{File: "f", Line: 2}},
	}
	if diff := cmp.Diff(want, n.QPs, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// The exception that ended a program is told; those that repeat what the network's own lines say are not.
func TestExceptions(t *testing.T) {
	n := read(t, `[rank3]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank3]:   File "/app/train.py", line 88, in <module>
[rank0]:   File "/app/train.py", line 88, in <module>
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.
[rank0]: torch.distributed.DistBackendError: NCCL error in: /src/NCCLUtils.hpp:275, remote process exited
Traceback (most recent call last):
  File "/app/data.py", line 12, in __getitem__
    return open(path)
INFO: of another thread
FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-00412.tar'
ValueError: nobody's traceback
Traceback (most recent call last):
  File "/app/x.py", line 1
KeyboardInterrupt
`)
	want := []evidence.Event{
		{Kind: evidence.CudaError, Rank: 3, What: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.", File: "python"},
		{Kind: evidence.ProgramFailed, Rank: -1, What: "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-00412.tar'", File: "python"},
	}
	if diff := cmp.Diff(want, n.Events, told); diff != "" {
		t.Error(diff)
	}
}
