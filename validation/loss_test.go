package validation

import (
	"fmt"
	"math"
	"testing"

	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// What a loss costs. The receiver notices with the next packet, the sender with the NAK, a round trip after it sent the lost one; it has W = 1 + RTT B / packet
// packets out by then and goes back to the lost one. With a share p of packets lost each packet that counts takes 1 + p W of sending, so
// throughput is 1 / (1 + p W) of the rate: p W small, and losses while going back counted by p. One flow at 400 Gbit/s over two links.
//
// A packet that is lost again when it is repeated, p^2 of all, is not asked for again: the receiver sends one NAK for a gap, and only the timeout
// helps, 4.3 s with NCCL's setting.
func TestLadderGoBackNLoss(t *testing.T) {
	t.Parallel()
	const packets = 100_000
	f := leafSpine(1, 2, 1, wire)
	rtt := 2*(units.Serialize(full, wire.Rate)+wire.Delay) + 2*(units.Serialize(header, wire.Rate)+wire.Delay)
	window := 1 + us(rtt)/us(units.Serialize(full, wire.Rate))
	for _, p := range []float64{1e-4, 1e-3} {
		c := plain()
		c.Faults = []netsim.Fault{{Kind: netsim.BitErrors, Port: uint32(f.Endpoints[0]), BER: p / (full * 8)}}
		o := run(t, f, planOf(send(0, 1, packets*mtu)), c)
		ideal := packets * us(units.Serialize(full, wire.Rate))
		// The number of losses is Poisson: 10 and 100 expected, and the tolerance three of its deviations on what they cost.
		cost := p * window
		check(t, row{group: closedForm, name: fmt.Sprintf("go-back-N, %g of packets lost", p), unit: "times the bytes", want: 1 + cost,
			lo: 1 + cost - 3*cost/math.Sqrt(packets*p), hi: 1 + cost + 3*cost/math.Sqrt(packets*p), why: "1 + p W, W = 1 + RTT B / packet"}, us(o.took(0))/ideal)
	}
	const p = 5e-3
	c := plain()
	c.Faults = []netsim.Fault{{Kind: netsim.BitErrors, Port: uint32(f.Endpoints[0]), BER: p / (full * 8)}}
	twice := packets * p * p
	check(t, row{group: closedForm, name: "go-back-N, 0.005 of packets lost: timeouts", unit: "in 100 000 packets", want: twice,
		lo: max(0, twice-3*math.Sqrt(twice)), hi: twice + 3*math.Sqrt(twice), why: "n p^2 lost twice, Poisson"},
		float64(run(t, f, planOf(send(0, 1, packets*mtu)), c).NIC(0).LocalAckTimeout))
}
