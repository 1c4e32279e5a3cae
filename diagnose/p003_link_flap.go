package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// P003: a link went down and came back, or stayed down.
//
// Symptom: hangs, completion status 12 on hosts that talk to one host, a collective that stalls for seconds.
// Mechanism: while the port is down nothing is acknowledged; past retries x timeout (IB specification vol. 1,
// 9.7.6.1.3) the QP gives up. Evidence for: the device's own port event (IBV_EVENT_PORT_ERR), the kernel's line,
// or a link-down counter that grew. The culprit is who saw its own port go down, not the peers that lost it.
// Against: no port event and no growth. Look-alikes: P004 (the whole device died), a peer that was shut down.
var causeLinkFlap = Cause{
	Code:     "P003",
	Title:    "a link went down",
	Needs:    "the NCCL log, the kernel log, or two readings of the link-down counters",
	Explains: []string{"R004", "R005", "J002", "J003", "I007", "L033"},
	Check:    checkLinkFlap,
}

// isPortDown tells whether an asynchronous event says that a port of the device went down. ibv_event_type_str
// (rdma-core libibverbs/enum_strs.c) prints IBV_EVENT_PORT_ERR as "port error"; "port active" is its return.
func isPortDown(e evidence.Event) bool {
	what := strings.ToLower(orElse(e.What, e.Text))
	return strings.Contains(what, "port error") || strings.Contains(what, "port_err")
}

func isPortUp(e evidence.Event) bool {
	return strings.Contains(strings.ToLower(orElse(e.What, e.Text)), "port active")
}

func checkLinkFlap(v *View) Verdict {
	findings := v.flapsTold()
	counted, looked := v.flapsCounted()
	for _, f := range counted {
		if !slices.ContainsFunc(findings, func(g Finding) bool { return g.Where[0] == f.Where[0] }) {
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case looked:
		return ruledOut("the link-down counters that were read twice did not grow")
	case v.Inv.NCCL.HasLog && len(v.rdmaErrors()) == 0:
		return ruledOut("no port event and no RDMA error in the NCCL log")
	}
	return cannotCheck("two readings of the link-down counters (link_down_events_phy, link_downed), or the kernel log")
}

// flapsTold finds ports whose own host reported the loss, in the library's log or the kernel's.
func (v *View) flapsTold() []Finding {
	var down, up []evidence.Event
	for _, e := range v.said(evidence.AsyncEvent) {
		switch {
		case isPortDown(e):
			down = append(down, e)
		case isPortUp(e):
			up = append(up, e)
		}
	}
	broken := v.unreachable()
	var findings []Finding
	for _, host := range eventHosts(down) {
		own := without(down, func(e evidence.Event) bool { return e.Host != host })
		devices := map[string]bool{}
		processes := map[int]bool{}
		for _, e := range own {
			if e.Device != "" {
				devices[e.Device] = true
			}
			processes[e.Process] = true
		}
		where := called(host)
		if len(devices) == 1 {
			where = object(host, own[0].Device)
		}
		f := flapFinding(where)
		f.Title = fmt.Sprintf("the link of %s went down: %s reported a port error", where, counted(len(processes), "process", "processes"))
		f.Severity, f.Confidence = Critical, named
		f.Evidence = tell(own, "cause")
		if back := without(up, func(e evidence.Event) bool { return e.Host != host }); len(back) > 0 {
			f.Evidence = append(f.Evidence, tell(back, "")...)
			f.Title += ", and it came back"
		}
		others := without(broken, func(e evidence.Event) bool { return e.Host == host })
		if len(others) > 0 {
			f.Evidence = append(f.Evidence, tell(others, "effect")...)
			f.Confidence = proven
			f.Not = append(f.Not, fmt.Sprintf("a fault of %s: they lost their peer and saw no port of their own go down", names(eventHosts(others))))
		}
		findings = append(findings, f)
	}
	for _, h := range v.Inv.Hosts {
		if slices.Contains(eventHosts(down), h.Name) {
			continue
		}
		for i, k := range h.Kernel {
			if !kernelLinkDown(k) {
				continue
			}
			times, back := 0, false
			for _, o := range h.Kernel[i:] {
				if o.Device == k.Device && kernelLinkDown(o) {
					times, back = times+1, false
				}
				back = back || o.Device == k.Device && o.Kind == "link up"
			}
			f := flapFinding(object(h.Name, k.Device))
			f.Title = fmt.Sprintf("the kernel of %s reports that the link of %s went down", called(h.Name), orElse(k.Device, "a port"))
			if times > 1 {
				f.Title += fmt.Sprintf(" %d times", times)
			}
			if back {
				f.Title += ", and it came back"
			}
			f.Severity, f.Confidence = Warning, likely
			if len(broken) > 0 {
				f.Severity, f.Confidence = Critical, named
			}
			f.Evidence = append(f.Evidence, Evidence{Layer: "physical", What: "kernel log", Seen: shorten(k.Text), Role: "cause", From: k.From.String()})
			f.Evidence = append(f.Evidence, tell(broken, "effect")...)
			findings = append(findings, f)
			break
		}
	}
	return findings
}

// kernelLinkDown tells whether a line of the kernel log says that a link went down; a bond says it of its own port.
func kernelLinkDown(k evidence.KernelEvent) bool {
	return k.Kind == "link down" || k.Kind == "bond link down"
}

// flapsCounted finds ports whose link-down counter grew over the window; looked tells whether any was read twice.
func (v *View) flapsCounted() (findings []Finding, looked bool) {
	if v.Win == nil {
		return nil, false
	}
	for _, id := range []telemetry.SeriesID{telemetry.NICLinkDowns, telemetry.SwitchLinkDowns} {
		for _, k := range v.keys(id) {
			grew, ok := v.Win.Delta(k)
			looked = looked || ok
			if !ok || grew == 0 {
				continue
			}
			layer := "NIC"
			if id == telemetry.SwitchLinkDowns {
				layer = "switch"
			}
			row := Evidence{Layer: layer, What: "link-down events of " + spoken(k.Object), Seen: fmt.Sprintf("+%.0f", grew), Expected: "+0", Role: "cause"}
			if p, ok := v.Win.Points(k); ok {
				row.From = orElse(p.Origin, id.String()+" "+k.Object)
			}
			if at, ok := v.Win.Onset(k, 0.01); ok {
				row.At = &at
			}
			// The two ends of a cable count the same loss: one finding, the NIC's end first.
			if i := slices.IndexFunc(findings, func(f Finding) bool { return v.joined(f.Where[0], k.Object) }); i >= 0 {
				findings[i].Where = append(findings[i].Where, k.Object)
				findings[i].Evidence = append(findings[i].Evidence, row)
				findings[i].Confidence = proven
				continue
			}
			f := flapFinding(k.Object)
			f.Title = fmt.Sprintf("the link of %s went down %s", spoken(k.Object), counted(int(grew), "time", "times"))
			f.Severity, f.Confidence = Warning, named
			f.Evidence = append([]Evidence{row}, tell(v.unreachable(), "effect")...)
			if len(f.Evidence) > 1 {
				f.Severity = Critical
			}
			findings = append(findings, f)
		}
	}
	return findings, looked
}

// joined tells whether two objects are the ends of one cable.
func (v *View) joined(a, b string) bool {
	for _, s := range v.Inv.Switches {
		for _, p := range s.Ports {
			if p.Peer == a && s.Object(p) == b || p.Peer == b && s.Object(p) == a {
				return true
			}
		}
	}
	for _, h := range v.Inv.Hosts {
		for _, n := range h.NICs {
			if n.Switch == a && h.Object(n) == b || n.Switch == b && h.Object(n) == a {
				return true
			}
		}
	}
	return false
}

func flapFinding(where string) Finding {
	return Finding{
		Where:   []string{where},
		Because: "while a port is down nothing sent to it is acknowledged; after the last retry the QPs of its peers give up with status 12",
		WrongIf: "the port was taken down on purpose, or the switch was restarted at that time",
		Fix: Fix{
			Text: "reseat or replace the cable or module, clean the connector, compare FEC and speed of both ends; a longer NCCL_IB_TIMEOUT only hides short losses",
			Commands: []string{
				"ethtool -S IFACE | grep -E 'link_down_events_phy|symbol_err|pcs_symbol'",
				"mlxlink -d DEVICE -m -c",
				"dmesg -T | grep -iE 'link (up|down)|module'",
			},
		},
		Settle: "the link-down counter of the port and of the switch port at its other end, read twice",
	}
}

// counted says how many: "1 process", "3 processes".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// notLinkDown speaks against a link that went down, where there is evidence to say so.
func notLinkDown(v *View) []string {
	if slices.ContainsFunc(v.said(evidence.AsyncEvent), isPortDown) {
		return nil
	}
	for _, h := range v.Inv.Hosts {
		for _, n := range h.NICs {
			if n.State.Is(func(s string) bool { return strings.Contains(strings.ToUpper(s), "ACTIVE") }) {
				return []string{"a link that is down: " + object(h.Name, n.Device) + " is active (" + n.State.From.String() + ") and no port event was reported"}
			}
		}
	}
	return nil
}
