package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// P007: a module or cable is out of its limits: too little light, too hot, or in a fault state.
//
// Symptom: CRC or symbol errors, FEC that cannot correct, links that drop. Mechanism: a dirty or bent fibre, an ageing
// laser or heat leaves the receiver too little signal. Evidence for: the module's own alarms (SFF-8636, CMIS), a lane
// whose light is far below its sisters', the signal's error rate after FEC (mlxlink). Against: alarms of lanes that are
// not in use, or of a port that is down. Look-alikes: P006 (FEC), a fault of the other end: then its receiver is fine.
var causeOptics = Cause{
	Code:     "P007",
	Title:    "a module or cable is out of its limits",
	Needs:    "ethtool -m, or mlxlink -m -c",
	Explains: []string{"P002", "P003", "L033", "P001"},
	Check:    checkOptics,
}

// laneGap is how far below its brightest sister a lane's received light may be, in dB: what 100GBASE-LR4 allows between
// any two lanes at the receiver (IEEE 802.3-2022, table 88-8), the most of the common 100 Gbit/s optics. Lanes of one
// module share fibre and splices and differ by a decibel or two.
const laneGap = 5.5

// effectiveLimit is the bit error rate after FEC from which a link is bad: the objective of 100 Gbit/s Ethernet at the
// MAC (IEEE 802.3ba), and more lenient than that of faster ports.
const effectiveLimit = 1e-12

func checkOptics(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("links of a simulated run have no modules")
	}
	var findings []Finding
	read := 0
	for _, l := range v.linkEnds() {
		if l.module == nil && l.signal == nil {
			continue
		}
		read++
		f, bad := v.opticsFinding(l)
		if bad {
			findings = append(findings, f)
		}
	}
	for _, h := range v.Inv.Hosts {
		if f, ok := moduleByKernel(h); ok {
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("the modules of %s are within their limits", count(read, "port")))
	}
	return cannotCheck("ethtool -m, or mlxlink -m -c, of a port")
}

// moduleByKernel finds what the driver says of a module or cable: "Port module event[error]: module 0, Cable error, Bus stuck"
// (drivers/net/ethernet/mellanox/mlx5/core/events.c). Heat has a line of its own (P005).
func moduleByKernel(h *evidence.Host) (Finding, bool) {
	i := slices.IndexFunc(h.Kernel, func(k evidence.KernelEvent) bool { return k.Kind == "module error" })
	if i < 0 {
		return Finding{}, false
	}
	k := h.Kernel[i]
	_, what, _ := strings.Cut(k.Text, "Port module event[error]: ")
	where := object(h.Name, k.Device)
	f := Finding{
		Title:    fmt.Sprintf("the driver of %s reports an error of its module or cable: %s", where, shorten(orElse(what, k.Text))),
		Severity: Warning, Confidence: named, Where: []string{where},
		Because:  "the module does not answer, is not supported, or its wires are shorted: the port has no link, or loses it",
		Evidence: []Evidence{kernelRow(k)},
		WrongIf:  "the module was changed after that line, or the cage is empty on purpose",
		Fix:      Fix{Text: "reseat the module or cable, then swap it with one of a sound port; check that the NIC's firmware supports it", Commands: []string{"ethtool -m IFACE", "mlxlink -d DEVICE -m", "dmesg -T | grep -i 'module event'"}},
		Settle:   "ethtool -m of the port, and whether the error moves with the module",
	}
	for _, o := range h.Kernel {
		if o.Kind == "link down" && o.Device == k.Device && len(f.Evidence) < maxRows {
			row := kernelRow(o)
			row.Role = "effect"
			f.Evidence = append(f.Evidence, row)
		}
	}
	return f, true
}

func (v *View) opticsFinding(l linkEnd) (Finding, bool) {
	f := Finding{
		Severity: Warning, Confidence: likely, Where: []string{l.String()},
		Because: "the receiver gets too little signal for the rate: more bits arrive wrong than FEC can mend, and frames are dropped",
		WrongIf: "the alarm is of a lane that is not in use, or the far end was switched off when it was read",
		Fix: Fix{
			Text:     "clean both ends of the fibre, then reseat, then swap module and cable one at a time with a sound port; look at the air flow where it is the temperature",
			Commands: []string{"ethtool -m IFACE", "mlxlink -d DEVICE -m -c", "ethtool -S IFACE | grep -E 'crc|symbol|fec'"},
		},
		Settle: "the error counters of this port after the cable was swapped with a sound one",
	}
	var troubles []string
	if l.module != nil {
		troubles = v.moduleTroubles(l, &f)
	}
	if s := l.signal; s != nil {
		if ber, ok := s.EffectiveBER.Get(); ok && ber > effectiveLimit {
			troubles = append(troubles, fmt.Sprintf("%.2g of its bits are wrong after FEC", ber))
			f.Evidence = append(f.Evidence, Evidence{Layer: "physical", What: "bit error rate after FEC of " + l.String(), Seen: fmt.Sprintf("%.2g", ber), Expected: fmt.Sprintf("%.0g or less", effectiveLimit), Role: "cause", From: s.EffectiveBER.From.String()})
		}
	}
	if len(troubles) == 0 {
		return f, false
	}
	f.Title = fmt.Sprintf("the module of %s is out of its limits: %s", l, listed(troubles))
	rows := v.grewRows("physical", "effect", l.object, telemetry.NICRxCRCErrors, telemetry.NICRxSymbolErrors, telemetry.NICRxFECUncorrectable, telemetry.NICLinkDowns)
	f.Evidence = append(f.Evidence, rows...)
	if len(rows) > 0 {
		f.Confidence = proven
	}
	if l.up == no {
		f.Severity, f.Confidence = Note, possible // a port without a link has no light to judge
	}
	return f, true
}

// moduleTroubles lists what is wrong with a module in words, and adds the rows that show it.
func (v *View) moduleTroubles(l linkEnd, f *Finding) (troubles []string) {
	m := l.module
	row := func(what, seen, expected string, from evidence.Source) {
		f.Evidence = append(f.Evidence, Evidence{Layer: "physical", What: what + " of " + l.String(), Seen: seen, Expected: expected, Role: "cause", From: from.String()})
	}
	// Alarms of one kind on several lanes are one trouble. Warnings below them are normal at the edge of a room's climate.
	byKind := map[string][]int{}
	var kinds []string
	for _, a := range m.Alarms {
		if !strings.HasSuffix(a.Level, "alarm") || unusedLane(m, a.Channel) {
			continue
		}
		kind := a.What + " " + strings.TrimSuffix(a.Level, " alarm")
		if len(byKind[kind]) == 0 {
			kinds = append(kinds, kind)
			row(a.What, a.Level, "no alarm", a.From)
		}
		byKind[kind] = append(byKind[kind], a.Channel)
	}
	for _, kind := range kinds {
		text := kind
		if lanes := slices.DeleteFunc(byKind[kind], func(c int) bool { return c == 0 }); len(lanes) > 0 {
			text += fmt.Sprintf(" on %s", counted(len(lanes), "lane", "lanes"))
		}
		troubles = append(troubles, text)
	}
	if len(kinds) == 0 {
		if text, ok := darkLane(l, row); ok {
			troubles = append(troubles, text)
		}
	}
	if fault, ok := m.Fault.Get(); ok && !strings.Contains(strings.ToLower(fault), "no fault") && !strings.Contains(strings.ToLower(fault), "no error") {
		troubles = append(troubles, "fault "+fault)
		row("fault of the module", fault, "none", m.Fault.From)
	}
	if s, ok := m.State.Get(); ok && (strings.Contains(s, "Fault") || strings.Contains(s, "LowPwr") && l.up != no) {
		troubles = append(troubles, "state "+s)
		row("state of the module", s, "ModuleReady", m.State.From)
	}
	return troubles
}

// darkLane finds a lane that gets far less light than its sisters, where the module gave no alarm.
func darkLane(l linkEnd, row func(what, seen, expected string, from evidence.Source)) (string, bool) {
	brightest, dimmest, at := -100.0, 100.0, -1
	lit := 0
	for i, lane := range l.module.Lanes {
		p, ok := lane.Receive.Get()
		if !ok {
			continue
		}
		lit++
		brightest = max(brightest, p)
		if p < dimmest {
			dimmest, at = p, i
		}
	}
	if lit < 2 || brightest-dimmest <= laneGap {
		return "", false
	}
	row(fmt.Sprintf("received light of lane %d", at+1), fmt.Sprintf("%.1f dBm", dimmest), fmt.Sprintf("about %.1f dBm, as its brightest sister", brightest), l.module.Lanes[at].Receive.From)
	return fmt.Sprintf("lane %d gets %.1f dB less light than its sisters", at+1, brightest-dimmest), true
}

// unusedLane tells whether a lane's laser is off, so that its alarms mean nothing: modules of four lanes are used with
// one or two where a port is split.
func unusedLane(m *evidence.Module, channel int) bool {
	if channel < 1 || channel > len(m.Lanes) {
		return false
	}
	bias, ok := m.Lanes[channel-1].Bias.Get()
	return ok && bias == 0
}
