package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// H004: /dev/shm is too small for the shared memory segments of NCCL.
//
// Symptom: channel setup fails with "No space left on device" on /dev/shm. Mechanism: NCCL makes a segment of
// about 9.6 MB for each pair of ranks that talk by shared memory; Docker gives a container 64 MiB (Docker Engine,
// --shm-size), Kubernetes the same. Evidence for: the failed call. Look-alikes: segments left behind by jobs that
// were killed, which fill a large /dev/shm the same way.
var causeShm = Cause{
	Code:     "H004",
	Title:    "/dev/shm is too small, or not shared by the ranks of a host",
	Needs:    "the NCCL log; df /dev/shm inside the container",
	Explains: []string{"J003", "I007", "J002"},
	Check:    checkShm,
}

// dockerShm is the size that Docker and Kubernetes give to /dev/shm unless told otherwise.
const dockerShm = 64 * units.MiB

func checkShm(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no shared memory")
	}
	failed := v.said(evidence.ShmFailed)
	full := without(failed, func(e evidence.Event) bool { return !errnoIs(e, 28, "No space left") })
	if len(full) == 0 && slices.ContainsFunc(failed, func(e evidence.Event) bool { return e.Errno == "" && !strings.Contains(e.Text, "error:") }) {
		full = failed
	}
	var small *evidence.Host
	known := false
	for _, h := range v.Inv.Hosts {
		size, ok := h.Shm.Get()
		known = known || ok
		if ok && size <= dockerShm && small == nil {
			small = h
		}
	}
	f := Finding{
		Severity: Critical, Confidence: named,
		Because: "NCCL makes a shared memory segment for each pair of ranks of a host that talk by shared memory; a container gets 64 MiB of it unless told otherwise",
		WrongIf: "df shows free space in /dev/shm inside the container while the job runs",
		Not:     []string{"the network: the segment is for ranks of one host"},
		Fix: Fix{
			Text:     "give the container more shared memory, or the host's; delete segments that killed jobs left behind",
			Commands: []string{"docker run --shm-size=1g ...   # or --ipc=host", "kubectl: emptyDir {medium: Memory} mounted on /dev/shm", "rm -f /dev/shm/nccl-*"},
		},
		Settle: "df -h /dev/shm and ls /dev/shm inside the container",
	}
	if f, ok := v.notShared(failed); ok && len(full) == 0 {
		return found(f)
	}
	switch {
	case len(full) > 0:
		f.Title = fmt.Sprintf("/dev/shm of %s is full: a shared memory segment could not be made", names(eventHosts(full)))
		f.Where = []string{called(full[0].Host) + ":/dev/shm"}
		f.Evidence = tell(full, "cause")
		if small != nil {
			f.Confidence = proven
			f.Evidence = append(f.Evidence, shmRow(small))
		}
		return found(f)
	case small != nil && len(v.Inv.NCCL.Events) == 0:
		f.Title = fmt.Sprintf("/dev/shm of %s has %s, what a container gets by default", called(small.Name), small.Shm.Or(0))
		f.Severity, f.Confidence = Note, weak
		f.Where = []string{called(small.Name) + ":/dev/shm"}
		f.Evidence = []Evidence{shmRow(small)}
		f.WrongIf = "the ranks of a host talk by P2P, or there is one rank a host"
		return found(f)
	case known, v.Inv.NCCL.HasLog:
		return ruledOut("no shared memory segment failed")
	}
	return cannotCheck("the NCCL log, or df /dev/shm inside the container")
}

// notShared finds a segment that one rank made and another could not open. Without a name and of size 0 it is no segment at
// all: since 2.26 ranks test for themselves whether host memory can be shared through CUDA, and two that come to different
// answers do not understand each other.
func (v *View) notShared(failed []evidence.Event) (Finding, bool) {
	lost := without(failed, func(e evidence.Event) bool { return !errnoIs(e, 2, "No such file") })
	if len(lost) == 0 {
		return Finding{}, false
	}
	f := Finding{
		Title:    fmt.Sprintf("a rank on %s could not open the shared memory segment of its peer", called(lost[0].Host)),
		Severity: Critical, Confidence: likely, Where: []string{called(lost[0].Host) + ":/dev/shm"},
		Because:  "NCCL takes ranks with one host name and boot id for neighbours; in containers that do not share /dev/shm, one does not see the segment of the other",
		Evidence: tell(lost, "cause"),
		Not:      []string{"the size of /dev/shm: a full one says \"No space left on device\"", "the network: the segment is for ranks of one host"},
		WrongIf:  "all ranks of the host run in one container",
		Fix:      Fix{Text: "run the ranks of a host in one container, or let their containers share the host's memory; or tell NCCL that they are apart", Commands: []string{"docker run --ipc=host ...", "export NCCL_HOSTID=NAME   # another one in each container", "ls -l /dev/shm"}},
		Settle:   "ls /dev/shm in the containers of both ranks",
	}
	if strings.Contains(lost[0].Text, "(size 0)") || strings.Contains(lost[0].Text, "/dev/shm/nccl-,") {
		f.Title = fmt.Sprintf("ranks on %s do not agree how to share host memory (CUDA or /dev/shm)", called(lost[0].Host))
		f.Confidence = named
		f.Because = "each rank tests whether CUDA can share host memory on its NUMA node, and falls back to /dev/shm where it cannot; a rank that did takes its peer's handle for the name of a segment"
		f.WrongIf = "NCCL_CUMEM_HOST_ENABLE is set to the same value on all ranks"
		f.Fix = Fix{Text: "let all ranks use /dev/shm; or mend what differs between the NUMA nodes that the container shows (cpusets, hidden CPUs)", Commands: []string{"export NCCL_CUMEM_HOST_ENABLE=0", "numactl -H; cat /sys/devices/system/cpu/online   # in the container"}}
		f.Settle = "which ranks print \"cuMem host allocations do not appear to be working\""
	}
	return f, true
}

func shmRow(h *evidence.Host) Evidence {
	return Evidence{Layer: "host", What: "size of /dev/shm on " + called(h.Name), Seen: h.Shm.Or(0).String(), Expected: "1 GiB or more for 8 GPUs", Role: "cause", From: h.Shm.From.String()}
}
