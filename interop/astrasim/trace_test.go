package astrasim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Messages as protobuf writes them.
func number(field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|wireVarint), v)
}

func text(field int, v string) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|wireBytes), uint64(len(v))), v...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// attr is an attribute of a node, its value in the field given.
func attr(name string, value []byte) []byte { return text(10, string(join(text(1, name), value))) }

// node is a node with its number, type, dependencies and attributes.
func node(id, kind uint64, deps []uint64, more ...[]byte) []byte {
	out := join(number(1, id), text(2, fmt.Sprintf("n%d", id)), number(3, kind))
	var packed []byte
	for _, d := range deps {
		packed = binary.AppendUvarint(packed, d)
	}
	if len(packed) > 0 {
		out = append(out, text(5, string(packed))...)
	}
	return append(out, join(more...)...)
}

// file is a trace: metadata, then nodes, each with its length.
func file(nodes ...[]byte) []byte {
	var out []byte
	for _, m := range append([][]byte{text(1, "0.0.4")}, nodes...) {
		out = append(binary.AppendUvarint(out, uint64(len(m))), m...)
	}
	return out
}

func small() *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// run reads files as the traces of ranks and writes them out.
func run(o Options, files ...[]byte) (*workload.Plan, *source.Report, error) {
	report := &source.Report{File: "traces"}
	var traces []*Trace
	for rank, f := range files {
		t, err := ReadTrace(fmt.Sprintf("t.%d.et", rank), bytes.NewReader(f), rank)
		if err != nil {
			return nil, report, err
		}
		traces = append(traces, t)
	}
	r, err := Job(traces, small(), o, report)
	if err != nil {
		return nil, report, err
	}
	return r.Plan, report, nil
}

// sends lists who sends how much, and what computes how long.
func show(p *workload.Plan) (out []string) {
	for _, op := range p.Ops {
		switch op.Kind {
		case workload.Send:
			out = append(out, fmt.Sprintf("%d>%d %d", op.Src, op.Dst, int64(op.Bytes)))
		case workload.Compute:
			out = append(out, fmt.Sprintf("%d computes %v", op.Src, op.Time))
		}
	}
	return out
}

func call(id, kind, size uint64, deps []uint64, more ...[]byte) []byte {
	return node(id, nodeCall, deps, attr("is_cpu_op", number(27, 0)), attr("comm_type", number(9, kind)), attr("comm_size", number(9, size)), join(more...))
}

// A node as the published files have it, byte for byte: its number is left out when it is 0.
func TestPublishedForm(t *testing.T) {
	raw := "\x07\x0a\x050.0.4\x49\x12\x16reduce_scatter_2x4096B\x18\x07R\x0e\x0a\x09is_cpu_op\xd8\x01\x00R\x0d\x0a\x09comm_typeH\x07R\x0e\x0a\x09comm_sizeH\x80 "
	trace, err := ReadTrace("t.0.et", strings.NewReader(raw), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := traceNode{kind: nodeCall, comm: 7, size: 4096, offset: 8}
	if diff := cmp.Diff([]traceNode{want}, trace.nodes, cmp.AllowUnexported(traceNode{})); diff != "" || trace.Version != "0.0.4" {
		t.Errorf("version %q\n%s", trace.Version, diff)
	}
}

func TestCalls(t *testing.T) {
	both := func(f func(rank uint64) []byte) [][]byte { return [][]byte{f(0), f(1)} }
	for _, c := range []struct {
		name  string
		files [][]byte
		want  []string
	}{
		{"all_reduce", both(func(uint64) []byte { return file(call(0, 0, 800, nil)) }), []string{"0>1 400", "1>0 400", "0>1 400", "1>0 400"}},
		{"reduce_scatter", both(func(r uint64) []byte { return file(call(r, 7, 800, nil)) }), []string{"0>1 400", "1>0 400"}},
		{"all_gather of what one rank has", both(func(uint64) []byte { return file(call(0, 2, 800, nil)) }), []string{"0>1 800", "1>0 800"}},
		{"all_to_all", both(func(uint64) []byte { return file(call(0, 6, 800, nil)) }), []string{"0>1 400", "1>0 400"}},
		{"barrier", both(func(uint64) []byte { return file(call(0, 9, 800, nil)) }), []string{"0>1 1", "1>0 1", "0>1 1", "1>0 1"}},
		{"broadcast", both(func(uint64) []byte { return file(call(0, 5, 800, nil, number(7, 3))) }), []string{"0 computes 3us", "1 computes 3us"}},
	} {
		plan, _, err := run(Options{}, c.files...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, show(plan)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// Rank 0 computes, then sends to rank 1, which computes when it has come; dependencies may name later nodes.
func TestSendsAndDependencies(t *testing.T) {
	a := file(
		node(2, nodeSend, []uint64{7}, attr("comm_size", number(13, 500)), attr("comm_dst", number(11, 1)), attr("comm_tag", number(11, 9))),
		node(7, nodeCompute, nil, number(7, 12)),
	)
	b := file(
		node(1, nodeRecv, nil, attr("comm_src", number(7, 0)), attr("comm_tag", number(7, 9))),
		join(node(5, nodeCompute, nil, number(7, 4)), number(4, 1)), // ctrl_deps, not packed
		node(6, nodeMetadata, nil),
	)
	plan, _, err := run(Options{}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0 computes 12us", "0>1 500", "1 computes 4us"}, show(plan)); diff != "" {
		t.Error(diff)
	}
	for op := range 2 {
		if diff := cmp.Diff([]workload.OpID{workload.OpID(op + 1)}, plan.Dependants(workload.OpID(op))); diff != "" {
			t.Errorf("after operation %d:\n%s", op, diff)
		}
	}
	if plan.Steps != 1 {
		t.Errorf("%d steps", plan.Steps)
	}
}

func TestGroupsAndDimensions(t *testing.T) {
	groups, err := ReadGroups("g.json", strings.NewReader(`{"3": [0, 2], "4": [3, 1]}`))
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for r := range uint64(4) {
		files = append(files, file(call(r, 6, 100, nil, attr("pg_name", text(29, fmt.Sprint(3+r%2))))))
	}
	plan, _, err := run(Options{Groups: groups}, files...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0>2 50", "2>0 50", "3>1 50", "1>3 50"}, show(plan)); diff != "" {
		t.Error(diff)
	}
	files = nil
	for r := range uint64(4) { // dimensions of 2 and 2, the second alone: ranks 2 apart
		files = append(files, file(call(r, 6, 100, nil, attr("involved_dim", text(28, string(text(1, "\x00\x01")))))))
	}
	plan, _, err = run(Options{Dims: []int{2, 2}}, files...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0>2 50", "2>0 50", "1>3 50", "3>1 50"}, show(plan)); diff != "" {
		t.Error(diff)
	}
}

func TestRoofline(t *testing.T) {
	system, err := ReadSystem("s.json", strings.NewReader(`{"roofline-enabled": 1, "peak-perf": 2, "local-mem-bw": 100}`))
	if err != nil {
		t.Fatal(err)
	}
	compute := func(ops, bytes uint64) []byte {
		return file(node(1, nodeCompute, nil, number(7, 99), attr("num_ops", number(9, ops)), attr("tensor_size", number(9, bytes))))
	}
	// 4e6 operations at 2e12 a second are 2 us; over 1e6 bytes at 1e11 a second, 10 us.
	plan, _, err := run(Options{System: system}, compute(4_000_000, 1000), compute(4_000_000, 1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0 computes 2us", "1 computes 10us"}, show(plan)); diff != "" {
		t.Error(diff)
	}
}

func TestTraceNotes(t *testing.T) {
	system, err := ReadSystem("s.json", strings.NewReader(`{"all-reduce-implementation": ["ring", "direct"]}`))
	if err != nil {
		t.Fatal(err)
	}
	cpu := attr("is_cpu_op", number(27, 1))
	one := func(uint64) []byte {
		return file(node(1, nodeCompute, nil, number(7, 5), cpu), node(2, nodeLoad, nil), call(3, 5, 1, nil), call(4, 0, 100, nil), call(5, 0, 100, nil))
	}
	_, report, err := run(Options{System: system}, one(0), one(1))
	if err != nil {
		t.Fatal(err)
	}
	want := `traces: rank 0 node 1, and 1 more: computing on the CPU keeps the GPU of its rank busy
traces: rank 0 node 2, and 1 more: loads and stores of remote memory take no time
traces: rank 0 node 3, and 1 more: BROADCAST takes the time in the trace and sends nothing, as in ASTRA-sim`
	if diff := cmp.Diff(want, report.Notes.Error()); diff != "" {
		t.Error(diff)
	}
	want = "s.json: all_reduce as [ring direct] is not modelled; it is carried out as ring, as NCCL does"
	if diff := cmp.Diff(want, system.Report.Notes.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestTraceMistakes(t *testing.T) {
	ok := file(call(0, 0, 100, nil))
	good := []byte{4, 10, 2, '0', '.'}
	for _, c := range []struct {
		files [][]byte
		want  string
	}{
		{[][]byte{nil}, "t.0.et: byte 0: the trace has no node"},
		{[][]byte{ok[:len(ok)-1]}, "t.0.et: byte 8: the file ends within a message"},
		{[][]byte{{0xff, 0xff, 0xff, 0xff, 0xff, 1}}, "t.0.et: byte 0: a message of 68719476735 bytes"},
		{[][]byte{append(good, 1, 0xff)}, "t.0.et: byte 5: the bytes are no protobuf message"},
		{[][]byte{{2, 8, 1}}, "t.0.et: byte 0: the file does not begin with the metadata"},
		{[][]byte{file(call(0, 1, 9, nil)), ok}, "rank 0 node 0 (t.0.et, byte 8): collectives of comm_type REDUCE are not carried out"},
		{[][]byte{file(node(4, 9, nil)), ok}, "rank 0 node 4 (t.0.et, byte 8): it is of type 9"},
		{[][]byte{file(node(4, 4, []uint64{5}))}, "it depends on node 5, which the trace does not have"},
		{[][]byte{file(node(4, 4, nil), node(4, 4, nil))}, "the number is another node's too"},
		{[][]byte{ok, file(call(0, 0, 200, nil))}, "rank 1 node 0 (t.1.et, byte 8): call 0 of all is another than that of rank 0 node 0: comm_type 0 and 0, comm_size 200 and 100"},
		{[][]byte{ok, file(node(1, 4, nil))}, "rank 0 node 0: 1 of the 2 ranks of all make their call 0"},
		{[][]byte{file(call(0, 0, 9, nil, attr("pg_name", text(29, "7"))))}, `it names the group "7", which the communicator groups do not have`},
		{[][]byte{file(call(0, 0, 9, nil, attr("involved_dim", text(28, string(text(1, "\x00\x01")))))), ok}, "it is of some dimensions alone (involved_dim), and the dimensions [] do not make the 2 ranks"},
		{[][]byte{file(node(1, nodeSend, nil, attr("comm_dst", number(9, 8))))}, "comm_dst is rank 8; the ranks are 0 to 0"},
		{[][]byte{file(node(1, nodeRecv, nil)), file(node(1, 4, nil))}, "traces: rank 0 receives from 0 with tag 0, and no such message is sent"},
		{[][]byte{ok, ok, ok, ok, ok}, "the program has 5 ranks and the fabric 4 GPUs"},
		{[][]byte{file(node(1, 4, nil, number(7, math.MaxUint64)))}, "it takes 18446744073709551615 us"},
	} {
		_, _, err := run(Options{}, c.files...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(file(call(0, 0, 100, nil), node(2, nodeCompute, []uint64{0}, number(7, 5)), node(3, nodeSend, []uint64{2}, attr("comm_dst", number(7, 0)))))
	f.Add(file(call(0, 6, 100, nil, attr("involved_dim", text(28, string(text(1, "\x00\x01")))))))
	net := small()
	f.Fuzz(func(t *testing.T, src []byte) {
		trace, err := ReadTrace("t.0.et", bytes.NewReader(src), 0)
		if err != nil {
			return
		}
		for _, n := range trace.nodes {
			if n.size > 1<<30 {
				return
			}
		}
		Job([]*Trace{trace}, net, Options{}, &source.Report{})
	})
}
