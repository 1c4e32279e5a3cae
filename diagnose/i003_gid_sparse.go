package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// I003: a GID table with holes breaks NCCL's own choice of the index.
//
// Symptom: "read failed in ncclIbRoceGetVersionNum: Invalid argument" in a container, or a hang or crash with
// NCCL_IB_ROCE_VERSION_NUM set. Mechanism: the slots belong to the host's device and a network namespace sees
// only those of its own interfaces; NCCL 2.21 to 2.25 walks from 0 and reads gid_attrs/types/N of a slot that is
// not there, which fails with EINVAL; 2.26 skips such slots. Evidence for: the failed read, or a table that does
// not begin at 0 together with such a version and no index set. Look-alikes: I004 (an index was set, and fits
// one pod only). Against: an index that is set.
var causeGIDSparse = Cause{
	Code:     "I003",
	Title:    "a GID table with holes breaks the choice of the GID index",
	Needs:    "the NCCL log, the GID table (show_gids) and the version of NCCL",
	Explains: []string{"R004", "C002", "J003", "I004", "I011"},
	Check:    checkGIDSparse,
}

func checkGIDSparse(v *View) Verdict {
	failed := v.said(evidence.GIDReadFailed)
	table, first, sparse := v.sparseTable()
	b := v.nccl()
	f := Finding{
		Severity: Critical, Confidence: named,
		Because: "a container sees only the GID slots of its own interfaces; NCCL 2.21 to 2.25 reads from slot 0 on and gives up at the first slot it may not read",
		WrongIf: "the slot that could not be read is one the job does not pass on its way to a usable one",
		Fix: Fix{
			Text:     "use NCCL 2.26 or later, or set the index for each pod from its own table, in the process itself",
			Commands: []string{"show_gids", "export NCCL_IB_GID_INDEX=$(show_gids | awk '$1==\"DEVICE\" && $6==\"v2\" && $5!=\"\" {print $3; exit}')"},
		},
		Settle: "the version of NCCL and show_gids, both inside the container",
	}
	switch {
	case len(failed) > 0:
		e := failed[0]
		f.Title = fmt.Sprintf("NCCL on %s could not read an entry of the GID table and cannot choose an index", called(e.Host))
		f.Where = []string{object(e.Host, e.Device)}
		f.Evidence = tell(failed, "cause")
		if sparse {
			f.Title = fmt.Sprintf("NCCL on %s cannot choose a GID index: the table of %s begins at index %d", called(e.Host), table.object(), first)
			f.Confidence = proven
			f.Evidence = append(f.Evidence, sparseRow(table, first))
		}
		f.Evidence = append(f.Evidence, versionRow(b))
		return found(f)
	case !sparse:
		if verdict, stop := v.roceOnly(); stop {
			return verdict
		}
		if len(v.gidTables()) == 0 {
			if v.Inv.NCCL.HasLog {
				return ruledOut("NCCL read the GID table without an error")
			}
			return cannotCheck("the GID table (show_gids)")
		}
		return ruledOut("the GID tables have no holes at their beginning")
	}
	if used, _ := v.gidIndexes(); len(used) > 0 && b.atLeast(2, 21) != no && used[0].fixed {
		return ruledOut("an index is set, so NCCL chooses none")
	}
	wanted, asks := v.variable("NCCL_IB_ROCE_VERSION_NUM", table.host.Name)
	within := b.some(221, 226)
	if within == no {
		return ruledOut(b.String() + " does not choose an index from a table with holes, or does so rightly")
	}
	if within == unknown && !asks {
		return cannotCheck("the version of NCCL: 2.21 to 2.25 fail on this table")
	}
	f.Title = fmt.Sprintf("the GID table of %s begins at index %d: NCCL 2.21 to 2.25 cannot choose an index from it", table.object(), first)
	f.Where = []string{table.object()}
	f.Severity, f.Confidence = Warning, possible
	f.Evidence = []Evidence{sparseRow(table, first)}
	if asks {
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "NCCL_IB_ROCE_VERSION_NUM (read by NCCL 2.21 and later)", Seen: wanted.Value, From: wanted.From.String()})
	}
	if within == yes {
		f.Severity, f.Confidence = Critical, likely
	}
	f.Evidence = append(f.Evidence, versionRow(b))
	return found(f)
}

// sparseTable finds a RoCE port whose table does not begin at index 0.
func (v *View) sparseTable() (p hostPort, first int, ok bool) {
	for _, p := range v.gidTables() {
		lowest := p.GIDs[0].Index
		for _, g := range p.GIDs {
			lowest = min(lowest, g.Index)
		}
		if lowest > 0 {
			return p, lowest, true
		}
	}
	return hostPort{}, 0, false
}

func sparseRow(p hostPort, first int) Evidence {
	return Evidence{Layer: "NIC", What: "first index in the GID table of " + p.object(), Seen: fmt.Sprint(first), Expected: "0", Role: "cause", From: orElse(p.GIDTable.String(), p.GIDs[0].From.String())}
}

// versionRow tells which NCCL it is, or that it is not known.
func versionRow(b releases) Evidence {
	seen := "unknown"
	if b.text != "" {
		seen = b.text
	}
	return Evidence{Layer: "collective", What: "version of NCCL", Seen: seen, From: b.From.String()}
}
