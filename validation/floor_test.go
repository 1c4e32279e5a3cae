package validation

import (
	"fmt"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// An empty network has one answer, to the picosecond. A packet of b bytes over h links of rate B and delay d takes
//
//	h (b*8/B + d)
//
// and of a train of n equal packets the last is there n-1 serialisations after the first. The last packet of a message may be shorter
// than the others and then waits for the one in front at every link; pipeline works that out.
func TestLadderFloors(t *testing.T) {
	t.Parallel()
	two := leafSpine(2, 2, 1, wire)
	three := fabric.FatTree{Pods: 2, LeavesPerPod: 2, SpinesPerPod: 2, CoresPerSpine: 1, HostsPerLeaf: 2, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
	for _, c := range []struct {
		name  string
		f     *fabric.Fabric
		dst   int
		links int
	}{
		{"within a leaf", two, 1, 2},
		{"between leaves", two, 2, 4},
		{"between pods", three, 4, 6},
	} {
		one := run(t, c.f, planOf(send(0, c.dst, mtu)), quiet())
		want := float64(c.links) * (full*8/400e9*1e6 + 1)
		check(t, near(closedForm, "one packet "+c.name, "us", want, 1e-9, fmt.Sprintf("%d x (4160 B / 400 Gbit/s + 1 us)", c.links)), us(one.took(0)))
		flow := run(t, c.f, planOf(send(0, c.dst, 2_000_000)), quiet())
		check(t, near(closedForm, "2 MB "+c.name, "us", us(pipeline(2_000_000, mtu, hops(c.links, wire))), 0,
			"489 packets pass the first link, the last full one three, five .. more; then the propagation"), us(flow.took(0)))
	}
	// Rates that differ: 100 -> 400 -> 25 Gbit/s. The slowest link sets the pace, wherever it lies; 1 MB in 245 packets.
	f := leafSpine(1, 2, 1, fabric.Wire{Rate: 100 * units.Gbps, Delay: 300 * units.Nanosecond})
	slow := f.Ports[f.Endpoints[1]].Peer
	f.Ports[slow].Rate = 25 * units.Gbps
	o := run(t, f, planOf(send(0, 1, 1_000_000)), quiet())
	path := []hop{{100 * units.Gbps, 300 * units.Nanosecond}, {25 * units.Gbps, 300 * units.Nanosecond}}
	check(t, near(closedForm, "1 MB from 100 to 25 Gbit/s", "us", us(pipeline(1_000_000, mtu, path)), 0, "the last packet leaves the slow link when all have passed it"), us(o.took(0)))
}

// n senders at one port: it is busy from the moment the first packet is there until all bytes have passed, so the last
// byte arrives after 1 packet + delay + n x bytes/B + delay.
func TestLadderIncast(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8, 15} {
		o := run(t, leafSpine(1, 16, 1, wire), incast(n, 100*mtu), quiet())
		want := units.Serialize(full, wire.Rate)*units.Duration(1+n*100) + 2*wire.Delay
		check(t, near(closedForm, fmt.Sprintf("%d:1 incast of 100 packets each", n), "us", us(want), 0, "the port never idles once it has begun"), us(o.makespan()))
	}
	// Everybody reads at the same pace through pauses: with equal demand no sender is ahead by more than what the buffers hold.
	const n = 8
	c := quiet()
	c.Switch.XOFF, c.Switch.XON = 32*full, 16*full
	o := run(t, leafSpine(1, n+1, 1, wire), incast(n, 8_000_000), c)
	check(t, within(closedForm, "8:1 incast through PFC, fairness of completion", "Jain index", 0.99, 1,
		"equal demand, one queue, equal thresholds: 1 but for what the buffers hold"), jain(o.completions()))
}

// A way through the network is shared with the ACKs of the other direction: for each packet received a NIC sends 64 bytes, so when every
// host sends and receives at once its link carries 4160 + 64 bytes for each packet.
func TestLadderAckLoad(t *testing.T) {
	t.Parallel()
	f := leafSpine(1, 4, 1, wire)
	ring := func() *workload.Plan {
		return planOf(send(0, 1, 40_000*mtu), send(1, 2, 40_000*mtu), send(2, 3, 40_000*mtu), send(3, 0, 40_000*mtu))
	}
	o := run(t, f, ring(), plain())
	want := 40_000 * us(units.Serialize(full+header, wire.Rate))
	check(t, near(closedForm, "40 000 packets both ways, an ACK each", "us", want, 0.001, "4160 + 64 bytes for each packet"), us(o.makespan()))
}
