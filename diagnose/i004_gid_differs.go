package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// I004: no single GID index is right for all hosts or pods.
//
// Symptom: bandwidth tests work with another -x on each side, the job fails. Mechanism: slots are handed out by
// the host's device in the order interfaces appear, so the same kind of address sits at other indexes in each
// pod; NCCL_IB_GID_INDEX is one number. Evidence for: the tables of two hosts have no routed v2 index in common,
// or the index that is set is one on this host and none, or another kind, on that one. Look-alikes: I001, I002
// (wrong everywhere), I003 (nothing set, the choice fails).
var causeGIDDiffers = Cause{
	Code:     "I004",
	Title:    "no one GID index fits all hosts",
	Needs:    "the GID tables (show_gids) of two hosts or more",
	Explains: []string{"I009", "R004", "J002", "J003", "I011"},
	Check:    checkGIDDiffers,
}

func checkGIDDiffers(v *View) Verdict {
	if verdict, stop := v.roceOnly(); stop {
		return verdict
	}
	tables := v.gidTables()
	usable := map[string]map[int]bool{} // per port, the indexes that RoCE between hosts could use
	from := map[string]hostPort{}
	for _, p := range tables {
		indexes := map[int]bool{}
		for _, g := range p.GIDs {
			if routable(g) {
				indexes[g.Index] = true
			}
		}
		if len(indexes) > 0 {
			usable[p.object()], from[p.object()] = indexes, p
		}
	}
	if len(usable) < 2 {
		if len(tables) >= 2 {
			return ruledOut("fewer than two ports have a routed RoCE v2 address")
		}
		return cannotCheck("the GID tables (show_gids) of two hosts or more")
	}
	ports := slices.Sorted(maps.Keys(usable))
	common := maps.Clone(usable[ports[0]])
	for _, p := range ports[1:] {
		maps.DeleteFunc(common, func(i int, _ bool) bool { return !usable[p][i] })
	}
	used, _ := v.gidIndexes()
	fixed := slices.IndexFunc(used, func(u gidIndex) bool { return u.fixed })
	if fixed < 0 && len(common) > 0 {
		return ruledOut(fmt.Sprintf("index %d is a routed RoCE v2 entry on every port that was read", slices.Sorted(maps.Keys(common))[0]))
	}
	if fixed >= 0 {
		var good, bad []string
		for _, p := range ports {
			index := used[fixed].index
			for _, u := range used {
				if u.fixed && u.host == from[p].host.Name {
					index = u.index
				}
			}
			if usable[p][index] {
				good = append(good, p)
			} else {
				bad = append(bad, p)
			}
		}
		if len(bad) == 0 {
			return ruledOut("the index that is set is a routed RoCE v2 entry on every port that was read")
		}
		if len(good) == 0 {
			return ruledOut("the index that is set is wrong on every port alike")
		}
		f := differsFinding(ports, usable, from)
		f.Title = fmt.Sprintf("GID index %d is right on %s but not on %s", used[fixed].index, listed(good), listed(bad))
		f.Where = bad
		f.Severity, f.Confidence = Critical, named
		f.Evidence = append([]Evidence{{Layer: "RDMA", What: "GID index " + used[fixed].how, Seen: fmt.Sprint(used[fixed].index), Role: "cause", From: used[fixed].from.String()}}, f.Evidence...)
		f.Evidence = append(f.Evidence, tell(v.rdmaErrors(), "effect")...)
		return found(f)
	}
	b := v.nccl()
	if b.atLeast(2, 26) == yes {
		return ruledOut(b.String() + " chooses an index for each port itself")
	}
	f := differsFinding(ports, usable, from)
	f.Title = "no GID index is right on all ports: " + indexesOf(ports, usable)
	f.Where = ports[:min(len(ports), 4)]
	f.Severity, f.Confidence = Warning, likely
	if broken := v.rdmaErrors(); len(broken) > 0 {
		f.Severity, f.Confidence = Critical, named
		f.Evidence = append(f.Evidence, tell(broken, "effect")...)
	}
	f.Evidence = append(f.Evidence, versionRow(b))
	return found(f)
}

// indexesOf lists which indexes each port could use: "index 5 on pod1/mlx5_4, index 7 on pod2/mlx5_4".
func indexesOf(ports []string, usable map[string]map[int]bool) string {
	var parts []string
	for _, p := range ports {
		var numbers []string
		for _, i := range slices.Sorted(maps.Keys(usable[p])) {
			numbers = append(numbers, fmt.Sprint(i))
		}
		parts = append(parts, "index "+strings.Join(numbers, ", ")+" on "+p)
	}
	return listed(parts)
}

func differsFinding(ports []string, usable map[string]map[int]bool, from map[string]hostPort) Finding {
	f := Finding{
		Because: "slots of the GID table are handed out in the order interfaces appear on the host, so the same kind of address has another index in each pod; one variable for all cannot fit",
		WrongIf: "the ports that differ are not used by the same job",
		Fix: Fix{
			Text:     "use NCCL 2.26 or later and leave the index unset, or set it in each pod from its own table, in the process itself (mpirun does not read /etc/environment)",
			Commands: []string{"show_gids", "unset NCCL_IB_GID_INDEX"},
		},
		Settle: "ib_write_bw between the pods, with -x set to each side's own index",
		Not:    []string{"a dead path: an index that is wrong on one side only gives the same error"},
	}
	for _, p := range ports[:min(len(ports), maxRows)] {
		first := slices.Min(slices.Collect(maps.Keys(usable[p])))
		g, _ := from[p].gid(first)
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "routed RoCE v2 entry of " + p, Seen: fmt.Sprintf("index %d (%s)", first, g.Address.Unmap()), Role: "cause", From: g.From.String()})
	}
	return f
}
