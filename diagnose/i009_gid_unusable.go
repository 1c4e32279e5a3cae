package diagnose

import (
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/evidence"
)

// I009: the GID index in use names a slot that is empty, or that belongs to another network namespace.
//
// Symptom: a QP cannot be moved to RTR with "No such device" (19: the interface of the GID is not in this network
// namespace), "No data available" (61: the slot is empty) or "Invalid argument" (22). Mechanism: slots of the GID table
// follow the addresses of interfaces; when an address goes, or an interface moves into a pod, its slots go with it.
// Evidence for: the error, or an index that the table does not list. Look-alikes: I004 (right on one host, wrong on
// another), C003 (22 between link layers), I001 and I002 (a slot that is there, but of the wrong kind).
var causeGIDUnusable = Cause{
	Code:     "I009",
	Title:    "the GID index in use is empty or belongs to another namespace",
	Needs:    "the NCCL log, the GID table (show_gids) from where the job runs",
	Explains: []string{"R004", "J003", "R003"},
	Check:    checkGIDUnusable,
}

func checkGIDUnusable(v *View) Verdict {
	if f, ok := v.perftestEmptyGID(); ok {
		return found(f)
	}
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	foreign := without(v.said(evidence.ModifyQPFailed), func(e evidence.Event) bool {
		return !errnoIs(e, 19, "No such device") && !errnoIs(e, 61, "No data available")
	})
	invalid := without(v.said(evidence.ModifyQPFailed), func(e evidence.Event) bool { return !errnoIs(e, 22, "Invalid argument") })
	used, why := v.gidIndexes()
	absent := -1
	var table hostPort
	tables := v.gidTables()
	tablesOf := tables.byHost()
	for _, u := range used {
		for _, p := range tablesOf(u.host) {
			if _, ok := p.gid(u.index); !ok && u.fixed {
				absent, table = u.index, p
			}
		}
	}
	f := Finding{
		Severity: Critical, Confidence: named,
		Because: "slots of the GID table follow the addresses of interfaces: an interface without an address, or in another network namespace, leaves its slots empty or out of reach",
		WrongIf: "show_gids, where the job runs, lists the index with a routed address",
		Fix: Fix{
			Text:     "give the RoCE interface its address inside the namespace of the job, and take the index from the table there; or leave it unset on NCCL 2.26 and later",
			Commands: []string{"show_gids", "ip -br addr", "rdma system show netns"},
		},
		Settle: "show_gids inside the container or pod",
	}
	errors := append(foreign, invalid...)
	switch {
	case absent >= 0:
		f.Title = fmt.Sprintf("GID index %d is set, but the table of %s has no such entry", absent, table.object())
		f.Where = []string{table.object()}
		f.Severity, f.Confidence = Warning, likely
		f.Evidence = []Evidence{
			{Layer: "RDMA", What: "GID index " + used[0].how, Seen: fmt.Sprint(absent), Role: "cause", From: used[0].from.String()},
			{Layer: "NIC", What: "GID table of " + table.object(), Seen: fmt.Sprintf("%d entries, none with that index", len(table.GIDs)), Expected: "a routed RoCE v2 entry", Role: "cause", From: orElse(table.GIDTable.String(), table.GIDs[0].From.String())},
		}
		if b, ok := table.best(); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: fmt.Sprintf("GID %d of %s", b.Index, table.Device), Seen: describe(b), From: b.From.String()})
			f.Fix.Try = []Change{{Setting: "NCCL_IB_GID_INDEX", Value: fmt.Sprint(b.Index)}}
		}
		if len(errors)+len(v.unreachable()) > 0 {
			f.Severity, f.Confidence = Critical, proven
			f.Evidence = append(f.Evidence, tell(append(errors, v.unreachable()...), "effect")...)
		}
	case len(foreign) > 0:
		e := foreign[0]
		f.Title = fmt.Sprintf("the GID that %s uses is empty or belongs to another network namespace (%s)", object(e.Host, e.Device), e.Errno)
		f.Where = []string{object(e.Host, e.Device)}
		f.Evidence = tell(foreign, "cause")
	case len(invalid) > 0:
		e := invalid[0]
		f.Title = fmt.Sprintf("%s could not use its GID for a connection (Invalid argument)", object(e.Host, e.Device))
		f.Where = []string{object(e.Host, e.Device)}
		f.Confidence = weak
		f.Evidence = tell(invalid, "effect")
		f.WrongIf += "; or the two ends have different link layers (C003)"
	case len(used) == 0 && !v.chooses():
		return cannotCheck(why)
	case len(tables) == 0:
		if v.Inv.NCCL.HasLog {
			return ruledOut("no QP failed for want of its GID")
		}
		return cannotCheck("the GID table (show_gids)")
	default:
		return ruledOut("the index in use is in the table, and no QP failed for want of its GID")
	}
	return found(f)
}

// perftestEmptyGID finds a bandwidth test over Ethernet whose own GID is all zeros: the slot it took is empty where it runs.
func (v *View) perftestEmptyGID() (Finding, bool) {
	for _, t := range v.Inv.Perftests {
		zero := func(a netip.Addr) bool { return a.IsUnspecified() }
		if !t.LinkLayer.Is(func(s string) bool { return s == "Ethernet" }) || !t.LocalGID.Is(zero) {
			continue
		}
		where := object(t.Host, t.Device)
		f := Finding{
			Title:    fmt.Sprintf("the bandwidth test on %s has no GID: the slot it uses is empty", where),
			Severity: Critical, Confidence: named, Where: []string{where},
			Because: "slots of the GID table follow the addresses of interfaces: a pod or container that was given the RDMA device, but not its interface with an address, sees an empty table",
			Evidence: []Evidence{
				{Layer: "RDMA", What: "GID of the test on " + where, Seen: "0000:0000:0000:0000:0000:0000:0000:0000", Expected: "the interface's address", Role: "cause", From: t.LocalGID.From.String()},
			},
			WrongIf: "show_gids, where the test runs, lists an entry with a routed address",
			Fix: Fix{
				Text:     "give the pod an interface of that device with an address of its own (macvlan, SR-IOV, or the host's network), and name its index with -x",
				Commands: []string{"show_gids", "ip -br addr", "rdma system show netns"},
			},
			Settle: "show_gids inside the container or pod",
		}
		if t.GIDIndex.Known() {
			f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "GID index of the test", Seen: fmt.Sprint(t.GIDIndex.Or(0)), From: t.GIDIndex.From.String()})
		}
		if what, ok := t.Failed.Get(); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "result of the test", Seen: "could not " + what, Role: "effect", From: t.Failed.From.String()})
		}
		return f, true
	}
	return Finding{}, false
}
