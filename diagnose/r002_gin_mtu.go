package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// R002: device-initiated communication asks for a path MTU of 4096 that the port does not have.
//
// Symptom: alltoall of a library that sends from the GPU (GIN) hangs, ordinary collectives work. Mechanism: the
// GDAKI form of GIN in NCCL 2.28 sets IBV_MTU_4096 when it moves a QP to RTR, whatever active_mtu is. Evidence
// for: "Assigned GIN plugin GIN_IB_GDAKI" and an interface MTU below 4200, or active_mtu below 4096. Against: an
// active_mtu of 4096. Look-alikes: R001.
var causeGINMTU = Cause{
	Code:     "R002",
	Title:    "device-initiated communication needs a path MTU of 4096",
	Needs:    "the NCCL log and ip link or ibv_devinfo",
	Explains: []string{"R003", "J002"},
	Check:    checkGINMTU,
}

func checkGINMTU(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	i := slices.IndexFunc(v.Inv.NCCL.GIN, func(g evidence.NetworkChoice) bool { return strings.Contains(g.Name, "GDAKI") })
	if i < 0 {
		return notApplicable("no device-initiated communication (GIN_IB_GDAKI) in the log")
	}
	gin := v.Inv.NCCL.GIN[i]
	if v.roce() == no {
		return notApplicable("InfiniBand ports have a path MTU of 4096 unless the subnet manager says otherwise")
	}
	known := false
	for _, p := range v.hostPorts() {
		mtu, ok := p.ActiveMTU.Get()
		known = known || ok
		if ok && mtu < 4096 {
			return found(ginFinding(v, gin, p.object(), "active MTU of "+p.object(), mtu, 4096, p.ActiveMTU.From))
		}
	}
	if known {
		return ruledOut("the ports have an active MTU of 4096")
	}
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			mtu, ok := d.MTU.Get()
			if !ok || virtual(d.Name) || v.isOOB(h.Name, d.Name) {
				continue
			}
			known = true
			// 4096 of payload need 4200 of interface MTU with the headers of RoCE v2 (NVIDIA's guidance for RoCE).
			if mtu < 4200 {
				return found(ginFinding(v, gin, object(h.Name, d.Name), "MTU of "+object(h.Name, d.Name), mtu, 4200, d.MTU.From))
			}
		}
	}
	if known {
		return ruledOut("the interfaces have an MTU of 4200 or more")
	}
	return cannotCheck("the MTU of the RoCE interfaces (ip link, or ibv_devinfo)")
}

// isOOB tells whether an interface is the one that connections are set up over, and so not that of the data.
func (v *View) isOOB(host, iface string) bool {
	return slices.ContainsFunc(v.Inv.NCCL.Sockets, func(s evidence.SocketChoice) bool {
		return s.Interface == iface && (s.Host == host || host == "") && s.Use != "data"
	})
}

func ginFinding(v *View, gin evidence.NetworkChoice, where, what string, mtu, want int, from evidence.Source) Finding {
	b := v.nccl()
	f := Finding{
		Title:    fmt.Sprintf("device-initiated communication (%s) needs a path MTU of 4096, but %s is %d", gin.Name, what, mtu),
		Severity: Critical, Confidence: likely, Where: []string{where},
		Because: "this path of NCCL sets a path MTU of 4096 on its QPs whatever the port has, so packets that are larger than the link allows never arrive",
		Evidence: []Evidence{
			{Layer: "collective", What: "device-initiated communication of " + called(gin.Host), Seen: gin.Name, Role: "cause", From: gin.From.String()},
			{Layer: "NIC", What: what, Seen: fmt.Sprint(mtu), Expected: fmt.Sprintf("%d or more", want), Role: "cause", From: from.String()},
			versionRow(b),
		},
		Not:     []string{"ordinary collectives: they use the MTU of the port and work"},
		WrongIf: "this release of NCCL takes the MTU of the port (a later one than 2.28 may), or the interface is not that of the RDMA device",
		Fix:     Fix{Text: "set an MTU of 4200 or more (9000) on every RoCE interface and on the switch, or use a release of NCCL that takes the port's MTU", Commands: []string{"ip link set IFACE mtu 9000", "ibv_devinfo | grep active_mtu"}},
		Settle:  "the same run with an MTU of 9000 on all ports",
	}
	f.Evidence = append(f.Evidence, tell(v.said(evidence.WatchdogTimeout), "effect")...)
	return f
}
