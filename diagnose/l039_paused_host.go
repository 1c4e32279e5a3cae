package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/telemetry"
)

// L039: the switch pauses a host, and what it does that for is not in the files.
//
// Symptom: a host cannot send at its rate although nothing is lost and its own link is sound. Mechanism: PFC pause that a NIC
// receives comes from its switch, whose queue toward some receiver is full: an incast, a slow receiver behind it, or pause
// that spreads from further on. Evidence for: rx_prioN_pause_duration of NICs over one window. Against: under one percent of
// the time, the backstop at work. Look-alikes: L012 (the host itself pauses); L011, L013 and L032 say why, with the
// switches' counters.
var causePausedHost = Cause{
	Code:  "L039",
	Title: "the switch pauses a host",
	Needs: "two readings of ethtool -S, with the time between them",
	Check: checkPausedHost,
}

func checkPausedHost(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("the pauses of a simulated run are followed to their root")
	}
	type pausedPort struct {
		object   string
		priority int8
		share    float64
	}
	var hit []pausedPort
	known := 0
	for _, k := range v.keys(telemetry.NICRxPauseTime) {
		share, ok := v.pausedShare(telemetry.NICRxPauseTime, k.Object, k.Priority)
		if !ok {
			continue
		}
		known++
		if share >= pauseShare {
			hit = append(hit, pausedPort{k.Object, k.Priority, share})
		}
	}
	switch {
	case known == 0:
		return cannotCheck("two readings of rx_prioN_pause_duration (ethtool -S), with the time between them")
	case len(hit) == 0:
		return ruledOut(fmt.Sprintf("no NIC is paused for %.0f %% of the time", 100*pauseShare))
	}
	slices.SortStableFunc(hit, func(a, b pausedPort) int { return cmp.Compare(b.share, a.share) })
	worst := hit[0]
	f := Finding{
		Title:    fmt.Sprintf("the switch pauses %s for %.2g %% of the time in priority %d", spoken(worst.object), 100*worst.share, worst.priority),
		Severity: Warning, Confidence: likely,
		Because: "the queue of the switch toward some receiver is full, and it stops whoever feeds it, with all that they send in the priority",
		WrongIf: "the time between the two readings is not what their names say",
		Not:     []string{"this host's receive path: it is told to stop sending"},
		Fix:     Fix{Text: "find the receiver: which port of the switch is congested, and whether its host pauses the switch (L012) or many send to it (L011); let ECN act before pause (L032)", Commands: []string{"show pfc counters; show queue watermark unicast   # on the switch", "ethtool -S IFACE | grep -E 'prio[0-7]_pause'   # on the other hosts"}},
		Settle:  "the pause counters of the switch's ports and of the other hosts over the same time",
	}
	for _, p := range hit[:min(len(hit), maxRows)] {
		f.Where = append(f.Where, spoken(p.object))
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: fmt.Sprintf("time %s was paused in priority %d", spoken(p.object), p.priority), Seen: fmt.Sprintf("%.2g %%", 100*p.share), Expected: "under 1 %", Role: "effect", From: v.from(telemetry.NICRxPauseTime, p.object, p.priority)})
	}
	if marks, at, told := v.grown(telemetry.NICECNMarked); told {
		row := Evidence{Layer: "NIC", What: telemetry.Catalogue[telemetry.NICECNMarked].Meaning, Seen: fmt.Sprintf("+%.6g", marks), From: v.from(telemetry.NICECNMarked, at.Object, at.Priority)}
		if marks == 0 {
			row.Role, row.Expected = "cause", "some: ECN acts before pause"
			f.Title += ", and nothing is marked"
		}
		f.Evidence = append(f.Evidence, row)
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return found(f)
}
