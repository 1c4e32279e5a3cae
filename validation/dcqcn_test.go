package validation

import (
	"fmt"
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// published DCQCN: the parameters of Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, at 40 Gbit/s: g 1/256, timers of
// 55 us, a counter of 10 MB, F 5, R_AI 40 Mbit/s, a CNP each 50 us at most. Marking rises by 1 % over 195 KB from 5 KB on, as theirs
// does; where the text says so it goes on doing so beyond their Kmax of 200 KB.
func dcqcn40() netsim.Config {
	c := netsim.Config{Seed: 1}
	c.Switch.ECN = netsim.ECNConfig{KMin: 5_000, KMax: 200_000, PMax: 0.01}
	c.NIC.MTU, c.NIC.AckEvery = 1024, 64
	c.NIC.DCQCN = netsim.DCQCNConfig{
		G: 1.0 / 256, AlphaPeriod: 55 * units.Microsecond, ReducePeriod: 50 * units.Microsecond, CNPPeriod: 50 * units.Microsecond,
		TimeReset: 55 * units.Microsecond, ByteReset: 10_000_000, Threshold: 5, AIRate: 40 * units.Mbps, HAIRate: 40 * units.Mbps,
		MinRate: 40 * units.Mbps, MinDecFac: 0.5, InitialAlpha: 1,
	}
	return c
}

var wire40 = fabric.Wire{Rate: 40 * units.Gbps, Delay: units.Microsecond}

// endless is more than any of these runs sends.
const endless = 1 << 36

// steady is what a port and the senders did between two moments.
type steady struct {
	marked, queue, used float64   // share of packets marked, mean queue in bytes, share of the rate
	rates               []float64 // bit/s of each source, on the wire
}

// observe samples the port to host 0 each 10 us from one moment to another.
func observe(t *testing.T, o outcome, from, to units.Duration) steady {
	t.Helper()
	out := o.f.Ports[o.f.Endpoints[0]].Peer
	o.until(t, from)
	before := o.Port(out)
	sent := func() (list []float64) {
		for _, op := range o.plan.Ops {
			list = append(list, float64(o.Port(o.f.GPUs[op.Src].NICs[0]).TxBytes[op.Priority]))
		}
		return list
	}
	first := sent()
	var s steady
	samples := 0.0
	for at := from + 10*units.Microsecond; at <= to; at += 10 * units.Microsecond {
		o.until(t, at)
		s.queue += float64(o.Port(out).QueueBytes[workload.RoCEPriority])
		samples++
	}
	after := o.Port(out)
	const p = workload.RoCEPriority
	s.queue /= samples
	s.marked = float64(after.ECNMarked[p]-before.ECNMarked[p]) / float64(after.TxPackets[p]-before.TxPackets[p])
	s.used = float64(after.TxBytes[p]-before.TxBytes[p]) * 8 / (to - from).Seconds() / float64(o.f.Ports[out].Rate)
	for i, b := range sent() {
		s.rates = append(s.rates, (b-first[i])*8/(to-from).Seconds())
	}
	return s
}

// The fixed point of DCQCN. N flows share a port of C packets a second; at rest each sends R = C/N and a share p of packets is
// marked, small enough that cuts come at the rate p R and that alpha, the chance of a CNP in an alpha period t', is p t' R. A cut takes R
// alpha/2 off the rate and brings the target down to it; each of the increases, which come at the rate i = R/B + 1/T from counter and
// timer, takes the rate half the way to the target and lifts that by A. At rest what the target loses it gains, and so does the rate:
//
//	(Rt - R) p R = A i          (Rt - R) i / 2 = R alpha/2 p R
//
// Put together, p^3 = A i^2 / (t' R^4), that is
//
//	p = cbrt( A N^2 / (t' C^2) (1/B + N/(T C))^2 )
//
// which is equation 14 of Zhu et al., ECN or Delay, CoNEXT 2016 (quoted there with B in packets). It leaves out the F rounds without additive increase and that
// the timers begin anew at each cut; both are of the order of p T R, some 10 %. The queue follows from the marking curve.
func TestLadderDCQCNFixedPoint(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8, 32} {
		c := dcqcn40()
		c.Switch.ECN.KMax, c.Switch.ECN.PMax = 980_000, 0.05 // the same slope without its end, so that no swing of the queue meets it
		o := start(t, leafSpine(1, n+1, 1, wire40), incast(n, endless), c)
		s := observe(t, o, 30*units.Millisecond, 100*units.Millisecond)
		packet := float64(1024 + header)
		rate := 40e9 / 8 / packet
		inc := packet/10e6 + float64(n)/(55e-6*rate)
		p := math.Cbrt(40e6 / 8 / packet * float64(n*n) / (55e-6 * rate * rate) * inc * inc)
		name := fmt.Sprintf("DCQCN, %d flows", n)
		check(t, near(closedForm, name+", packets marked", "%", 100*p, 0.2, "fixed point, Zhu et al. 2016, equation 14"), 100*s.marked)
		check(t, near(closedForm, name+", mean queue", "KB", (5000+s.marked/0.01*195_000)/1000, 0.1, "the marking curve at the share marked"), s.queue/1000)
		check(t, within(closedForm, name+", port used", "%", 99, 100, "Kmin is a queue: the port has always work"), 100*s.used)
		check(t, within(closedForm, name+", fairness of rates", "Jain index", 0.97, 1, "equal rates are the only fixed point"), jain(s.rates))
	}
}

// What one CNP costs. With alpha near 1 the rate R falls to R/2 and the target stays R; after each period T half of what is missing comes back, so what is
// not sent is
//
//	T (R/2 + R/4 + ...) = T R,
//
// T of time at full rate, whatever R is: 300 us with the defaults of the adapter, 55 us with the paper's timer. A packet of another host gives
// the one mark: it meets the flow at a port that marks from two packets on, and the receiver sends one CNP in the run.
func TestLadderOneCNP(t *testing.T) {
	t.Parallel()
	for _, period := range []units.Duration{55 * units.Microsecond, 300 * units.Microsecond} {
		c := netsim.Config{Seed: 1}
		c.Switch.ECN = netsim.ECNConfig{KMin: full + full/2, KMax: full + full/2 + 1, PMax: 1}
		c.NIC.AckEvery = 64
		c.NIC.DCQCN.TimeReset, c.NIC.DCQCN.ByteReset, c.NIC.DCQCN.CNPPeriod = period, endless, units.Second
		ops := incast(2, 100_000_000).Ops
		ops[1].Bytes, ops[1].At = mtu, 100*units.Microsecond
		f := leafSpine(1, 3, 1, wire)
		o := run(t, f, planOf(ops...), c)
		if got := o.NIC(1).CNPHandled; got != 1 {
			t.Errorf("%d CNPs, the derivation is about one", got)
		}
		over := us(o.took(0) - pipeline(100_000_000, mtu, hops(2, wire)))
		check(t, near(closedForm, fmt.Sprintf("one CNP, timer %v: time lost", period), "us", us(period), 0.03, "T (1/2 + 1/4 + ...) of the full rate"), over)
	}
}
