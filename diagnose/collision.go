package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// A hash collision: per-flow ECMP puts several large flows on one of many equal-cost links while others idle.
//
//	symptom    one collective is slow (all-to-all, many pairs) while another (ring all-reduce, few pairs) is fine
//	evidence   one port of an equal-cost group carries much more than the mean, and a queue stands there
//	against    fewer flows than links: bytes are uneven but no queue builds; a slower or lost link in the group
//	settles    per-port counters of the group over one call of the slow collective
//
// The threshold is the one of operators' practice: a link more than 50 % above its siblings means that the hash
// does not fit the traffic.
var collisionCause = Cause{
	Code:     "L021",
	Title:    "flows hash onto one of several equal links",
	Needs:    "bytes, ECN marks or queue watermarks of all ports of an equal-cost group",
	Explains: []string{"L013"},
	Check:    checkCollision,
}

const (
	collisionRatio = 1.5
	// collisionBytes is the least traffic of a group worth judging: below it a handful of packets decides the ratio.
	collisionBytes = 1 << 20
	// collisionPackets is as much in packets of a host's management traffic, which is what hashes onto idle uplinks.
	collisionPackets = 100_000
)

type collision struct {
	group     group
	hot       port
	ratio     float64
	hotBytes  float64
	fairBytes float64
	how       string // how congestion shows; "" where nothing tells of it
	load      load
}

// load is a way to tell how much each port of a group carried.
type load struct {
	what  string // "bytes of", "packets of", "rate of"
	id    telemetry.SeriesID
	least float64 // of a group, to be worth judging: below it a handful of packets decides the ratio
	of    func(v *View, p port, prio int8) (float64, bool)
	print func(float64) string
}

// loads are tried in this order: bytes of RoCE's own queues say most; a switch that counts only packets by port, or tells the
// rate at one moment, says the same about traffic of one kind.
var loads = []load{
	{"bytes of", telemetry.SwitchTxBytes, collisionBytes, func(v *View, p port, prio int8) (float64, bool) {
		return v.delta(telemetry.SwitchTxBytes, p.object, prio)
	}, amount[float64]},
	{"packets of", telemetry.SwitchTxPackets, collisionPackets, func(v *View, p port, _ int8) (float64, bool) {
		return v.delta(telemetry.SwitchTxPackets, p.object, telemetry.AnyPriority)
	}, func(n float64) string { return fmt.Sprintf("%.3g packets", n) }},
	{"rate of", telemetry.SwitchTxRate, float64(units.Gbps), func(v *View, p port, _ int8) (float64, bool) {
		l, ok := v.Win.Level(key(telemetry.SwitchTxRate, p.object, telemetry.AnyPriority))
		return l.Mean, ok
	}, func(r float64) string { return units.Rate(r).String() }},
}

func checkCollision(v *View) Verdict {
	groups := v.equalCost()
	if len(groups) == 0 {
		return cannotCheck("no equal-cost ports known: switch ports with their peers are needed")
	}
	prio := v.rocePriority()
	var hits []collision
	judged := 0
	for _, g := range groups {
		c, ok := v.hottest(g, prio)
		if !ok {
			continue
		}
		judged++
		if c.ratio < collisionRatio {
			continue
		}
		// A port that its peer pauses has a queue because of what stands further down, not because of the hash.
		if paused, ok := v.pausedShare(telemetry.SwitchPFCRxTime, c.hot.object, prio); ok && paused >= pauseShare {
			continue
		}
		congested, known, how := v.congestion(c.hot, prio)
		if dropped, told := v.queueDrops(c.hot, prio); told && dropped > 0 {
			congested, known, how = true, true, strings.TrimPrefix(how+fmt.Sprintf(", %.6g packets dropped", dropped), ", ")
		}
		if !known || congested { // where no queue was read, the uneven load alone is what there is
			c.how = how
			hits = append(hits, c)
		}
	}
	if judged == 0 {
		return cannotCheck("no equal-cost group has byte counters for all its ports over the window")
	}
	if len(hits) == 0 {
		return ruledOut(fmt.Sprintf("no port of %s carries over %.1fx its fair share with a queue", count(judged, "equal-cost group"), collisionRatio))
	}
	slices.SortFunc(hits, func(a, b collision) int { return cmp.Compare(b.hotBytes-b.fairBytes, a.hotBytes-a.fairBytes) })
	return found(v.collisionFinding(hits, prio))
}

// hottest finds the port of a group that carried most; ok is false where what a port carried is not known.
func (v *View) hottest(g group, prio int8) (c collision, ok bool) {
	for _, l := range loads {
		c = collision{group: g, load: l}
		sum, known := 0.0, true
		for _, p := range g.ports {
			b, told := l.of(v, p, prio)
			if !told {
				known = false
				break
			}
			sum += b
			if b > c.hotBytes {
				c.hot, c.hotBytes = p, b
			}
		}
		if !known {
			continue
		}
		if sum < l.least {
			return c, false
		}
		c.fairBytes = sum / float64(len(g.ports))
		c.ratio = c.hotBytes / c.fairBytes
		return c, true
	}
	return c, false
}

// queueDrops is how many packets a port dropped from the queue of a priority, or from any of its queues.
func (v *View) queueDrops(p port, prio int8) (float64, bool) {
	if d, ok := v.delta(telemetry.SwitchQueueDropped, p.object, prio); ok {
		return d, true
	}
	return v.delta(telemetry.SwitchDropped, p.object, telemetry.AnyPriority)
}

func (v *View) collisionFinding(hits []collision, prio int8) Finding {
	worst := hits[0]
	peer := orElse(worst.hot.Peer, "the next tier")
	f := Finding{
		Title:    fmt.Sprintf("flows hash onto one link: %s -> %s carries %.1fx its fair share", worst.hot.object, peer, worst.ratio),
		Severity: Warning,
		Because: fmt.Sprintf("per-flow hashing gave %s %s of the %s that %s carried, while the least used one had %s",
			worst.hot.object, worst.load.print(worst.hotBytes), worst.load.print(worst.fairBytes*float64(len(worst.group.ports))), worst.group.name, worst.load.print(v.coldest(worst, prio))),
		WrongIf: "the queue at the port stands as well while all equal-cost ports carry the same",
		Settle:  "the bytes of every port of the group over one call of the slow collective",
	}
	for _, h := range hits {
		f.Where = append(f.Where, h.hot.object)
	}
	f.Evidence = append(f.Evidence,
		Evidence{Layer: "switch", What: fmt.Sprintf("%s %s, mean of %s", worst.load.what, worst.hot.object, worst.group.name),
			Seen: worst.load.print(worst.hotBytes), Expected: worst.load.print(worst.fairBytes), Role: "cause", At: v.onset(telemetry.SwitchECNMarked, worst.hot.object, prio),
			From: v.from(worst.load.id, worst.hot.object, prio)})
	if worst.how != "" {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "its egress queue", Seen: worst.how, Expected: "short", From: telemetry.SwitchQueuePeak.String()})
	}
	if len(hits) > 1 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "more such groups", Seen: fmt.Sprint(len(hits) - 1), Expected: "0", From: telemetry.SwitchTxBytes.String()})
	}
	f.Evidence = append(f.Evidence, v.cnpRow()...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	f.Confidence = 0.85
	if len(v.Inv.Calls) > 0 || len(v.Inv.Steps) > 0 {
		f.Confidence = 0.93
	}
	if worst.how == "" {
		f.Confidence = likely // no queue, mark or drop was read: the load is uneven, and nothing shows that it hurt
	}
	if v.hostsPause() == 0 && len(v.keys(telemetry.NICTxPause)) > 0 {
		f.Not = append(f.Not, "a slow receiver (no PFC pause from hosts)")
	}
	if n, known := v.damaged(); known && n == 0 {
		f.Not = append(f.Not, "a bad cable (0 CRC errors)")
	}
	if rate, ok := worst.hot.rate(); ok && worst.load.id == telemetry.SwitchTxBytes {
		extra := units.Serialize(units.Bytes(worst.hotBytes-worst.fairBytes), rate)
		if c, ok := v.share(extra, fmt.Sprintf("(%s - %s) at %v, the bytes of the link over its fair share", amount(worst.hotBytes), amount(worst.fairBytes), rate)); ok {
			f.Cost = c
			if c.Extra*4 > c.Seen {
				f.Severity = Critical
			}
		}
	}
	f.Fix = Fix{
		Text:     "hash on the destination QPN as well and give each connection several QPs, or spray packets with a NIC that places them out of order",
		Commands: []string{"NCCL_IB_QPS_PER_CONNECTION=16 NCCL_IB_SPLIT_DATA_ON_QPS=1"},
		Try:      []Change{{Setting: "switch.path_choice", Value: "ecmp-qpn"}, {Setting: "nic.qps", Value: "16"}, {Setting: "nic.split", Value: "true"}},
	}
	return f
}

// coldest is the least any port of the group carried.
func (v *View) coldest(c collision, prio int8) float64 {
	least := -1.0
	for _, p := range c.group.ports {
		if b, ok := c.load.of(v, p, prio); ok && (least < 0 || b < least) {
			least = b
		}
	}
	return max(least, 0)
}

// cnpRow tells how many NICs were told to slow down, and when half of these had been.
func (v *View) cnpRow() []Evidence {
	told, known := 0, 0
	var onsets []units.Instant
	for _, n := range v.nics() {
		d, ok := v.delta(telemetry.NICCNPHandled, n.object, telemetry.AnyPriority)
		if !ok {
			continue
		}
		known++
		if d > 0 {
			told++
			if at := v.onset(telemetry.NICCNPHandled, n.object, telemetry.AnyPriority); at != nil {
				onsets = append(onsets, *at)
			}
		}
	}
	if told == 0 {
		return nil
	}
	row := Evidence{Layer: "NIC", What: "NICs that handled CNPs", Seen: fmt.Sprintf("%d of %d", told, known), Expected: "few", Role: "effect", From: telemetry.NICCNPHandled.String()}
	if len(onsets) > 0 {
		slices.SortFunc(onsets, func(a, b units.Instant) int { return cmp.Compare(a.PS(), b.PS()) })
		row.At = &onsets[len(onsets)/2]
	}
	return []Evidence{row}
}

// hostsPause counts the NICs that told their switch to stop.
func (v *View) hostsPause() int {
	n := 0
	for _, x := range v.nics() {
		if d, ok := v.total(telemetry.NICTxPause, x.object); ok && d > 0 {
			n++
		}
	}
	return n
}

// damaged is the number of damaged frames over all ports; known is false where no port tells.
func (v *View) damaged() (n float64, known bool) {
	for _, p := range v.ports() {
		if d, ok := v.total(telemetry.SwitchRxErrors, p.object); ok {
			n, known = n+d, true
		}
	}
	for _, x := range v.nics() {
		if d, ok := v.total(telemetry.NICRxCRCErrors, x.object); ok {
			n, known = n+d, true
		}
	}
	return n, known
}
