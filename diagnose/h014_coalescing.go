package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// H014: a NIC holds interrupts back although latency matters.
//
// Symptom: small messages over sockets take tens of microseconds longer than the wire, and unevenly. Mechanism: coalescing
// waits for more packets, or for a time, before it interrupts; adaptive coalescing changes that time with the load.
// Evidence for: ethtool -c with a job or a test that uses sockets. Against: RDMA of NCCL, which polls its completions and
// is not concerned; throughput, which coalescing helps. Look-alikes: H013.
var causeCoalescing = Cause{
	Code:  "H014",
	Title: "a NIC holds interrupts back although latency matters",
	Needs: "ethtool -c, and a job or a latency test over sockets",
	Check: checkCoalescing,
}

// longDelay is the delay of an interrupt from which it is a large part of a round trip over a leaf and a spine, some 10 to
// 20 us with TCP; drivers set 8 (mlx5: 8, MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC) to 64.
const longDelay = 8 * units.Microsecond

func checkCoalescing(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated NIC has no interrupts")
	}
	latency, measured := v.socketLatency()
	if !measured && !v.onlySockets() {
		return notApplicable("nothing here waits for interrupts: RDMA polls")
	}
	var findings []Finding
	read := 0
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			c := d.Coalescing
			adaptive, delay := c.AdaptiveRx.Or(false), c.RxDelay.Or(0)
			if !c.AdaptiveRx.Known() && !c.RxDelay.Known() {
				continue
			}
			read++
			if !adaptive && delay <= longDelay || v.leftOut(h, d) {
				continue
			}
			where := object(h.Name, d.Name)
			f := Finding{
				Title:    fmt.Sprintf("%s holds its interrupts back for up to %v", where, short(delay)),
				Severity: Note, Confidence: possible, Where: []string{where},
				Because: "a small message waits for the next interrupt, whether or not anything else arrives",
				WrongIf: "the job sends only large messages over it: then coalescing saves processor time",
				Fix:     Fix{Text: "switch adaptive coalescing off and the delay down for the interface of the job", Commands: []string{"ethtool -C IFACE adaptive-rx off rx-usecs 0 rx-frames 1", "ethtool -c IFACE"}},
				Settle:  "qperf PEER tcp_lat before and after",
			}
			if adaptive {
				f.Title = fmt.Sprintf("%s holds its interrupts back by a time that changes with the load", where)
				f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "adaptive coalescing of " + where, Seen: "on", Expected: "off", Role: "cause", From: c.AdaptiveRx.From.String()})
			}
			if c.RxDelay.Known() {
				f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: "rx-usecs of " + where, Seen: short(delay), Expected: "0", Role: "cause", From: c.RxDelay.From.String()})
			}
			if measured {
				f.Evidence = append(f.Evidence, latency)
				f.Severity, f.Confidence = Warning, likely
			}
			findings = append(findings, f)
		}
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case read > 0:
		return ruledOut(fmt.Sprintf("interrupts are not held back for longer than %v", short(longDelay)))
	}
	return cannotCheck("ethtool -c of the interface that the sockets use")
}

// leftOut tells whether an interface is known not to be the one that the job's sockets use.
func (v *View) leftOut(h *evidence.Host, d *evidence.Netdev) bool {
	told := false
	for _, s := range v.Inv.NCCL.Sockets {
		if s.Host == h.Name {
			told = true
			if s.Interface == d.Name {
				return false
			}
		}
	}
	return told
}

// highLatency is a latency of TCP between two hosts of one fabric above which something holds messages back: the wire, two
// or four switches and both kernels take 10 to 30 us.
const highLatency = 50 * units.Microsecond

// socketLatency finds a latency test over sockets that took long.
func (v *View) socketLatency() (Evidence, bool) {
	for _, t := range v.Inv.NetTests {
		if d, ok := t.Latency.Get(); ok && (t.Test == "tcp_lat" || t.Test == "udp_lat") && d > highLatency {
			return Evidence{Layer: "host", What: fmt.Sprintf("latency of %s (%s)", t.Test, t.Tool), Seen: short(d), Expected: "10 to 30 us", Role: "effect", From: t.Latency.From.String()}, true
		}
	}
	return Evidence{}, false
}
