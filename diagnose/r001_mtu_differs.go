package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// R001: the path MTU of the two ends of a connection differs.
//
// Symptom: status 1 (local length error), 9 or 10, an asynchronous "local access violation", or a hang with large
// messages while small ones pass. Mechanism: each end of a QP must be told the same path MTU. NCCL up to 2.19 took
// the smaller of both active_mtu; since 2.20 each end takes its own (src/transport/net_ib.cc). For RoCE active_mtu
// follows the interface's MTU. Evidence for: QPs or ports of the same device on two hosts with different MTUs.
// Against: NCCL before 2.20. Look-alikes: R005 (remote keys), I001.
var causeMTUDiffers = Cause{
	Code:     "R001",
	Title:    "the path MTU differs between hosts",
	Needs:    "NCCL's QP lines (NCCL_DEBUG_SUBSYS=NET), or ibv_devinfo of two hosts",
	Explains: []string{"R004", "R005", "R003", "J002", "J003"},
	Check:    checkMTUDiffers,
}

// mtuSeen is one MTU of one device on one host.
type mtuSeen struct {
	host, device string
	mtu          int
	from         evidence.Source
	qp           bool
}

func checkMTUDiffers(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("all ports of a simulated run have one MTU")
	}
	seen := v.mtus(true)
	pair, ok := differing(seen)
	if !ok {
		ports := v.mtus(false)
		if pair, ok = differing(ports); !ok {
			switch {
			case severalHosts(seen):
				return ruledOut(fmt.Sprintf("all QPs have the same path MTU (%d)", seen[0].mtu))
			case severalHosts(ports):
				return ruledOut(fmt.Sprintf("the ports of all hosts have the same active MTU (%d)", ports[0].mtu))
			}
			if length := v.completions(wcLocalLength); len(length) > 0 && v.nccl().atLeast(2, 20) != no {
				return found(lengthFinding(v, length))
			}
			return cannotCheck("the MTU on two hosts (ibv_devinfo, or NCCL_DEBUG_SUBSYS=INIT,NET)")
		}
	}
	small, large := pair[0], pair[1]
	if small.mtu > large.mtu {
		small, large = large, small
	}
	b := v.nccl()
	since := b.atLeast(2, 20)
	symptoms := append(v.completions(wcLocalLength, wcRemoteInvalid, wcRemoteAccess, wcRetryExceeded), v.accessViolations()...)
	f := Finding{
		Title:    fmt.Sprintf("the path MTU differs: %d on %s, %d on %s", small.mtu, object(small.host, small.device), large.mtu, object(large.host, large.device)),
		Severity: Warning, Confidence: likely,
		Where:   []string{object(small.host, small.device), object(large.host, large.device)},
		Because: "both ends of a QP need the same path MTU; NCCL takes the smaller one up to 2.19, and since 2.20 each end uses its own",
		WrongIf: "the two ports never talk to each other",
		Fix: Fix{
			Text:     "set the same MTU on every port of the job (RoCE: the interface's MTU, 4200 or more for a path MTU of 4096) and on the switch",
			Commands: []string{"ip link set IFACE mtu 9000", "ibv_devinfo | grep -E 'hca_id|active_mtu'"},
		},
		Settle: "ibv_devinfo on both hosts",
	}
	for _, m := range []mtuSeen{small, large} {
		what := "active MTU of " + object(m.host, m.device)
		if m.qp {
			what = "path MTU of QPs on " + object(m.host, m.device)
		}
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: what, Seen: fmt.Sprint(m.mtu), Expected: "the same everywhere", Role: "cause", From: m.from.String()})
	}
	f.Evidence = append(f.Evidence, versionRow(b))
	f.Evidence = append(f.Evidence, tell(symptoms, "effect")...)
	switch {
	case since == no && len(symptoms) > 0:
		return ruledOut(b.String() + " takes the smaller MTU of both ends")
	case since == no:
		f.Severity, f.Confidence = Note, possible
		f.Because = "NCCL before 2.20 takes the smaller MTU of both ends, so this costs a few percent now and will fail after an update"
	case len(symptoms) > 0 && (since == yes || small.qp):
		f.Severity, f.Confidence = Critical, proven
	case len(symptoms) > 0:
		f.Severity, f.Confidence = Critical, named
	case since == yes:
		f.Severity, f.Confidence = Critical, likely
	}
	return found(f)
}

// lengthFinding is what a length error without any MTU says: unequal MTUs are its usual reason since NCCL 2.20.
func lengthFinding(v *View, length []evidence.Event) Finding {
	return Finding{
		Title:    fmt.Sprintf("%s received packets of another length than expected (status 1): the MTU of the two ends probably differs", names(eventHosts(length))),
		Severity: Critical, Confidence: possible, Where: []string{called(length[0].Host), orElse(length[0].Peer, "its peer")},
		Because:  "both ends of a QP need the same path MTU; since NCCL 2.20 each end uses its own port's",
		Evidence: append(tell(length, "effect"), versionRow(v.nccl())),
		WrongIf:  "active_mtu is the same on both hosts",
		Fix:      Fix{Text: "compare the MTU of both ports and set the same", Commands: []string{"ibv_devinfo | grep -E 'hca_id|active_mtu'", "ip link set IFACE mtu 9000"}},
		Settle:   "ibv_devinfo on both hosts",
	}
}

// accessViolations lists asynchronous events of a QP that refused what its peer sent.
func (v *View) accessViolations() []evidence.Event {
	return without(v.said(evidence.AsyncEvent), func(e evidence.Event) bool {
		what := strings.ToLower(orElse(e.What, e.Text))
		return !strings.Contains(what, "access violation") && !strings.Contains(what, "invalid request")
	})
}

// mtus lists the MTUs of the job's QPs, or of its active ports.
func (v *View) mtus(qps bool) []mtuSeen {
	var all []mtuSeen
	if qps {
		for _, q := range v.Inv.NCCL.QPs {
			if q.MTU > 0 {
				all = append(all, mtuSeen{q.Host, orElse(q.Name, fmt.Sprintf("device %d", q.Device)), q.MTU, q.From, true})
			}
		}
		return all
	}
	for _, p := range v.hostPorts() {
		if mtu, ok := p.ActiveMTU.Get(); ok && !p.State.Is(func(s string) bool { return strings.Contains(strings.ToUpper(s), "DOWN") }) {
			all = append(all, mtuSeen{p.host.Name, p.Device, mtu, p.ActiveMTU.From, false})
		}
	}
	return all
}

// differing finds the same device on two hosts with different MTUs. Devices of one host may differ by purpose
// (storage, management), so they are not compared.
func differing(all []mtuSeen) (pair [2]mtuSeen, ok bool) {
	first := map[string][]mtuSeen{} // by device, the first sighting of each MTU on up to two hosts
	for _, m := range all {
		alike := 0
		for _, o := range first[m.device] {
			if o.mtu != m.mtu && o.host != m.host {
				return [2]mtuSeen{o, m}, true
			}
			if o.mtu == m.mtu {
				alike++
				if o.host == m.host {
					alike = 2
				}
			}
		}
		if alike < 2 {
			first[m.device] = append(first[m.device], m)
		}
	}
	return pair, false
}

func severalHosts(all []mtuSeen) bool {
	return slices.ContainsFunc(all, func(m mtuSeen) bool { return m.host != all[0].host })
}
