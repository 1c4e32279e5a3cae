package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// H002: PCIe access control services (or the IOMMU) stand between NIC and GPU.
//
// Symptom: with GPU Direct RDMA, completions fail with status 4 (mlx5 vendor syndrome 0x51) and status 11 at the
// peer; or it works at about half speed while host-memory tests are fast. Mechanism: ReqRedir and CmpltRedir on a
// bridge send peer-to-peer transactions up to the root complex (PCI Express base specification, 6.12), which
// delays them, and which an IOMMU may refuse. Evidence for: those bits set; the statuses on connections with
// /GDRDMA. SrcValid alone checks the requester's id and redirects nothing. Look-alikes: H001 (GPU Direct off),
// R005 (a stale or wrong remote key: status 9 or 10), both without status 4 with syndrome 81.
var causeACS = Cause{
	Code:     "H002",
	Title:    "PCIe access control redirects or breaks GPU Direct RDMA",
	Needs:    "lspci -vvv as root, and the NCCL log",
	Explains: []string{"R005", "J002", "J003", "R004"},
	Check:    checkACS,
}

// mlx5LocalProtection is the vendor syndrome of mlx5 beside a local protection error on GPU memory that the
// device could not reach, as reports of NCCL users show it; it is not documented by the vendor.
const mlx5LocalProtection = 81

func checkACS(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no PCIe")
	}
	local := without(v.completions(wcLocalProtect), func(e evidence.Event) bool { return e.Vendor != 0 && e.Vendor != mlx5LocalProtection })
	remote := v.completions(wcRemoteOperate)
	gdr, told := v.usesGDR()
	type redirect struct {
		host    string
		bridges []evidence.Bridge
	}
	var redirects []redirect
	listed, validateOnly := false, []evidence.Source{}
	aside := 0 // bridges that redirect, and that the tree shows on no way between a GPU and a NIC
	for _, h := range v.Inv.Hosts {
		r := redirect{host: h.Name}
		direct, known := v.directBridges(h)
		known = known || placed(h)
		for _, b := range h.Bridges {
			listed = true
			if b.Redirect && known && !direct[evidence.PCIAddress(b.Address)] {
				aside++
			} else if b.Redirect {
				r.bridges = append(r.bridges, b)
			} else if b.Validate {
				validateOnly = append(validateOnly, b.From)
			}
		}
		if len(r.bridges) > 0 {
			redirects = append(redirects, r)
		}
	}
	fix := Fix{
		Text: "on bare metal switch ACS off on the bridges above GPU and NIC (BIOS, or setpci at each boot); in virtual machines keep it and switch on ATS on the NIC and direct translated peer-to-peer",
		Commands: []string{
			"for d in $(lspci -d '*:*:0604' | awk '{print $1}'); do setpci -v -s $d ECAP_ACS+0x6.w=0000; done",
			"mlxconfig -d DEVICE set ATS_ENABLED=1",
		},
	}
	settle := "NCCL_NET_GDR_LEVEL=LOC as a test only: if the error goes away or the speed stays the same, GPU Direct is what is hurt; then lspci -vvv for ACSCtl on each bridge between GPU and NIC"
	because := "peer-to-peer between NIC and GPU is sent up to the root complex instead of across the PCIe switch, where it is slow or refused"
	switch {
	case len(local) > 0 && (gdr || !told):
		f := Finding{
			Title:    fmt.Sprintf("the NIC of %s cannot reach GPU memory: work completion status 4", names(eventHosts(local))),
			Severity: Critical, Confidence: likely, Where: eventHosts(local),
			Because: because, Fix: fix, Settle: settle,
			WrongIf: "the error stays with NCCL_NET_GDR_LEVEL=LOC",
			Not:     []string{"the cable and the fabric: the status is about the NIC's own memory access, before anything is sent"},
		}
		for i, w := range f.Where {
			f.Where[i] = called(w)
		}
		f.Evidence = tell(local, "cause")
		if len(redirects) > 0 {
			b := redirects[0].bridges[0]
			f.Title += fmt.Sprintf(", and access control redirects peer-to-peer at %s", object(redirects[0].host, b.Address))
			f.Evidence = append([]Evidence{bridgeRow(redirects[0].host, b)}, f.Evidence...)
			f.Confidence = proven
		} else if gdr {
			f.Confidence = named
		} else {
			f.Confidence = possible
		}
		if gdr {
			f.Evidence = append(f.Evidence, v.gdrRow())
		}
		f.Evidence = append(f.Evidence, tell(remote, "effect")...)
		return found(f)
	case len(local) == 0 && len(remote) > 0 && (gdr || !told):
		f := Finding{
			Title:    fmt.Sprintf("the peer of %s failed on its own memory: work completion status 11", names(eventHosts(remote))),
			Severity: Critical, Confidence: possible, Where: []string{orElse(remote[0].Peer, "the peer of "+called(remote[0].Host))},
			Because: "status 11 is the other side's answer that it could not do the operation; with GPU Direct the usual reason is its NIC's access to GPU memory: " + because,
			Fix:     fix, Settle: "the log of the peer: status 4 there; " + settle,
			WrongIf:  "the peer's log names another error of its own",
			Evidence: tell(remote, "effect"),
			Not:      []string{"the fabric: the peer answered"},
		}
		if len(redirects) > 0 {
			f.Confidence = likely
			f.Evidence = append([]Evidence{bridgeRow(redirects[0].host, redirects[0].bridges[0])}, f.Evidence...)
		}
		return found(f)
	case len(redirects) > 0:
		var findings []Finding
		for _, r := range redirects {
			f := Finding{
				Title:    fmt.Sprintf("access control redirects peer-to-peer at %s of %s", counted(len(r.bridges), "PCIe bridge", "PCIe bridges"), called(r.host)),
				Severity: Warning, Confidence: likely, Where: []string{object(r.host, r.bridges[0].Address)},
				Because: because, Fix: fix, Settle: settle,
				WrongIf: "none of these bridges lies between a GPU and the NIC it uses (lspci -t)",
			}
			for _, b := range r.bridges[:min(len(r.bridges), maxRows)] {
				f.Evidence = append(f.Evidence, bridgeRow(r.host, b))
			}
			if told && !gdr {
				f.Severity, f.Confidence = Note, possible // nothing goes peer-to-peer between NIC and GPU now
				f.Not = append(f.Not, "the present speed: no connection uses GPU Direct, so nothing is redirected yet")
			}
			findings = append(findings, f)
		}
		if told && !gdr && len(v.rdmaErrors()) > 0 {
			return ruledOut("no connection uses GPU Direct, so the bridges that would redirect it are not on the path of the error")
		}
		return found(findings...)
	}
	if f, ok := v.hostFastGPUSlow(); ok {
		f.Because, f.Fix, f.Settle = because+"; GPU Direct RDMA that is off has the same effect", fix, "lspci -vvv (ACSCtl) as root, and ib_write_bw --use_cuda on the same pair"
		return found(f)
	}
	switch {
	case listed && aside > 0:
		return ruledOut(fmt.Sprintf("%s peer-to-peer, and the PCIe tree shows none of them between a GPU and a NIC", counted(aside, "bridge redirects", "bridges redirect")))
	case listed && len(validateOnly) > 0 && len(v.rdmaErrors()) == 0:
		return found(Finding{
			Title:    fmt.Sprintf("access control checks the source (SrcValid) at %s but redirects nothing", counted(len(validateOnly), "PCIe bridge", "PCIe bridges")),
			Severity: Note, Confidence: weak, Where: []string{called(v.Inv.Hosts[0].Name)},
			Because:  "SrcValid only checks the requester's id; it is worth switching off with the rest, but it does not slow peer-to-peer down",
			Evidence: []Evidence{{Layer: "host", What: "ACSCtl", Seen: "SrcValid+, ReqRedir-, CmpltRedir-", Expected: "all off", From: validateOnly[0].String()}},
			WrongIf:  "other bridges, not in this listing, redirect",
			Fix:      fix, Settle: settle,
		})
	case listed:
		return ruledOut("no listed PCIe bridge redirects peer-to-peer")
	case v.Inv.NCCL.HasLog && gdr && len(v.rdmaErrors()) == 0 && len(v.Inv.Calls) == 0:
		return cannotCheck("lspci -vvv as root (ACSCtl), or a measured bandwidth")
	}
	return cannotCheck("lspci -vvv as root (ACSCtl)")
}

func bridgeRow(host string, b evidence.Bridge) Evidence {
	return Evidence{Layer: "host", What: "ACSCtl of " + object(host, b.Address), Seen: "redirects peer-to-peer (ReqRedir+ or CmpltRedir+)", Expected: "ReqRedir-, CmpltRedir-", Role: "cause", From: b.From.String()}
}

// usesGDR tells whether connections use GPU Direct RDMA; told is false where nothing says so either way.
func (v *View) usesGDR() (uses, told bool) {
	for _, c := range v.Inv.NCCL.Channels {
		uses = uses || c.GDR > 0
		told = true
	}
	for _, g := range v.Inv.NCCL.GDR {
		uses = uses || g.Enabled
		told = true
	}
	return uses, told
}

func (v *View) gdrRow() Evidence {
	for _, c := range v.Inv.NCCL.Channels {
		if c.GDR > 0 {
			return Evidence{Layer: "collective", What: "connections of " + called(c.Host) + " via " + c.Via, Seen: fmt.Sprintf("%d with GPU Direct", c.GDR), From: c.Example.String()}
		}
	}
	g := v.Inv.NCCL.GDR[slices.IndexFunc(v.Inv.NCCL.GDR, func(g evidence.GDRState) bool { return g.Enabled })]
	return Evidence{Layer: "collective", What: "GPU Direct RDMA of " + object(g.Host, g.Device), Seen: "enabled", From: g.From.String()}
}
