package diagnose

import (
	"fmt"
	"net/netip"
)

// I002: the GID in use is RoCE v2, but on a link-local address.
//
// Symptom: a QP cannot be moved to RTR ("Connection timed out", 110: the neighbour was not resolved), or status
// 12. Mechanism: fe80::/10 is not routed (RFC 4291 section 2.5.6), and even inside one segment the neighbour is
// looked for on one interface only. Evidence for: the index and its entry, or a link-local source GID in an error.
// Look-alikes: I001 (v1 entry). InfiniBand GIDs begin with fe80 too and mean nothing of the kind.
var causeGIDLinkLocal = Cause{
	Code:     "I002",
	Title:    "the GID in use is link-local",
	Needs:    "the GID table (show_gids) and NCCL_IB_GID_INDEX or the version of NCCL",
	Explains: []string{"R003", "R004", "J002", "J003", "I011"},
	Check:    checkGIDLinkLocal,
}

func checkGIDLinkLocal(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	broken := v.unreachable()
	used, why := v.gidIndexes()
	tablesOf, tables := v.gidTables().byHost(), 0
	for _, u := range used {
		for _, p := range tablesOf(u.host) {
			tables++
			g, ok := p.gid(u.index)
			if !ok || g.Version != "v2" || !g.LinkLocal() {
				continue
			}
			f := linkLocalFinding(p.object(), u.index, g.Address)
			f.Evidence = []Evidence{
				{Layer: "RDMA", What: "GID index " + u.how, Seen: fmt.Sprint(u.index), Role: "cause", From: orElse(u.from.String(), "the forms of its lines")},
				{Layer: "NIC", What: fmt.Sprintf("GID %d of %s", u.index, p.Device), Seen: describe(g), Expected: "RoCE v2 with a routed address", Role: "cause", From: g.From.String()},
			}
			if b, ok := p.best(); ok {
				f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: fmt.Sprintf("GID %d of %s", b.Index, p.Device), Seen: describe(b), From: b.From.String()})
				f.Fix.Commands[1] = fmt.Sprintf("export NCCL_IB_GID_INDEX=%d", b.Index)
				f.Fix.Try = []Change{{Setting: "NCCL_IB_GID_INDEX", Value: fmt.Sprint(b.Index)}}
			}
			if len(broken) > 0 {
				f.Severity, f.Confidence = Critical, proven
				f.Evidence = append(f.Evidence, tell(broken, "effect")...)
			}
			f.Not = append(f.Not, "RoCE v1 (I001): the entry is v2; the version is right, the address is not")
			return found(f)
		}
	}
	// A failed connection tells its own source address (NCCL 2.18 and later for completions, 2.24 for modify_qp).
	v1 := usesV1(used, tablesOf)
	for _, e := range broken {
		if e.Local.IsValid() && e.Local.IsLinkLocalUnicast() && v.roce() == yes && !v1 {
			f := linkLocalFinding(object(e.Host, e.Device), -1, e.Local)
			f.Severity, f.Confidence = Critical, named
			f.Evidence = []Evidence{
				{Layer: "RDMA", What: "source GID of the failed connection", Seen: e.Local.String(), Expected: "a routed address", Role: "cause", From: e.From.String()},
				told(e, "effect"),
			}
			return found(f)
		}
	}
	for _, q := range v.Inv.NCCL.QPs {
		if !v1 && q.GIDIndex >= 0 && q.GID.IsValid() && q.GID.IsLinkLocalUnicast() && len(broken) > 0 {
			f := linkLocalFinding(called(q.Host), q.GIDIndex, q.GID)
			f.Severity, f.Confidence = Critical, named
			f.Evidence = append([]Evidence{{Layer: "RDMA", What: fmt.Sprintf("GID %d of the QP", q.GIDIndex), Seen: q.GID.String(), Expected: "a routed address", Role: "cause", From: q.From.String()}}, tell(broken, "effect")...)
			return found(f)
		}
	}
	switch {
	case len(used) == 0 && v.chooses():
		return ruledOut(v.nccl().String() + " chooses an entry that is not link-local itself")
	case len(used) == 0:
		return cannotCheck(why)
	case tables == 0:
		return cannotCheck("the GID table of " + called(used[0].host) + " (show_gids)")
	}
	return ruledOut(fmt.Sprintf("the index in use (%d, %s) is not a link-local RoCE v2 entry", used[0].index, used[0].how))
}

// usesV1 tells whether an index in use is a RoCE v1 entry, which is I001's to say; that address is link-local too.
func usesV1(used []gidIndex, tablesOf func(host string) []hostPort) bool {
	for _, u := range used {
		for _, p := range tablesOf(u.host) {
			if g, ok := p.gid(u.index); ok && g.Version == "v1" {
				return true
			}
		}
	}
	return false
}

func linkLocalFinding(where string, index int, a netip.Addr) Finding {
	title := fmt.Sprintf("%s connects from the link-local GID %s, which is not routed between hosts", where, a)
	if index >= 0 {
		title = fmt.Sprintf("%s uses GID index %d, which is RoCE v2 but link-local (%s)", where, index, a)
	}
	return Finding{
		Title: title, Severity: Warning, Confidence: possible, Where: []string{where},
		Because: "RoCE v2 needs a routed address: fe80::/10 ends at the first router, and the neighbour lookup for the peer times out",
		WrongIf: "all hosts sit in one Ethernet segment and the job runs",
		Fix: Fix{
			Text:     "use the RoCE v2 entry that carries the interface's own address, or leave the index unset on NCCL 2.21 and later (2.26 in containers)",
			Commands: []string{"show_gids", "export NCCL_IB_GID_INDEX=INDEX"},
		},
		Settle: "ib_write_bw -x INDEX with the index in use and with that of the routed address",
	}
}
