package htsim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// smallFabric has two leaves of four hosts and two spines.
func smallFabric() *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 4, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

const chain = `Nodes 8
Connections 5
Triggers 2
3->4 id 12 trigger 2 size 300
0->1 id 10 start 0 size 100 send_done_trigger 1
1->2 id 11 trigger 1 size 5000000000 recv_done_trigger 2
7->6 start 2.5 size 50 recv_done_trigger 2 prio 4
5->6 id 13 trigger 2 size 60
trigger id 1 oneshot
trigger id 2 barrier count 2
`

func mustMatrix(t *testing.T, src string) *Matrix {
	t.Helper()
	m, err := ReadMatrix("f.cm", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustJob(t *testing.T, src string, o Options) *Job {
	t.Helper()
	j, err := mustMatrix(t, src).Job(smallFabric(), o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// waits tells which flows, by their index, flow i waits for, directly or through operations that are no flow.
func waits(j *Job, i int) []int {
	flowOf := map[workload.OpID]int{}
	for k, f := range j.Flows {
		flowOf[f.Last] = k
	}
	before := make([][]workload.OpID, len(j.Plan.Ops))
	for op := range j.Plan.Ops {
		for _, d := range j.Plan.Dependants(workload.OpID(op)) {
			before[d] = append(before[d], workload.OpID(op))
		}
	}
	var out []int
	var walk func(op workload.OpID)
	walk = func(op workload.OpID) {
		for _, b := range before[op] {
			if k, ok := flowOf[b]; ok {
				out = append(out, k)
			} else {
				walk(b)
			}
		}
	}
	walk(j.Flows[i].First)
	return out
}

func TestTriggers(t *testing.T) {
	j := mustJob(t, chain, Options{StartUnit: units.Microsecond, Priority: 3})
	var got [][]int
	for i := range j.Flows {
		got = append(got, waits(j, i))
	}
	if diff := cmp.Diff([][]int{{3, 2}, nil, {1}, nil, {3, 2}}, got, cmpopts.SortSlices(func(a, b int) bool { return a < b })); diff != "" {
		t.Errorf("who waits for whom:\n%s", diff)
	}
	if f := j.Flows[2]; f.Bytes != 5_000_000_000 || f.Src != 1 || f.Dst != 2 || f.ID != 11 {
		t.Errorf("flow %+v", f)
	}
	if op := j.Plan.Ops[j.Flows[3].First]; op.At != 2500*units.Nanosecond || op.Priority != 3 {
		t.Errorf("op %+v", op)
	}
}

// A sender knows that it is done when an acknowledgement has come back.
func TestSendDoneWaitsForTheWayBack(t *testing.T) {
	src := "Nodes 8\n0->5 start 0 size 1000000 send_done_trigger 1\n0->6 id 2 trigger 1 size 1000\ntrigger id 1 oneshot\n"
	begin := func(o Options) units.Duration {
		f := smallFabric()
		j := mustJob(t, src, o)
		c := netsim.Defaults(netsim.Config{NIC: netsim.NICConfig{Control: "none"}})
		net, err := netsim.New(f, j.Plan, c)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := net.RunUntil(units.At(int64(units.Second))); !done || err != nil {
			t.Fatal(done, err)
		}
		first, _, _ := j.Flows[0].Times(net.Ops())
		second, _, _ := j.Flows[1].Times(net.Ops())
		return second.Sub(first)
	}
	with, without := begin(Options{}), begin(Options{NoAcks: true})
	// Four links of 1 us, and 64 B headers at 100 Gbit/s.
	if back := with - without; back < 4*units.Microsecond || back > 4100*units.Nanosecond {
		t.Errorf("the way back takes %v", back)
	}
}

func TestMultiShotStartsOneAtATime(t *testing.T) {
	src := `Nodes 8
0->1 start 0 size 1 recv_done_trigger 5
0->2 start 0 size 1 recv_done_trigger 5
0->3 id 3 trigger 5 size 1 recv_done_trigger 5
0->4 id 4 trigger 5 size 1
0->5 id 5 trigger 5 size 1
trigger id 5 multishot
`
	j := mustJob(t, src, Options{})
	var got [][]int
	for i := range j.Flows {
		got = append(got, waits(j, i))
	}
	if diff := cmp.Diff([][]int{nil, nil, {0}, {1}, {2}}, got); diff != "" {
		t.Error(diff)
	}
}

// Connections of one pair are apart, messages of one connection are not.
func TestConnections(t *testing.T) {
	channels := func(src string) (out []uint16) {
		for _, f := range mustJob(t, src, Options{}).Flows {
			op := f.First
			out = append(out, mustJob(t, src, Options{}).Plan.Ops[op].Channel)
		}
		return out
	}
	if diff := cmp.Diff([]uint16{0, 1, 0}, channels("Nodes 2\n0->1 start 0 size 9\n0->1 start 0 size 9\n1->0 start 0 size 9\n")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint16{0, 0, 0, 1}, channels("Nodes 2\n0->1 id 1 msg start 0 size 9\n0->1 id 1 msg 2 start 0 size 9\n0->1 id 1 msg start 0 size 9\n0->1 id 2 start 0 size 9")); diff != "" {
		t.Error(diff)
	}
}

func TestFailures(t *testing.T) {
	f := smallFabric()
	j, err := mustMatrix(t, "Nodes 8\n0->5 start 0 size 9\nfailure switch_type TOR switch_id 1 link_id 1\n").Job(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Faults) != 1 || j.Faults[0].Kind != netsim.LinkDown {
		t.Fatalf("faults %v", j.Faults)
	}
	port := fabric.PortID(j.Faults[0].Port)
	if got := f.PortName(port) + " " + f.PortName(f.Ports[port].Peer); got != "leaf1/Ethernet40 spine1/Ethernet8" {
		t.Errorf("the failed link is %s", got)
	}
}

func TestMatrixMistakes(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"unit", "Nodes 8\n0->1 start 5 size 9\n", "f.cm:2:1: the start of 5 has no unit"},
		{"count", "Nodes 8\nConnections 2\n0->1 start 0 size 9\n", "f.cm:2:13: the header counts 2 Connections and the file has 1; write 1"},
		{"node", "Nodes 8\n0->8 start 0 size 9\n", "f.cm:2:1: there is no node 8 among 8; nodes go from 0 to 7"},
		{"arrow", "Nodes 8\n0->x start 0 size 9\n", `f.cm:2:4: the node that receives is "x"`},
		{"itself", "Nodes 8\n3->3 start 0 size 9\n", "f.cm:2:1: node 3 sends to itself"},
		{"no size", "Nodes 8\n0->1 start 0\n", "f.cm:2:1: the connection has no size"},
		{"no start", "Nodes 8\n0->1 size 5\n", "f.cm:2:1: nothing starts the connection"},
		{"both", "Nodes 8\n0->1 start 0 trigger 1 size 5\n", "f.cm:2:1: the connection has both a start and a trigger"},
		{"twice", "Nodes 8\n0->1 id 1 start 0 size 5\n0->2 id 1 start 0 size 5\n", "f.cm:3:1: id 1 is that of line 2"},
		{"no trigger", "Nodes 8\n0->1 id 1 trigger 7 size 5\n", "f.cm:2:1: trigger 7 is not described"},
		{"no signal", "Nodes 8\n0->1 start 0 size 1\n0->1 id 1 trigger 7 size 5\ntrigger id 7 oneshot\n", "f.cm:4:1: no connection signals trigger 7"},
		{"two signals", "Nodes 8\n0->1 start 0 size 1 recv_done_trigger 7\n0->1 start 0 size 1 recv_done_trigger 7\n0->1 id 1 trigger 7 size 5\ntrigger id 7 oneshot\n", "f.cm:5:1: trigger 7 is oneshot and 2 connections signal it"},
		{"barrier", "Nodes 8\n0->1 start 0 size 1 recv_done_trigger 7\n0->1 id 1 trigger 7 size 5\ntrigger id 7 barrier count 2\n", "f.cm:4:1: barrier 7 waits for 2 signals and 1 connections signal it; write count 1"},
		{"circle", "Nodes 8\n0->1 start 0 size 1\n0->1 id 1 trigger 7 size 5 recv_done_trigger 8\n0->1 id 2 trigger 8 size 5 recv_done_trigger 7\ntrigger id 7 oneshot\ntrigger id 8 oneshot\n", "f.cm:3:1: 0->1 waits for trigger 7, and what signals that waits for it in turn"},
		{"fabric", "Nodes 9\n0->1 start 0 size 1\n", "f.cm:1:7: the matrix has 9 nodes and the fabric 8 GPUs"},
		{"failure", "Nodes 8\n0->1 start 0 size 1\nfailure switch_type CORE switch_id 0 link_id 0\n", "f.cm:3:1: the fabric has no CORE switch 0; it has 0"},
		{"top", "Nodes 8\n0->1 start 0 size 1\nfailure switch_type AGG switch_id 0 link_id 0\n", "f.cm:3:1: AGG switch 0 has no links up"},
		{"word", "Nodes 8\nhello\n", `f.cm:2:1: "hello" begins no line of a connection matrix`},
		{"empty", "", "f.cm: the header has no Nodes"},
	} {
		m, err := ReadMatrix("f.cm", strings.NewReader(c.src))
		if err == nil {
			_, err = m.Job(smallFabric(), Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.name, c.want, err)
		}
	}
}

func TestMatrixRoundTrip(t *testing.T) {
	m := mustMatrix(t, chain+"failure switch_type AGG switch_id 1 link_id 0\n")
	var out bytes.Buffer
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	again := mustMatrix(t, out.String())
	if diff := cmp.Diff(m, again, cmpopts.IgnoreTypes(source.Place{}), cmpopts.IgnoreUnexported(Matrix{}), cmpopts.IgnoreFields(Matrix{}, "Report")); diff != "" {
		t.Errorf("written and read again:\n%s", diff)
	}
}

func TestCompletions(t *testing.T) {
	f := smallFabric()
	j := mustJob(t, "Nodes 8\n4->0 start 3 size 8192\n0->1 id 7 start 0 size 4096\n", Options{StartUnit: units.Microsecond})
	c := netsim.Defaults(netsim.Config{NIC: netsim.NICConfig{Control: "none"}})
	net, err := netsim.New(f, j.Plan, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.RunUntil(units.At(int64(units.Second))); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteCompletions(&out, f, j.Flows, net.Ops(), c); err != nil {
		t.Fatal(err)
	}
	// 0->1: two links of 1 us and 4160 B at 100 Gbit/s (332.8 ns) each; back, 64 B (5.12 ns) each.
	// 4->0: four links, one packet more behind the first.
	want := `Flow Uec_0_1 flowId 7 uecSrc 0 starting at 0
Flow Uec_4_0 flowId 1 uecSrc 4 starting at 3
Flow Uec_0_1 flowId 7 uecSrc 0 finished at 4.67584 total messages 1 total packets 1 RTS 0 total bytes 4096 in_flight now 0
Flow Uec_4_0 flowId 1 uecSrc 4 finished at 12.68448 total messages 1 total packets 2 RTS 0 total bytes 8192 in_flight now 0
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(chain))
	f.Add([]byte("Nodes 8\n0->1 id 1 msg start 0 size 9\nfailure switch_type AGG switch_id 1 link_id 0\ntrigger id 5 multishot\n"))
	net := smallFabric()
	f.Fuzz(func(t *testing.T, src []byte) {
		if m, err := ReadMatrix("f.cm", bytes.NewReader(src)); err == nil {
			m.Job(net, Options{StartUnit: units.Microsecond})
		}
	})
}
