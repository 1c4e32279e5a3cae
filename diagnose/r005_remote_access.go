package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// R005: a peer refuses an RDMA operation.
//
// Symptom: status 9 or 10 at one end and an asynchronous "local access violation" (IBV_EVENT_QP_ACCESS_ERR) at the
// other. Mechanism: the responder found the remote key, the address or the length invalid and closed the QP: memory
// was deregistered or freed while the peer still used it, the two ends run different code, or packets came in
// another length than the MTU says. Evidence for: the statuses; the async event marks the responder. Look-alikes:
// R001 (MTU; it explains this), H002 (status 4 and 11). Against either: the vendor syndrome.
var causeRemoteAccess = Cause{
	Code:     "R005",
	Title:    "a peer refuses RDMA operations",
	Needs:    "the NCCL logs of both ends",
	Explains: []string{"J002", "J003", "R004"},
	Check:    checkRemoteAccess,
}

func checkRemoteAccess(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	refused := v.completions(wcRemoteInvalid, wcRemoteAccess)
	violations := v.accessViolations()
	if len(refused) == 0 && len(violations) == 0 {
		return ruledOut("no peer refused an RDMA operation (status 9 or 10)")
	}
	f := Finding{
		Severity: Critical, Confidence: likely,
		Because: "the responder found the remote key, the address or the length of a request invalid: its memory was deregistered or freed while the peer still wrote to it, or the two ends disagree about MTU or version",
		WrongIf: "an earlier error on the responder's side explains that it had torn down its memory",
		Not:     []string{"loss and reachability: a refusal is an answer, so packets arrive in both directions"},
		Fix: Fix{
			Text: "compare the MTU and the version of NCCL on both hosts, then look for libraries that register or free the same buffers (allocators, other communication libraries, plugins)",
			Commands: []string{
				"ibv_devinfo | grep -E 'hca_id|active_mtu|fw_ver'",
				"export NCCL_LOCAL_REGISTER=0 NCCL_GRAPH_REGISTER=0   # as a test",
				"export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,REG",
			},
		},
		Settle: "active_mtu and the NCCL version of both hosts, and a run without user buffer registration",
	}
	responder := ""
	if len(violations) > 0 {
		responder = object(violations[0].Host, violations[0].Device)
		f.Evidence = tell(violations, "cause")
		f.Confidence = named
	}
	f.Evidence = append(f.Evidence, tell(refused, "effect")...)
	f.Evidence = append(f.Evidence, tell(v.completions(wcLocalProtect), "effect")...)
	switch {
	case responder != "" && len(refused) > 0:
		f.Title = fmt.Sprintf("%s refuses RDMA operations of %s", responder, names(eventHosts(refused)))
	case responder != "":
		f.Title = fmt.Sprintf("%s refuses RDMA operations of its peer (local access violation)", responder)
		f.Confidence = likely
	default:
		responder = orElse(refused[0].Peer, "the peer of "+called(refused[0].Host))
		f.Title = fmt.Sprintf("%s refuses RDMA operations of %s (status %d)", responder, names(eventHosts(refused)), refused[0].Status)
		f.Confidence = possible
	}
	f.Where = append([]string{responder}, eventHosts(without(refused, func(e evidence.Event) bool { return e.Host == "" }))...)
	f.Evidence = append(f.Evidence, versionRow(v.nccl()))
	return found(f)
}
