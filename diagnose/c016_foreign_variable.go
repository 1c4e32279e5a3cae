package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C016: a variable is meant for another kind of network than the job runs over.
//
// Symptom: a setting copied from another cluster has no effect, or a bad one. Mechanism: InfiniBand has no GID to choose and
// no DSCP; RoCE has no partition keys, no service levels without a VLAN tag, no SHARP, and packets that adaptive routing
// delivers out of order unless the NIC puts them back; libfabric and sockets read none of NCCL_IB_*. Evidence for: the
// variable, with the network the log shows. Look-alikes: C005 (a plugin with a switch of its own), C012 (unknown names).
var causeForeignVariable = Cause{
	Code:  "C016",
	Title: "a variable is meant for another kind of network",
	Needs: "the variables of the job, and the network it runs over (NCCL log)",
	Check: checkForeignVariable,
}

// foreign is what a variable does on a network it is not meant for.
type foreign struct {
	name    string
	matters func(value string) bool
	harmful bool
	because string
}

func given(value string) bool { return strings.TrimSpace(value) != "" }
func positive(value string) bool {
	v := strings.TrimSpace(value)
	return v != "" && v != "0" && !strings.HasPrefix(v, "-")
}

var (
	onInfiniBand = []foreign{
		{"NCCL_IB_GID_INDEX", positive, false, "InfiniBand addresses a peer by its LID; the index matters only between subnets"},
		{"NCCL_IB_ROCE_VERSION_NUM", given, false, "it chooses between versions of RoCE"},
		{"NCCL_IB_ADDR_FAMILY", given, false, "it chooses among the GIDs of RoCE"},
		{"NCCL_IB_ADDR_RANGE", given, false, "it chooses among the GIDs of RoCE"},
		{"NCCL_IB_TC", positive, false, "within a subnet InfiniBand packets have no traffic class: NCCL_IB_SL chooses the service level"},
	}
	onRoCE = []foreign{
		{"NCCL_IB_ADAPTIVE_ROUTING", positive, true, "it lets the switches deliver packets in any order, which NCCL leaves off on RoCE: NIC and fabric must both be set up for it"},
		{"NCCL_IB_SL", positive, false, "a service level is a priority in a VLAN tag on RoCE; without a tag nothing carries it, and NCCL_IB_TC chooses the DSCP"},
		{"NCCL_IB_PKEY", positive, false, "RoCE has one partition key"},
		{"NCCL_COLLNET_ENABLE", positive, false, "SHARP reduces in InfiniBand switches only"},
	}
	// onOther is for libfabric and sockets, which read none of these.
	onOther = []string{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_SPLIT_DATA_ON_QPS"}
)

func checkForeignVariable(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no variables of NCCL")
	}
	if len(v.Inv.NCCL.Env) == 0 {
		return cannotCheck("the variables of the job (NCCL_DEBUG=INFO, or env | grep NCCL)")
	}
	kind, row, ok := v.networkKind()
	if !ok {
		return cannotCheck("the network the job runs over (NCCL_DEBUG=INFO prints \"NET/IB : Using\")")
	}
	var vars []evidence.EnvVar
	harmful := false
	reasons := []string{}
	add := func(name string, matters func(string) bool, harm bool, because string) {
		for _, e := range v.Inv.NCCL.Env {
			if e.Name != name || !matters(e.Value) || slices.ContainsFunc(vars, func(x evidence.EnvVar) bool { return x.Name == name }) {
				continue
			}
			if harm && !harmful { // what does harm comes first
				vars, reasons = append([]evidence.EnvVar{e}, vars...), append([]string{because}, reasons...)
			} else {
				vars, reasons = append(vars, e), append(reasons, because)
			}
			harmful = harmful || harm
		}
	}
	switch kind {
	case "InfiniBand":
		for _, f := range onInfiniBand {
			add(f.name, f.matters, f.harmful, f.because)
		}
	case "RoCE":
		for _, f := range onRoCE {
			add(f.name, f.matters, f.harmful, f.because)
		}
	default:
		for _, name := range onOther {
			add(name, given, false, kind+" reads none of NCCL's variables for InfiniBand and RoCE")
		}
	}
	if len(vars) == 0 {
		return ruledOut("the variables that are set are meant for " + kind)
	}
	f := Finding{
		Title:    fmt.Sprintf("%s=%s is not meant for %s", vars[0].Name, vars[0].Value, kind),
		Severity: Note, Confidence: named, Where: []string{orElse(vars[0].Host, vars[0].Name)},
		Because: reasons[0],
		WrongIf: "the job runs over another network as well, which needs it",
		Fix:     Fix{Text: "unset it", Commands: []string{"unset " + vars[0].Name}, Try: []Change{{Setting: vars[0].Name, Value: ""}}},
		Settle:  "the same run without it",
	}
	if harmful {
		f.Severity, f.Confidence = Warning, possible
	}
	for i, e := range vars[:min(len(vars), maxRows)] {
		f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset: " + reasons[i], Role: "cause", From: e.From.String()})
	}
	if len(vars) > 1 {
		f.Title += fmt.Sprintf(", nor are %s", counted(len(vars)-1, "other variable", "other variables"))
		if len(vars) == 2 {
			f.Title = strings.Replace(f.Title, ", nor are 1 other variable", ", nor is "+vars[1].Name, 1)
		}
	}
	f.Evidence = append(f.Evidence, row)
	return found(f)
}

// networkKind is the kind of network the job runs over, "InfiniBand", "RoCE" or the name NCCL gives another; ok is false
// where the log does not tell, or where several are in use.
func (v *View) networkKind() (kind string, row Evidence, ok bool) {
	n := &v.Inv.NCCL
	put := func(k, what string, from evidence.Source) bool {
		if kind != "" && kind != k {
			return false
		}
		kind, row = k, Evidence{Layer: "collective", What: what, Seen: k, From: orElse(row.From, from.String())}
		return true
	}
	for _, c := range n.Networks {
		if c.Name != "IB" && !strings.HasPrefix(c.Name, "IB") && !put(c.Name, "network in use", c.From) {
			return "", row, false
		}
	}
	for _, l := range n.Devices {
		for _, d := range l.Devices {
			k := map[string]string{"RoCE": "RoCE", "IB": "InfiniBand"}[d.Layer]
			if k == "" || kind == "Socket" || strings.Contains(kind, "Libfabric") {
				continue
			}
			if !put(k, "link layer of the devices in use", l.From) {
				return "", row, false
			}
		}
	}
	return kind, row, kind != ""
}
