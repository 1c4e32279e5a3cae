package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// I001: the GID index in use selects RoCE v1, or is the default 0 of NCCL before 2.21.
//
// Symptom: TCP works, the communicator comes up (it is made over TCP), the first data dies with completion
// status 12 after all retries, or a QP cannot be moved to RTR. Mechanism: RoCE v1 has no IP header; routers and
// most RoCE fabrics do not forward it. NCCL took index 0 up to 2.20 and chooses since 2.21 (src/transport/
// net_ib.cc, NCCL_PARAM(IbGidIndex)). Evidence for: the index in use and its entry in the table. Against: the
// entry is v2. Look-alikes: I002 (v2, but link-local), I003 (the choice fails), I007 (UDP 4791 filtered).
var causeGIDv1 = Cause{
	Code:     "I001",
	Title:    "the GID index in use selects RoCE v1",
	Needs:    "the GID table (show_gids) and NCCL_IB_GID_INDEX or the version of NCCL",
	Explains: []string{"I002", "R003", "R004", "R005", "J002", "J003", "I007", "I011"},
	Check:    checkGIDv1,
}

func checkGIDv1(v *View) Verdict {
	if f := perftestGIDZero(v); len(f) > 0 {
		return found(f...)
	}
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	broken := v.unreachable()
	var findings []Finding
	used, why := v.gidIndexes()
	tablesOf := v.gidTables().byHost()
	for _, u := range used {
		tables := tablesOf(u.host)
		hit := false
		for _, p := range tables {
			g, ok := p.gid(u.index)
			if !ok || g.Version != "v1" {
				continue
			}
			hit = true
			findings = append(findings, gidV1Finding(v, u, p, g, broken))
		}
		if len(tables) == 0 && !hit && u.index == 0 && len(broken) > 0 {
			findings = append(findings, gidV1Finding(v, u, hostPort{}, evidence.GID{}, broken))
		}
	}
	if len(findings) > 0 {
		return found(findings[:1]...)
	}
	if len(used) == 0 && v.chooses() {
		return ruledOut(v.nccl().String() + " chooses a RoCE v2 entry itself")
	}
	if len(used) == 0 {
		return cannotCheck(why)
	}
	for _, u := range used {
		if len(tablesOf(u.host)) == 0 {
			return cannotCheck("the GID table of " + called(u.host) + " (show_gids)")
		}
	}
	return ruledOut(fmt.Sprintf("the index in use (%d, %s) is not RoCE v1", used[0].index, used[0].how))
}

func gidV1Finding(v *View, u gidIndex, p hostPort, g evidence.GID, broken []evidence.Event) Finding {
	f := Finding{
		Severity: Warning, Confidence: possible,
		Where:   []string{called(u.host)},
		Because: "RoCE v1 has no IP header, so the fabric does not route it; the communicator is made over TCP, and only the first RDMA packets get lost",
		WrongIf: "all hosts of the job sit in one Ethernet segment that carries RoCE v1, and the job runs",
		Settle:  "show_gids, then ib_write_bw -x INDEX between the two hosts, once with the index in use and once with a v2 one",
	}
	row := Evidence{Layer: "RDMA", What: "GID index " + u.how, Seen: fmt.Sprint(u.index), Role: "cause", From: orElse(u.from.String(), "the forms of its lines")}
	f.Evidence = append(f.Evidence, row)
	index := "INDEX"
	if p.NIC != nil {
		f.Where = []string{p.object()}
		f.Title = fmt.Sprintf("%s uses GID index %d (%s), which is RoCE v1", p.object(), u.index, u.how)
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: fmt.Sprintf("GID %d of %s", u.index, p.Device), Seen: describe(g), Expected: "RoCE v2 with a routed address", Role: "cause", From: g.From.String()})
		if b, ok := p.best(); ok {
			index = fmt.Sprint(b.Index)
			f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: fmt.Sprintf("GID %d of %s", b.Index, p.Device), Seen: describe(b), From: b.From.String()})
		}
		if len(broken) > 0 {
			f.Severity, f.Confidence = Critical, proven
		}
	} else {
		f.Title = fmt.Sprintf("%s uses GID index 0 (%s): on RoCE that is the link-local RoCE v1 address", called(u.host), u.how)
		f.Severity, f.Confidence = Critical, likely
	}
	f.Evidence = append(f.Evidence, tell(broken, "effect")...)
	if u.how != "" && !u.fixed {
		f.Not = append(f.Not, "a wrong value by hand: NCCL_IB_GID_INDEX is not set in what was read")
	}
	f.Not = append(f.Not, notLinkDown(v)...)
	f.Fix = Fix{
		Text:     "name the RoCE v2 entry with a routed address, or use NCCL 2.21 or later (2.26 in containers) and leave the variable unset",
		Commands: []string{"show_gids", "export NCCL_IB_GID_INDEX=" + index},
		Try:      []Change{{Setting: "NCCL_IB_GID_INDEX", Value: index}},
	}
	if len(broken) > 0 && broken[0].What == "UCX" {
		f.Fix.Text = "name the RoCE v2 entry with a routed address"
		f.Fix.Commands = []string{"show_gids", "export UCX_IB_GID_INDEX=" + index}
		f.Fix.Try = nil
		f.Not = nil
	}
	return f
}
