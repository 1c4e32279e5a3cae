package validation

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// After a switch has decided to pause its peer there still arrive, at most: what is on the wire both ways (2 d B), the packet that holds the
// pause frame up, the packet the peer had begun, the one that crossed the threshold, and 8 pause frames (IEEE 802.1Q annex N). The least
// headroom with which nothing is lost is searched for; it must be below the bound, and not far, or the bound is a waste of buffer. For the worst
// case nothing may leave in the meantime: the receiver has stopped, its NIC has filled and paused the switch, before the others begin to send.
// A run needs less than the bound: no NIC is just about to send a packet of its own when the pause is due, and the pause frames
// of other classes are not sent.
func TestLadderHeadroom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		delay units.Duration
	}{{"1 us (200 m)", units.Microsecond}, {"5 us (1 km)", 5 * units.Microsecond}} {
		w := fabric.Wire{Rate: 400 * units.Gbps, Delay: c.delay}
		bound := netsim.HeadroomFor(w.Rate, w.Delay, 0, mtu)
		f := leafSpine(1, 9, 1, w)
		ops := incast(8, 2_000_000).Ops
		for i := range ops[1:] {
			ops[1+i].At = 200 * units.Microsecond
		}
		p := planOf(ops...)
		loses := func(room units.Bytes) bool {
			cfg := quiet()
			cfg.Switch.XOFF, cfg.Switch.XON, cfg.Switch.Headroom = 8*full, full, room
			cfg.Faults = []netsim.Fault{{Kind: netsim.SlowReceiver, Port: uint32(f.Endpoints[0]), Rate: units.Mbps, For: 400 * units.Microsecond}}
			return run(t, f, p, cfg).sum.Drops[netsim.DropHeadroomFull] > 0
		}
		if loses(bound) {
			t.Errorf("%s: the computed headroom of %d bytes loses packets", c.name, bound)
		}
		lo, hi := units.Bytes(0), bound // loses at lo, not at hi
		for hi-lo > 512 {
			if mid := (lo + hi) / 2; loses(mid) {
				lo = mid
			} else {
				hi = mid
			}
		}
		wire := 2 * c.delay.Seconds() * w.Rate.BytesPerSecond()
		check(t, within(closedForm, "least headroom without loss, "+c.name, "bytes", wire, float64(bound), "between 2 d B and the bound of IEEE 802.1Q annex N"), float64(hi))
	}
}
