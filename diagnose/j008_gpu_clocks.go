package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J008: a GPU's clocks are held down.
//
// Symptom: every step is slow, and each rank waits for one. Mechanism: a GPU that is too hot, or whose power supply calls for
// less (power brake), computes at a part of its speed; the collectives wait for it. Evidence for: nvidia-smi -q: HW Slowdown,
// HW Thermal Slowdown, HW Power Brake, SW Thermal Slowdown. Against: SW Power Cap and Idle, which are normal. Look-alikes:
// C021, which shows the rank and not the reason.
var causeGPUClocks = Cause{
	Code:     "J008",
	Title:    "not the network: a GPU's clocks are held down",
	Needs:    "nvidia-smi -q of the hosts under load",
	Explains: []string{"C021"},
	Check:    checkGPUClocks,
}

func checkGPUClocks(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated GPU has one speed")
	}
	var findings []Finding
	read := 0
	for _, h := range v.Inv.Hosts {
		for _, g := range h.GPUs {
			if g.Temperature.Known() || len(g.Throttle) > 0 || g.Name.Known() {
				read++
			}
			i := slices.IndexFunc(g.Throttle, func(t evidence.Throttled) bool {
				r := strings.ToLower(t.Reason)
				return strings.Contains(r, "thermal") || strings.Contains(r, "hw slowdown") || strings.Contains(r, "power brake")
			})
			if i < 0 {
				continue
			}
			t := g.Throttle[i]
			where := object(h.Name, gpuName(g))
			f := Finding{
				Title:    fmt.Sprintf("not the network: the clocks of %s are held down (%s)", where, t.Reason),
				Severity: Warning, Confidence: likely, Where: []string{where},
				Because:  "the GPU computes at a part of its speed, and every collective waits for its rank",
				Evidence: []Evidence{{Layer: "host", What: "reason that holds the clocks of " + where + " down", Seen: t.Reason, Expected: "none, or SW Power Cap", Role: "cause", From: t.From.String()}},
				WrongIf:  "it was read while the GPU was tested on its own",
				Not:      []string{"the network: it only waits"},
				Fix:      Fix{Text: "check air flow and the power supplies of that host", Commands: []string{"nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i INDEX", "ipmitool sdr | grep -iE 'temp|psu|power'"}},
				Settle:   "nvidia-smi -q -d PERFORMANCE under load, twice",
			}
			if c, ok := g.Temperature.Get(); ok {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "temperature of " + where, Seen: fmt.Sprintf("%.0f degrees C", c), From: g.Temperature.From.String()})
			}
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("no clock of %s is held down by heat or power", counted(read, "GPU", "GPUs")))
	}
	return cannotCheck("nvidia-smi -q of the hosts")
}

func gpuName(g *evidence.GPU) string {
	if g.Index >= 0 {
		return fmt.Sprintf("GPU %d", g.Index)
	}
	return "GPU " + orElse(g.PCI, "of unknown number")
}
