package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// L033: RoCE packets get lost, with neither pause nor ECN at work to prevent it.
//
// Symptom: RDMA slower than TCP under incast, bandwidth that collapses at some sizes, retries used up under
// load. Mechanism: a RoCE NIC recovers from loss by going back to the lost packet, and from a lost tail only by a
// timeout of milliseconds; without PFC on the priority that RoCE uses and without ECN marks the fabric drops under
// every burst. Evidence for: timeouts and sequence errors grow, no pause in the priority in use, no packet
// arrives marked. CNPs without marks are what NICs send for packets out of order. Against: pauses or marks, CRC
// errors (a bad cable loses packets too). Look-alikes: P003, adaptive routing (out of order without loss), R004.
var causeLossy = Cause{
	Code:     "L033",
	Title:    "RoCE loses packets without PFC or ECN at work",
	Needs:    "two readings of the NIC's RDMA counters (hw_counters) and of ethtool -S",
	Explains: []string{"R004", "J002"},
	Check:    checkLossy,
}

// oneQP is how often a single connection to a peer that was restarted times out: once, and once for each of NCCL's seven
// retries (NCCL_IB_RETRY_CNT).
const oneQP = 8

// recovery is what the RDMA counters of a NIC port say of lost packets.
type recovery struct {
	object           string
	timeouts, resent float64 // growth, or the total where read once
	once             bool    // read once: a total since the driver was loaded
	rows             []Evidence
}

func checkLossy(v *View) Verdict {
	if v.roce() == no {
		return notApplicable("InfiniBand does not drop for lack of buffer")
	}
	if v.Inv.Simulated {
		return notApplicable("loss in a simulated run is told from its switches' drop counters")
	}
	var findings []Finding
	looked := false
	if v.Win != nil {
		ports := v.recoveries()
		for _, r := range ports {
			looked = looked || !r.once
			if r.timeouts+r.resent == 0 {
				continue
			}
			if f, ok := v.lossyFinding(r); ok {
				findings = append(findings, f)
			}
		}
	}
	if len(findings) == 0 {
		if f, ok := v.lossyUCX(); ok {
			findings = append(findings, f)
		}
	}
	if len(findings) == 0 && !looked {
		if f, ok := v.collapses(); ok {
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case looked:
		return ruledOut("no timeouts or sequence errors grew, or pause or ECN is at work")
	}
	return cannotCheck("two readings of /sys/class/infiniband/DEVICE/ports/1/hw_counters and of ethtool -S")
}

// recoveries sums up the counters of recovery by NIC port.
func (v *View) recoveries() []recovery {
	var all []recovery
	place := map[string]int{}
	for _, id := range []telemetry.SeriesID{telemetry.NICLocalAckTimeout, telemetry.NICPacketSeqErr, telemetry.NICRetryExceeded} {
		for _, k := range v.keys(id) {
			n, once, ok := v.grownOrTotal(k)
			if !ok {
				continue
			}
			i, there := place[k.Object]
			if !there {
				i = len(all)
				place[k.Object] = i
				all = append(all, recovery{object: k.Object})
			}
			r := &all[i]
			r.once = r.once || once
			if id == telemetry.NICPacketSeqErr {
				r.resent += n
			} else {
				r.timeouts += n
			}
			if n > 0 {
				r.rows = append(r.rows, v.counterRow(k, n, once, "0", "cause"))
			}
		}
	}
	return all
}

// grownOrTotal is the growth of a counter over the window, or, where it was read once, its total so far.
func (v *View) grownOrTotal(k telemetry.Key) (n float64, once, ok bool) {
	if d, ok := v.Win.Delta(k); ok {
		return d, false, true
	}
	p, ok := v.Win.Points(k)
	if !ok || len(p.Samples) == 0 {
		return 0, false, false
	}
	return float64(p.Samples[0].Count) * p.Scale, true, true
}

func (v *View) counterRow(k telemetry.Key, n float64, once bool, expected, role string) Evidence {
	seen := fmt.Sprintf("+%.6g %s", n, telemetry.Catalogue[k.Series].Unit)
	if once {
		seen = fmt.Sprintf("%.6g %s since the driver was loaded (read once)", n, telemetry.Catalogue[k.Series].Unit)
	}
	row := Evidence{Layer: "NIC", What: telemetry.Catalogue[k.Series].Meaning + ", " + spoken(k.Object), Seen: seen, Expected: expected, Role: role, From: k.Series.String() + " " + k.Object}
	if k.Priority != telemetry.AnyPriority {
		row.What += fmt.Sprintf(", priority %d", k.Priority)
	}
	if p, ok := v.Win.Points(k); ok && p.Origin != "" {
		row.From = p.Origin
	}
	return row
}

// ofObject lists the streams of a series of one object: that without a priority, and the eight of IEEE 802.1Q.
func (v *View) ofObject(id telemetry.SeriesID, object string) []telemetry.Key {
	var keys []telemetry.Key
	for p := telemetry.AnyPriority; p < 8; p++ {
		k := telemetry.Key{Series: id, Object: object, Priority: p}
		if _, ok := v.Win.Points(k); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// sumOf adds up the growth (or the totals) of a series over the priorities of an object.
func (v *View) sumOf(id telemetry.SeriesID, object string) (sum float64, known bool) {
	for _, k := range v.ofObject(id, object) {
		if n, _, ok := v.grownOrTotal(k); ok {
			sum, known = sum+n, true
		}
	}
	return sum, known
}

func (v *View) lossyFinding(r recovery) (Finding, bool) {
	f := Finding{
		Title:    fmt.Sprintf("RoCE packets of %s get lost: %.6g acknowledgements did not come in time", spoken(r.object), r.timeouts),
		Severity: Warning, Confidence: possible, Where: []string{spoken(r.object)},
		Because:  "with no pause in the priority that RoCE uses and no ECN marks, the fabric drops at every burst, and a lost tail costs a timeout of milliseconds",
		Evidence: r.rows,
		WrongIf:  "the timeouts stop while the load stays, or they are from one peer that was restarted",
		Fix: Fix{
			Text:     "carry RoCE in one lossless priority from end to end (trust DSCP, map it to the priority, PFC on NIC and switch) with ECN below the pause threshold; or use the lossy mode of ConnectX-5 and later with ECN",
			Commands: []string{"mlnx_qos -i IFACE --trust dscp --pfc 0,0,0,1,0,0,0,0", "export NCCL_IB_TC=106   # DSCP 26", "cma_roce_tos -d DEVICE -t 106", "mlxreg -d DEVICE --reg_name ROCE_ACCEL --get"},
			Try:      []Change{{Setting: "NCCL_IB_TC", Value: "106"}},
		},
		Settle: "out_of_sequence at the receiver and packet_seq_err at the sender, read twice under load, beside the switch's drop counters on the same path",
	}
	if r.timeouts == 0 {
		f.Title = fmt.Sprintf("RoCE packets of %s get lost: %.6g were asked for again", spoken(r.object), r.resent)
	}
	pauses, pausesKnown := v.sumOf(telemetry.NICRxPause, r.object)
	global, _ := v.sumOf(telemetry.NICRxGlobalPause, r.object)
	marks, marksKnown := v.sumOf(telemetry.NICECNMarked, r.object)
	cnps, _ := v.sumOf(telemetry.NICCNPSent, r.object)
	for _, id := range []telemetry.SeriesID{telemetry.NICRxCRCErrors, telemetry.NICRxSymbolErrors, telemetry.NICLinkDowns} {
		if n, ok := v.sumOf(id, r.object); ok && n > 0 && !r.once {
			return Finding{}, false // a bad link loses packets too, and the physical causes tell that
		}
	}
	if pauses+global > 0 || marks > 0 {
		return Finding{}, false // flow control is at work: the loss has another reason
	}
	only, onlyKnown := v.onlyPriority(r.object)
	clues := 0
	if marksKnown {
		clues++
		row := Evidence{Layer: "NIC", What: "packets that arrived marked (ECN), " + spoken(r.object), Seen: "0", Expected: "some, before anything is dropped", Role: "cause"}
		if cnps > 0 {
			row.What += fmt.Sprintf("; congestion notifications sent: %.6g", cnps)
			row.Expected = "as many as the notifications call for"
			clues++
		}
		row.From = telemetry.NICECNMarked.String() + " " + r.object
		for _, k := range v.ofObject(telemetry.NICECNMarked, r.object) {
			if p, ok := v.Win.Points(k); ok {
				row.From = orElse(p.Origin, row.From)
			}
		}
		f.Evidence = append(f.Evidence, row)
	}
	if onlyKnown && only == 0 {
		clues++
		k := telemetry.Key{Series: telemetry.NICRxBytes, Object: r.object, Priority: 0}
		from := ""
		if p, ok := v.Win.Points(k); ok {
			from = p.Origin
		}
		f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "priorities that carry traffic, " + spoken(r.object), Seen: "only 0", Expected: "RoCE in a priority of its own", Role: "cause", From: from})
	}
	if off, row := v.pauseOff(r.object); off {
		clues++
		f.Evidence = append(f.Evidence, row)
	}
	if pausesKnown {
		clues++
		f.Not = append(f.Not, "a paused network: no pause frame was received")
	}
	switch {
	case clues == 0 && !r.once && r.timeouts > oneQP && r.resent > oneQP && v.roce() == yes:
		f.Because = "packets were asked for again and acknowledgements did not come, over and over: the fabric drops them; whether pauses or marks are at work was not read"
		f.Settle = "ethtool -S of the port (rx_prioN_pause), np_ecn_marked_roce_packets, and the switch's drop counters, read twice under load"
	case clues == 0:
		return Finding{}, false
	case !r.once && clues >= 2:
		f.Confidence = named
	case !r.once || clues >= 3:
		f.Confidence = likely
	case clues < 2:
		return Finding{}, false // a total since boot and one clue are no finding
	}
	if r.timeouts+r.resent <= oneQP {
		f.Severity, f.Confidence = Note, weak
	}
	if r.once {
		f.Settle = "a second reading of the same counters under load: totals since boot do not tell when it happened"
	}
	return f, true
}

// pauseOff tells whether every interface of a port's host whose QoS was read has pause off for all priorities.
func (v *View) pauseOff(port string) (bool, Evidence) {
	host, _, _ := strings.Cut(port, "/")
	var row Evidence
	for _, h := range v.Inv.Hosts {
		if h.Name != host {
			continue
		}
		for _, d := range h.Netdevs {
			if d.QoS == nil {
				continue
			}
			pfc, known := d.QoS.PFC.Get()
			if !known {
				continue
			}
			if pfc != [evidence.Priorities]bool{} {
				return false, Evidence{}
			}
			row = Evidence{Layer: "NIC", What: "priorities that may be paused, " + object(h.Name, d.Name), Seen: "none", Expected: "the one RoCE uses", Role: "cause", From: d.QoS.PFC.From.String()}
		}
	}
	return row.What != "", row
}

// onlyPriority tells which one priority carries all received bytes of an object; known is false where several
// do, or fewer than two were read.
func (v *View) onlyPriority(object string) (only int8, known bool) {
	read, busy := 0, []int8{}
	for _, k := range v.ofObject(telemetry.NICRxBytes, object) {
		if k.Priority == telemetry.AnyPriority {
			continue
		}
		n, _, ok := v.grownOrTotal(k)
		if !ok {
			continue
		}
		read++
		if n > 0 {
			busy = append(busy, k.Priority)
		}
	}
	if read < 2 || len(busy) != 1 {
		return 0, false
	}
	return busy[0], true
}

// lossyUCX judges a connection of UCX over RoCE that used up its retries. UCX wires its connections up over the
// fabric itself, by messages of an unreliable transport, so such a path did work before; NCCL exchanges
// addresses over TCP, so there the same status says less (R004).
func (v *View) lossyUCX() (Finding, bool) {
	events := without(v.completions(wcRetryExceeded), func(e evidence.Event) bool {
		return !fromUCX(e) || !strings.Contains(e.Text, "RoCE")
	})
	if len(events) == 0 {
		return Finding{}, false
	}
	e := events[0]
	f := Finding{
		Title:    fmt.Sprintf("%s used up its retries over RoCE: packets get lost and are not recovered in time", object(e.Host, e.Device)),
		Severity: Critical, Confidence: possible, Where: []string{object(e.Host, e.Device)},
		Because:  "UCX had reached the peer over the same port when it made the connection, so the path exists; what is lost under load is recovered by retries only, and adapters before ConnectX-5 have no lossy mode",
		Evidence: tell(events, "effect"),
		Not:      []string{"a wrong GID or route: then not even the wire-up of UCX would get through"},
		WrongIf:  "the peer's process had ended, or its link had gone down, at that time",
		Fix: Fix{
			Text:     "make the fabric lossless for RoCE (PFC and ECN in its priority), or switch the lossy mode on (ConnectX-5 and later); UCX_RC_TIMEOUT and UCX_RC_RETRY_COUNT only stretch it",
			Commands: []string{"mlnx_qos -i IFACE", "mlxreg -d DEVICE --reg_name ROCE_ACCEL --get", "ibv_devinfo -d DEVICE | grep vendor_part_id"},
		},
		Settle: "local_ack_timeout_err and out_of_sequence of both hosts, read twice under load",
	}
	for _, h := range v.Inv.Hosts {
		for _, n := range h.NICs {
			// 4115 to 4118 are ConnectX-4 and ConnectX-4 Lx (PCI ids, drivers/net/ethernet/mellanox/mlx5/core/main.c).
			if part, ok := n.PartID.Get(); ok && part >= 4115 && part <= 4118 {
				f.Confidence = named
				f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "device " + object(h.Name, n.Device), Seen: fmt.Sprintf("ConnectX-4 (part %d), without a lossy mode", part), Role: "cause", From: n.PartID.From.String()})
			}
		}
	}
	return f, true
}

// fromUCX tells whether an event was printed by UCX rather than NCCL.
func fromUCX(e evidence.Event) bool {
	return strings.Contains(e.File, "ib_mlx5_log") || strings.HasPrefix(e.File, "ib_") || strings.HasPrefix(e.What, "UCX") || strings.Contains(e.Text, "ib_mlx5_log")
}

// collapse is the part of what a smaller size reached below which bandwidth did not only vary: a lost tail costs a timeout
// of tens of milliseconds, which is many times what a message of some megabytes takes.
const collapse = 0.1

// collapses finds a benchmark over RoCE whose bandwidth falls to almost nothing at some size and is back at the next: what
// timeouts of lost packets look like where no counter was read.
func (v *View) collapses() (Finding, bool) {
	if v.roce() != yes || v.spans() != yes {
		return Finding{}, false
	}
	best := map[int]evidence.Call{} // by table
	for i, c := range v.Inv.Calls {
		if c.Table < 0 || c.Bytes < 1<<20 || c.BusBW <= 0 {
			continue
		}
		b, there := best[c.Table]
		if !there || c.BusBW > b.BusBW {
			best[c.Table] = c
			continue
		}
		back := slices.ContainsFunc(v.Inv.Calls[i+1:], func(d evidence.Call) bool { return d.Table == c.Table && d.Bytes > c.Bytes && d.BusBW > b.BusBW/2 })
		if c.BusBW >= collapse*b.BusBW || !back {
			continue
		}
		return Finding{
			Title:    fmt.Sprintf("bandwidth over RoCE collapses at single sizes (%.3g GB/s at %v, %.3g at %v): packets get lost", c.BusBW, c.Bytes, b.BusBW, b.Bytes),
			Severity: Warning, Confidence: possible, Where: []string{"the path between the hosts of the benchmark"},
			Because: "one lost packet at the end of a message costs a timeout of tens of milliseconds, many times what the message takes; a fabric without flow control for RoCE loses some at every burst",
			Evidence: []Evidence{
				{Layer: "collective", What: fmt.Sprintf("busbw at %v", c.Bytes), Seen: fmt.Sprintf("%.3g GB/s", c.BusBW), Expected: fmt.Sprintf("about %.3g GB/s", b.BusBW), Role: "effect", From: c.From.String()},
				{Layer: "collective", What: fmt.Sprintf("busbw at %v", b.Bytes), Seen: fmt.Sprintf("%.3g GB/s", b.BusBW), From: b.From.String()},
			},
			WrongIf: "timeouts and sequence errors of the NICs stand still over the same run",
			Not:     []string{"an update of NCCL as such: other timing only shows what the fabric loses"},
			Fix:     Fix{Text: "look at flow control for RoCE from end to end: its priority, PFC and ECN on NICs and switches (L036)", Commands: []string{"grep . /sys/class/infiniband/*/ports/1/hw_counters/{local_ack_timeout_err,packet_seq_err,out_of_sequence}", "mlnx_qos -i IFACE"}},
			Settle:  "two readings of the RDMA counters around the run",
		}, true
	}
	return Finding{}, false
}
