package simai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// small has hosts of one GPU each.
func small(hosts int) *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: hosts, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

func mustWorkload(t *testing.T, src string) *Workload {
	t.Helper()
	w, err := ReadWorkload("w.txt", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustPlan(t *testing.T, src string, gpus int, o Options) *workload.Plan {
	t.Helper()
	plan, err := mustWorkload(t, src).Job(small(gpus), o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// timeline carries a plan out with every message taking 1000 ns, and tells when each span ran.
func timeline(p *workload.Plan) []string {
	const none = -1
	start, end := make([]int64, len(p.Spans)), make([]int64, len(p.Spans))
	for i := range start {
		start[i] = none
	}
	ready, free := make([]int64, len(p.Ops)), map[fabric.GPUID]int64{}
	for i := range p.Ops {
		op, begin := &p.Ops[i], ready[i]
		over := begin
		switch op.Kind {
		case workload.Send:
			over += 1000
		case workload.Compute:
			begin = max(begin, free[op.Src])
			over = begin + int64(op.Time/units.Nanosecond)
			free[op.Src] = over
		}
		if s := op.Span; start[s] == none || begin < start[s] {
			start[s] = begin
		}
		end[op.Span] = max(end[op.Span], over)
		for _, d := range p.Dependants(workload.OpID(i)) {
			ready[d] = max(ready[d], over)
		}
	}
	var out []string
	for i, s := range p.Spans {
		out = append(out, fmt.Sprintf("%s %d: %d-%d", s.Name, int64(s.Bytes), start[i], end[i]))
	}
	return out
}

// Two layers of a model on two GPUs. On two GPUs an all_reduce is two messages after each other, an alltoall one.
func layers(policy, header, behind string) string {
	return policy + " " + header + "\n2\n" +
		"a\t-1\t100\tALLREDUCE\t1000\t200\tALLREDUCE\t2000\t300\tALLREDUCE\t3000\t10" + behind + "\n" +
		"b -1   400 ALLTOALL 4000  500 ALLTOALL 5000  600 NONE 0 10" + behind + "\n"
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		src  string
		gpus int
		want []string
	}{
		// Collectives of the forward pass and of input gradients are waited for. The two calls of "update" are those of
		// both GPUs in one group of data parallelism.
		{layers("HYBRID_TRANSFORMER", "model_parallel_NPU_group: 2", ""), 2, []string{
			"forward 0: 0-2500", "tp all_reduce 1000: 100-2100", "tp alltoall 4000: 2500-3500", "backward 0: 3500-8100",
			"tp alltoall 5000: 4000-5000", "tp all_reduce 2000: 5800-7800",
		}},
		{layers("HYBRID_TRANSFORMER", "model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2", ""), 3, []string{
			"forward 0: 0-500", "backward 0: 500-2100", "dp all_reduce 3000: 2100-4100", "update 0: 4100-4110",
		}},
		// Weight gradients alone, which the rest does not wait for.
		{layers("DATA", "", ""), 2, []string{"forward 0: 0-500", "backward 0: 500-1900", "all all_reduce 3000: 1900-3900", "update 0: 3900-3910"}},
		// The input gradient of layer 1 goes on while its weight gradient is computed; layer 0 has none to send.
		{layers("MODEL", "", ""), 2, []string{
			"forward 0: 0-2500", "all all_reduce 1000: 100-2100", "all alltoall 4000: 2500-3500", "backward 0: 3500-5500", "all alltoall 5000: 4000-5000",
		}},
		{layers("HYBRID_CUSTOMIZED", "", " MODEL"), 2, []string{
			"forward 0: 0-2500", "all all_reduce 1000: 100-2100", "all alltoall 4000: 2500-3500", "backward 0: 3500-5500", "all alltoall 5000: 4000-5000",
		}},
		{layers("DISTRIBUTED_INFERENCE", "", ""), 2, []string{"forward 0: 0-2500", "all all_reduce 1000: 100-2100", "all alltoall 4000: 2500-3500"}},
		{layers("MICRO", "", ""), 2, []string{"all all_reduce 3000: 0-2000"}},
		{layers("HYBRID_DATA_MODEL", "", ""), 2, []string{
			"forward 0: 0-2500", "tp all_reduce 1000: 100-2100", "tp alltoall 4000: 2500-3500", "backward 0: 3500-5500", "tp alltoall 5000: 4000-5000",
		}},
		{layers("HYBRID_MODEL_DATA", "", ""), 2, []string{"forward 0: 0-500", "backward 0: 500-2100", "tp all_reduce 3000: 2100-4100", "update 0: 4100-4110"}},
	} {
		if diff := cmp.Diff(c.want, timeline(mustPlan(t, c.src, c.gpus, Options{TP: 2}))); diff != "" {
			t.Errorf("%s\n%s", strings.SplitN(c.src, "\n", 2)[0], diff)
		}
	}
}

// Activations of layers 1 and 2 are computed again, from the checkpoint in layer 1, before the backward pass of layer 3.
func TestForwardInBackward(t *testing.T) {
	src := "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 2 0 1 checkpoint_initiates: 1 3\n4\n"
	for i := range 4 {
		src += fmt.Sprintf("l%d -1 %d NONE 0 1 NONE 0 0 NONE 0 0\n", i, 100*(i+1))
	}
	got := timeline(mustPlan(t, src, 2, Options{}))
	// 1000 ns forward, then 200 + 300 again, then 4 of backward; spans of one name are one.
	if diff := cmp.Diff([]string{"forward 0: 0-1500", "backward 0: 1500-1504"}, got); diff != "" {
		t.Error(diff)
	}
}

// The exchange of embeddings goes on while the bottom network (layers 1 and 2) computes; layer 3 waits for it.
func TestDLRM(t *testing.T) {
	src := "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 2\n4\n" +
		"emb -1 10 ALLTOALL 100 0 ALLTOALL 200 20 NONE 0 0\n" +
		"bot -1 30 NONE 0 40 NONE 0 50 ALLREDUCE 300 0\n" +
		"bot -1 60 NONE 0 70 NONE 0 80 NONE 0 0\n" +
		"top -1 90 NONE 0 11 NONE 0 12 NONE 0 0\n"
	got := timeline(mustPlan(t, src, 2, Options{}))
	want := []string{
		"forward 0: 0-1100",         // 10, 30 and 60 while the embeddings are exchanged, then 90
		"all alltoall 100: 10-1010", // all GPUs
		"backward 0: 1100-1383",     // 12 + 11, then the gradients go out; 80 + 70, 50 + 40, 20
		"all alltoall 200: 1123-2123",
		"all all_reduce 300: 2123-4123", // a communicator carries out one call after the other
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Who communicates: eight GPUs as 2 tensor-parallel times 4 data-parallel, of which pairs share experts.
func TestGroups(t *testing.T) {
	src := "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 1 all_gpus: 8\n1\nx -1 0 %s 80 0 NONE 0 0 %s 80 0\n"
	pairs := func(forward, grad string) map[[2]int]bool {
		p := mustPlan(t, fmt.Sprintf(src, forward, grad), 8, Options{})
		out := map[[2]int]bool{}
		for _, op := range p.Ops {
			if op.Kind == workload.Send {
				out[[2]int{int(op.Src), int(op.Dst)}] = true
			}
		}
		return out
	}
	mesh := func(groups ...[]int) map[[2]int]bool {
		out := map[[2]int]bool{}
		for _, g := range groups {
			for _, a := range g {
				for _, b := range g {
					if a != b {
						out[[2]int{a, b}] = true
					}
				}
			}
		}
		return out
	}
	for _, c := range []struct {
		forward, grad string
		want          map[[2]int]bool
	}{
		{"ALLTOALL", "NONE", mesh([]int{0, 1}, []int{2, 3}, []int{4, 5}, []int{6, 7})},
		{"NONE", "ALLTOALL", mesh([]int{0, 2, 4, 6}, []int{1, 3, 5, 7})},
		{"ALLTOALL_EP", "NONE", mesh([]int{0, 2}, []int{1, 3}, []int{4, 6}, []int{5, 7})},
		{"NONE", "ALLTOALL_DP_EP", mesh([]int{0, 4}, []int{1, 5}, []int{2, 6}, []int{3, 7})},
	} {
		if diff := cmp.Diff(c.want, pairs(c.forward, c.grad)); diff != "" {
			t.Errorf("%s %s:\n%s", c.forward, c.grad, diff)
		}
	}
}

// Sizes are those of nccl-tests: an alltoall of 80 bytes between 4 GPUs is 20 bytes to each.
func TestBytes(t *testing.T) {
	p := mustPlan(t, "MICRO\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLTOALL 80 1", 4, Options{Priority: 5})
	for _, op := range p.Ops {
		if op.Kind == workload.Send && (op.Bytes != 20 || op.Priority != 5) {
			t.Errorf("op %+v", op)
		}
	}
}

func TestWorkloadNotes(t *testing.T) {
	w := mustWorkload(t, "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: 4 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm 50 colour: red\n1\nx -1 1 BROADCAST 9 1 NONE 0 1 ALLREDUCE 8 1\n")
	if w.PipelineBytes != 50 {
		t.Errorf("pp_comm without a colon: %v", w.PipelineBytes)
	}
	if _, err := w.Job(small(4), Options{}); err != nil {
		t.Fatal(err)
	}
	want := `w.txt:1:1: pp 2: the layers are carried out by every stage at once and nothing is sent between stages, as SimAI's packet simulation does; pp_comm is of its analytical mode
w.txt:1:148: "colour:" is nothing that is known of a workload and is not used
w.txt:1:156: "red" is nothing that is known of a workload and is not used
w.txt:3:8: BROADCAST is not carried out, as in SimAI, whose reader does not know it`
	if diff := cmp.Diff(want, w.Report.Notes.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloadMistakes(t *testing.T) {
	line := "x -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n"
	for src, want := range map[string]string{
		"":                            "w.txt:1:1: the file is empty",
		"PLAN\n1\n":                   `w.txt:1:1: "PLAN" is no policy; write one of DATA, MODEL,`,
		"DATA\nx\n":                   `w.txt:2:1: the number of layers is "x"`,
		"DATA\n0\n":                   "w.txt:1:1: the workload has no layers",
		"DATA\n2\n" + line + "y -1 5": "w.txt:4:7: the file ends in layer 2 of 2 where the collective of the forward pass should stand",
		"DATA\n1\nx -1 1 NUN 0 1 NONE 0 1 ALLREDUCE 8 1\n":                                                                 `w.txt:3:8: "NUN" is no collective; write NONE,`,
		"DATA\n1\nx -1 1.5 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n":                                                              `w.txt:3:6: the time of the forward pass in ns is "1.5"`,
		"DATA\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLREDUCEALLTOALL 8 1\n":                                                        "w.txt:3:26: ALLREDUCEALLTOALL is an all_reduce over some dimensions",
		"HYBRID_CUSTOMIZED\n1\nx -1 1 NONE 0 1 NONE 0 1 NONE 8 1 THEIR\n":                                                  `w.txt:3:35: "THEIR" says nothing about the groups of a layer`,
		"HYBRID_TRANSFORMER all_gpus: 9\n1\n" + line:                                                                       "w.txt:1:1: the workload is for 9 GPUs and the fabric has 8",
		"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n" + line:                                                       "w.txt:1:1: 8 GPUs do not make whole groups of tp 3 and pp 1",
		"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 3\n1\n" + line:                                                 "w.txt:1:1: ep 3 does not divide the 4 data-parallel GPUs",
		"HYBRID_DATA_MODEL\n1\n" + line:                                                                                    "w.txt:1:1: HYBRID_DATA_MODEL splits GPUs by the first dimension",
		"HYBRID_TRANSFORMER ep:\n1\n" + line:                                                                               "w.txt:1:20: ep: has no number",
		"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 1 0\n1\n" + line: "layer 0 computes activations again and no layer before it is a checkpoint",
		"HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 1 7\n1\n" + line:                                                     "the header names layer 7 for a checkpoint",
		"DATA\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1125899906842624 1\n":                                                 "w.txt:3:26: with this all_reduce of 1024TiB over 8 GPUs the plan has more than",
	} {
		w, err := ReadWorkload("w.txt", strings.NewReader(src))
		if err == nil {
			_, err = w.Job(small(8), Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
}

func FuzzWorkload(f *testing.F) {
	f.Add([]byte(layers("HYBRID_TRANSFORMER", "model_parallel_NPU_group: 2", "")))
	f.Add([]byte(layers("HYBRID_CUSTOMIZED", "", " MODEL")))
	f.Add([]byte("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 1 0 checkpoint_initiates: 1 0\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n"))
	f.Add([]byte(layers("HYBRID_DLRM", "DLRM_LAST_BOTTOM_LAYER: 1", "")))
	net := small(4)
	f.Fuzz(func(t *testing.T, src []byte) {
		w, err := ReadWorkload("w.txt", bytes.NewReader(src))
		if err != nil || len(w.Layers) > 20 {
			return
		}
		for _, l := range w.Layers {
			if l.Forward.Bytes+l.InputGrad.Bytes+l.Grad.Bytes > 1<<30 {
				return
			}
		}
		w.Job(net, Options{})
	})
}
