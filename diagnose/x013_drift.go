package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// X013: hosts of one job are set up differently.
//
// Symptom: a job that is as slow, or as fragile, as its odd host, and only when that host takes part. Mechanism: a host that
// was added, repaired or rebooted lost or never got what the others have: a firmware, a driver, the sorting of traffic, an
// MTU. Evidence for: the same setting read on three hosts or more, of which a few differ. Against: hosts of different models
// on purpose. Look-alikes: C004 (other NICs), X012 (all alike, and not tested).
var causeDrift = Cause{
	Code:  "X013",
	Title: "hosts of one job are set up differently",
	Needs: "the same outputs of three hosts or more (ibv_devinfo, mlnx_qos, nvidia-smi, sysctl)",
	Check: checkDrift,
}

// drifted is one setting with its value on each host.
type drifted struct {
	what    string
	matters Severity
	values  map[string][]string // hosts by value
	order   []string            // values in order of appearance
	from    map[string]string   // one source by value
	hosts   map[string]bool
}

func checkDrift(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("hosts of a simulated run are set up alike")
	}
	all := v.settingsByHost()
	compared := 0
	var odd []Finding
	for _, d := range all {
		if len(d.hosts) < 3 {
			continue
		}
		compared++
		if len(d.values) > 1 {
			odd = append(odd, d.finding())
		}
	}
	switch {
	case len(odd) > 0:
		slices.SortStableFunc(odd, before)
		return found(odd[:min(len(odd), maxDrifts)]...)
	case compared > 0:
		return ruledOut(fmt.Sprintf("%s alike on all hosts", counted(compared, "setting is", "settings are")))
	}
	return cannotCheck("the same outputs of three hosts or more")
}

// maxDrifts limits the settings that are named: a host of another generation differs in all of them.
const maxDrifts = 6

// settingsByHost gathers what should be alike on all hosts of a job.
func (v *View) settingsByHost() []*drifted {
	var all []*drifted
	place := map[string]*drifted{}
	add := func(what, host, value string, matters Severity, from evidence.Source) {
		if value == "" || host == "" {
			return
		}
		d := place[what]
		if d == nil {
			d = &drifted{what: what, matters: matters, values: map[string][]string{}, from: map[string]string{}, hosts: map[string]bool{}}
			place[what] = d
			all = append(all, d)
		}
		if d.hosts[host] { // another port of the same host with another value says nothing of drift between hosts
			return
		}
		d.hosts[host] = true
		if len(d.values[value]) == 0 {
			d.order, d.from[value] = append(d.order, value), from.String()
		}
		d.values[value] = append(d.values[value], host)
	}
	for _, h := range v.Inv.Hosts {
		for _, name := range []string{"nvidia driver", "kernel", "MLNX_OFED"} {
			if s, ok := h.Versions[name].Get(); ok {
				add("version of "+name, h.Name, s, Note, h.Versions[name].From)
			}
		}
		for _, d := range h.Netdevs {
			if d.QoS == nil {
				continue
			}
			if s, ok := d.QoS.Trust.Get(); ok {
				add("trust of "+d.Name, h.Name, s, Warning, d.QoS.Trust.From)
			}
			if pfc, ok := d.QoS.PFC.Get(); ok {
				add("PFC of "+d.Name, h.Name, "on for "+priorities(pauses(pfc)), Warning, d.QoS.PFC.From)
			}
		}
	}
	for _, p := range v.hostPorts() {
		if fw, ok := p.Firmware.Get(); ok {
			fw, _, _ = strings.Cut(fw, " ")
			part := orElse(p.Board.Or(""), p.Model.Or(""))
			if n, told := p.PartID.Get(); part == "" && told {
				part = fmt.Sprint("part ", n)
			}
			add("firmware of "+orElse(part, p.Device), p.host.Name, fw, Note, p.Firmware.From)
		}
		if tc, ok := p.TrafficClass.Get(); ok {
			add("default traffic class of "+p.Device, p.host.Name, fmt.Sprint(tc), Warning, p.TrafficClass.From)
		}
	}
	for _, x := range v.Inv.NCCL.Versions {
		add("version of NCCL", x.Host, x.Version, Warning, x.From)
	}
	for _, name := range []string{"NCCL_IB_TC", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NET_GDR_LEVEL", "NCCL_IB_QPS_PER_CONNECTION"} {
		for _, e := range v.Inv.NCCL.Env {
			if e.Name == name {
				add(name, e.Host, strings.TrimSpace(e.Value), Warning, e.From)
			}
		}
	}
	return all
}

// finding names the hosts that differ from most.
func (d *drifted) finding() Finding {
	usual := d.order[0]
	for _, value := range d.order {
		if len(d.values[value]) > len(d.values[usual]) {
			usual = value
		}
	}
	f := Finding{
		Severity: d.matters, Confidence: possible,
		Because: "a job is as slow and as fragile as its odd host, and what one host has otherwise shows only when it takes part",
		WrongIf: "the hosts are of different models or purposes, and set up so",
		Fix:     Fix{Text: "bring the odd hosts to what the others have, from one source that also survives a restart, and check all hosts for the same", Commands: []string{"shunt explain HOST1/ HOST2/ ..."}},
		Settle:  "the same output of all hosts, taken again",
	}
	odd := 0
	for _, value := range d.order {
		hosts := d.values[value]
		role, expected := "cause", usual
		if value == usual {
			role, expected = "", ""
		} else {
			f.Where = append(f.Where, hosts...)
			odd += len(hosts)
		}
		if len(f.Evidence) < 2*maxRows {
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: d.what + " on " + listed(hosts), Seen: value, Expected: expected, Role: role, From: orElse(d.from[value], "version")})
		}
	}
	f.Where = f.Where[:min(len(f.Where), maxRows)]
	f.Title = fmt.Sprintf("%s on %s is %s, on %s %s", d.what, listed(d.values[d.other(usual)]), d.other(usual), counted(len(d.values[usual]), "other host", "other hosts"), usual)
	if len(d.values[usual]) > 2*odd {
		f.Confidence = likely
	}
	return f
}

// other is the first value that is not the usual one.
func (d *drifted) other(usual string) string {
	for _, value := range d.order {
		if value != usual {
			return value
		}
	}
	return usual
}
