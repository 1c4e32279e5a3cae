package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// H019: a host sprays over its NICs by link state that its interrupts bring late.
//
// Symptom: two NICs of one host carry 7:3 for hours, though both links, planes and switches are alike; other hosts carry 5:5. Mechanism: the
// state of the links is read in interrupt handlers; where those run late or on a processor far from who decides, each decision rests
// on a state of its own age, and the NIC that last looked idle is given more until the next reading (article 000, section 5.4;
// S0.14). Evidence for: the split, with entries far older than the refresh period, or interrupts of both NICs that share a core or are taken on
// the far side. Against: a NIC that is slower, paused or damaged, a whole plane that carries less on every host. Look-alikes: P001,
// L012, H006, C022.
var causeStaleLinkState = Cause{
	Code:     "H019",
	Title:    "a host spreads unevenly over its NICs by stale link state",
	Needs:    "bytes sent by each NIC of a host, and the age of the link state, or /proc/interrupts with the affinities",
	Explains: []string{"H012", "H013", "L021"},
	Check:    checkStaleLinkState,
}

const (
	// unevenSplit is how much more than the other one NIC of a host must carry; 7:3 is 2.3.
	unevenSplit = 1.5
	// staleRefreshes is how many refresh periods old the state may be: a reading that comes one period late is two old.
	staleRefreshes = 2
	// splitBytes is the least a host must have sent for its split to be judged, as for equal-cost groups.
	splitBytes = collisionBytes
)

// split is how a host divides its traffic over NICs that it may choose between.
type split struct {
	host      *evidence.Host
	nics      []nic
	bytes     []float64
	most      int
	least     int
	ratio     float64
	reference bool // the host says itself how it sprays
}

func checkStaleLinkState(v *View) Verdict {
	splits := v.splits()
	if len(splits) == 0 {
		if v.Inv.Simulated {
			return notApplicable("no simulated host chooses between its NICs")
		}
		return cannotCheck("bytes sent by each NIC of a host that sprays over them, or bonds them")
	}
	var uneven []split
	for _, s := range splits {
		if s.ratio >= unevenSplit {
			uneven = append(uneven, s)
		}
	}
	if len(uneven) == 0 {
		return ruledOut(fmt.Sprintf("the NICs of %s carry alike", count(len(splits), "host")))
	}
	slices.SortStableFunc(uneven, func(a, b split) int { return cmp.Compare(b.ratio, a.ratio) })
	var findings []Finding
	why := ""
	for _, s := range uneven {
		if reason := v.planeReason(s, splits); reason != "" {
			why = reason
			continue
		}
		rows, step := v.staleRows(s)
		if len(rows) == 0 {
			why = orElse(why, "?")
			continue
		}
		findings = append(findings, v.staleFinding(s, rows, step, len(splits)))
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case why == "?":
		return cannotCheck("the age of the link state, or /proc/interrupts with the affinities, of " + called(uneven[0].host.Name))
	}
	return ruledOut(why)
}

// splits lists the hosts that choose between NICs: those that say how they spray over them, and those that bond them.
func (v *View) splits() (all []split) {
	by := map[string][]nic{}
	var order []string
	for _, n := range v.nics() {
		of := ""
		switch {
		case n.Spray != nil:
			of = n.host.Name
		case v.masterOf(n) != "":
			of = n.host.Name + "/" + v.masterOf(n)
		default:
			continue
		}
		if by[of] == nil {
			order = append(order, of)
		}
		by[of] = append(by[of], n)
	}
	prio := v.rocePriority()
	for _, of := range order {
		nics := by[of]
		if len(nics) < 2 {
			continue
		}
		s := split{host: nics[0].host, nics: nics, bytes: make([]float64, len(nics)), reference: nics[0].Spray != nil}
		var sent float64
		complete := true
		for i, n := range nics {
			b, ok := v.delta(telemetry.NICTxBytes, n.object, prio)
			if !ok {
				b, ok = v.delta(telemetry.NICPortTxBytes, n.object, telemetry.AnyPriority)
			}
			complete = complete && ok
			s.bytes[i] = b
			sent += b
			if b > s.bytes[s.most] {
				s.most = i
			}
			if b < s.bytes[s.least] {
				s.least = i
			}
		}
		if !complete || sent < splitBytes {
			continue
		}
		s.ratio = s.bytes[s.most] / max(s.bytes[s.least], 1)
		all = append(all, s)
	}
	return all
}

// masterOf is the bond that the interface of a NIC belongs to, "" where there is none.
func (v *View) masterOf(n nic) string {
	for _, d := range n.host.Netdevs {
		if d.Master != "" && (d.Device == n.Device || d.Name == n.Netdev.Or("")) {
			return d.Master
		}
	}
	return ""
}

// planeReason tells what else makes a NIC carry less: its link, its switch port, or its whole plane. "" where nothing does.
func (v *View) planeReason(s split, all []split) string {
	least, most := s.nics[s.least], s.nics[s.most]
	slow, ok1 := v.nicSpeed(least)
	fast, ok2 := v.nicSpeed(most)
	if ok1 && ok2 && slow < fast {
		return fmt.Sprintf("%s runs at %v and %s at %v", least.object, slow, most.object, fast)
	}
	if share, ok := v.pausedShare(telemetry.NICRxPauseTime, least.object, v.rocePriority()); ok && share >= sprayedPause {
		return fmt.Sprintf("%s is paused by its switch for %.0f %% of the time", least.object, 100*share)
	}
	for _, id := range []telemetry.SeriesID{telemetry.NICRxCRCErrors, telemetry.NICRxSymbolErrors, telemetry.NICLinkDowns, telemetry.NICTxDiscards} {
		if d, ok := v.delta(id, least.object, telemetry.AnyPriority); ok && d > 0 {
			return fmt.Sprintf("%s: %s grew by %.0f", least.object, id, d)
		}
	}
	if p, ok := v.switchPortOf(least); ok {
		if d, ok := v.delta(telemetry.SwitchRxErrors, p.object, telemetry.AnyPriority); ok && d > 0 {
			return fmt.Sprintf("the switch port of %s received %.0f damaged frames", least.object, d)
		}
	}
	same, others := 0, 0
	for _, o := range all {
		if o.host == s.host {
			continue
		}
		others++
		if o.ratio >= unevenSplit && o.nics[o.least].Device == least.Device {
			same++
		}
	}
	if others > 0 && same == others {
		return fmt.Sprintf("%s carries less on every host: it is the plane, not a host", least.Device)
	}
	return ""
}

// nicSpeed is what a NIC port runs at.
func (v *View) nicSpeed(n nic) (units.Rate, bool) {
	if r, ok := v.speed(telemetry.NICSpeed, n.object); ok {
		return r, true
	}
	return n.Rate.Get()
}

// switchPortOf is the switch port at the other end of a NIC's cable.
func (v *View) switchPortOf(n nic) (port, bool) {
	for _, p := range v.ports() {
		if p.object == n.Switch || p.Peer == n.object {
			return p, true
		}
	}
	return port{}, false
}

// staleRows is what shows that a host's link state comes late, and how sure that is; none where nothing tells of it.
func (v *View) staleRows(s split) (rows []Evidence, sure float64) {
	var late []string
	for _, n := range s.nics {
		if n.Spray == nil {
			continue
		}
		refresh, ok := n.Spray.Refresh.Get()
		if !ok || refresh <= 0 {
			continue
		}
		for _, p := range n.Spray.Paths {
			age, known := p.Oldest.Get()
			if known && age > staleRefreshes*refresh && !slices.Contains(late, p.Port) {
				late = append(late, p.Port)
				rows = append(rows, Evidence{Layer: "NIC", What: fmt.Sprintf("oldest state of %s that %s decided by", p.Port, n.object), Seen: short(age), Expected: short(refresh) + ", one refresh", Role: "cause", From: p.Oldest.From.String()})
			}
		}
	}
	if len(rows) > 0 {
		sure = named
	}
	far, cores := 0, map[int][]string{}
	for _, d := range deviceInterrupts(s.host) {
		if !slices.ContainsFunc(s.nics, func(n nic) bool { return d.name == n.Device || d.name == n.Netdev.Or("") }) {
			continue
		}
		if share, all, how := farShare(s.host, d); all > 0 && d.node >= 0 && share > coreShare {
			far++
			rows = append(rows, Evidence{Layer: "host", What: how + " of " + d.String(), Seen: fmt.Sprintf("%.0f %% away from node %d", 100*share, d.node), Expected: "on its own node", Role: "cause", From: d.from.String()})
		}
		if cpu, share := d.busiest(); d.total >= enoughInterrupts && share >= coreShare && !movedAway(d, cpu) {
			cores[cpu] = append(cores[cpu], d.String())
			if len(cores[cpu]) == 2 {
				rows = append(rows, Evidence{Layer: "host", What: "interrupts of " + strings.Join(cores[cpu], " and "), Seen: fmt.Sprintf("both on core %d", cpu), Expected: "a core of its own each", Role: "cause", From: d.from.String()})
			}
		}
	}
	if sure == 0 && len(rows) > 0 {
		sure = possible
		if s.reference {
			sure = likely
		}
	}
	if b, ok := s.host.Sysctl["net.core.netdev_budget"]; ok && len(rows) > 0 && b.Known() {
		rows = append(rows, Evidence{Layer: "host", What: "net.core.netdev_budget", Seen: b.String(), From: b.From.String()})
	}
	return rows, sure
}

func (v *View) staleFinding(s split, rows []Evidence, sure float64, hosts int) Finding {
	most, least := s.nics[s.most], s.nics[s.least]
	all := s.bytes[s.most] + s.bytes[s.least]
	prio := v.rocePriority()
	f := Finding{
		Title:    fmt.Sprintf("%s spreads %.0f:%.0f over %s and %s, though neither is slower: it goes by stale link state", called(s.host.Name), 10*s.bytes[s.most]/all, 10*s.bytes[s.least]/all, most.Device, least.Device),
		Severity: Warning, Confidence: sure, Where: []string{called(s.host.Name), most.object, least.object},
		Because: "the state of each NIC reaches the table of link states late and not together, so the one that looked idle at the last reading is given more until the next, and the job waits for the fuller one",
		WrongIf: "the split stays as it is with the interrupts bound and the link state fresh",
		Settle:  "the bytes of both NICs over ten seconds, before and after their interrupts are bound to cores of their own node",
		Not:     []string{"a NIC or a link that is slower (both run at the same speed, neither is paused or damaged)"},
		Fix: Fix{
			Text:     "bind the interrupts of each NIC to cores of its own NUMA node, where the link state is read too, and keep irqbalance from moving them (article 000: with net.core.netdev_budget=300 the split came to within 1.2 %)",
			Commands: []string{"systemctl stop irqbalance", "set_irq_affinity_bynode.sh NODE IFACE", "sysctl net.core.netdev_budget"},
		},
	}
	if hosts > 1 {
		f.Not = append(f.Not, "a plane that carries less (other hosts spread evenly over theirs)")
	}
	if s.reference {
		f.Fix.Try = []Change{{Setting: "nic.deal.late", Object: s.host.Name, Value: "none"}}
		f.Fix.Others = []Alternative{{Text: "deal messages over the NICs in turn, whatever their state", Try: []Change{{Setting: "nic.deal.by", Value: "turn"}}}}
	}
	for i, n := range s.nics {
		id := telemetry.NICTxBytes
		if _, ok := v.delta(id, n.object, prio); !ok {
			id = telemetry.NICPortTxBytes
		}
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "bytes sent by " + n.object, Seen: amount(s.bytes[i]), Expected: amount(sumOf(s.bytes) / float64(len(s.bytes))), Role: "effect", From: v.from(id, n.object, prio)})
	}
	f.Evidence = append(rows, f.Evidence...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	if rate, ok := v.nicSpeed(most); ok {
		extra := units.Serialize(units.Bytes(s.bytes[s.most]-sumOf(s.bytes)/float64(len(s.bytes))), rate)
		if c, ok := v.share(extra, fmt.Sprintf("what %s sent beyond its share, at %v", most.object, rate)); ok {
			f.Cost = c
		}
	}
	return f
}

func sumOf(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum
}
