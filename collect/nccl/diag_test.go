package nccl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func TestDiagnostics(t *testing.T) {
	const report = `node1:12345 NCCL DIAG === RAS Diagnostics ===
node1:12345 NCCL DIAG [OK]   GPU inventory: 8x NVIDIA H100 per node consistent across 8 ranks in comm 0x1234
0: node1.example:12345 NCCL DIAG [INFO] NCCL environment: mismatch across 8 ranks in comm 0x1234 for NCCL_IB_HCA
[0]<stdout>:node1:12345 NCCL DIAG [INFO] NCCL environment: NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 on rank(s) {0,1,2,3}
node1:12345 NCCL DIAG [INFO] NCCL environment: NCCL_IB_HCA=(unset) on rank(s) {4,5,6,7,8,9,10,11,...} (N=60)
node1:12345 NCCL DIAG [INFO] NCCL environment: 1 NCCL_* env var(s) differ across ranks in comm 0x1234
node1:12345 NCCL DIAG [INFO] Net device mlx5_0:1: rank(s) {8} differ from rank 0 (net device type=Host, speed=400000 Mbps, link layer=Ethernet, state=ACTIVE/LinkUp) across 2 of 2 nodes in comm 0x1234
node1:12345 NCCL DIAG [INFO] Net device: not inspected across 8 ranks in comm 0x1234 (the plugin exposed no device, or no device could be queried)
node1:12345 NCCL DIAG [INFO] SXid 20009 detected 3 times (NVSwitch driver reported Non-fatal, link(s) {4,5}) on host node3. See the documentation
node1:12345 NCCL DIAG [OK]   Xid/SXid: no events requiring immediate attention across 2 hosts
NCCL DIAG [INFO] p2p: only 52/56 GPU-to-GPU peer accesses passed verification
node1:12345 NCCL DIAG ERROR: diagnostics summary failed (3)
node1:12345 NCCL DIAG RAS diagnostics completed in 12.3 ms across 8 RAS peers
`
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(report), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range inv.NCCL.Diagnostics {
		got = append(got, fmt.Sprintf("%d %s|%s|%v|%.30s|%s|%v of %d|%s=%s", d.From.Line, d.Host, d.Check, d.OK, d.Text, d.Comm, d.Ranks, d.Of, d.Name, d.Value))
	}
	want := []string{
		"2 node1|GPU inventory|true|8x NVIDIA H100 per node consis|1234|[] of 0|=",
		"3 node1|NCCL environment|false|mismatch across 8 ranks in com|1234|[] of 0|=",
		"4 node1|NCCL environment|false|NCCL_IB_HCA==mlx5_0:1,mlx5_1:1||[0 1 2 3] of 4|NCCL_IB_HCA==mlx5_0:1,mlx5_1:1",
		"5 node1|NCCL environment|false|NCCL_IB_HCA=(unset) on rank(s)||[4 5 6 7 8 9 10 11] of 60|NCCL_IB_HCA=(unset)",
		"6 node1|NCCL environment|false|1 NCCL_* env var(s) differ acr|1234|[] of 0|=",
		"7 node1|Net device mlx5_0:1|false|rank(s) {8} differ from rank 0|1234|[8] of 1|=",
		"8 node1|Net device|false|not inspected across 8 ranks i|1234|[] of 0|=",
		"9 node1|Xid/SXid|false|SXid 20009 detected 3 times (N||[] of 0|=",
		"10 node1|Xid/SXid|true|no events requiring immediate ||[] of 0|=",
		"11 |p2p|false|only 52/56 GPU-to-GPU peer acc||[] of 0|=",
		"12 node1|diagnostics|false|diagnostics summary failed (3)||[] of 0|=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if inv.NCCL.HasLog {
		t.Error("a report of diagnostics counts as a log")
	}
}

func TestMonitor(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	l := NewLog(inv, fragment.NewEvents(), false)
	for i, tc := range []struct {
		line string
		want Source
	}{
		{"RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...", RASReport},
		{"[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 192.0.2.7 managing GPU 1", RASReport},
		{"[2025-12-19 13:07:09] PEER_RECOVERED: Process 7 on node 192.0.2.8 managing GPUs 0-1", RASReport},
		{"[2025-12-19 13:07:09] Loss: Process 7 on node 192.0.2.8", None},
		{"[2025-12-19 13:07:09] STEP: 7", None},
		{"[2025-12-19 13:07:09]", None},
	} {
		if got := l.Line(f, []byte(tc.line), i+1); got != tc.want {
			t.Errorf("%q is of %q, want %q", tc.line, got, tc.want)
		}
	}
	if err := ReadRASEvent(f, []byte(`{"timestamp":"2025-12-19 13:07:08","group":"LIFECYCLE","event":"PEER_DEAD","peer":{"host":"192.0.2.9","pid":9,"cuda_devs":[0,1],"nvml_devs":[0,1]},"details":""}`), 7); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range inv.NCCL.RASEvents {
		got = append(got, fmt.Sprint(e.Time, " ", e.Event, " ", e.Peer.Process, " ", e.Peer.Host, " GPU ", e.Peer.GPU, " line ", e.From.Line))
	}
	for _, r := range inv.NCCL.RASReports {
		for _, p := range r.Lost {
			got = append(got, fmt.Sprint("lost ", p.Process, " ", p.Host, " dead ", p.Dead))
		}
	}
	want := []string{
		"2025-12-19 13:07:07 PEER_DEAD 1524345 192.0.2.7 GPU 1 line 2", "2025-12-19 13:07:09 PEER_RECOVERED 7 192.0.2.8 GPU -1 line 3", "2025-12-19 13:07:08 PEER_DEAD 9 192.0.2.9 GPU -1 line 7",
		"lost 1524345 192.0.2.7 dead true", "lost 9 192.0.2.9 dead true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzDiagnostics(f *testing.F) {
	f.Add("a:1 NCCL DIAG [INFO] x: {1,2,...} (N=9) comm 0xff")
	f.Add("[2025-12-19 13:07:07] PEER_DEAD: Process 1 on node x managing GPU 1")
	f.Fuzz(func(t *testing.T, text string) {
		inv := &evidence.Inventory{}
		if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
			t.Fatal(err)
		}
		for _, d := range inv.NCCL.Diagnostics {
			if d.Of < 0 || len(d.Ranks) > 0 && d.Of == 0 && !strings.Contains(text, "N=0") {
				t.Errorf("%+v", d)
			}
		}
		_ = ReadRASEvent(fragment.New(inv, "f"), []byte(text), 1)
	})
}
