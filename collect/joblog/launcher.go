package joblog

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// elastic reads what torchrun says of a process that a signal ended (torch/distributed/elastic/multiprocessing):
//
//	host      : node7
//	rank      : 59 (local_rank: 3)
//	exitcode  : -9 (pid: 5124)
//	traceback : Signal 9 (SIGKILL) received by PID 5124
//
// The last line is the one that is kept: it stands once for each process, the first one that failed under "Root Cause". An
// ordinary exit code says only that the program gave up, and its own lines say why.
func (l *Log) elastic(f *fragment.Fragment, line []byte, n int) Source {
	if rank, ok := numberAfter(line, "  rank      :"); ok {
		l.failedRank = int(rank)
		return Launcher
	}
	text := between(line, "Signal ", ") received by PID ")
	number, name, ok := bytes.Cut(text, []byte(" ("))
	if !ok || len(number) > 3 {
		return None
	}
	pid, _ := numberAfter(line, "received by PID ")
	host := f.Host
	if l.failedHost != "" {
		host = l.failedHost
	}
	l.add(evidence.Event{Kind: evidence.ProcessEnded, Host: host, Rank: l.failedRank, Process: int(pid), What: string(name), File: "torchrun", From: f.At(n)}, line)
	return Launcher
}

// slurm reads what Slurm says of a step that the kernel's memory limit or a signal ended:
//
//	slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.
//	slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0 cgroup.
//	srun: error: node7: task 3: Out Of Memory
//	srun: error: node7: task 3: Killed
//	srun: error: node7: tasks 8-15: Segmentation fault (core dumped)
func (l *Log) slurm(f *fragment.Fragment, line []byte, n int) bool {
	e := evidence.Event{Kind: evidence.ProcessEnded, Host: f.Host, Rank: -1, File: "slurm", From: f.At(n)}
	if i := bytes.Index(line, []byte("slurmstepd: error: Detected ")); i >= 0 {
		if !bytes.Contains(line[i:], []byte("oom_kill event")) && !bytes.Contains(line[i:], []byte("oom-kill event")) {
			return false
		}
		e.What = "out of memory"
		l.add(e, line)
		return true
	}
	i := bytes.Index(line, []byte("srun: error: "))
	if i < 0 {
		return false
	}
	host, rest, ok := bytes.Cut(line[i+len("srun: error: "):], []byte(": task"))
	_, how, more := bytes.Cut(rest, []byte(": "))
	if !ok || !more {
		return false
	}
	e.Host = string(host)
	switch {
	case bytes.HasPrefix(how, []byte("Out Of Memory")):
		e.What = "out of memory"
	case bytes.HasPrefix(how, []byte("Killed")):
		e.What = "SIGKILL"
	case bytes.HasPrefix(how, []byte("Segmentation fault")):
		e.What = "SIGSEGV"
	case bytes.HasPrefix(how, []byte("Bus error")):
		e.What = "SIGBUS"
	default:
		return false
	}
	l.add(e, line)
	return true
}
