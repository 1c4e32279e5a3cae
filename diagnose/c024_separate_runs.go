package diagnose

import "fmt"

// C024: a test of several hosts ran on each of them alone.
//
// Symptom: the bandwidth is that of one host, or every result comes twice. Mechanism: nccl-tests built without MPI=1 does not
// join the processes that mpirun starts: each is a job of its own with a rank 0 (src/common.cu, MPI_SUPPORT). The numbers are
// those of NVLink or shared memory, and say nothing of the network. Evidence for: rank 0 listed more than once before one
// table. Look-alikes: a test that was run on one host on purpose.
var causeSeparateRuns = Cause{
	Code:  "C024",
	Title: "a test of several hosts ran on each of them alone",
	Needs: "the output of nccl-tests with its list of devices",
	Check: checkSeparateRuns,
}

func checkSeparateRuns(v *View) Verdict {
	if v.Inv.Simulated || len(v.Inv.Tables) == 0 {
		return notApplicable("no table of nccl-tests was read")
	}
	listed0 := 0
	for _, t := range v.Inv.Tables {
		if len(t.Firsts) > 0 {
			listed0++
		}
		if len(t.Firsts) < 2 {
			continue
		}
		a, b := t.Firsts[0], t.Firsts[1]
		title := fmt.Sprintf("nccl-tests ran %d times side by side, each alone: %s and %s both have a rank 0", len(t.Firsts), a.Host, b.Host)
		if a.Host == b.Host {
			title = fmt.Sprintf("nccl-tests ran %d times side by side, each alone: %s has a rank 0 %d times", len(t.Firsts), a.Host, len(t.Firsts))
		}
		f := Finding{
			Title:    title,
			Severity: Warning, Confidence: named, Where: []string{a.Host, b.Host},
			Because: "built without MPI, every process that mpirun starts is a test of its own; the bandwidth is that inside a host and says nothing of the network",
			WrongIf: "the outputs of two runs were put into one file",
			Fix:     Fix{Text: "clean and build nccl-tests with MPI=1, with the MPI that starts it, and look for one list of ranks over all hosts", Commands: []string{"make clean && make MPI=1 MPI_HOME=/path/to/mpi", "mpirun -np 2 -H node1,node2 hostname   # MPI itself", "ldd build/all_reduce_perf | grep libmpi"}},
			Settle:  "ldd build/all_reduce_perf | grep libmpi",
		}
		for _, r := range t.Firsts[:min(len(t.Firsts), maxRows)] {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "rank 0 on " + r.Host, Seen: "process " + r.Process, Expected: "one rank 0 in all", Role: "cause", From: r.From.String()})
		}
		return found(f)
	}
	if listed0 == 0 {
		return cannotCheck("the list of devices before the table (\"#  Rank  0 ... on HOST\")")
	}
	return notApplicable("each table has one rank 0") // says nothing of the network, so nothing is ruled out by it
}
