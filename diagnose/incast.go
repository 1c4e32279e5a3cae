package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// An incast: many senders at once toward one NIC, whose link is then the bottleneck however good the fabric is.
//
//	symptom    one host's link is full and queues at its leaf while most links idle; flows that share the leaf suffer
//	evidence   the switch port to one host carries far more than the ports to the others, and a queue stands there;
//	           the host itself sends no pause: it drains as fast as its link brings
//	against    a slow receiver (the host pauses the switch); a collective that loads all hosts alike
//	settles    the number of sources that send to the host at the same time (sFlow at its leaf)
var incastCause = Cause{
	Code:     "L011",
	Title:    "many senders at once into one NIC (incast)",
	Needs:    "bytes and queue or ECN marks of the switch ports to the hosts",
	Explains: []string{"L013", "L021", "L039"}, // few flows with one destination also meet on the way to it
	Check:    checkIncast,
}

// incastRatio is how far above the mean of all host ports the one must be. All-to-all and rings load every host
// alike (ratio 1); two is the smallest ratio at which one link is full while the average one is at most half used.
const incastRatio = 2.0

func checkIncast(v *View) Verdict {
	prio := v.rocePriority()
	var ports []port
	bytes := map[string]float64{}
	var sum float64
	for _, p := range v.ports() {
		if !v.toHost(p) {
			continue
		}
		if b, ok := v.delta(telemetry.SwitchTxBytes, p.object, prio); ok {
			ports = append(ports, p)
			bytes[p.object] = b
			sum += b
		}
	}
	if len(ports) < 3 {
		return cannotCheck("byte counters of at least three switch ports to hosts are needed")
	}
	if sum < collisionBytes {
		return ruledOut("next to nothing was sent to any host")
	}
	hot := slices.MaxFunc(ports, func(a, b port) int { return cmp.Compare(bytes[a.object], bytes[b.object]) })
	ratio := bytes[hot.object] / (sum / float64(len(ports)))
	congested, known, how := v.congestion(hot, prio)
	switch {
	case ratio < incastRatio:
		return ruledOut(fmt.Sprintf("the busiest of %d host ports carries %.1fx the mean", len(ports), ratio))
	case !known:
		return cannotCheck("no queue, watermark or ECN counter of " + hot.object)
	case !congested:
		return ruledOut(fmt.Sprintf("%s carries %.1fx the mean but no queue stands there (%s)", hot.object, ratio, how))
	}
	if paused, ok := v.total(telemetry.NICTxPause, hot.Peer); ok && paused > 0 {
		return ruledOut(hot.Peer + " pauses its switch: it is a slow receiver rather than an incast")
	}
	return found(v.incastFinding(hot, ratio, how, prio))
}

func (v *View) incastFinding(hot port, ratio float64, how string, prio int8) Finding {
	senders, flows := v.senders(hot.Peer)
	who := "many senders"
	if senders > 0 {
		who = count(senders, "sender")
	}
	f := Finding{
		Title:      fmt.Sprintf("%s at once into one NIC: %s -> %s carries %.1fx the mean of the host ports", who, hot.object, hot.Peer, ratio),
		Severity:   Warning,
		Confidence: 0.9,
		Where:      []string{hot.Peer, hot.object},
		Because:    fmt.Sprintf("all of them share the one link to %s, so the queue at %s grows with every sender and what stands behind it waits", hot.Peer, hot.object),
		WrongIf:    hot.Peer + " sent pause frames, or the senders did not overlap in time",
		Fix: Fix{
			Text:     "let fewer peers send to it at once (receiver-driven admission, fewer p2p channels), cap what each sender may have in flight, or spread the target over more NICs",
			Commands: []string{"NCCL_MAX_P2P_NCHANNELS=1"},
			Try:      []Change{{Setting: "nic.window", Value: "64KiB"}},
		},
	}
	f.Evidence = append(f.Evidence,
		Evidence{Layer: "switch", What: fmt.Sprintf("bytes of %s, mean of the host ports", hot.object), Seen: amount(v.bytesOf(hot, prio)), Expected: amount(v.bytesOf(hot, prio) / ratio),
			Role: "cause", At: v.onset(telemetry.SwitchECNMarked, hot.object, prio), From: telemetry.SwitchTxBytes.String()},
		Evidence{Layer: "switch", What: "its egress queue", Seen: how, Expected: "short", From: telemetry.SwitchQueuePeak.String()})
	if senders > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "hosts that send to " + hot.Peer, Seen: fmt.Sprint(senders), From: flows})
	} else {
		f.Confidence = 0.75
		f.Settle = "sFlow at the leaf of " + hot.Peer + ": how many sources send to it at the same time"
	}
	f.Evidence = append(f.Evidence, v.cnpRow()...)
	f.Evidence = append(f.Evidence, v.jobRows()...)
	if p, ok := v.total(telemetry.NICTxPause, hot.Peer); ok && p == 0 {
		f.Not = append(f.Not, "a slow receiver (no PFC pause from "+hot.Peer+")")
	} else {
		f.Confidence -= 0.2
		f.Settle = "tx_prio" + fmt.Sprint(prio) + "_pause of " + hot.Peer + ": a slow receiver pauses its switch"
	}
	f.Cost = v.incastCost(hot, ratio, prio)
	return f
}

// incastCost is the time the port worked above the mean of the host ports: what spreading the target would save at
// the most.
func (v *View) incastCost(hot port, ratio float64, prio int8) *Cost {
	rate, ok := hot.rate()
	b, known := v.delta(telemetry.SwitchTxBytes, hot.object, prio)
	if !ok || !known {
		return nil
	}
	fair := b / ratio
	c, ok := v.share(units.Serialize(units.Bytes(b-fair), rate), fmt.Sprintf("(%s - %s) at %v, what the link carried over the mean of the host ports", amount(b), amount(fair), rate))
	if !ok {
		return nil
	}
	return c
}

// bytesOf is what a port sent in the priority; 0 where it is not known, which checkIncast has excluded.
func (v *View) bytesOf(p port, prio int8) float64 {
	b, _ := v.delta(telemetry.SwitchTxBytes, p.object, prio)
	return b
}

// senders counts the hosts that sampled RoCE flows show sending to the host of an object, and names the source.
func (v *View) senders(object string) (n int, from string) {
	seen := map[string]bool{}
	for _, fl := range v.Inv.Flows {
		if fl.Application == evidence.RoCE && fl.Src != fl.Dst && sameHost(fl.Dst, object) {
			seen[fl.Src] = true
			from = fl.From.String()
		}
	}
	return len(seen), from
}

// sameHost tells whether object ("host3/mlx5_0") belongs to host.
func sameHost(host, object string) bool {
	return object == host || len(object) > len(host) && object[:len(host)] == host && object[len(host)] == '/'
}
