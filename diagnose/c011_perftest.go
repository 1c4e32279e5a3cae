package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/units"
)

// C011: a bandwidth test understates what the NIC can do.
//
// Symptom: ib_write_bw or ib_read_bw well below the port's rate. Mechanism: one QP sends in order and waits for its
// acknowledgements, so with a small message, few iterations, a small MTU or few outstanding reads it does not fill a
// fast port. Evidence for: one QP and a size up to 64 KiB. Against: a result near a rate that ports have. Look-alikes: every
// real cause of low bandwidth; so this is a note, and says to test again first.
var causePerftest = Cause{
	Code:  "C011",
	Title: "the parameters of a bandwidth test understate the NIC",
	Needs: "the output of perftest with its header",
	Check: checkPerftest,
}

// portRates are the rates RDMA ports are built for, in Gbit/s.
var portRates = []float64{10, 25, 40, 50, 56, 100, 200, 400, 800}

func checkPerftest(v *View) Verdict {
	if len(v.Inv.Perftests) == 0 {
		return notApplicable("no bandwidth test was read")
	}
	headers := 0
	for _, t := range v.Inv.Perftests {
		row, ok := fastest(t)
		qps, told := t.QPs.Get()
		if !ok || !told {
			continue
		}
		headers++
		rate, rated := v.rateOf(t.Host, t.Device)
		// Without the port's rate, a result within a tenth of a rate that ports have may be that port's full speed,
		// or the understated speed of a faster one: worth a note, with less confidence.
		full := rated && float64(row.Average) >= 0.9*float64(rate)
		if qps > 1 || row.Bytes > 64*units.KiB || full {
			continue
		}
		f := Finding{
			Title:    fmt.Sprintf("the bandwidth test used one QP with messages of %s: its %.4g Gbit/s may understate the port", row.Bytes, float64(row.Average)/1e9),
			Severity: Note, Confidence: weak, Where: []string{object(t.Host, orElse(t.Device, "the tested port"))},
			Because: "one QP waits for its acknowledgements, so small messages do not fill a fast port; reads are limited by the outstanding ones too",
			Evidence: []Evidence{
				{Layer: "RDMA", What: "QPs of the test", Seen: fmt.Sprint(qps), Expected: "4 or more", Role: "cause", From: t.QPs.From.String()},
				{Layer: "RDMA", What: fmt.Sprintf("bandwidth at %s, %d iterations", row.Bytes, row.Iterations), Seen: fmt.Sprintf("%.4g Gbit/s", float64(row.Average)/1e9), Role: "effect", From: row.From.String()},
			},
			WrongIf: "it is as slow with four QPs and messages of 1 MiB or more",
			Fix:     Fix{Text: "test again with more QPs, larger messages and for a time instead of a count", Commands: []string{"ib_write_bw -d DEVICE -q 4 -s 1048576 -D 10 --report_gbits [PEER]"}},
			Settle:  "the same test with -q 4 -s 1048576 -D 10",
		}
		if rated {
			f.Confidence = likely
			f.Evidence[1].Expected = fmt.Sprintf("up to %s", rate)
		} else if !nearPortRate(float64(row.Average) / 1e9) {
			f.Confidence = possible
		}
		if mtu, ok := t.MTU.Get(); ok && mtu < 2048 {
			f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "path MTU of the test", Seen: fmt.Sprint(mtu), Expected: "4096", Role: "cause", From: t.MTU.From.String()})
		}
		return found(f)
	}
	if headers == 0 {
		return cannotCheck("the header of the bandwidth test (number of QPs)")
	}
	return ruledOut("the bandwidth tests used several QPs or large messages, or reached the port's rate")
}

// nearPortRate tells whether a bandwidth lies within a tenth below a rate that ports are built for.
func nearPortRate(gbps float64) bool {
	for _, r := range portRates {
		if gbps <= r && gbps >= 0.9*r {
			return true
		}
	}
	return false
}

// rateOf is the rate of a port; a test that does not name its host matches the only port of that name.
func (v *View) rateOf(host, device string) (units.Rate, bool) {
	var rate units.Rate
	for _, h := range v.Inv.Hosts {
		for _, n := range h.NICs {
			r, ok := n.Rate.Get()
			if !ok || n.Device != device || host != "" && h.Name != host {
				continue
			}
			if rate != 0 && rate != r {
				return 0, false
			}
			rate = r
		}
	}
	return rate, rate != 0
}
