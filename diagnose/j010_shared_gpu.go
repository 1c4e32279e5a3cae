package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J010: two ranks of a job were given the same GPU.
//
// Symptom: "invalid usage" when the communicator is made. Mechanism: NCCL compares the PCI addresses of the GPUs of the ranks
// of one host, and refuses two that are equal (src/init.cc, "Duplicate GPU detected"): the launcher started more processes than
// GPUs are visible, or the program did not choose its device by its local rank. Two hosts or containers that tell NCCL the same
// host name and boot id are taken for one host, and their GPUs at the same address for one GPU (I008). Evidence for: the line.
var causeSharedGPU = Cause{
	Code:     "J010",
	Title:    "not the network: two ranks were given the same GPU",
	Needs:    "the NCCL log, or the exception of the framework",
	Explains: []string{"J003"},
	Check:    checkSharedGPU,
}

func checkSharedGPU(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	twice := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool { return !strings.Contains(e.Text, "Duplicate GPU detected") })
	if len(twice) == 0 {
		return ruledOut("NCCL found no GPU twice")
	}
	_, which, _ := strings.Cut(twice[0].Text, "Duplicate GPU detected")
	which = strings.TrimLeft(which, " :")
	f := Finding{
		Title:    fmt.Sprintf("not the network: two ranks on %s were given the same GPU (%s)", called(twice[0].Host), shorten(which)),
		Severity: Critical, Confidence: named, Where: []string{called(twice[0].Host)},
		Because:  "a communicator takes a GPU once; the processes did not choose theirs by their local rank, or more of them run on the host than GPUs are visible to it",
		Evidence: tell(twice, "cause"),
		Not:      []string{"the network: NCCL stopped before it used any"},
		WrongIf:  "the ranks run on two machines that call themselves alike: then they are taken for one (I008)",
		Fix: Fix{
			Text:     "call torch.cuda.set_device(LOCAL_RANK) before the first collective, and start as many processes a host as it has GPUs; with Slurm give each task all GPUs of its node, or each its own",
			Commands: []string{"torchrun --nproc-per-node=gpu ...", "srun --ntasks-per-node=8 --gpus-per-node=8 ...", "echo $LOCAL_RANK $CUDA_VISIBLE_DEVICES   # in each process"},
		},
		Settle: "LOCAL_RANK and CUDA_VISIBLE_DEVICES of each process",
	}
	return found(f)
}
