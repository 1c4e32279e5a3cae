package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// C002: the job uses sockets although there is RDMA.
//
// Symptom: bandwidth between hosts of one or two GB/s and busy CPUs. Mechanism: NCCL takes the first network
// that finds devices: a plugin, then IB, then sockets (src/plugin/net.cc); one process that falls back takes the
// whole communicator with it or fails to connect. Evidence for: "Using network Socket" with an RDMA port known,
// or another process that uses IB. Against: a host without RDMA, or one host alone. Look-alikes: H005 and C006,
// which say why.
var causeSockets = Cause{
	Code:  "C002",
	Title: "the job uses sockets instead of RDMA",
	Needs: "the NCCL log (\"Using network\"), ibstatus of the hosts",
	Check: checkSockets,
}

func checkSockets(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	var sockets []evidence.NetworkChoice
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "Socket" {
			sockets = append(sockets, c)
		}
	}
	if len(sockets) == 0 {
		if len(v.Inv.NCCL.Networks) == 0 {
			return cannotCheck("which network is in use (NCCL_DEBUG=INFO prints \"Using network\")")
		}
		return ruledOut("the job uses " + v.Inv.NCCL.Networks[0].Name)
	}
	first := sockets[0]
	hardware, there := v.hasRDMA()
	if !there {
		return cannotCheck("whether the hosts have RDMA (ibstatus): the job uses sockets")
	}
	f := Finding{
		Title:    fmt.Sprintf("%s uses sockets although there is RDMA", called(first.Host)),
		Severity: Critical, Confidence: likely, Where: []string{called(first.Host)},
		Because: "data is copied by the CPUs through the kernel's TCP, which reaches a small part of the NICs' rate",
		Evidence: []Evidence{
			{Layer: "collective", What: "network of " + called(first.Host), Seen: "Socket", Expected: "IB", Role: "cause", From: first.From.String()},
			hardware,
		},
		WrongIf: "the RDMA ports are on another network than that of the job",
		Fix:     Fix{Text: "find why no RDMA device was taken: the lines above \"Using network\" say what each network found", Commands: []string{"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV", "ibv_devices", "NCCL_NET=IB   # fails with the reason instead of falling back"}},
		Settle:  "a run with NCCL_NET=IB",
	}
	if v.rdmaOff() {
		e, _ := v.Inv.NCCL.Lookup("NCCL_IB_DISABLE")
		if e.Name == "" {
			e, _ = v.Inv.NCCL.Lookup("NCCL_NET")
		}
		f.Title = fmt.Sprintf("RDMA is switched off by %s=%s", e.Name, e.Value)
		f.Severity, f.Confidence = Warning, named
		if len(v.Inv.Calls)+len(v.Inv.Tables) == 0 {
			f.Severity = Note // it may be meant, and nothing shows that it hurts
		}
		f.Evidence = append([]Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset", Role: "cause", From: e.From.String()}}, f.Evidence...)
		f.Fix = Fix{Text: "unset " + e.Name, Commands: []string{"unset " + e.Name}, Try: []Change{{Setting: e.Name, Value: ""}}}
		f.Settle = "a run without " + e.Name
	}
	if v.spans() != yes && !v.rdmaOff() {
		f.Severity, f.Confidence = Note, weak
		f.WrongIf = "the job runs on one host, where the network is not used"
	}
	return found(f)
}
