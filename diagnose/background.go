package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// Background traffic in RoCE's priority: backup, storage or management shares the lossless class, so its bursts
// mark and pause the training traffic.
//
//	symptom    steps stretch at the same time every day; network alarms at the time show nothing broken
//	evidence   sampled flows (sFlow) of another application in the priority of RoCE
//	against    the same traffic in its own priority; RoCE storage that is meant to be lossless and is shaped
//	settles    the DSCP of the flows and the DSCP-to-priority map of the ports they enter by
var backgroundCause = Cause{
	Code:     "X011",
	Title:    "other traffic shares RoCE's priority",
	Needs:    "sampled flows with their priority or code point (sFlow, a capture)",
	Explains: []string{"L011", "L012", "L013", "L021", "L031", "L032"},
	Check:    checkBackground,
}

// backgroundShare is the part of the RoCE bytes from which other traffic in the class is worth a finding.
const backgroundShare = 0.01

func checkBackground(v *View) Verdict {
	var roce units.Bytes
	classes := map[string]units.Bytes{}
	told, others := 0, false
	for _, f := range v.Inv.Flows {
		class := classOf(f)
		if class == "" {
			continue
		}
		told++
		others = others || f.Application != evidence.RoCE
		if f.Application == evidence.RoCE {
			roce += f.Bytes
			classes[class] += f.Bytes
		}
	}
	switch {
	case told == 0:
		return cannotCheck("no sampled flows with their priority or code point (sFlow, a capture)")
	case roce == 0:
		return cannotCheck("the sampled flows hold no RoCE, so its priority is not known")
	case !others && !v.Inv.Simulated: // as a capture with a filter for RoCE
		return cannotCheck("flows of anything but RoCE: these hold RoCE alone, by a filter or by nature")
	}
	byApp := map[string]*intruder{}
	for _, f := range v.Inv.Flows {
		class := classOf(f)
		if f.Application == evidence.RoCE || class == "" || float64(classes[class]) < backgroundShare*float64(roce) || classes[class] == 0 {
			continue // connection set-up is RoCE too, and is often best effort
		}
		a := byApp[f.Application]
		if a == nil {
			a = &intruder{app: f.Application, class: class, priority: f.Priority, start: f.Start, end: f.End, timed: f.Timed, from: f.From.String()}
			byApp[f.Application] = a
		}
		a.bytes += f.Bytes
		if f.Start.Before(a.start) {
			a.start = f.Start
		}
		if f.End.After(a.end) {
			a.end = f.End
		}
		if !slices.Contains(a.hosts, f.Dst) {
			a.hosts = append(a.hosts, f.Dst)
		}
	}
	var intruders []*intruder
	for _, a := range byApp {
		if float64(a.bytes) >= backgroundShare*float64(roce) {
			intruders = append(intruders, a)
		}
	}
	if len(intruders) == 0 {
		return ruledOut(fmt.Sprintf("RoCE has its priority to itself in %s", count(told, "sampled flow")))
	}
	slices.SortFunc(intruders, func(a, b *intruder) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.app, b.app)) })
	return found(v.backgroundFinding(intruders[0], roce))
}

// classOf is the class of a flow: its priority, or its code point where no map tells the priority. Packets with one code
// point are in one class whatever the map. It is "" where neither is told.
func classOf(f evidence.Flow) string {
	if f.Priority >= 0 {
		return fmt.Sprintf("priority %d", f.Priority)
	}
	if dscp, ok := f.DSCP.Get(); ok {
		return fmt.Sprintf("DSCP %d", dscp)
	}
	return ""
}

// intruder is an application whose traffic shares RoCE's class.
type intruder struct {
	app        string
	class      string
	priority   int8
	bytes      units.Bytes
	start, end units.Instant
	timed      bool
	hosts      []string
	from       string
}

func (v *View) backgroundFinding(a *intruder, roce units.Bytes) Finding {
	f := Finding{
		Title:    fmt.Sprintf("%s shares %s with RoCE: %s beside %s", a.app, a.class, amount(a.bytes), amount(roce)),
		Severity: Warning, Confidence: 0.8,
		Where:   []string{a.app},
		Because: "the lossless class cannot tell them apart: the other traffic's queues mark, pause and delay the training traffic",
		WrongIf: "steps that do not overlap with it are as slow",
		Settle:  "the DSCP of these flows at their source, and the DSCP-to-priority map of the port they enter by",
		Fix: Fix{
			Text: fmt.Sprintf("give %s a DSCP of its own and map it to a lossy priority, on its hosts and on the switches", a.app),
			Try:  []Change{{Setting: "background.priority", Object: a.app, Value: "0"}},
		},
	}
	f.Where = append(f.Where, a.hosts...)
	row := Evidence{Layer: "switch", What: fmt.Sprintf("sampled bytes of %s in %s", a.app, a.class), Seen: amount(a.bytes), Expected: "0", Role: "cause", From: a.from}
	if a.timed {
		at := a.start
		row.At = &at
	}
	f.Evidence = append(f.Evidence, row)
	if s, ok := v.worstPause(a.priority); ok && s > 0 && a.priority >= 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: fmt.Sprintf("pause in priority %d", a.priority), Seen: fmt.Sprintf("up to %.2g %% of the time", 100*s), Expected: "0", Role: "effect", From: telemetry.SwitchPFCRxTime.String()})
	}
	f.Evidence = append(f.Evidence, v.cnpRow()...)
	if row, cost, ok := v.overlap(a); ok {
		f.Evidence = append(f.Evidence, row)
		f.Cost = cost
		f.Confidence = 0.92
		if cost != nil && cost.Extra*4 > cost.Expected {
			f.Severity = Critical
		}
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return f
}

// overlap compares steps, or calls of a collective where there are no steps, that ran beside the intruder with
// those that did not.
func (v *View) overlap(a *intruder) (Evidence, *Cost, bool) {
	if !a.timed {
		return Evidence{}, nil, false
	}
	var during, apart struct {
		time units.Duration
		n    int
	}
	what, from := "step", ""
	add := func(start units.Instant, d units.Duration) {
		if start.Before(a.end) && start.Add(d).After(a.start) {
			during.time, during.n = during.time+d, during.n+1
		} else {
			apart.time, apart.n = apart.time+d, apart.n+1
		}
	}
	if len(v.Inv.Steps) > 1 {
		for _, s := range v.Inv.Steps {
			add(s.Start, s.Time)
		}
		from = v.Inv.Steps[0].From.String()
	} else if calls := v.timedCalls(); len(calls) > 1 {
		what = calls[0].Name
		for _, c := range calls {
			if c.Name == what {
				add(c.Start, c.Time)
			}
		}
		from = calls[0].From.String()
	}
	if during.n == 0 || apart.n == 0 {
		return Evidence{}, nil, false
	}
	with, without := during.time/units.Duration(during.n), apart.time/units.Duration(apart.n)
	row := Evidence{Layer: "step", What: fmt.Sprintf("%s beside %s, mean of %d; without, of %d", what, a.app, during.n, apart.n), Seen: short(with), Expected: short(without), Role: "effect", From: from}
	if with <= without {
		return row, nil, true
	}
	return row, &Cost{Of: what, Extra: with - without, Seen: with, Expected: without, How: "mean beside the traffic minus mean without it"}, true
}
