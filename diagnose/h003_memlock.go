package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H003: the limit of locked memory is too small to register buffers with the NIC.
//
// Symptom: ibv_reg_mr fails with "Cannot allocate memory" in the job, while tests by hand work. Mechanism:
// registered memory is pinned and counts against RLIMIT_MEMLOCK (drivers/infiniband/core/umem.c, ib_umem_get);
// the limit is inherited from the daemon that starts the process (sshd, slurmd, containerd), not from
// limits.conf of a login. Evidence for: the failed call; the limit. Look-alikes: memory really used up, or a
// device that ran out of memory regions (same errno, limit unlimited).
var causeMemlock = Cause{
	Code:     "H003",
	Title:    "the limit of locked memory is too small",
	Needs:    "the NCCL log; ulimit -l inside the job",
	Explains: []string{"R004", "R005", "C002", "J003", "J002"},
	Check:    checkMemlock,
}

// smallMemlock is the limit in KiB below which NCCL cannot register even one channel's buffer: 4 MiB, the default
// NCCL_BUFFSIZE, for each peer; distributions default to 64 KiB and systemd to 8 MiB.
const smallMemlock = 64 << 10

func checkMemlock(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no limits")
	}
	failed := without(v.said(evidence.RegisterFailed), func(e evidence.Event) bool { return !errnoIs(e, 12, "Cannot allocate memory") })
	var small *evidence.Host
	limit, known, unlimited := "", false, false
	for _, h := range v.Inv.Hosts {
		value, ok := h.Memlock.Get()
		known = known || ok
		if kib, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); ok && err == nil && kib < smallMemlock {
			if small == nil || kib < parseKiB(limit) {
				small, limit = h, value
			}
		} else if ok {
			unlimited = true
		}
	}
	f := Finding{
		Severity: Critical, Confidence: likely,
		Because: "memory that a NIC may reach is pinned and counts against the limit of locked memory, which a process inherits from the daemon that started it",
		WrongIf: "ulimit -l inside the job's own processes says unlimited",
		Not:     []string{"limits.conf alone: it holds for new logins, not for processes that a daemon starts"},
		Fix: Fix{
			Text:     "raise the limit for the daemon that starts the job (sshd, slurmd, containerd, kubelet) and restart it; in containers give the limit to the runtime",
			Commands: []string{"systemctl edit slurmd   # [Service] LimitMEMLOCK=infinity", "docker run --ulimit memlock=-1 ...", "mpirun ... bash -c 'ulimit -l'"},
		},
		Settle: "ulimit -l inside the job: mpirun ... bash -c 'ulimit -l'",
	}
	test := -1
	for i, t := range v.Inv.Perftests {
		if test < 0 && t.Failed.Is(func(s string) bool { return s == "register memory" }) && !onGPU(t) {
			test = i
		}
	}
	switch {
	case test >= 0 && len(failed) == 0:
		t := v.Inv.Perftests[test]
		where := object(t.Host, t.Device)
		f.Title = fmt.Sprintf("the bandwidth test on %s could not register memory with the NIC: the limit of locked memory is the usual reason", where)
		f.Where = []string{where}
		f.Evidence = []Evidence{{Layer: "RDMA", What: "bandwidth test on " + where, Seen: "could not register its memory", Role: "effect", From: t.Failed.From.String()}}
		switch {
		case small != nil:
			f.Title = fmt.Sprintf("the bandwidth test on %s could not register memory with the NIC: the limit of locked memory is %s KiB", where, limit)
			f.Confidence = proven
			f.Evidence = append([]Evidence{memlockRow(small, limit)}, f.Evidence...)
		case unlimited:
			f.Confidence = weak
		}
		return found(f)
	case len(failed) > 0:
		f.Title = fmt.Sprintf("%s could not register memory with the NIC: the limit of locked memory is the usual reason", names(eventHosts(failed)))
		f.Where = []string{called(failed[0].Host)}
		f.Evidence = tell(failed, "effect")
		if small != nil {
			f.Title = fmt.Sprintf("%s could not register memory with the NIC: the limit of locked memory is %s KiB", names(eventHosts(failed)), limit)
			f.Confidence = proven
			f.Evidence = append([]Evidence{memlockRow(small, limit)}, f.Evidence...)
		} else if unlimited {
			f.Confidence = weak
			f.Title = fmt.Sprintf("%s could not register memory with the NIC, although a shell there has no limit of locked memory", names(eventHosts(failed)))
		}
		return found(f)
	case small != nil && len(v.rdmaErrors()) > 0:
		return cannotCheck(fmt.Sprintf("ulimit -l inside the job: a shell on %s has %s KiB, and no registration failed", called(small.Name), limit))
	case small != nil:
		f.Title = fmt.Sprintf("the limit of locked memory on %s is %s KiB", called(small.Name), limit)
		f.Severity, f.Confidence = Note, possible
		f.Where = []string{called(small.Name)}
		f.Evidence = []Evidence{memlockRow(small, limit)}
		f.WrongIf = "the job is started by a daemon with a limit of its own; RDMA is not used"
		return found(f)
	case known:
		return ruledOut("the limit of locked memory is high enough where it was read")
	case v.Inv.NCCL.HasLog && len(v.said(evidence.RegisterFailed)) == 0:
		return ruledOut("no registration of memory failed")
	}
	return cannotCheck("ulimit -l inside the job, or the NCCL log")
}

func parseKiB(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return n
}

func memlockRow(h *evidence.Host, limit string) Evidence {
	return Evidence{Layer: "host", What: "limit of locked memory on " + called(h.Name), Seen: limit + " KiB", Expected: "unlimited", Role: "cause", From: h.Memlock.From.String()}
}
