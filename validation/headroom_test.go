package validation

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// After a switch has decided to pause its peer there still arrive, at most: what is on the wire both ways (2 d B), the packet that holds the
// pause frame up, the packet the peer had begun, the one that crossed the threshold, and 8 pause frames (IEEE 802.1Q annex N). The least
// headroom with which an incast loses nothing is searched for; it must be below the bound, and not far, or the bound is a waste of
// buffer. What a run needs is below: the packet that crosses lies in the shared part but for its end, the pause frames of
// other classes are not sent.
func TestLadderHeadroom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		delay units.Duration
	}{{"1 us (200 m)", units.Microsecond}, {"5 us (1 km)", 5 * units.Microsecond}} {
		w := fabric.Wire{Rate: 400 * units.Gbps, Delay: c.delay}
		bound := netsim.HeadroomFor(w.Rate, w.Delay, 0, mtu)
		f := leafSpine(1, 9, 1, w)
		p := incast(8, 2_000_000)
		loses := func(room units.Bytes) bool {
			cfg := quiet()
			cfg.Switch.XOFF, cfg.Switch.XON, cfg.Switch.Headroom = 8*full, full, room
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
