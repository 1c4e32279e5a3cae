package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// P006: forward error correction is off where the link needs it, or the two ends use different ones.
//
// Symptom: damaged frames and retries on a link that is up, or a link that does not come up at all. Mechanism: lanes of 50
// Gbit/s and more (PAM4) have raw errors by design and rest on RS(544,514) (IEEE 802.3-2022, clauses 119 and 91); both
// ends must use the same code. Evidence for: ethtool --show-fec, mlxlink, show interfaces fec status. Against: a port
// without a link shows no FEC at all, whatever is configured: that says nothing. Look-alikes: P007 (light or heat).
var causeFEC = Cause{
	Code:     "P006",
	Title:    "forward error correction is off or differs at the two ends",
	Needs:    "ethtool --show-fec of the hosts; show interfaces fec status of the switches",
	Explains: []string{"P002", "P003", "L033"},
	Check:    checkFEC,
}

// fecOf brings the names of codes to three: "RS", "BaseR" and "off"; "" where the word stands for none of them.
func fecOf(word string) string {
	switch w := strings.ToLower(word); {
	case strings.HasPrefix(w, "rs"), strings.Contains(w, "rs-fec"), strings.Contains(w, "rs_fec"), strings.HasPrefix(w, "standard_rs"), strings.HasPrefix(w, "llrs"), strings.Contains(w, "ll_rs"), strings.Contains(w, "ll-fec"):
		return "RS"
	case strings.HasPrefix(w, "baser"), w == "fc", strings.Contains(w, "firecode"), strings.Contains(w, "fire code"):
		return "BaseR"
	case w == "off", w == "none", w == "no fec", w == "no-fec", w == "disabled":
		return "off"
	}
	return ""
}

func checkFEC(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("links of a simulated run have no FEC")
	}
	var findings []Finding
	read := 0
	for _, l := range v.linkEnds() {
		word, ok := l.fec.Active.Get()
		code := fecOf(word)
		if !ok || code == "" || l.up == no {
			continue
		}
		if code == "off" && l.up != yes && !l.speed.Known() {
			continue // "None" is what a port without a link shows too
		}
		read++
		far, joined := v.otherEnd(l)
		farWord, farTold := far.FEC.Get()
		farCode := fecOf(farWord)
		switch lane, told := l.perLane(); {
		case joined && farTold && farCode != "" && farCode != code:
			f := fecFinding(l, word, "the same as "+far.object)
			f.Title = fmt.Sprintf("the two ends of a link use different FEC: %s on %s, %s on %s", word, l, farWord, far.object)
			f.Where = append(f.Where, far.object)
			f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "FEC in operation at " + far.object, Seen: farWord, Expected: "the same as " + l.String(), Role: "cause", From: far.FEC.From.String()})
			f.Confidence = named
			findings = append(findings, v.fecSymptoms(f, l))
		case code != "RS" && told && lane >= 50*units.Gbps:
			f := fecFinding(l, word, "RS")
			f.Title = fmt.Sprintf("FEC is %s on %s, a link of %v with lanes of %v", word, l, l.speed.Or(0), lane)
			f.Confidence = named
			findings = append(findings, v.fecSymptoms(f, l))
		case code == "off" && told && lane >= 25*units.Gbps || code == "off" && l.speed.Is(func(r units.Rate) bool { return r >= 25*units.Gbps }):
			// A short copper cable of 25 Gbit/s a lane may do without (IEEE 802.3by, CA-N); errors tell.
			if f := v.fecSymptoms(fecFinding(l, word, "RS"), l); f.Severity > Note {
				f.Title = fmt.Sprintf("FEC is off on %s, and its link damages frames", l)
				findings = append(findings, f)
			}
		}
	}
	findings = append(findings, v.switchFEC()...)
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("FEC is on and alike at the ends that were read (%s)", count(read, "port")))
	}
	return cannotCheck("ethtool --show-fec of a port with a link")
}

// switchFEC judges switch ports alone: FEC that is off at 200 Gbit/s and more. N/A is a link that is down.
func (v *View) switchFEC() (findings []Finding) {
	for _, p := range v.ports() {
		word, ok := p.FEC.Get()
		rate, told := p.rate()
		if !ok || fecOf(word) != "off" || !told || rate < 200*units.Gbps {
			continue
		}
		f := fecFinding(linkEnd{host: &evidence.Host{Name: p.sw.Name}, name: p.Name, object: p.object}, word, "RS")
		f.Title = fmt.Sprintf("FEC is %s on %s, a port of %v", word, p.object, rate)
		f.Confidence = named
		f.Evidence[0].Layer, f.Evidence[0].From = "switch", p.FEC.From.String()
		findings = append(findings, f)
	}
	return findings
}

func fecFinding(l linkEnd, seen, expected string) Finding {
	return Finding{
		Severity: Warning, Confidence: likely, Where: []string{l.String()},
		Because:  "lanes of 50 Gbit/s and more have raw bit errors by design, and without Reed-Solomon correction at both ends they reach the frames, which are dropped and sent again",
		Evidence: []Evidence{{Layer: "physical", What: "FEC in operation on " + l.String(), Seen: seen, Expected: expected, Role: "cause", From: l.fec.Active.From.String()}},
		WrongIf:  "the link was down when it was read: FEC in operation means nothing then",
		Not:      []string{"a dirty connector alone: with FEC on, raw errors are corrected"},
		Fix: Fix{
			Text:     "set RS on both ends, without negotiation where the module does not negotiate, and keep it over a restart",
			Commands: []string{"ethtool --set-fec IFACE encoding rs", "sudo config interface fec EthernetN rs   # on a SONiC switch"},
		},
		Settle: "FEC in operation at both ends, and the error counters before and after",
	}
}

// fecSymptoms adds growing errors of the port: without them a missing code is a note below 50 Gbit/s a lane.
func (v *View) fecSymptoms(f Finding, l linkEnd) Finding {
	rows := v.grewRows("physical", "effect", l.object, telemetry.NICRxCRCErrors, telemetry.NICRxSymbolErrors, telemetry.NICRxFECUncorrectable, telemetry.NICLinkDowns)
	f.Evidence = append(f.Evidence, rows...)
	if len(rows) > 0 {
		f.Confidence = proven
	} else if f.Title == "" {
		f.Severity = Note
	}
	return f
}

// grewRows has a row for each of the series that grew at an object.
func (v *View) grewRows(layer, role, object string, series ...telemetry.SeriesID) (rows []Evidence) {
	if v.Win == nil {
		return nil
	}
	for _, id := range series {
		for _, k := range v.ofObject(id, object) {
			if d, ok := v.Win.Delta(k); ok && d > 0 {
				what := telemetry.Catalogue[id].Meaning + " at " + spoken(object)
				if k.Priority >= 0 {
					what += fmt.Sprintf(", priority %d", k.Priority)
				}
				rows = append(rows, Evidence{Layer: layer, What: what, Seen: fmt.Sprintf("+%.6g %s", d, telemetry.Catalogue[id].Unit), Expected: "+0", Role: role, From: v.from(id, object, k.Priority)})
			}
		}
	}
	return rows
}
