package nccl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const rasText = `NCCL version 2.28.9+cuda12.9 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          8            1         16       16

Communicators... (2.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       7-8        16        15   RUNNING  INCOMPLETE,ERROR,MISMATCH
    1         4         1         4         4        16   RUNNING      OK

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 8842 on node 192.0.2.7 managing GPU 3

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 8843 on node 192.0.2.7 managing GPU 4

#0-0 (27a079b828ff1a75) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 11 -- GPU 3 managed by process 8842 on node 192.0.2.7

#0-0 (27a079b828ff1a75) ERROR
  Asynchronous error on 1 rank
  Rank 2 reported Remote process error -- GPU 2 managed by process 7001 on node 192.0.2.6

Warnings
========

TIMEOUT
  Encountered 3 communication timeouts while gathering communicator data

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different status
  14 ranks have status RUNNING
  Rank 5 has status ABORT -- GPU 5 managed by process 7004 on node 192.0.2.6
  Communicator ranks have different AllReduce operation counts
  12 ranks have launched up to operation 120
  2 ranks have launched up to operation 118
  Rank 7 -- GPU 7 managed by process 7006 on node 192.0.2.6
  Rank 8 -- GPU 0 (NVML 4) managed by process 8839 on node 192.0.2.7
  Rank 9 has not launched any operations -- GPU 1 managed by process 8840 on node 192.0.2.7

`

func ranks(list []evidence.RASRank) (out []string) {
	for _, r := range list {
		out = append(out, fmt.Sprint(r.Rank, "/", r.GPU, "@", r.Host, ":", r.Process, " ", r.Status, r.Error, " ", r.Unresponsive, r.Dead, " line ", r.From.Line))
	}
	return out
}

func mismatches(list []evidence.RASMismatch) (out []string) {
	for _, m := range list {
		named := ""
		for _, r := range m.Named {
			named += fmt.Sprint(" ", r.Rank)
		}
		out = append(out, fmt.Sprint(m.Kind, ": ", m.Ranks, " upto ", m.Upto, " ", m.State, named))
	}
	return out
}

func TestRASText(t *testing.T) {
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(rasText), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	n := inv.NCCL
	if len(n.RAS) != 2 || n.RAS[0].Errors != "INCOMPLETE,ERROR,MISMATCH" || n.RAS[1].Status != "RUNNING" || len(n.RASReports) != 1 || n.HasLog {
		t.Fatalf("%+v, %d reports", n.RAS, len(n.RASReports))
	}
	s := n.RASReports[0]
	if got := fmt.Sprint(s.Nodes, s.Processes, s.GPUs, s.Timeouts, s.From.Line); got != "2 16 16 3 1" {
		t.Error(got)
	}
	want := []string{
		"-1/3@192.0.2.7:8842  true false line 24", "-1/4@192.0.2.7:8843  true true line 28", "11/3@192.0.2.7:8842  true false line 32",
		"2/2@192.0.2.6:7001 Remote process error false false line 36",
	}
	if diff := cmp.Diff(want, ranks(s.Lost)); diff != "" {
		t.Error(diff)
	}
	want = []string{"status: 14 upto 0 RUNNING", "status: 1 upto 0 ABORT 5", "AllReduce: 12 upto 120 ", "AllReduce: 2 upto 118  7 8", "AllReduce: 1 upto 0  9"}
	if diff := cmp.Diff(want, mismatches(s.Mismatches)); diff != "" {
		t.Error(diff)
	}
}

// A report ends where something else begins, and the counts of unequal nodes stand in a table of their own.
func TestRASParts(t *testing.T) {
	inv := &evidence.Inventory{}
	text := "Job summary\n===========\n\n  Nodes  Processes         GPUs\n          per node  per process\n      3          8            1\n      1          7            1\n\n  Nodes  Processes         GPUs\n(total)    (total)      (total)\n      4         31           31\nstep 5 loss 2.1\n    9 other\n"
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	s := inv.NCCL.RASReports[0]
	if s.Nodes.Or(0) != 4 || s.Processes.Or(0) != 31 || s.GPUs.Or(0) != 31 {
		t.Errorf("%+v", s)
	}
}

func TestRASJSON(t *testing.T) {
	inv := &evidence.Inventory{}
	rank := func(r, allReduce int, status string) string {
		return fmt.Sprintf(`{"rank":%d,"host":"192.0.2.%d","pid":%d,"cuda_dev":%d,"nvml_dev":0,"status":{%s},"collective_counts":{"AllReduce":%d,"Broadcast":1}}`, r, 6+r/2, 7000+r, r%2, status, allReduce)
	}
	running := `"init_state":0,"async_error":0,"finalize_called":false,"destroy_flag":false,"abort_flag":false`
	text := `{"nccl_version":"2.28.9","communicators_count":2,"communicators":[
	{"hash":"0x27a0","size":4,"ranks":[` + rank(0, 120, running) + `,` + rank(1, 120, `"init_state":0,"async_error":6`) + `,` + rank(2, 118, running) + `],
	 "missing_ranks":[{"rank":3,"host":"192.0.2.7","pid":7003,"cuda_dev":1,"status":{"unresponsive":true,"considered_dead":true}}]},
	{"hash":"0x1","size":2,"ranks":[` + rank(0, 5, running) + `,` + rank(1, 5, running) + `],"missing_ranks":[]}],
	"ras":{"collection_time_sec":2.0,"timeouts_count":1}}`
	if err := ReadRAS(fragment.New(inv, "f"), []byte(text), 4); err != nil {
		t.Fatal(err)
	}
	n := inv.NCCL
	at := evidence.Source{File: "f", Line: 4}
	if diff := cmp.Diff([]evidence.RASStatus{{Status: "RUNNING", Errors: "INCOMPLETE,ERROR,MISMATCH", From: at}, {Status: "RUNNING", Errors: "OK", From: at}}, n.RAS); diff != "" {
		t.Error(diff)
	}
	s := n.RASReports[0]
	if diff := cmp.Diff([]string{"1/1@192.0.2.6:7001 RUNNINGRemote process error false false line 4", "3/1@192.0.2.7:7003 NOCOMM true true line 4"}, ranks(s.Lost)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"AllReduce: 1 upto 118  2", "AllReduce: 2 upto 120  0 1"}, mismatches(s.Mismatches)); diff != "" {
		t.Error(diff)
	}
	if s.Timeouts != 1 || len(n.RASComms) != 2 || n.RASComms[0].Size != 4 || len(n.Versions) != 1 {
		t.Errorf("%+v, %+v", s, n.RASComms)
	}
	if c, ok := n.RASComms[0].Ranks[2].Launched("AllReduce"); !ok || c != 118 {
		t.Errorf("rank 2 launched %d, %v", c, ok)
	}
}

func TestInspector(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	for i, text := range []string{
		`{"header":{"id":"0x7f8c","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","hostname":"node1.example.org","pid":16},"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,"coll_algobw_gbs":277.21,"coll_busbw_gbs":485.1}}`,
		`{"header":{"id":"0x7f8c","rank":0,"n_ranks":8},"metadata":{"hostname":"node1"},"coll_perf":{"coll":"ReduceScatter","coll_sn":2,"coll_msg_size_bytes":65536,"coll_exec_time_us":110.5,"coll_algo":"RING","coll_proto":"LL"}}`,
		`{"header":{"id":"0x1","rank":3,"n_ranks":4},"metadata":{"hostname":"node2"},"p2p_perf":{"p2p":"Send","p2p_sn":9,"p2p_peer":1,"p2p_msg_size_bytes":1024,"p2p_exec_time_us":7,"p2p_algobw_gbs":0.1,"p2p_busbw_gbs":0.1}}`,
		`{"header":{"id":"0x1","rank":3,"n_ranks":4},"metadata":{"hostname":"node2"},"dump_stats":{}}`,
	} {
		if err := ReadInspector(f, []byte(text), i+1); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range inv.Calls {
		got = append(got, fmt.Sprint(c.Host, " ", c.Rank, "/", c.Ranks, " ", c.Kind, " ", c.Seq, " ", int64(c.Bytes), " ", c.Time, " ", c.BusBW, " ", c.Algorithm, " ", c.Protocol, " ", c.Peer, " ", c.From.Line))
	}
	want := []string{"node1 2/8 all_reduce 1407 17179869184 61.974ms 485.1   unknown 1", "node1 0/8 reduce_scatter 2 65536 110.5us 0 ring LL unknown 2", "node2 3/4 send 9 1024 7us 0.1   1 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The same choice in the words of three versions.
func TestTuning(t *testing.T) {
	inv := &evidence.Inventory{}
	text := `node1:1:1 [0] NCCL INFO 4194304 Bytes -> Algo 1 proto 2 time 123.456
node1:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 0 proto 0 channel{Lo..Hi}={0..0}
node1:1:1 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}
node1:1:1 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}
node1:1:1 [0] NCCL INFO AllReduce: 64 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..15}
node1:1:2 [1] NCCL INFO AllReduce: opCount 5a sendbuff 0x7f00 recvbuff 0x7f00 count 1048576 datatype 7 op 0 root 0 comm 0x55 [nranks=8] stream 0x1
node1:1:2 [1] NCCL INFO AllReduce: opCount 5b sendbuff 0x7f00 recvbuff 0x7f00 count 1048576 datatype 7 op 0 root 0 comm 0x55 [nranks=8] stream 0x1
`
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range inv.NCCL.Tuning {
		got = append(got, fmt.Sprint(c.Collective, " ", int64(c.Bytes), " ", c.Algorithm, " ", c.Protocol, " ", c.Channels, " x", c.Count))
	}
	want := []string{" 4194304 Ring Simple 0 x1", "AllReduce 8 Tree LL 1 x1", "AllReduce 4194304 Ring Simple 8 x2", "AllReduce 64 NVLSTree LL128 16 x1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]evidence.CallSeen{{Host: "node1", Collective: "AllReduce", Elements: 1048576, Type: 7, Ranks: 8, Count: 2, LastOp: 0x5b, From: evidence.Source{File: "f", Line: 6}}}, inv.NCCL.CallsSeen); diff != "" {
		t.Error(diff)
	}
}

func TestNVLS(t *testing.T) {
	inv := &evidence.Inventory{}
	text := "node1:1:1 [0] NCCL INFO NVLS multicast support is available on dev 0\nnode1:1:2 [1] NCCL INFO NVLS multicast support is available on dev 1\nnode2:1:1 [0] NCCL INFO NVLS multicast support is not available on dev 0\n"
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range inv.Settings {
		got = append(got, fmt.Sprint(s.Name, " ", s.Object, " ", s.Value, " ", s.From.Line))
	}
	if diff := cmp.Diff([]string{"nccl.nvls node1 available 1", "nccl.nvls node2 not available 3"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzRAS(f *testing.F) {
	f.Add([]byte(rasText))
	f.Add([]byte(`{"communicators":[{"hash":"x","ranks":[{"status":{"init_state":99}}],"missing_ranks":[{}]}],"coll_perf":{"coll_exec_time_us":1e300},"header":{}}`))
	f.Add([]byte("a:1:1 [0] NCCL INFO x: 1 Bytes -> Algo 99 proto x channel{Lo..Hi}={5..1}\na:1:1 [0] NCCL INFO B: opCount zz count 1 datatype 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		fr := fragment.New(inv, "f")
		if err := Parse(strings.NewReader(string(text)), fr); err != nil {
			t.Fatal(err)
		}
		_, _ = ReadRAS(fr, text, 1), ReadInspector(fr, text, 1) // an error is one of the answers
	})
}
