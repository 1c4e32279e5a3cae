package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C003: a job uses InfiniBand and RoCE ports together.
//
// Symptom: a QP cannot be moved to RTR with "Invalid argument" (22), or NCCL says "Attempted to connect
// incompatible devices". Mechanism: an InfiniBand port is addressed by LID, a RoCE port by GID, so a QP between
// them has no valid path record; NCCL lists all active ports unless NCCL_IB_HCA says which, and rings pair them by
// index. Evidence for: one list of devices with both kinds. Look-alikes: C004 (other numbers on each host).
var causeMixedLayers = Cause{
	Code:     "C003",
	Title:    "InfiniBand and RoCE ports are mixed in one job",
	Needs:    "the NCCL log (\"NET/IB : Using\")",
	Explains: []string{"C004", "I009", "R004", "J002", "J003", "R003"},
	Check:    checkMixedLayers,
}

func checkMixedLayers(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	n := &v.Inv.NCCL
	var fabric, ethernet []string
	var at, other evidence.DeviceList
	for _, l := range n.Devices {
		ib, eth := []string{}, []string{}
		for _, d := range l.Devices {
			switch d.Layer {
			case "IB":
				ib = append(ib, d.Device)
			case "RoCE":
				eth = append(eth, d.Device)
			}
		}
		if len(ib) > 0 && len(eth) > 0 {
			at, other, fabric, ethernet = l, l, ib, eth
			break
		}
		if len(ib) > 0 && at.From.File == "" {
			at, fabric = l, ib
		}
		if len(eth) > 0 && other.From.File == "" {
			other, ethernet = l, eth
		}
	}
	if said := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool { return e.What != "incompatible link layers" }); len(said) > 0 && (len(fabric) == 0 || len(ethernet) == 0) {
		f := mixedFinding(fmt.Sprintf("NCCL on %s tried to connect an InfiniBand port to a RoCE port", called(said[0].Host)), nil)
		f.Severity, f.Confidence = Critical, named
		f.Where = []string{called(said[0].Host)}
		f.Evidence = tell(said, "cause")
		return found(f)
	}
	if len(n.Devices) == 0 {
		return cannotCheck("the devices in use (NCCL_DEBUG=INFO prints \"NET/IB : Using\")")
	}
	if len(fabric) == 0 || len(ethernet) == 0 {
		return ruledOut("all devices in use have one link layer")
	}
	invalid := without(v.said(evidence.ModifyQPFailed), func(e evidence.Event) bool { return !errnoIs(e, 22, "Invalid argument") })
	f := mixedFinding(fmt.Sprintf("%s uses InfiniBand (%s) and RoCE (%s) ports together", called(at.Host), listed(fabric), listed(ethernet)), plain(fabric))
	f.Where = []string{object(other.Host, ethernet[0])}
	f.Evidence = []Evidence{
		{Layer: "collective", What: "RDMA devices of " + called(at.Host), Seen: fmt.Sprintf("%d InfiniBand, %d RoCE", len(fabric), len(ethernet)), Expected: "one link layer", Role: "cause", From: at.From.String()},
	}
	if other.From != at.From {
		f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "RDMA devices of " + called(other.Host), Seen: "RoCE: " + listed(ethernet), Expected: "one link layer", Role: "cause", From: other.From.String()})
		f.Title = fmt.Sprintf("%s uses InfiniBand ports (%s) and %s RoCE ports (%s)", called(at.Host), listed(fabric), called(other.Host), listed(ethernet))
	}
	if len(invalid) > 0 {
		f.Severity, f.Confidence = Critical, named
		f.Evidence = append(f.Evidence, tell(invalid, "effect")...)
	}
	return found(f)
}

func mixedFinding(title string, devices []string) Finding {
	f := Finding{
		Title: title, Severity: Warning, Confidence: likely,
		Because: "rings pair ports by their index, and a QP between an InfiniBand port (addressed by LID) and a RoCE port (addressed by GID) cannot be set up",
		WrongIf: "every connection pairs ports of one kind (the Channel lines show it)",
		Fix: Fix{
			Text:     "name the devices of the fabric that is meant, on every host",
			Commands: []string{"export NCCL_IB_HCA==DEVICE,DEVICE", "ibv_devinfo | grep -E 'hca_id|link_layer'"},
		},
		Settle: "the same run with NCCL_IB_HCA limited to one kind",
	}
	if len(devices) > 0 {
		value := "=" + strings.Join(devices, ",")
		f.Fix.Commands[0] = "export NCCL_IB_HCA=" + value
		f.Fix.Try = []Change{{Setting: "NCCL_IB_HCA", Value: value}}
	}
	return f
}

// plain lists devices without the merged forms ("mlx5_0+mlx5_1"), each once.
func plain(devices []string) []string {
	var out []string
	for _, d := range devices {
		for _, one := range strings.Split(d, "+") {
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out
}
