package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// H015: the launcher binds each process to one core, or to none on a host with several NUMA nodes.
//
// Symptom: bandwidth below what the NICs give, uneven between runs. Mechanism: NCCL's proxy threads post the sends and
// receives; bound to one core they share it with the program's own thread. Without any binding they wander between NUMA
// nodes, away from GPU and NIC. Evidence for: mpirun's options. Against: NCCL's own affinity, which it sets to the cores near
// the GPU within what the launcher allows (unless NCCL_IGNORE_CPU_AFFINITY). Look-alikes: H011.
var causeBinding = Cause{
	Code:  "H015",
	Title: "processes are bound to one core",
	Needs: "the command line of mpirun or srun",
	Check: checkBinding,
}

func checkBinding(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated job has no launcher")
	}
	to, told := v.Inv.Setting("mpirun.bind-to")
	if !told {
		return notApplicable("no launcher's command line with a binding was read")
	}
	f := Finding{
		Severity: Warning, Confidence: possible, Where: []string{orElse(to.Object, "the job")},
		WrongIf: "the same run with --bind-to numa is as slow",
		Fix:     Fix{Text: "bind processes to the NUMA node of their GPU and NIC, and let NCCL choose cores within it", Commands: []string{"mpirun --bind-to numa --map-by ppr:4:numa ...", "mpirun --report-bindings ..."}},
		Settle:  "the same run with --bind-to numa",
	}
	row := Evidence{Layer: "job", What: "binding of mpirun", Seen: "--bind-to " + to.Value, Expected: "--bind-to numa", Role: "cause", From: to.From.String()}
	switch to.Value {
	case "core", "hwthread", "l1cache", "l2cache":
		f.Title = fmt.Sprintf("mpirun binds each process to one %s, which NCCL's proxy threads then share with the program", to.Value)
		f.Because = "the threads that post sends and receives wait for the core they share with the program's own thread"
		f.Evidence = []Evidence{row}
		return found(f)
	case "none":
		if h := severalNodes(v); h != nil {
			f.Title = fmt.Sprintf("mpirun binds processes to nothing, on hosts with several NUMA nodes (%s)", called(h.Name))
			f.Because = "threads that post sends and receives may run on the side of the host away from GPU and NIC; NCCL narrows that down by itself in most cases"
			f.Severity, f.Confidence = Note, weak
			f.Evidence = []Evidence{row, {Layer: "host", What: "NUMA nodes of " + called(h.Name), Seen: fmt.Sprint(len(h.NUMA)), From: h.NUMA[0].From.String()}}
			return found(f)
		}
	}
	return ruledOut("mpirun leaves each process several cores (--bind-to " + to.Value + ")")
}

// severalNodes finds a host with two NUMA nodes or more.
func severalNodes(v *View) *evidence.Host {
	for _, h := range v.Inv.Hosts {
		if len(h.NUMA) > 1 {
			return h
		}
	}
	return nil
}
